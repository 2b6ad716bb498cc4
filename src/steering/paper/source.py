"""What figures and claims read: finished runs, looked up by the blocks that asked for them.

A results directory holds the runs of all chapters that were made in it, all of one size. Cells are found by their keys,
so each figure sees the runs it asked for and nothing else. Rows of one block come in the order environment, seed for
every agent, so that two agents are paired row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from steering._types import Floats, Ints
from steering.errors import NotAvailable
from steering.paper.scale import Block, Scale
from steering.sweeps.store.load import Results
from steering.sweeps.sweep_file import read_sweep

Blocks = Sequence[Block]

SCALARS = ("info_weight", "gain", "regret", "ratio", "value_gap")
"""Diagnostics of a plan that are single numbers."""


@dataclass(frozen=True)
class Trace:
    """Diagnostics of one run: arrays over plans; `information` is (plans, S, A). See `steering.runs.Diagnostics`."""

    plan_times: Ints
    info_weight: Floats
    gain: Floats
    regret: Floats
    ratio: Floats
    value_gap: Floats
    information: Floats

    @property
    def plans(self) -> int:
        """Number of plans K."""
        return int(self.plan_times.size)

    @property
    def bound(self) -> float:
        """Right side of theorem 4.1, sqrt(Gamma* K sum of the gains)."""
        return float(np.sqrt(self.ratio.max() * self.plans * self.gain.sum()))

    @property
    def theory_weight(self) -> float:
        """The regularised theorem's lambda = sqrt(K Gamma* / sum of the gains); NaN where nothing was to be learnt."""
        total = float(self.gain.sum())
        return float(np.sqrt(self.plans * self.ratio.max() / total)) if total > 0 else np.nan


def stacked(traces: Iterable[Trace], name: str) -> Floats:
    """One field of several traces of equal length, seeds first."""
    return np.array([getattr(one, name) for one in traces], dtype=np.float64)


