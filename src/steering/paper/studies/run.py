"""Run a study in sweeps, all resumable: tune every family on its grid, then compare the best settings.

    DIR/tuning        settings of every family with more than one, on the tuning seeds, by successive halving: all of
                      them on a few seeds, the best third on more, the best two on all,
    DIR/comparison    the best setting of each, and ours, on seeds 0, 1, 2, ...

Both are ordinary results directories (`steering summary`, `steering.load`); `steering status` of the tuning counts its
last round only. Runs are read back by their keys, which have every option and the revision of the numbers in them: a
directory that also holds runs of other settings or of an older program gives the same tables as an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.agents import describe_agent, make_agent
from steering.envs import make_env
from steering.errors import NotAvailable
from steering.paper.studies.design import TUNING_SEED, Cell, Design
from steering.runs.oracle import world_of
from steering.sweeps.cells import Plan
from steering.sweeps.engine import Report, sweep
from steering.sweeps.store.load import load
from steering.sweeps.sweep_file import read_sweep

RECORD = {"points": 50, "windows": 1}
Chosen = dict[tuple[str, str], str]
"""Text of the chosen setting for each (cell, family)."""
Running = dict[tuple[str, str], list[str]]
"""Settings that are still in the running for each (cell, family), in the order of their grid."""
Watch = Callable[[Report], None] | None


def run_study(
    design: Design, out: str | Path, *, workers: int | None = None, watch: Watch = None
) -> tuple[pd.DataFrame, Chosen]:
    """Run what is missing of a study.

    Parameters
    ----------
    design
        What to compare, for example `default_design()`.
    out
        Directory of the study; start again with the same one to continue.
    workers, watch
        As for `steering.sweep`.

    Returns
    -------
    finals
        Table of the comparison: columns cell, family, setting, environment, seed, score, normalised.
    chosen
        The setting that each family took part with.
    """
    directory = Path(out)
    chosen = tune(design, directory / "tuning", workers=workers, watch=watch)
    scores = run_sweep(comparison_sweep(design, chosen), directory / "comparison", workers, watch)
    return finals_of(design, chosen, scores), chosen


def tune(design: Design, directory: Path, *, workers: int | None = None, watch: Watch = None) -> Chosen:
    """The setting of every family with the least mean regret on the tuning seeds, by successive halving."""
    running = {(c.name, f.name): design.settings(c, f) for c in design.cells for f in design.of(c)}
    for rung in range(max(len(cell.tuning) for cell in design.cells)):
        description = tuning_sweep(design, running, rung)
        if description["blocks"]:
            scores = run_sweep(description, directory, workers, watch)
            running = survivors(design, running, rung, scores)
    return {key: settings[0] for key, settings in running.items()}


def tuning_sweep(design: Design, running: Running, rung: int) -> dict[str, Any]:
    """One rung of the tuning as a sweep: the settings in the running, where some of them will be dropped."""
    blocks = []
    for cell in design.cells:
        agents = [
            text
            for family in design.of(cell)
            if len(running[cell.name, family.name]) > kept(design, cell, family.name, rung)
            for text in running[cell.name, family.name]
        ]
        if agents:
            blocks.append(block(cell, agents, first=TUNING_SEED, count=cell.tuning[rung]))
    return {"name": f"{design.name}: tuning, rung {rung + 1}", "record": RECORD, "blocks": blocks}


def kept(design: Design, cell: Cell, family: str, rung: int) -> int:
    """How many settings are left after a rung: a third of the grid, then two, after the cell's last rung one."""
    last = len(cell.tuning) - 1
    if rung >= last:
        return 1
    grid = next(len(design.settings(cell, one)) for one in design.of(cell) if one.name == family)
    return max(2, -(-grid // 3)) if rung < last - 1 else 2


def survivors(design: Design, running: Running, rung: int, scores: Scores) -> Running:
    """The best settings of every family after a rung; the first of equals, in the order of the grid."""
    left = dict(running)
    for cell in design.cells:
        for family in design.of(cell):
            settings = running[cell.name, family.name]
            keep = kept(design, cell, family.name, rung)
            if len(settings) > keep:
                seeds = range(TUNING_SEED, TUNING_SEED + cell.tuning[rung])
                means = [float(np.mean([x.mean() for x in scores.of(cell, text, seeds).values()])) for text in settings]
                best = sorted(np.argsort(means, kind="stable")[:keep])
                left[cell.name, family.name] = [settings[i] for i in best]
    return left


def comparison_sweep(design: Design, chosen: Chosen) -> dict[str, Any]:
    """Chosen settings on the seeds of the comparison, as a sweep."""
    blocks = [
        block(cell, [chosen[cell.name, family.name] for family in design.of(cell)], first=0, count=cell.seeds)
        for cell in design.cells
    ]
    return {"name": f"{design.name}: comparison", "record": RECORD, "blocks": blocks}


def finals_of(design: Design, chosen: Chosen, scores: Scores) -> pd.DataFrame:
    """Scores of the comparison; lower is better.

    The score is regret / `reward_scale`: normalised regret, for a class of MDPs with the oracle's reward averaged over
    the class (single MDPs may have one near zero or below). Where even that is not positive the score is regret a step
    (`normalised` says which).
    """
    rows: list[dict[str, Any]] = []
    for cell in design.cells:
        scale = oracle_reward(cell)
        known = {"cell": cell.name, "steps": cell.steps, "normalised": scale is not None}
        for family in design.of(cell):
            setting = chosen[cell.name, family.name]
            for environment, regrets in scores.of(cell, setting, range(cell.seeds)).items():
                for seed, regret in enumerate(regrets):
                    rows.append(
                        known
                        | {"family": family.name, "setting": setting, "environment": environment, "seed": seed}
                        | {"score": float(regret) / (scale or cell.steps)}
                    )
    columns = ["cell", "family", "setting", "environment", "seed", "steps", "score", "normalised"]
    return pd.DataFrame(rows)[columns]


def oracle_reward(cell: Cell) -> float | None:
    """The oracle's expected total reward, the mean over the environments of a cell; None where it is not positive."""
    totals = []
    for text in cell.environments:
        environment = make_env(text)
        totals.append(float(world_of(environment).oracle(cell.steps).expected.sum()))
    mean = sum(totals) / len(totals)
    return mean if mean > 0 else None


def block(cell: Cell, agents: list[str], first: int, count: int) -> dict[str, Any]:
    """A cell with some agents as a block of a sweep."""
    return {
        "environments": list(cell.environments),
        "agents": list(dict.fromkeys(agents)),
        "steps": cell.steps,
        "seeds": {"first": first, "count": count},
    }


def run_sweep(description: dict[str, Any], directory: Path, workers: int | None, watch: Watch) -> Scores:
    """Run what is missing of a sweep, all of it or an error; the regrets of its runs."""
    wanted = read_sweep(description)
    report = sweep(wanted, directory, workers=workers, watch=watch)
    if not report.complete:
        raise NotAvailable(
            f"{len(report.failed)} of {report.cells} runs of the study failed; see {directory / 'failed'}, then start "
            "the study again."
        )
    return Scores(wanted.plan, directory)


class Scores:
    """Regrets of the runs of a plan, found by key; other runs of the results directory are not looked at."""

    def __init__(self, plan: Plan, directory: str | Path) -> None:
        table = load(directory).finals
        self._regrets = dict(zip(table["key"], table["realised_regret"].astype(np.float64), strict=True))
        # Within one plan a text stands for one set of options; among the runs of a directory it may not.
        self._groups = {(g.config["environment"], g.config["agent"], g.config["steps"]): g for g in plan.groups}

    def of(self, cell: Cell, agent: str, seeds: Iterable[int]) -> dict[str, Floats]:
        """Regrets of an agent on every environment of a cell, in the order of the seeds."""
        found = {}
        for environment in cell.environments:
            name = _name(environment)
            group = self._groups.get((name, canonical(agent), cell.steps))
            keys = [] if group is None else [group.key(seed).hex() for seed in seeds]
            if group is None or any(key not in self._regrets for key in keys):
                raise NotAvailable(f"a run of {agent} on {name} with {cell.steps} steps is missing; start again.")
            found[name] = np.array([self._regrets[key] for key in keys])
        return found


def canonical(agent: str) -> str:
    """The text that a plan has for an agent."""
    return describe_agent(make_agent(agent))


@cache
def _name(environment: str) -> str:
    """The text that a plan has for an environment."""
    return make_env(environment).name
