"""Read a results directory as tidy pandas tables.

`load(DIR)` reads nothing at once; each table is read when it is first asked for, and only its columns are unpacked
into memory. The tables are a function of the set of finished cells alone: rows are ordered by environment, agent,
steps, seed and key, every cell is there once, and no time, host or worker is in them (`timings` is a table of its
own). So the same cells give the same bytes, wherever and in whatever order they were computed.

Files that are not whole shards are never read as data: they are listed in `problems`, with a warning.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from steering._files import write_atomically
from steering._types import Ints
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.runs.tables import Tabled, count, summary_of
from steering.sweeps.store.directory import Store, Unreadable
from steering.sweeps.store.plans import canonical, configuration_id
from steering.sweeps.store.schema import FINALS, LISTS, SCHEMA, BadShard

ORDER = ("environment", "agent", "steps", "seed")
TABLES = ("finals", "curves", "visits", "diagnostics", "information", "posterior", "settings")
NULLABLE = ("oracle_reward", "realised_regret", "expected_regret", "oracle_total", "random_gap")
MAX_ROWS = 1 << 29
"""Most rows of a long table; beyond, read one environment or agent at a time."""


class ProblemWarning(UserWarning):
    """Some files of a results directory are not whole shards and were not read."""


def load(
    directory: str | os.PathLike[str], *, environment: str | None = None, agent: str | Sequence[str] | None = None
) -> Results:
    """Open a results directory.

    Parameters
    ----------
    directory
        What `steering sweep --out` wrote.
    environment, agent
        Keep only cells of this environment or agent (their full text), or of several agents.

    Examples
    --------
    >>> results = load("results/sparsity")          # doctest: +SKIP
    >>> results.finals.groupby("agent")["normalised_regret"].mean()        # doctest: +SKIP
    """
    return Results(Store(directory), environment, agent)


class Results(Tabled):
    """Tables of a results directory; see the module's docstring. `table`, `summary` and `plot` are as those of a run.

    Attributes
    ----------
    problems
        Files that were not read: (name, reason); complete once a table was read.
    """

    def __init__(self, store: Store, environment: str | None = None, agent: str | Sequence[str] | None = None) -> None:
        self.directory = store.directory
        self.problems: list[tuple[str, str]] = []
        self._store = store
        self._keep: dict[str, list[str]] = {}
        for column, texts in (("environment", environment), ("agent", agent)):
            if texts is not None:
                self._keep[column] = [texts] if isinstance(texts, str) else list(texts)
        self._cells: dict[bytes, int] | None = None

    def __repr__(self) -> str:
        try:
            finals = self.finals
        except SteeringError as error:
            return f"Results: {self.directory} ({error})"
        parts = (count(finals[name].nunique(), name) for name in ("environment", "agent"))
        return f"Results: {self.directory}, {count(len(finals), 'run')} ({', '.join(parts)})"

    def table(self) -> pd.DataFrame:
        """Rows of `finals` that count in comparisons: of each environment, agent and steps those of one configuration.

        See `selection` for which; `steering.sweeps.summary.summarise` says what is left out.
        """
        from steering.sweeps.store.selection import select

        return select(self).finals

    def summary(self) -> pd.DataFrame:
        """One row for each environment and agent: mean of the headline measure with its 95 % interval, score, failed.

        More, such as probabilities of improvement, is in `steering.sweeps.summary.summarise`.
        """
        return summary_of(self.table())

    def keeps(self, environment: str, agent: str) -> bool:
        """Whether cells of this environment and agent are among those asked for."""
        given = {"environment": environment, "agent": agent}
        return all(given[column] in texts for column, texts in self._keep.items())

    def sweep(self) -> dict[str, Any]:
        """What the newest sweep of the directory asked for, as it was saved."""
        return self._store.read_sweep()

    def failures(self) -> set[tuple[str, int]]:
        """Configuration and seed of the cells asked for that failed for good."""
        done = set(self.finals["key"])
        found = set()
        for key, record in self._store.failures().items():
            config, seed = record.get("config"), record.get("seed")
            if key.hex() in done or not isinstance(config, dict) or not isinstance(seed, int):
                continue
            if self.keeps(str(config.get("environment")), str(config.get("agent"))):
                found.add((configuration_id(canonical(config)), seed))
        return found

    @cached_property
    def finals(self) -> pd.DataFrame:
        """One row for each cell: totals and regrets. The row number is `cell` in the other tables.

        Cells with the same environment, agent and steps but another `configuration` differ in something that the texts
        do not say; see `settings`.
        """
        rows = self._rows([*FINALS, "config"])
        configs = rows.column("config").combine_chunks().dictionary_encode()
        table = _pandas(rows.drop_columns(["config", "cell"]))
        names = np.array([configuration_id(text) for text in configs.dictionary.to_pylist()], dtype=object)
        table["configuration"] = names[configs.indices.to_numpy()] if len(table) else pd.Series(dtype=object)
        table["key"] = [key.hex() for key in table["key"]]
        for name in NULLABLE:
            table[name] = table[name].astype(np.float64)
        table["normalised_regret"] = table["realised_regret"] / table["oracle_total"]
        table["normalised_expected_regret"] = table["expected_regret"] / table["oracle_total"]
        table["score"] = table["realised_regret"] / table["random_gap"]
        last = ("configuration", "key")
        return table[[*ORDER, *(name for name in table if name not in (*ORDER, *last)), *last]]

    @cached_property
    def timings(self) -> pd.DataFrame:
        """Seconds of each cell: the only table that depends on when and where cells ran."""
        return _pandas(self._rows(["seconds"]).select([*ORDER, "seconds"]))

    @cached_property
    def settings(self) -> pd.DataFrame:
        """Configuration (JSON) and package version of each cell."""
        return _pandas(self._rows(["config", "version"]).select([*ORDER, "config", "version"]))

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Cumulative reward, regret and expected regret of each cell, at the steps that were kept."""
        values = {"reward": "curve_reward", "regret": "curve_realised", "expected_regret": "curve_expected"}
        rows = self._rows(["curve_step", *values.values()], lambda r: _same_lengths(r, "curve_step", values.values()))
        lengths = _lengths(rows, "curve_step")
        table = _long(rows, lengths)
        table["step"] = _flat(rows, "curve_step")
        for name, column in values.items():
            known = _lengths(rows, column) == lengths
            table[name] = np.nan
            table.loc[np.repeat(known, lengths), name] = _flat(rows, column)
        return table

    @cached_property
    def visits(self) -> pd.DataFrame:
        """Visits of each cell to state and action in each window of steps (start, end]; rows of zero are left out."""
        rows = self._rows(["visits", "visit_shape", "window_edges"], _check_visits)
        counts = _flat(rows, "visits")
        lengths = _lengths(rows, "visits")
        shapes = _shapes(rows, "visit_shape")
        edges = _flat(rows, "window_edges")
        edge_starts = np.cumsum(_lengths(rows, "window_edges")) - _lengths(rows, "window_edges")
        kept = np.flatnonzero(counts)
        owner, within = (part[kept] for part in _places(lengths))
        states, actions = shapes[owner, 1], shapes[owner, 2]
        window = within // (states * actions)
        table = _long(rows, np.bincount(owner, minlength=len(lengths)))
        table["start"] = edges[edge_starts[owner] + window]
        table["end"] = edges[edge_starts[owner] + window + 1]
        table["state"] = within // actions % states
        table["action"] = within % actions
        table["visits"] = counts[kept]
        return table

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """Recorded numbers over time: a row for each cell, diagnostic and step."""
        names = ("diagnostic", "diagnostic_step", "diagnostic_value")
        rows = self._rows(names, lambda r: _same_lengths(r, names[0], names[1:], empty=False))
        table = _long(rows, _lengths(rows, names[0]))
        table["diagnostic"] = pd.Categorical(rows.column(names[0]).combine_chunks().flatten().to_pylist())
        table["step"] = _flat(rows, names[1])
        table["value"] = _flat(rows, names[2])
        return table

    @cached_property
    def information(self) -> pd.DataFrame:
        """Stein information D(s, a) at every plan, where diagnostics were recorded: cell, step, state and action."""
        names = ("information_step", "information_shape", "information")
        rows = self._rows(names, lambda r: _check_stacked(r, *names))
        return _stacked(rows, *names[:2], {"information": names[2]}).drop(columns="layer")

    @cached_property
    def posterior(self) -> pd.DataFrame:
        """Beliefs about Q: mean and standard deviation for each cell, step, layer, state and action."""
        names = ("posterior_step", "posterior_shape", "posterior_mean", "posterior_std", "posterior_optimal")
        rows = self._rows(names, _check_posterior)
        table = _stacked(rows, *names[:2], {"mean": names[2], "std": names[3]})
        size = _shapes(rows, "posterior_shape").prod(axis=1)
        optimal = _lengths(rows, "posterior_optimal")
        starts = np.cumsum(optimal) - optimal
        owner, within = _places(_lengths(rows, "posterior_mean"))
        known = (optimal > 0)[owner]
        at = (starts[owner] + within % np.maximum(size[owner], 1))[known]
        table["optimal"] = np.nan
        table.loc[known, "optimal"] = _flat(rows, "posterior_optimal")[at]
        return table.dropna(subset=["mean"], ignore_index=True)

    def write(self, directory: str | os.PathLike[str], *, format: str = "parquet") -> list[Path]:
        """Write all tables but `timings` as files, "parquet" or "csv"; the same cells give the same bytes."""
        if format not in ("parquet", "csv"):
            raise InvalidOption(f"format is '{format}'; choose parquet or csv.")
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for name in TABLES:
            table = getattr(self, name)
            path = target / f"{name}.{format}"
            if format == "csv":
                content = table.to_csv(index=False).encode()
            else:
                sink = pa.BufferOutputStream()
                pq.write_table(pa.Table.from_pandas(table, preserve_index=False), sink, compression="zstd")
                content = bytes(sink.getvalue())
            write_atomically(path, content)
            written.append(path)
        return written

    def to_xarray(self) -> Any:
        """Curves as an `xarray.Dataset` with dimensions cell and step; needs the extra `xarray`."""
        try:
            import xarray
        except ImportError:
            raise NotAvailable("this needs xarray; install it with: pip install 'steering-rl[xarray]'") from None
        curves = self.curves
        grids = {tuple(part) for _, part in curves.groupby("cell")["step"]}
        if len(grids) != 1:
            raise NotAvailable(
                f"the cells have {len(grids)} different sets of steps, and an array needs one; load one environment or "
                "agent, as in load(DIR, environment=...)."
            )
        steps = np.array(next(iter(grids)))
        cells = self.finals
        variables = {n: (("cell", "step"), curves[n].to_numpy().reshape(-1, steps.size)) for n in CURVES}
        coordinates = {n: ("cell", cells[n].to_numpy(dtype=object if n in ORDER[:2] else None)) for n in ORDER}
        return xarray.Dataset(variables, coords={"step": steps, **coordinates})

    def _rows(self, columns: Sequence[str], check: Callable[[pa.Table], None] = lambda rows: None) -> pa.Table:
        """Columns of all kept cells, each cell once, in the canonical order."""
        names = list(dict.fromkeys(["key", *ORDER, *columns]))
        problems: list[tuple[str, str]] = []
        tables = [pa.schema([SCHEMA.field(name) for name in names]).empty_table()]
        for name, rows in self._store.read(names, problems):
            try:
                _check_nulls(rows)
                check(rows)
            except BadShard as error:
                problems.append((name, str(error)))
                continue
            for column, texts in self._keep.items():
                rows = rows.filter(pc.is_in(rows.column(column), pa.array(texts, pa.string())))
            tables.append(rows)
        self._report(problems)
        table = pa.concat_tables(tables)
        for name in set(names) & set(LISTS):
            if sum(len(chunk.values) for chunk in table.column(name).chunks) > MAX_ROWS:
                raise NotAvailable(f"the table would have more than {MAX_ROWS} rows; load one environment or agent.")
        table = _ordered(table)
        # All tables speak of the cells of the first one that was read, though a sweep may be writing meanwhile.
        keys = table.column("key").to_pylist()
        if self._cells is None:
            self._cells = {key: cell for cell, key in enumerate(keys)}
        numbers = pa.array([self._cells.get(key) for key in keys], pa.int64())
        return table.append_column("cell", numbers).filter(pc.is_valid(numbers))

    def _report(self, problems: list[tuple[str, str]]) -> None:
        new = [problem for problem in problems if problem not in self.problems]
        if not new:
            return
        self.problems.extend(new)
        name, reason = new[0]
        unproven = any(isinstance(why, Unreadable) for _, why in new)
        warnings.warn(
            f"{len(new)} file(s) in {self._store.shards} are not whole shards and were not read; first: {name[:100]}: "
            f"{reason}." + ("" if unproven else " Start the sweep again to set them aside and compute their cells."),
            ProblemWarning,
            stacklevel=5,
        )


