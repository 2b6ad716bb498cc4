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
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from steering._files import csv_bytes, write_atomically
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.runs.tables import Tabled, count, summary_of
from steering.sweeps.store import lists
from steering.sweeps.store.directory import Store
from steering.sweeps.store.lists import MAX_ROWS, NULLABLE, ORDER
from steering.sweeps.store.plans import canonical, code_text, configuration_id
from steering.sweeps.store.schema import FINALS, SCHEMA
from steering.sweeps.store.shard_files import UNREADABLE, Unreadable, reason_of

TABLES = ("finals", "curves", "visits", "diagnostics", "information", "posterior", "settings")


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
    conflicts
        Cells (keys) with rows of different numbers, of which none is in a table, and where these rows came from.
    """

    def __init__(self, store: Store, environment: str | None = None, agent: str | Sequence[str] | None = None) -> None:
        self.directory = store.directory
        self.problems: list[tuple[str, str]] = []
        self._store = store
        self._keep: dict[str, list[str]] = {}
        for column, texts in (("environment", environment), ("agent", agent)):
            if texts is not None:
                self._keep[column] = [texts] if isinstance(texts, str) else list(texts)
        self.conflicts: dict[str, str] = {}
        self._examined: set[bytes] = set()
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
        do not say; see `settings`. `code` tells the code of your own agents and environments apart.
        """
        rows = self._rows([*FINALS, "config"])
        configs = rows.column("config").combine_chunks().dictionary_encode()
        table = _pandas(rows.drop_columns(["config", "cell"]))
        names = np.array([configuration_id(text) for text in configs.dictionary.to_pylist()], dtype=object)
        table["configuration"] = names[configs.indices.to_numpy()] if len(table) else pd.Series(dtype=object)
        codes = np.array([code_text(text) for text in configs.dictionary.to_pylist()], dtype=object)
        table["code"] = codes[configs.indices.to_numpy()] if len(table) else pd.Series(dtype=object)
        table["key"] = [key.hex() for key in table["key"]]
        for name in NULLABLE:
            table[name] = table[name].astype(np.float64)
        table["normalised_regret"] = table["realised_regret"] / table["oracle_total"]
        table["normalised_expected_regret"] = table["expected_regret"] / table["oracle_total"]
        table["score"] = table["realised_regret"] / table["random_gap"]
        last = ("code", "configuration", "key")
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
        rows = self._rows(
            ["curve_step", *values.values()], lambda r: lists.check_lengths(r, "curve_step", values.values())
        )
        lengths = lists.lengths_of(rows, "curve_step")
        table = lists.repeated(rows, lengths)
        table["step"] = lists.values_of(rows, "curve_step")
        for name, column in values.items():
            known = lists.lengths_of(rows, column) == lengths
            table[name] = np.nan
            table.loc[np.repeat(known, lengths), name] = lists.values_of(rows, column)
        return table

    @cached_property
    def visits(self) -> pd.DataFrame:
        """Visits of each cell to state and action in each window of steps (start, end]; rows of zero are left out."""
        columns = ["visits", "visit_place", "visit_shape", "window_edges"]
        rows = self._rows(columns, lists.check_visits, lists.without_zeros)
        lengths = lists.lengths_of(rows, "visits")
        shapes = lists.shapes_of(rows, "visit_shape")
        edges = lists.values_of(rows, "window_edges")
        edge_starts = np.cumsum(lists.lengths_of(rows, "window_edges")) - lists.lengths_of(rows, "window_edges")
        # Places are below 2^31 (`lists.check_visits`): half the memory, and this is the longest table.
        owner, within = (
            np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
            lists.values_of(rows, "visit_place"),
        )
        _, states, actions = shapes.T.astype(np.int32)
        window = within // (states * actions)[owner]
        table = lists.repeated(rows, lengths)
        table["start"] = edges[edge_starts[owner] + window]
        table["end"] = edges[edge_starts[owner] + window + 1]
        table["state"] = (within // actions[owner] % states[owner]).astype(np.int64)
        table["action"] = (within % actions[owner]).astype(np.int64)
        table["visits"] = lists.values_of(rows, "visits")
        return table

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """Recorded numbers over time: a row for each cell, diagnostic and step."""
        names = ("diagnostic", "diagnostic_step", "diagnostic_value")
        rows = self._rows(names, lambda r: lists.check_lengths(r, names[0], names[1:], empty=False))
        table = lists.repeated(rows, lists.lengths_of(rows, names[0]))
        table["diagnostic"] = pd.Categorical(rows.column(names[0]).combine_chunks().flatten().to_pylist())
        table["step"] = lists.values_of(rows, names[1])
        table["value"] = lists.values_of(rows, names[2])
        return table

    @cached_property
    def information(self) -> pd.DataFrame:
        """Stein information D(s, a) at every plan, where diagnostics were recorded: cell, step, state and action."""
        names = ("information_step", "information_shape", "information")
        rows = self._rows(names, lambda r: lists.check_stacked(r, *names))
        return lists.stacked(rows, *names[:2], {"information": names[2]}).drop(columns="layer")

    @cached_property
    def posterior(self) -> pd.DataFrame:
        """Beliefs about Q: mean and standard deviation for each cell, step, layer, state and action."""
        names = ("posterior_step", "posterior_shape", "posterior_mean", "posterior_std", "posterior_optimal")
        rows = self._rows(names, lists.check_posterior)
        table = lists.stacked(rows, *names[:2], {"mean": names[2], "std": names[3]})
        size = lists.shapes_of(rows, "posterior_shape").prod(axis=1)
        optimal = lists.lengths_of(rows, "posterior_optimal")
        starts = np.cumsum(optimal) - optimal
        owner, within = lists.places_of(lists.lengths_of(rows, "posterior_mean"))
        known = (optimal > 0)[owner]
        at = (starts[owner] + within % np.maximum(size[owner], 1))[known]
        table["optimal"] = np.nan
        table.loc[known, "optimal"] = lists.values_of(rows, "posterior_optimal")[at]
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
                content = csv_bytes(table)
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

    def _rows(
        self,
        columns: Sequence[str],
        check: Callable[[pa.Table], None] = lambda rows: None,
        shrink: Callable[[pa.Table], pa.Table] = lambda rows: rows,
    ) -> pa.Table:
        """Columns of all kept cells, each cell once, in the canonical order; every piece is checked, then shrunk."""
        names = list(dict.fromkeys(["key", *ORDER, *columns]))
        read = list(dict.fromkeys([*names, "config"]))
        problems: list[tuple[str, str]] = []
        tables = [shrink(pa.schema([SCHEMA.field(name) for name in names]).empty_table())]
        values = 0
        for name, pieces in self._store.read(read, problems):
            own = []
            size = values
            try:
                for piece in pieces:
                    own.append(shrink(self._kept(piece, check).select(names)))
                    size += lists.most_values(own[-1])
                    if size > MAX_ROWS:
                        break
            except UNREADABLE as error:
                problems.append((name, reason_of(error)))
                continue
            if size > MAX_ROWS:
                raise NotAvailable(f"the table would have more than {MAX_ROWS} rows; load one environment or agent.")
            values = size
            tables += own
        self._report(problems)
        every = pa.concat_tables(tables)
        self._compare(every.column("key").to_pylist())
        table = _ordered(every, {bytes.fromhex(key) for key in self.conflicts})
        # All tables speak of the cells of the first one that was read, though a sweep may be writing meanwhile.
        keys = table.column("key").to_pylist()
        if self._cells is None:
            self._cells = {key: cell for cell, key in enumerate(keys)}
        numbers = pa.array([self._cells.get(key) for key in keys], pa.int64())
        return table.append_column("cell", numbers).filter(pc.is_valid(numbers))

    def _compare(self, keys: list[bytes]) -> None:
        """See whether rows of one key have the same numbers; each key once."""
        twice = {key for key, count in Counter(keys).items() if count > 1} - self._examined
        self._examined |= twice
        found = {key.hex(): origins for key, origins in self._store.conflicts(twice).items()}
        if not found:
            return
        self.conflicts |= found
        key, origins = next(iter(found.items()))
        warnings.warn(
            f"{len(found)} cell(s) have {origins} (cell {key}).",
            ProblemWarning,
            stacklevel=5,
        )

    def _kept(self, rows: pa.Table, check: Callable[[pa.Table], None]) -> pa.Table:
        """Rows of the cells that were asked for, after all were checked."""
        lists.check_nulls(rows)
        lists.check_claims(rows)
        check(rows)
        for column, texts in self._keep.items():
            rows = rows.filter(pc.is_in(rows.column(column), pa.array(texts, pa.string())))
        return rows

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


def _ordered(table: pa.Table, without: set[bytes]) -> pa.Table:
    """Rows in the canonical order, each key once (its rows are equal but for their time), and some not at all."""
    keys = table.column("key").to_pylist()
    order = pa.table({**{name: table.column(name) for name in ORDER}, "key": pa.array(keys, pa.binary())})
    seen = set(without)
    indices = []
    for i in pc.sort_indices(order, [(name, "ascending") for name in (*ORDER, "key")]).to_pylist():
        if keys[i] not in seen:
            seen.add(keys[i])
            indices.append(i)
    return table.take(pa.array(indices, pa.int64())).combine_chunks()
