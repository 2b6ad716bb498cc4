"""The format of a shard: a Parquet file with one row for each cell, curves and tables as lists inside the row.

A *cell* is one run of one seed. Its row holds the configuration, the totals, the curves thinned to a set number of
points, visits, diagnostics and the posterior of Q where they were recorded. One row a cell keeps a finished cell in
one piece: it is in a whole shard or it is nowhere. Visits are all of an array of `visit_shape`, or in a large
environment those other than zero, with their places in that array in `visit_place`.

The file carries `SCHEMA_VERSION` and the package version in its metadata and nothing else that a reader would act on;
`read_pieces` refuses every file whose columns and types are not exactly those of its version, and every file that
claims more than it may hold, before any data is unpacked.

One bound, `PIECE_BYTES`, holds for what is written in one shard, merged into one and unpacked at once, so that every
shard that is written is also read. A larger shard, which older versions left behind, is read in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from steering._version import __version__
from steering.errors import SteeringError
from steering.runs.results import RunResults, known
from steering.runs.tables import thinned_steps
from steering.runs.visits import SparseVisits
from steering.sweeps.store.footer import Claims, read_claims
from steering.sweeps.store.pages import row_bytes, unpacked_bytes

SCHEMA_VERSION = 3
"""Version of the files that are written; those of older versions are read, without what they do not have."""

KEY_SCHEMA = 1
"""What the key of a cell says about its row; raised only when older rows are not good enough any more."""

ADDED = {"random_gap": 2, "visit_place": 3}
"""Columns that shards have from a version on; the rows of older ones hold nothing there, or empty lists."""

KEY_BYTES = 16

MAX_SHARD_BYTES = 1 << 30
"""Largest file that is read; a shard written here is far below."""

PIECE_BYTES = 128 << 20
"""Most that a shard takes unpacked, and most that is unpacked at once: the bound for writing, merging and reading.
Only a row that alone takes more is in a shard of its own."""

MAX_ROW_BYTES = 960 << 20
"""Largest row, unpacked; it is less than the largest file, so that such a row is read even where nothing packs."""

MAX_SHARD_ROWS = 1_000_000

MAX_UNPACKED_BYTES = 32 << 30
"""Largest shard, unpacked, that is read in pieces. Lists in memory count with 32 bits, so no version has put more than
2^31 values, of 8 bytes by this measure, in a column; this is twice as much."""

TEXTS = ("environment", "agent", "config", "version")
LISTS: dict[str, pa.DataType] = {
    "curve_step": pa.int32(),
    "curve_reward": pa.float64(),
    "curve_realised": pa.float64(),
    "curve_expected": pa.float64(),
    "window_edges": pa.int64(),
    "visit_shape": pa.int32(),
    "visits": pa.int32(),
    "visit_place": pa.int32(),
    "diagnostic": pa.string(),
    "diagnostic_step": pa.int32(),
    "diagnostic_value": pa.float64(),
    "information_step": pa.int32(),
    "information_shape": pa.int32(),
    "information": pa.float64(),
    "posterior_step": pa.int32(),
    "posterior_shape": pa.int32(),
    "posterior_mean": pa.float64(),
    "posterior_std": pa.float64(),
    "posterior_optimal": pa.float64(),
}
FINALS = (
    "key",
    "environment",
    "agent",
    "seed",
    "steps",
    "reward",
    "oracle_reward",
    "realised_regret",
    "expected_regret",
    "oracle_total",
    "random_gap",
)

SCHEMA = pa.schema(
    [
        ("key", pa.binary(KEY_BYTES)),
        ("environment", pa.string()),
        ("agent", pa.string()),
        ("seed", pa.int64()),
        ("steps", pa.int32()),
        ("reward", pa.float64()),
        ("oracle_reward", pa.float64()),
        ("realised_regret", pa.float64()),
        ("expected_regret", pa.float64()),
        ("oracle_total", pa.float64()),
        ("random_gap", pa.float64()),
        ("config", pa.string()),
        ("version", pa.string()),
        ("seconds", pa.float64()),
        *[(name, pa.list_(kind)) for name, kind in LISTS.items()],
    ]
)
LEAVES = [f"{name}.list.element" if name in LISTS else name for name in SCHEMA.names]
"""Paths of the columns in a file of this version."""

METADATA = {b"steering_schema": str(SCHEMA_VERSION).encode()}


class BadShard(SteeringError):
    """A file is not a whole shard of this schema."""


class TooLarge(SteeringError):
    """A row that would be too large to be read again."""


class OtherSchema(BadShard):
    """A file is a shard of another version of this schema, as far as can be told."""


def rows_of(results: RunResults, keys: Sequence[bytes], config: str, points: int) -> pa.Table:
    """Rows of a shard from the results of one environment and agent.

    Parameters
    ----------
    results
        Runs of K seeds.
    keys
        The K keys of the cells.
    config
        Configuration shared by the cells, as JSON.
    points
        Number of points to which curves are thinned.
    """
    n = len(keys)
    at = thinned_steps(results.steps, points)
    columns: dict[str, Any] = {
        "key": pa.array(list(keys), pa.binary(KEY_BYTES)),
        "seed": np.array(results.seeds, dtype=np.int64),
        "seconds": results.seconds,
        **{name: [text] * n for name, text in _texts(results, config).items()},
        "steps": np.full(n, results.steps, dtype=np.int32),
    }
    columns["reward"] = results.rewards.sum(axis=1)
    for name in ("oracle_reward", "realised_regret", "expected_regret"):
        columns[name] = [None] * n
    columns["oracle_total"] = [known(results.oracle_total)] * n
    columns["random_gap"] = [known(results.random_gap)] * n
    lists: dict[str, Any] = dict.fromkeys(LISTS)
    lists["curve_step"] = _repeated(at, n)
    lists["curve_reward"] = np.cumsum(results.rewards, axis=1)[:, at - 1]
    if results.oracle_rewards is not None:
        columns["oracle_reward"] = results.oracle_rewards.sum(axis=1)
        for kind in ("realised", "expected"):
            curve = results.regret_curve(kind=kind)
            columns[f"{kind}_regret"] = curve[:, -1]
            lists[f"curve_{kind}"] = curve[:, at - 1]
    lists["window_edges"] = _repeated(results.windows, n)
    lists["visit_shape"] = _repeated(np.array(results.visits.shape[1:]), n)
    if isinstance(results.visits, SparseVisits):
        lists["visit_place"], lists["visits"] = zip(*results.visits.runs, strict=True)
    else:
        lists["visits"] = results.visits.reshape(n, -1)
    lists.update(_diagnostics(results, n))
    for name, values in lists.items():
        columns[name] = _list_column(values, n, LISTS[name])
    arrays = [_column(columns[field.name], field.type) for field in SCHEMA]
    rows = pa.Table.from_arrays(arrays, schema=SCHEMA)
    if n and _size(rows) // n > MAX_ROW_BYTES:
        raise TooLarge(
            f"the results of one run of {results.agent} on {results.environment} take {_size(rows) // n:,} bytes, "
            f"above the limit of {MAX_ROW_BYTES:,}; count visits in fewer windows or record less."
        )
    return rows


def _size(rows: pa.Table) -> int:
    """About what rows take unpacked, by the measure of `Chunk.size`."""
    size = 0
    for name in rows.column_names:
        column = rows.column(name)
        values = rows.num_rows
        if name in LISTS:
            values += pc.sum(pc.list_value_length(column)).as_py() or 0
        size += max(8 * values, column.nbytes if name in TEXTS else 0)
    return size


def _texts(results: RunResults, config: str) -> dict[str, str]:
    return {"environment": results.environment, "agent": results.agent, "config": config, "version": __version__}


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def _diagnostics(results: RunResults, n: int) -> dict[str, Any]:
    lists: dict[str, Any] = {}
    known = results.diagnostics
    gaps = results.value_gaps
    if gaps is None and known is not None:
        gaps = known.true_regret  # the same quantity, recorded with the diagnostics
    scalars = {} if gaps is None else {"value_gap": gaps}
    if known is not None and results.plan_times is not None:
        scalars |= {name: getattr(known, name) for name in ("info_weight", "gain", "regret", "ratio", "dictionary")}
        lists["information_step"] = _per_seed(results.plan_times, n)
        lists["information_shape"] = _repeated(np.array([1, *known.information.shape[2:]]), n)
        lists["information"] = _made(known.information, lists["information_step"])
    if scalars and results.plan_times is not None:
        times = _per_seed(results.plan_times, n)
        values = [_made(table, times) for table in scalars.values()]
        names = np.array(list(scalars), dtype=object)
        lists["diagnostic"] = [np.repeat(names, row.size) for row in times]
        lists["diagnostic_step"] = [np.tile(row, len(names)) for row in times]
        lists["diagnostic_value"] = [np.concatenate(rows) for rows in zip(*values, strict=True)]
    q = results.q_posterior
    if q is not None:
        lists["posterior_step"] = _per_seed(q.times, n)
        lists["posterior_shape"] = _repeated(np.array(q.mean.shape[2:]), n)
        lists["posterior_mean"] = _made(q.mean, lists["posterior_step"])
        lists["posterior_std"] = _made(q.std, lists["posterior_step"])
        if q.optimal is not None:
            lists["posterior_optimal"] = _repeated(q.optimal.reshape(-1), n)
    return lists


def _repeated(values: NDArray[Any], n: int) -> NDArray[Any]:
    return np.broadcast_to(values, (n, values.size))


def _per_seed(times: NDArray[np.int64], n: int) -> list[NDArray[np.int64]]:
    """Times of every seed, which differ where the agent decides when to plan; a time of -1 says that none is left."""
    rows = times if times.ndim == 2 else _repeated(times, n)
    return [row[row >= 0] for row in rows]


def _made(table: NDArray[np.float64], times: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Entries (K, plans, ...) of the plans that a seed made, flat."""
    return [row[: made.size].reshape(-1) for row, made in zip(table, times, strict=True)]