CURVES = ("reward", "regret", "expected_regret")


def _pandas(rows: pa.Table) -> pd.DataFrame:
    table: pd.DataFrame = rows.to_pandas()
    return table


def _ordered(table: pa.Table) -> pa.Table:
    """Rows in the canonical order, each key once (rows of one key are equal but for their time)."""
    keys = table.column("key").to_pylist()
    order = pa.table({**{name: table.column(name) for name in ORDER}, "key": pa.array(keys, pa.binary())})
    seen: set[bytes] = set()
    indices = []
    for i in pc.sort_indices(order, [(name, "ascending") for name in (*ORDER, "key")]).to_pylist():
        if keys[i] not in seen:
            seen.add(keys[i])
            indices.append(i)
    return table.take(pa.array(indices, pa.int64())).combine_chunks()


def _check_nulls(rows: pa.Table) -> None:
    for name in rows.column_names:
        column = rows.column(name)
        missing = 0 if name in NULLABLE else column.null_count
        if name in LISTS:
            missing += sum(chunk.values.null_count for chunk in column.chunks)
        if missing:
            raise BadShard(f"its column {name} has holes")


def _lengths(rows: pa.Table, name: str) -> Ints:
    lengths: Ints = pc.list_value_length(rows.column(name)).to_numpy().astype(np.int64)
    return lengths


