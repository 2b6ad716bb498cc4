"""From the literal reading of the paper to the default, one change at a time, and what each change is worth.

The rungs are cumulative: each is the one before it with the named options changed. The first is `preset=paper`, the
fifth `preset=paper-sound`, the thirteenth `preset=v1`, the last the default.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from steering.agents.steering_options import SteeringOptions
from steering.paper.chapter import Run, Study, Wish
from steering.paper.fits import strata_effect
from steering.paper.report.text import markdown_table
from steering.paper.scale import Block, with_options
from steering.paper.tables import Tables
from steering.paper.task import Task
from steering.runs.tables import FAILED

LITERAL = "steering:preset=paper"


def _rungs() -> list[tuple[str, dict[str, Any]]]:
    """Label and changed options of each rung; values of the last ones are those of the default."""
    default = SteeringOptions()
    return [
        ("literal: `preset=paper`", {}),
        ("sound operator", {"operator": "barker"}),
        ("expectation over the posterior, 10 draws", {"expectation": "draws", "draws": 10}),
        ("selection feeds the dictionary only", {"selection": "dictionary"}),
        ("plans in the mean model: `preset=paper-sound`", {"planning": "mean", "novelty": 0.0, "reward_noise": 0.0}),
        ("reference is the posterior mean, no dictionary", {"reference": default.reference, "selection": "none"}),
        ("exact expectation", {"expectation": default.expectation, "draws": default.draws}),
        ("learned concentration", {"concentration": default.concentration}),
        ("learned noise and mean of rewards", {"reward_scale": "learned"}),
        ("plans in the model of the data", {"planning": default.planning}),
        ("novelty of rewards", {"novelty": default.novelty}),
        ("noise on rewards seen", {"reward_noise": 1.0}),
        ("information weight: `preset=v1`", {"info_weight": 0.3, "weight_unit": default.weight_unit}),
        ("plans when something was learned", {"replan": default.replan}),
        ("rewards never seen are alike, less noise", {"unseen": default.unseen, "reward_noise": default.reward_noise}),
        ("the spread of rewards is learned", {"reward_scale": default.reward_scale}),
        ("information about value instead of everything", {"value_weight": default.value_weight, "info_weight": 0.0}),
        ("plans for the long run", {"far": default.far}),
        ("pairs tried less than others are worth more with time", {"persistence": default.persistence}),
        ("excursions", {"excursions": default.excursions}),
        ("actions of a state lead to like places", {"rows": default.rows}),
        ("chances as even as the data say: the default", {"evenness": default.evenness}),
    ]


def rungs() -> list[tuple[str, str]]:
    """Label and text of every rung."""
    options: dict[str, Any] = {}
    out = []
    for label, changes in _rungs():
        options |= changes
        out.append((label, with_options(LITERAL, **options)))
    return out


TASKS = (
    Task("DeepSea 8", "DeepSea", ("deepsea:8",), steps=2000),
    Task("DeepSea 15", "DeepSea", ("deepsea:15",), steps=3000),
    Task("RiverSwim 6", "RiverSwim", ("riverswim:6",), steps=2000),
    Task("PriorMDP 4x2", "PriorMDP", tuple(f"priormdp:4,2,seed={seed}" for seed in range(10)), steps=2000),
    Task("lock 4,4", "lock", tuple(f"lock:4,4,slip=0.1,lure=0.05,seed={seed}" for seed in range(10)), steps=2000),
    Task("maintenance 8", "maintenance", tuple(f"maintenance:8,seed={seed}" for seed in range(10)), steps=2000),
)


def blocks(tasks: tuple[Task, ...] = TASKS) -> list[Block]:
    """All rungs in all tasks."""
    return [one for task in tasks for one in task.blocks([text for _, text in rungs()], task.seeds(0, task.runs))]


def run_ladder(run: Run, tasks: tuple[Task, ...] = TASKS) -> pd.DataFrame:
    """Run what is missing; scores with columns rung, agent, task, environment, seed, score, late."""
    source = run("ladder", blocks(tasks), "ladder")
    frames = [
        task.scores(source, text, task.seeds(0, task.runs)).assign(rung=label, agent=text, task=task.name)
        for label, text in rungs()
        for task in tasks
    ]
    columns = ["rung", "agent", "task", "environment", "seed", "score", "late"]
    return pd.concat(frames, ignore_index=True)[columns]


def answer(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each rung and task: mean score with its 95 % interval, share of failed runs."""
    rows = []
    for (rung, agent, task), part in runs.groupby(["rung", "agent", "task"], sort=False):
        one = strata_effect([each["score"].to_numpy(dtype=np.float64) for _, each in part.groupby("environment")])
        known = {"rung": rung, "agent": agent, "task": task, "runs": len(part), "mean": one.value}
        rows.append({**known, "low": one.low, "high": one.high, "failed": float((part["score"] > FAILED).mean())})
    return pd.DataFrame(rows)


def markdown(table: pd.DataFrame) -> str:
    """The ladder as a table: a line for each rung, a column for each task; failed runs in brackets."""
    tasks = list(dict.fromkeys(table["task"]))
    rows = []
    for rung, part in table.groupby("rung", sort=False):
        cells = [f"{one['mean']:.3f} ({100 * one['failed']:.0f} %)" for one in part.to_dict("records")]
        overall = f"**{part['mean'].mean():.3f}** ({100 * part['failed'].mean():.0f} %)"
        rows.append([rung, *cells, overall])
    return markdown_table(["changed", *tasks, "mean"], rows)


def _runs(run: Run, wish: Wish) -> pd.DataFrame:
    return run_ladder(run, _tasks(wish))


def _tasks(wish: Wish) -> tuple[Task, ...]:
    return TASKS[:1] if wish.smoke else TASKS


def _tables(runs: pd.DataFrame, wish: Wish) -> Tables:
    return {"ladder": answer(runs)}


STUDY = Study(
    name="ladder",
    title="From the literal paper to the default, one change at a time",
    file="ladder",
    blocks=lambda wish: blocks(_tasks(wish)),
    runs=_runs,
    answer=_tables,
    page=lambda tables: markdown(tables["ladder"]) + "\n",
    summary=lambda tables: markdown(tables["ladder"]).splitlines(),
)
