"""Runs and how they are read: blocks are run by the sweep engine, and looked up again by the block that asked for them.

A results directory may hold other runs too. Cells are found by their keys, taken from the plan of the sweep, so each
figure sees the runs it asked for and nothing else. Rows of one block come in the order environment, seed for every
agent, so that two agents are paired row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steering._types import Floats, Ints
from steering.agents import describe_agent, make_agent
from steering.envs import make_env
from steering.errors import NotAvailable
from steering.paper.scale import Block
from steering.sweeps.cells import Group, Plan
from steering.sweeps.engine import Report, sweep
from steering.sweeps.store.load import Results, load
from steering.sweeps.sweep_file import read_sweep

Blocks = Sequence[Block]
Watch = Callable[[Report], None] | None

SCALARS = ("info_weight", "gain", "regret", "ratio", "value_gap")
"""Diagnostics of a plan that are single numbers."""


def run_blocks(
    name: str,
    blocks: Blocks,
    directory: Path,
    *,
    workers: int | None = None,
    watch: Watch = None,
) -> tuple[Source, Report | None]:
    """Run what is missing of some blocks, each cell once; all of it, or an error. No report where nothing is wanted."""
    if not blocks:
        (directory / "shards").mkdir(parents=True, exist_ok=True)
        return Source(load(directory), Plan([])), None
    wanted = read_sweep({"name": name, "blocks": [block.description() for block in dict.fromkeys(blocks)]})
    done = sweep(wanted, directory, workers=workers, watch=watch)
    if done.failed:
        key, message = next(iter(done.failed.items()))
        raise NotAvailable(
            f"{len(done.failed)} runs failed, the first ({key}) with: {message}; see {directory / 'failed'}, then try "
            f"again with: steering retry {directory}"
        )
    return Source(load(directory), wanted.plan), done


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


def in_force(times: Ints, grid: Ints) -> Ints:
    """For every step of a grid the number of the last of some times that is not after it."""
    return np.maximum(np.searchsorted(times, grid, side="right") - 1, 0)


def stacked(traces: Sequence[Trace], name: str) -> tuple[Ints, Floats]:
    """Times, and one field of several traces at these times, seeds first.

    An agent that decides itself when to plan does so at other times with each seed. Then the times are those of the
    seed with the fewest plans, and the others have what their plan in force rested on.
    """
    times = min((one.plan_times for one in traces), key=len)
    values = [getattr(one, name)[in_force(one.plan_times, times)] for one in traces]
    return times, np.array(values, dtype=np.float64)


class Source:
    """Finished runs of a sweep; every method takes the blocks of a figure and one agent."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self.results = results
        self._groups = {_place(group.config): group for group in plan.groups}

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self.results.finals["key"])}

    def cells(self, blocks: Blocks, agent: str) -> list[int]:
        """Row numbers of the cells of an agent, ordered by block, environment and seed."""
        found = []
        for block in blocks:
            for environment in block.environments:
                group = self._group(block, environment, agent)
                keys = [group.key(seed).hex() for seed in block.seeds] if group else [""]
                if any(key not in self._rows for key in keys):
                    raise NotAvailable(
                        f"a run of '{agent}' on {environment} is missing in {self.results.directory}; start again."
                    )
                found += [self._rows[key] for key in keys]
        return found

    def _group(self, block: Block, environment: str, agent: str) -> Group | None:
        known = {"environment": _environment(environment), "agent": canonical(agent)}
        return self._groups.get(_place({**block.description(), **known}))

    def regret(self, blocks: Blocks, agent: str, *, normalised: bool = True) -> Floats:
        """Final realised regret of every run."""
        rows = self.results.finals.iloc[self.cells(blocks, agent)]
        return rows["normalised_regret" if normalised else "realised_regret"].to_numpy(dtype=np.float64)

    def scores(self, blocks: Blocks, agent: str, last: float) -> tuple[Floats, Floats]:
        """Regret / (optimal - random policy) of every run, and the same of its last part (a share of the steps)."""
        gap = self.results.finals["random_gap"].iloc[self.cells(blocks, agent)].to_numpy(dtype=np.float64)
        steps, heights = self.curves(blocks, agent, normalised=False)
        since = int(np.searchsorted(steps, (1 - last) * steps[-1]))
        length = (steps[-1] - steps[since]) / steps[-1]
        return heights[:, -1] / gap, (heights[:, -1] - heights[:, since]) / (gap * length)

    def seconds(self, blocks: Blocks, agent: str) -> Floats:
        """Wall time of every run (the only thing here that differs from run to run)."""
        return self.results.timings["seconds"].iloc[self.cells(blocks, agent)].to_numpy(dtype=np.float64)

    def curves(
        self, blocks: Blocks, agent: str, *, normalised: bool = True, kind: str = "regret"
    ) -> tuple[Ints, Floats]:
        """Steps and cumulative regret (runs, points); `kind` is "regret" or "expected_regret"."""
        cells = self.cells(blocks, agent)
        table = self.results.curves
        rows = [self._rows_of("curves", cell) for cell in cells]
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
            rows = self._rows_of("visits", cell)
            counts = np.zeros((edges.size - 1, *shape))
            window = np.searchsorted(edges, columns["start"][rows], side="right") - 1
            counts[window, columns["state"][rows], columns["action"][rows]] = columns["visits"][rows]
            found.append(counts)
        return np.array(found)

    def posterior(self, blocks: Blocks, agent: str) -> tuple[Ints, Floats, Floats, Floats]:
        """Steps, mean and standard deviation of Q (runs, times, S, A), and Q* (S, A), in the continuing setting."""
        table = self.results.posterior
        found = []
        optimal: Floats = np.empty(0)
        for cell in self.cells(blocks, agent):
            rows = table.iloc[self._rows_of("posterior", cell)]
            steps = np.unique(rows["step"].to_numpy(dtype=np.int64))
            shape = (steps.size, int(rows["state"].max()) + 1, int(rows["action"].max()) + 1)
            mean, std, best = (
                rows[name].to_numpy(dtype=np.float64).reshape(shape) for name in ("mean", "std", "optimal")
            )
            found.append((steps, mean, std))
            optimal = best[0]
        times = min((steps for steps, _, _ in found), key=len)  # as in `stacked`
        means = np.array([mean[in_force(steps, times)] for steps, mean, _ in found])
        stds = np.array([std[in_force(steps, times)] for steps, _, std in found])
        return times, means, stds, optimal

    def traces(self, blocks: Blocks, agent: str) -> list[Trace]:
        """What every plan rested on, for every run."""
        numbers, tables = self.results.diagnostics, self.results.information
        values, steps = numbers["value"].to_numpy(), numbers["step"].to_numpy()
        kinds = numbers["diagnostic"].to_numpy()
        information = tables["information"].to_numpy()
        found = []
        for cell in self.cells(blocks, agent):
            rows, inner = self._rows_of("diagnostics", cell), self._rows_of("information", cell)
            names = kinds[rows]
            fields = {name: values[rows][names == name] for name in SCALARS}
            times = steps[rows][names == SCALARS[0]].astype(np.int64)
            shape = (times.size, *(int(tables[axis].iloc[inner].max()) + 1 for axis in ("state", "action")))
            found.append(Trace(plan_times=times, information=information[inner].reshape(shape), **fields))
        return found

    def _rows_of(self, table: str, cell: int) -> slice:
        """Rows of a cell in a long table, whose rows are ordered by cell."""
        if table not in self._starts:
            column: pd.Series[Any] = getattr(self.results, table)["cell"]
            self._starts[table] = np.searchsorted(column.to_numpy(), np.arange(len(self.results.finals) + 1))
        starts = self._starts[table]
        return slice(int(starts[cell]), int(starts[cell + 1]))

    @cached_property
    def _starts(self) -> dict[str, Any]:
        return {}


def _place(config: Any) -> tuple[Any, ...]:
    """What tells the groups of a plan apart, from a configuration or a block's description."""
    record = config["record"]
    kept = (record["points"], record["windows"], record["snapshots"], *sorted(record["extra"]))
    return config["environment"], config["agent"], config["steps"], kept


@cache
def canonical(agent: str) -> str:
    """The text that a plan has for an agent."""
    return describe_agent(make_agent(agent))


@cache
def _environment(text: str) -> str:
    """The text that a plan has for an environment."""
    return make_env(text).name