def _flat(rows: pa.Table, name: str) -> NDArray[Any]:
    values: NDArray[Any] = rows.column(name).combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return values


def _shapes(rows: pa.Table, name: str) -> Ints:
    """Shapes as (cells, 3); zeros where a cell has none."""
    shapes = np.zeros((rows.num_rows, 3), dtype=np.int64)
    shapes[_lengths(rows, name) == 3] = _flat(rows, name).reshape(-1, 3)
    return shapes


def _same_lengths(rows: pa.Table, first: str, others: Any, *, empty: bool = True) -> None:
    """Lists that belong together have one length; with `empty`, a list that was not recorded may be empty."""
    lengths = _lengths(rows, first)
    for name in others:
        other = _lengths(rows, name)
        if not np.all((other == lengths) | (empty & (other == 0))):
            raise BadShard(f"its columns {first} and {name} do not fit together")


def _check_shapes(rows: pa.Table, name: str) -> Ints:
    lengths = _lengths(rows, name)
    if not np.all((lengths == 3) | (lengths == 0)):
        raise BadShard(f"its column {name} does not hold shapes")
    shapes = _shapes(rows, name)
    if np.any(shapes[lengths == 3] < 1) or np.any(shapes.astype(np.float64).prod(axis=1) > MAX_ROWS):
        raise BadShard(f"its column {name} holds impossible shapes")
    return shapes


