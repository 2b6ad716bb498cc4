"""Run the study: tune every family on its grid, then compare the best settings. All runs are resumable.

    DIR/tuning        settings of every family with more than one, on the tuning seeds, by successive halving: all of
                      them on a few seeds, the best third on more, the best two on all,
    DIR/comparison    the best setting of each, and ours, on seeds 0, 1, 2, ...

Both are ordinary results directories (`steering summary`, `steering.load`); `steering status` of the tuning counts its
last round only. Runs are read back by their keys, which have every option and the revision of the numbers in them: a
directory that also holds runs of other settings or of an older program gives the same tables as an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.envs import make_env
from steering.paper.chapter import Run
from steering.paper.chapters.default.design import TUNING_SEED, Design, Task
from steering.paper.scale import Block
from steering.paper.source import Source
from steering.runs.oracle import world_of

Chosen = dict[tuple[str, str], str]
"""Text of the chosen setting for each (task, family)."""
Running = dict[tuple[str, str], list[str]]
"""Settings that are still in the running for each (task, family), in the order of their grid."""


def run_design(run: Run, design: Design) -> pd.DataFrame:
    """Run what is missing; scores of the comparison with columns task, family, setting, environment, seed, score."""
    chosen = tune(run, design)
    source = run(f"{design.name}: comparison", comparison_blocks(design, chosen), "comparison")
    return finals_of(design, chosen, source)


def tune(run: Run, design: Design) -> Chosen:
    """The setting of every family with the least mean regret on the tuning seeds, by successive halving."""
    running = {(t.name, f.name): design.settings(t, f) for t in design.tasks for f in design.of(t)}
    for rung in range(max(len(task.tuning) for task in design.tasks)):
        blocks = tuning_blocks(design, running, rung)
        if blocks:
            source = run(f"{design.name}: tuning, rung {rung + 1}", blocks, "tuning")
            running = survivors(design, running, rung, source)
    return {key: settings[0] for key, settings in running.items()}


def tuning_blocks(design: Design, running: Running, rung: int) -> list[Block]:
    """One rung of the tuning: the settings in the running, where some of them will be dropped."""
    blocks = []
    for task in design.tasks:
        agents = [
            text
            for family in design.of(task)
            if len(running[task.name, family.name]) > kept(design, task, family.name, rung)
            for text in running[task.name, family.name]
        ]
        if agents:
            blocks.append(task.block(agents, tuning_seeds(task, rung)))
    return blocks


def tuning_seeds(task: Task, rung: int) -> range:
    """Seeds of a rung."""
    return range(TUNING_SEED, TUNING_SEED + task.tuning[rung])


def kept(design: Design, task: Task, family: str, rung: int) -> int:
    """How many settings are left after a rung: a third of the grid, then two, after the task's last rung one."""
    last = len(task.tuning) - 1
    if rung >= last:
        return 1
    grid = next(len(design.settings(task, one)) for one in design.of(task) if one.name == family)
    return max(2, -(-grid // 3)) if rung < last - 1 else 2


def survivors(design: Design, running: Running, rung: int, source: Source) -> Running:
    """The best settings of every family after a rung; the first of equals, in the order of the grid."""
    left = dict(running)
    for task in design.tasks:
        for family in design.of(task):
            settings = running[task.name, family.name]
            keep = kept(design, task, family.name, rung)
            if len(settings) > keep:
                seeds = tuning_seeds(task, rung)
                means = [float(np.mean(regrets(source, task, text, seeds).mean(axis=1))) for text in settings]
                best = sorted(np.argsort(means, kind="stable")[:keep])
                left[task.name, family.name] = [settings[i] for i in best]
    return left


def comparison_blocks(design: Design, chosen: Chosen) -> list[Block]:
    """Chosen settings on the seeds of the comparison."""
    return [
        task.block([chosen[task.name, family.name] for family in design.of(task)], range(task.seeds))
        for task in design.tasks
    ]


def finals_of(design: Design, chosen: Chosen, source: Source) -> pd.DataFrame:
    """Scores of the comparison, a row for each run."""
    frames = []
    for task in design.tasks:
        for family in design.of(task):
            setting = chosen[task.name, family.name]
            known: dict[str, Any] = {
                "task": task.name,
                "family": family.name,
                "setting": setting,
                "developed": task.developed,
            }
            frames.append(scores(source, task, setting).assign(**known))
    columns = ["task", "family", "setting", "environment", "seed", "steps", "score", "normalised", "developed"]
    return pd.concat(frames, ignore_index=True)[columns]


def scores(source: Source, task: Task, agent: str) -> pd.DataFrame:
    """Scores of an agent on the seeds of a task; lower is better.

    The score is regret / `oracle_reward`: normalised regret, for a class of MDPs with the oracle's reward averaged over
    the class (single MDPs may have one near zero or below). Where even that is not positive the score is regret a step
    (`normalised` says which).
    """
    reward = oracle_reward(task)
    values = regrets(source, task, agent, range(task.seeds)) / (reward or task.steps)
    environment, seed = np.indices(values.shape).reshape(2, -1)
    names = np.array([make_env(text).name for text in task.environments])
    known: dict[str, Any] = {"steps": task.steps, "normalised": reward is not None}
    return pd.DataFrame({"environment": names[environment], "seed": seed, **known, "score": values.ravel()})


def regrets(source: Source, task: Task, agent: str, seeds: Iterable[int]) -> Floats:
    """Regret of an agent, (environments, seeds)."""
    found = source.regret([task.block([agent], seeds)], agent, normalised=False)
    return found.reshape(len(task.environments), -1)


def oracle_reward(task: Task) -> float | None:
    """The oracle's expected total reward, the mean over the environments of a task; None where it is not positive."""
    totals = []
    for text in task.environments:
        totals.append(float(world_of(make_env(text)).oracle(task.steps).expected.sum()))
    mean = sum(totals) / len(totals)
    return mean if mean > 0 else None