def _list_column(values: NDArray[Any] | Sequence[NDArray[Any]] | None, n: int, kind: pa.DataType) -> pa.Array:
    """A column of lists from one row for each cell, or of empty lists."""
    rows = [np.empty(0)] * n if values is None else values
    flat = np.concatenate(list(rows))
    if values is None and kind == pa.string():
        flat = flat.astype(object)
    if pa.types.is_integer(kind):
        flat = flat.astype(kind.to_pandas_dtype())
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, kind))


def to_bytes(rows: pa.Table) -> bytes:
    """A shard as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    compact = [name for name in SCHEMA.names if name in TEXTS or pa.types.is_integer(LISTS.get(name, pa.null()))]
    writer = pq.ParquetWriter(
        sink,
        SCHEMA,
        compression="zstd",
        use_dictionary=[*compact, "diagnostic.list.element", *[f"{name}.list.element" for name in compact]],
        store_schema=False,
        write_statistics=False,
    )
    with writer:
        writer.write_table(rows, row_group_size=MAX_SHARD_ROWS)
        writer.add_key_value_metadata({**METADATA, b"steering_version": __version__.encode()})
    return bytes(sink.getvalue())


def to_shards(rows: pa.Table) -> list[tuple[int, bytes]]:
    """Rows as one shard or several, each within `PIECE_BYTES`: their numbers of rows and their bytes."""
    count = rows.num_rows
    parts = min(-(-_size(rows) // PIECE_BYTES), count)
    if parts <= 1:
        content = to_bytes(rows)
        # What the file claims is what readers go by; it may be a little more than was thought.
        if count <= 1 or read_claims(content).size(LEAVES) <= PIECE_BYTES:
            return [(count, content)]
        parts = 2
    edges = [count * i // parts for i in range(parts + 1)]
    return [one for low, high in pairwise(edges) for one in to_shards(rows.slice(low, high - low))]


def read_rows(content: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows of a shard, all columns or some; `BadShard` says why a file is not one."""
    return pa.concat_tables(read_pieces(content, columns))


