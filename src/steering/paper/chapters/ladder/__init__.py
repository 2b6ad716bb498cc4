"""From the literal reading of the paper to the default, one change at a time, and what each change is worth.

The rungs are cumulative: each is the one before it with the named options changed. The first is `preset=paper`, the
fifth `preset=paper-sound`, the last the default.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from steering.agents.steering import SteeringOptions
from steering.paper.chapter import Run, Study
from steering.paper.chapters.default.design import Task
from steering.paper.chapters.default.page import interval
from steering.paper.chapters.default.tuning import scores
from steering.paper.report.text import markdown_table
from steering.paper.scale import with_options

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
        ("learned noise and mean of rewards", {"reward_scale": default.reward_scale}),
        ("plans in the model of the data", {"planning": default.planning}),
        ("novelty of rewards", {"novelty": default.novelty}),
        ("noise on rewards seen", {"reward_noise": default.reward_noise}),
        (
            "information weight: the default",
            {"info_weight": default.info_weight, "weight_unit": default.weight_unit},
        ),
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
    Task("DeepSea 8", ("deepsea:8",), seeds=30),
    Task("DeepSea 15", ("deepsea:15",), seeds=30),
    Task("WideNarrow 1,12", ("widenarrow:1,12",), steps=3000, seeds=30),
    Task("RiverSwim 6", ("riverswim:6",), seeds=30),
    Task("PriorMDP 4x2", tuple(f"priormdp:4,2,seed={seed}" for seed in range(6)), steps=3000, seeds=5),
)


def run_ladder(run: Run, tasks: tuple[Task, ...] = TASKS) -> pd.DataFrame:
    """Run what is missing; scores with columns rung, agent, task, environment, seed, score."""
    blocks = [task.block([text for _, text in rungs()], range(task.seeds)) for task in tasks]
    source = run("ladder", blocks, "runs")
    frames = [
        scores(source, task, text).assign(rung=label, agent=text, task=task.name)
        for label, text in rungs()
        for task in tasks
    ]
    columns = ["rung", "agent", "task", "environment", "seed", "steps", "score", "normalised"]
    return pd.concat(frames, ignore_index=True)[columns]


def answer(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each rung and task: mean score with its 95 % interval."""
    rows = []
    for (rung, agent, task), part in runs.groupby(["rung", "agent", "task"], sort=False):
        one = interval(part)
        known = {"rung": rung, "agent": agent, "task": task, "runs": len(part)}
        rows.append({**known, "mean": one.value, "low": one.low, "high": one.high})
    return pd.DataFrame(rows)


def markdown(runs: pd.DataFrame, table: pd.DataFrame) -> str:
    """The ladder as a table: a line for each rung, a column for each task."""
    rows = [
        [rung, *(f"{one['mean']:.3f} ({one['low']:.3f} to {one['high']:.3f})" for one in part.to_dict("records"))]
        for rung, part in table.groupby("rung", sort=False)
    ]
    return markdown_table(["changed", *dict.fromkeys(table["task"])], rows) + "\n"


STUDY = Study(
    name="ladder",
    title="From the literal paper to the default, one change at a time",
    file="ladder",
    runs=lambda run, quick: run_ladder(run, TASKS[:1] if quick else TASKS),
    answer=answer,
    page=markdown,
    summary=lambda table: markdown(table, table).splitlines(),
)