class Source:
    """Finished runs of a reproduction; every method takes the blocks of a figure and one agent."""

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results = results
        self.scale = scale

    @cached_property
    def _cells(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self.results.finals["key"])}

    def cells(self, blocks: Blocks, agent: str) -> list[int]:
        """Row numbers of the cells of an agent, ordered by block, environment and seed."""
        found = []
        for block in blocks:
            for key in _keys(block, agent):
                if key not in self._cells:
                    raise NotAvailable(
                        f"a run of '{agent}' on {', '.join(block.environments)} is missing in "
                        f"{self.results.directory}; run steering reproduce again."
                    )
                found.append(self._cells[key])
        return found

    def regret(self, blocks: Blocks, agent: str, *, normalised: bool = True) -> Floats:
        """Final realised regret of every run."""
        rows = self.results.finals.iloc[self.cells(blocks, agent)]
        return rows["normalised_regret" if normalised else "realised_regret"].to_numpy(dtype=np.float64)

    def seconds(self, blocks: Blocks, agent: str) -> Floats:
        """Wall time of every run (the only thing here that differs from run to run)."""
        return self.results.timings["seconds"].iloc[self.cells(blocks, agent)].to_numpy(dtype=np.float64)

    def curves(
        self, blocks: Blocks, agent: str, *, normalised: bool = True, kind: str = "regret"
    ) -> tuple[Ints, Floats]:
        """Steps and cumulative regret (runs, points); `kind` is "regret" or "expected_regret"."""
        cells = self.cells(blocks, agent)
        table = self.results.curves
        rows = [_rows(table, self._curve_starts, cell) for cell in cells]
        steps = table["step"].to_numpy()[rows[0]]
        heights = np.array([table[kind].to_numpy()[one] for one in rows])
        if normalised:
            heights /= self.results.finals["oracle_total"].to_numpy(dtype=np.float64)[cells, None]
        return steps.astype(np.int64), heights

    def visits(self, blocks: Blocks, agent: str, shape: tuple[int, int]) -> Floats:
        """Visits (runs, windows, S, A)."""
        table = self.results.visits
        columns = {name: table[name].to_numpy() for name in ("start", "state", "action", "visits")}
        block = blocks[0]
        edges = np.linspace(0, block.steps, min(block.windows, block.steps) + 1).round().astype(np.int64)
        found = []
        for cell in self.cells(blocks, agent):
            rows = _rows(table, self._visit_starts, cell)
            counts = np.zeros((edges.size - 1, *shape))
            window = np.searchsorted(edges, columns["start"][rows], side="right") - 1
            counts[window, columns["state"][rows], columns["action"][rows]] = columns["visits"][rows]
            found.append(counts)
        return np.array(found)

    def posterior(self, blocks: Blocks, agent: str) -> tuple[Ints, Floats, Floats, Floats]:
        """Steps, mean and standard deviation of Q (runs, times, S, A), and Q* (S, A), in the continuing setting."""
        table = self.results.posterior
        means, stds = [], []
        steps: Ints = np.empty(0, dtype=np.int64)
        optimal: Floats = np.empty(0)
        for cell in self.cells(blocks, agent):
            rows = table.iloc[_rows(table, self._posterior_starts, cell)]
            steps = np.unique(rows["step"].to_numpy(dtype=np.int64))
            shape = (steps.size, int(rows["state"].max()) + 1, int(rows["action"].max()) + 1)
            means.append(rows["mean"].to_numpy(dtype=np.float64).reshape(shape))
            stds.append(rows["std"].to_numpy(dtype=np.float64).reshape(shape))
            optimal = rows["optimal"].to_numpy(dtype=np.float64).reshape(shape)[0]
        return steps, np.array(means), np.array(stds), optimal

    def traces(self, blocks: Blocks, agent: str) -> list[Trace]:
        """What every plan rested on, for every run."""
        numbers, tables = self.results.diagnostics, self.results.information
        values, steps = numbers["value"].to_numpy(), numbers["step"].to_numpy()
        kinds = numbers["diagnostic"].to_numpy()
        information = tables["information"].to_numpy()
        found = []
        for cell in self.cells(blocks, agent):
            rows, inner = _rows(numbers, self._diagnostic_starts, cell), _rows(tables, self._information_starts, cell)
            names = kinds[rows]
            fields = {name: values[rows][names == name] for name in SCALARS}
            times = steps[rows][names == SCALARS[0]].astype(np.int64)
            shape = (times.size, *(int(tables[axis].iloc[inner].max()) + 1 for axis in ("state", "action")))
            found.append(Trace(plan_times=times, information=information[inner].reshape(shape), **fields))
        return found

    @cached_property
    def _diagnostic_starts(self) -> Ints:
        return _starts(self.results.diagnostics, len(self.results.finals))

    @cached_property
    def _information_starts(self) -> Ints:
        return _starts(self.results.information, len(self.results.finals))

    @cached_property
    def _curve_starts(self) -> Ints:
        return _starts(self.results.curves, len(self.results.finals))

    @cached_property
    def _visit_starts(self) -> Ints:
        return _starts(self.results.visits, len(self.results.finals))

    @cached_property
    def _posterior_starts(self) -> Ints:
        return _starts(self.results.posterior, len(self.results.finals))


@lru_cache(maxsize=4096)
def _keys(block: Block, agent: str) -> tuple[str, ...]:
    description = {**block.description(), "agents": [agent]}
    plan = read_sweep(description).plan
    return tuple(plan.key(index).hex() for index in range(len(plan)))


def _starts(table: pd.DataFrame, cells: int) -> Ints:
    """First row of each cell in a long table, whose rows are ordered by cell."""
    return np.searchsorted(table["cell"].to_numpy(), np.arange(cells + 1)).astype(np.int64)


def _rows(table: pd.DataFrame, starts: Ints, cell: int) -> slice:
    return slice(int(starts[cell]), int(starts[cell + 1]))