def size_of(content: bytes) -> int:
    """Bytes that a shard takes unpacked, as it claims."""
    try:
        claims = _check_claims(content)
        return claims.size(claims.columns)
    except ValueError as error:
        raise BadShard(str(error)) from None


def read_pieces(content: bytes, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Rows of a shard, all columns or some, as tables of which none takes more than `PIECE_BYTES` and a row."""
    try:
        claims = _check_claims(content)
        wanted = SCHEMA if columns is None else pa.schema([SCHEMA.field(name) for name in columns])
        leaves = {name: leaf for name, leaf in zip(SCHEMA.names, LEAVES, strict=True) if leaf in claims.columns}
        names = [name for name in wanted.names if name in leaves]
        own = [leaves[name] for name in names]
        file = pq.ParquetFile(pa.BufferReader(content))
        if claims.size(own) <= PIECE_BYTES and _in_memory(content, claims, own) <= PIECE_BYTES:
            yield _checked(file.read(columns=names, use_threads=False), wanted)
            return
        for group, count in enumerate(_rows_at_once(content, claims, own)):
            for batch in file.iter_batches(count, row_groups=[group], columns=names, use_threads=False):
                yield _checked(pa.Table.from_batches([batch]), wanted)
    except (BadShard, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise BadShard(f"it cannot be read as Parquet ({str(error).splitlines()[0][:120]})") from None


def _in_memory(content: bytes, claims: Claims, leaves: Sequence[str]) -> int:
    """Bytes that some columns take unpacked, at most; pages that hold more than the footer claims are refused."""
    size = 0
    for chunk in claims.chunks:
        if chunk.column in leaves:
            name = chunk.column.partition(".")[0]
            size += unpacked_bytes(content, chunk, is_text=name in TEXTS or LISTS.get(name) == pa.string())
    return size


def _checked(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The table in the columns that were asked for; what its version of the schema does not have is not known."""
    for name in set(wanted.names) - set(table.column_names):
        kind, n = wanted.field(name).type, table.num_rows
        nothing = _list_column(None, n, LISTS[name]) if name in LISTS else pa.nulls(n, kind)
        table = table.append_column(name, nothing)
    table = table.select(wanted.names).cast(wanted)
    table.validate(full=True)
    return table


def _rows_at_once(content: bytes, claims: Claims, leaves: Sequence[str]) -> list[int]:
    """How many rows of each row group are unpacked at once; a row that is too large is refused."""
    counts = []
    for group, rows in enumerate(claims.groups):
        sizes = np.zeros(rows)
        for chunk in claims.chunks[group * len(claims.columns) : (group + 1) * len(claims.columns)]:
            if chunk.column in leaves:
                name = chunk.column.partition(".")[0]
                text = name in TEXTS or LISTS.get(name) == pa.string()
                sizes += row_bytes(content, chunk, rows, is_list=name in LISTS, is_text=text)
        largest = sizes.max(initial=0.0)
        if largest > MAX_ROW_BYTES:
            raise BadShard(f"it has a row of {largest:.0f} bytes unpacked, above the limit of {MAX_ROW_BYTES}")
        count = max(rows, 1)
        while count > 1 and np.add.reduceat(sizes, np.arange(0, rows, count)).max() > PIECE_BYTES + largest:
            count = (count + 1) // 2
        counts.append(count)
    return counts


def _check_claims(content: bytes) -> Claims:
    """Refuse a file by its footer alone: other columns, another version, or sizes beyond what a shard may have."""
    if len(content) > MAX_SHARD_BYTES:
        raise BadShard(f"it has {len(content)} bytes, above the limit of {MAX_SHARD_BYTES}")
    claims = read_claims(content)
    said = claims.metadata.get(b"steering_schema")
    if said is None:
        raise BadShard("it was not written by this package")
    version = next((one for one in range(1, SCHEMA_VERSION + 1) if said == str(one).encode()), None)
    if version is None:
        raise OtherSchema(f"it has schema version {said[:20]!r}, and this package reads 1 to {SCHEMA_VERSION}")
    if set(claims.metadata) != {b"steering_schema", b"steering_version"}:
        raise BadShard("its metadata has entries that a shard does not have")
    own = [leaf for name, leaf in zip(SCHEMA.names, LEAVES, strict=True) if ADDED.get(name, 1) <= version]
    if claims.columns != own or [chunk.column for chunk in claims.chunks] != own * len(claims.groups):
        raise BadShard("its columns are not those of a shard")
    if not 0 < claims.rows <= MAX_SHARD_ROWS:
        raise BadShard(f"it claims {claims.rows} rows")
    unpacked = claims.size(own)
    if unpacked > MAX_UNPACKED_BYTES:
        raise BadShard(f"it claims {unpacked} bytes unpacked, above the limit of {MAX_UNPACKED_BYTES}")
    return claims