def _check_visits(rows: pa.Table) -> None:
    shapes = _check_shapes(rows, "visit_shape")
    edges = _lengths(rows, "window_edges")
    if np.any(shapes.prod(axis=1) != _lengths(rows, "visits")) or np.any((edges != shapes[:, 0] + 1) & (edges > 0)):
        raise BadShard("its visits do not fit their shape")
    if np.any((edges == 0) & (shapes[:, 0] > 0)):
        raise BadShard("its visits have no windows")


def _check_stacked(rows: pa.Table, step: str, shape: str, values: str) -> None:
    size = _check_shapes(rows, shape).prod(axis=1)
    if not np.all(_lengths(rows, step) * size == _lengths(rows, values)):
        raise BadShard(f"its column {values} does not fit its shape")


def _check_posterior(rows: pa.Table) -> None:
    _check_stacked(rows, "posterior_step", "posterior_shape", "posterior_mean")
    _same_lengths(rows, "posterior_mean", ["posterior_std"], empty=False)
    size, optimal = _shapes(rows, "posterior_shape").prod(axis=1), _lengths(rows, "posterior_optimal")
    if not np.all((optimal == size) | (optimal == 0)):
        raise BadShard("its optimal Q does not fit its shape")


def _places(lengths: Ints) -> tuple[Ints, Ints]:
    """For each element of lists one after the other: which list it is in, and its place there."""
    owner: Ints = np.repeat(np.arange(len(lengths)), lengths)
    within: Ints = np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]
    return owner, within


def _stacked(rows: pa.Table, step: str, shape: str, values: dict[str, str]) -> pd.DataFrame:
    """Long table of arrays (times, layers, S, A): columns step, layer, state, action and the values."""
    lengths = _lengths(rows, next(iter(values.values())))
    owner, within = _places(lengths)
    layers, states, actions = _shapes(rows, shape)[owner].T
    steps = _lengths(rows, step)
    time = within // np.maximum(layers * states * actions, 1)
    table = _long(rows, lengths)
    table["step"] = _flat(rows, step)[(np.cumsum(steps) - steps)[owner] + time]
    table["layer"] = within // (states * actions) % layers
    table["state"] = within // actions % states
    table["action"] = within % actions
    for name, column in values.items():
        table[name] = _flat(rows, column)
    return table


def _long(rows: pa.Table, lengths: Ints) -> pd.DataFrame:
    """The columns that say which cell a row belongs to, each cell repeated."""
    table = pd.DataFrame({"cell": np.repeat(rows.column("cell").to_numpy(), lengths)})
    for name in ORDER:
        if name in ("environment", "agent"):
            texts = pd.Categorical(rows.column(name).to_pylist())
            table[name] = pd.Categorical.from_codes(np.repeat(texts.codes, lengths), dtype=texts.dtype)
        else:
            table[name] = np.repeat(rows.column(name).to_numpy(), lengths)
    return table
