"""Run a study in two sweeps, both resumable: tune every family on its grid, then compare the best settings.

    DIR/tuning        every setting of every family with more than one, on the tuning seeds,
    DIR/comparison    the best setting of each, and ours, on seeds 0, 1, 2, ...

Both are ordinary results directories (`steering status`, `steering summary`, `steering.load`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from steering.agents import describe_agent
from steering.envs import make_env
from steering.errors import NotAvailable
from steering.experiments.engine import Report, sweep
from steering.experiments.runner import solve_oracle
from steering.experiments.studies.design import TUNING_SEED, Cell, Design, Family
from steering.experiments.sweep_file import canonical_agent
from steering.results import load

RECORD = {"points": 50, "windows": 1}
Chosen = dict[tuple[str, str], str]
"""Text of the chosen setting for each (cell, family)."""


def run_study(
    design: Design,
    out: str | Path,
    *,
    workers: int | None = None,
    watch: Callable[[Report], None] | None = None,
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
    run_sweep(tuning_sweep(design), directory / "tuning", workers, watch)
    chosen = choose_settings(design, directory / "tuning")
    run_sweep(comparison_sweep(design, chosen), directory / "comparison", workers, watch)
    return finals_of(design, chosen, directory / "comparison"), chosen


def tuning_sweep(design: Design) -> dict[str, Any]:
    """Settings to choose from, as a sweep."""
    blocks = []
    for cell in design.cells:
        agents = [
            s for family in design.of(cell) if _tuned(design, cell, family) for s in design.settings(cell, family)
        ]
        if agents:
            blocks.append(block(cell, agents, first=TUNING_SEED, count=cell.tuning))
    return {"name": f"{design.name}: tuning", "record": RECORD, "blocks": blocks}


def comparison_sweep(design: Design, chosen: Chosen) -> dict[str, Any]:
    """Chosen settings on the seeds of the comparison, as a sweep."""
    blocks = []
    for cell in design.cells:
        by_count: dict[int, list[str]] = {}
        for family in design.of(cell):
            by_count.setdefault(seeds_of(cell, family), []).append(chosen[cell.name, family.name])
        blocks += [block(cell, agents, first=0, count=count) for count, agents in by_count.items()]
    return {"name": f"{design.name}: comparison", "record": RECORD, "blocks": blocks}


def seeds_of(cell: Cell, family: Family) -> int:
    """Seeds of a family on every environment of a cell."""
    if family.most_seeds is None:
        return cell.seeds
    return max(1, min(cell.seeds, family.most_seeds // min(len(cell.environments), 5)))


def choose_settings(design: Design, directory: str | Path) -> Chosen:
    """The setting with the least mean regret over the tuning runs of a cell; the first of equals."""
    tables: dict[tuple[str, str], pd.DataFrame] = {}
    if any(_tuned(design, cell, family) for cell in design.cells for family in design.of(cell)):
        tables = by_agent(scores(directory))
    chosen: Chosen = {}
    for cell in design.cells:
        names = [make_env(environment).name for environment in cell.environments]
        for family in design.of(cell):
            settings = design.settings(cell, family)
            if len(settings) > 1:
                means = [_mean(tables, names, canonical(text), cell.steps) for text in settings]
                settings = [settings[means.index(min(means))]]
            chosen[cell.name, family.name] = settings[0]
    return chosen


def finals_of(design: Design, chosen: Chosen, directory: str | Path) -> pd.DataFrame:
    """Scores of the comparison; lower is better.

    The score is regret / `reward_scale`: normalised regret, for a class of MDPs with the oracle's reward averaged over
    the class (single MDPs may have one near zero or below). Where even that is not positive the score is regret a step
    (`normalised` says which).
    """
    tables = by_agent(scores(directory))
    parts = []
    for cell in design.cells:
        names = [make_env(environment).name for environment in cell.environments]
        scale = reward_scale(cell)
        for family in design.of(cell):
            setting = chosen[cell.name, family.name]
            for name in names:
                rows = rows_of(tables, name, canonical(setting), cell.steps)
                rows = rows[rows["seed"] < seeds_of(cell, family)]
                score = rows["realised_regret"] / (scale or cell.steps)
                parts.append(
                    rows.assign(
                        cell=cell.name, family=family.name, setting=setting, score=score, normalised=scale is not None
                    )
                )
    columns = ["cell", "family", "setting", "environment", "seed", "steps", "score", "normalised"]
    return pd.concat(parts, ignore_index=True)[columns]


def reward_scale(cell: Cell) -> float | None:
    """The oracle's expected total reward, the mean over the environments of a cell; None where it is not positive."""
    totals = []
    for text in cell.environments:
        environment = make_env(text)
        oracle = solve_oracle(environment.table, environment.discount, environment.horizon, cell.steps)
        totals.append(float(oracle.expected.sum()))
    mean = sum(totals) / len(totals)
    return mean if mean > 0 else None


def _tuned(design: Design, cell: Cell, family: Family) -> bool:
    return len(design.settings(cell, family)) > 1


def block(cell: Cell, agents: list[str], first: int, count: int) -> dict[str, Any]:
    """A cell with some agents as a block of a sweep."""
    return {
        "environments": list(cell.environments),
        "agents": list(dict.fromkeys(agents)),
        "steps": cell.steps,
        "seeds": {"first": first, "count": count},
    }


def run_sweep(
    description: dict[str, Any], directory: Path, workers: int | None, watch: Callable[[Report], None] | None
) -> None:
    """Run what is missing of a sweep, all of it or an error."""
    if not description["blocks"]:
        return
    report = sweep(description, directory, workers=workers, watch=watch)
    if not report.complete:
        raise NotAvailable(
            f"{len(report.failed)} of {report.cells} runs of the study failed; see {directory / 'failed'}, then start "
            "the study again."
        )


def scores(directory: str | Path) -> pd.DataFrame:
    """Regrets of all runs of a results directory."""
    return load(directory).finals[["environment", "agent", "steps", "seed", "realised_regret"]]


def by_agent(table: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """The table in parts, by environment and agent."""
    return {(str(e), str(a)): part for (e, a), part in table.groupby(["environment", "agent"], observed=True)}


def rows_of(tables: dict[tuple[str, str], pd.DataFrame], environment: str, agent: str, steps: int) -> pd.DataFrame:
    """Runs of one agent on one environment with a number of steps."""
    part = tables.get((environment, agent))
    if part is None or not (part["steps"] == steps).any():
        raise NotAvailable(f"there is no run of {agent} on {environment} with {steps} steps; run the study again.")
    return part[part["steps"] == steps]


def _mean(tables: dict[tuple[str, str], pd.DataFrame], names: list[str], agent: str, steps: int) -> float:
    return float(sum(rows_of(tables, name, agent, steps)["realised_regret"].mean() for name in names) / len(names))


def canonical(agent: str) -> str:
    """The text that a results directory has for an agent."""
    return describe_agent(canonical_agent(agent, {}))
