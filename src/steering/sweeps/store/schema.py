"""The format of a shard: a Parquet file with one row for each cell, curves and tables as lists inside the row.

A *cell* is one run of one seed. Its row holds the configuration, the totals, the curves thinned to a set number of
points, visits, diagnostics and the posterior of Q where they were recorded. One row a cell keeps a finished cell in
one piece: it is in a whole shard or it is nowhere.

The file carries `SCHEMA_VERSION` and the package version in its metadata and nothing else that a reader would act on;
`read_rows` refuses every file whose columns and types are not exactly those of its version, and every file that claims
more than it may hold, before any data is unpacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from steering._version import __version__
from steering.errors import SteeringError
from steering.runs.results import RunResults, known
from steering.runs.tables import thinned_steps
from steering.sweeps.store.footer import read_claims

SCHEMA_VERSION = 2
"""Version of the files that are written; those of older versions are read, without what they do not have."""

KEY_SCHEMA = 1
"""What the key of a cell says about its row; raised only when older rows are not good enough any more."""

ADDED = {"random_gap": 2}
"""Columns that shards have from a version on; the rows of older ones hold nothing there."""

KEY_BYTES = 16

MAX_SHARD_BYTES = 1 << 30
"""Largest shard that is read, as a file and unpacked; a shard written here is far below."""

MAX_SHARD_ROWS = 1_000_000

TEXTS = ("environment", "agent", "config", "version")
LISTS: dict[str, pa.DataType] = {
    "curve_step": pa.int32(),
    "curve_reward": pa.float64(),
    "curve_realised": pa.float64(),
    "curve_expected": pa.float64(),
    "window_edges": pa.int64(),
    "visit_shape": pa.int32(),
    "visits": pa.int32(),
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


def leaves(version: int = SCHEMA_VERSION) -> list[str]:
    """Paths of the columns in a file."""
    names = [name for name in SCHEMA.names if ADDED.get(name, 1) <= version]
    return [f"{name}.list.element" if name in LISTS else name for name in names]


METADATA = {b"steering_schema": str(SCHEMA_VERSION).encode()}


class BadShard(SteeringError):
    """A file is not a whole shard of this schema."""


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
    lists["visits"] = results.visits.reshape(n, -1)
    lists.update(_diagnostics(results, n))
    for name, values in lists.items():
        columns[name] = _list_column(values, n, LISTS[name])
    arrays = [_column(columns[field.name], field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


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
        lists["information_step"] = _repeated(results.plan_times, n)
        lists["information_shape"] = _repeated(np.array([1, *known.information.shape[2:]]), n)
        lists["information"] = known.information.reshape(n, -1)
    if scalars and results.plan_times is not None:
        plans = results.plan_times.size
        lists["diagnostic"] = _repeated(np.repeat(np.array(list(scalars), dtype=object), plans), n)
        lists["diagnostic_step"] = _repeated(np.tile(results.plan_times, len(scalars)), n)
        lists["diagnostic_value"] = np.concatenate(list(scalars.values()), axis=1)
    q = results.q_posterior
    if q is not None:
        lists["posterior_step"] = _repeated(q.times, n)
        lists["posterior_shape"] = _repeated(np.array(q.mean.shape[2:]), n)
        lists["posterior_mean"] = q.mean.reshape(n, -1)
        lists["posterior_std"] = q.std.reshape(n, -1)
        if q.optimal is not None:
            lists["posterior_optimal"] = _repeated(q.optimal.reshape(-1), n)
    return lists


def _repeated(values: NDArray[Any], n: int) -> NDArray[Any]:
    return np.broadcast_to(values, (n, values.size))


def _list_column(values: NDArray[Any] | None, n: int, kind: pa.DataType) -> pa.Array:
    """A column of lists from a matrix with one row for each cell, or of empty lists."""
    width = 0 if values is None else values.shape[1]
    flat = np.empty(0) if values is None else np.ascontiguousarray(values).reshape(-1)
    if values is None and kind == pa.string():
        flat = flat.astype(object)
    if pa.types.is_integer(kind):
        flat = flat.astype(kind.to_pandas_dtype())
    offsets = pa.array(np.arange(n + 1, dtype=np.int32) * width)
    return pa.ListArray.from_arrays(offsets, pa.array(flat, kind))


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


def read_rows(content: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows of a shard, all columns or some; `BadShard` says why a file is not one."""
    try:
        version = _check_claims(content)
        wanted = SCHEMA if columns is None else pa.schema([SCHEMA.field(name) for name in columns])
        present = [name for name in wanted.names if ADDED.get(name, 1) <= version]
        table = pq.ParquetFile(pa.BufferReader(content)).read(columns=present, use_threads=False)
        for name in wanted.names:
            if name not in present:
                table = table.append_column(name, pa.nulls(table.num_rows, wanted.field(name).type))
        table = table.select(wanted.names).cast(wanted)
        table.validate(full=True)
    except (BadShard, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise BadShard(f"it cannot be read as Parquet ({str(error).splitlines()[0][:120]})") from None
    return table


def _check_claims(content: bytes) -> int:
    """Refuse a file by its footer alone: other columns, an unknown version, or sizes beyond what a shard may have.

    Returns the version of its schema.
    """
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
    pieces, own = [chunk[0] for chunk in claims.chunks], leaves(version)
    if claims.columns != own or pieces != own * (len(pieces) // len(own)):
        raise BadShard("its columns are not those of a shard")
    if not 0 < claims.rows <= MAX_SHARD_ROWS:
        raise BadShard(f"it claims {claims.rows} rows")
    unpacked = sum(max(8 * values, unpacked, packed) for _, values, unpacked, packed in claims.chunks)
    if unpacked > MAX_SHARD_BYTES:
        raise BadShard(f"it claims {unpacked} bytes unpacked, above the limit of {MAX_SHARD_BYTES}")
    return version
