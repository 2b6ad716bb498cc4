"""Run the study: development, tuning, confirmation, ladder; what is there is not run again.

    DIR/development    every setting of every rival, ours and one of its controls on the development tasks,
    DIR/tuning         every setting of every rival on the confirmation tasks, on runs from 100 on,
    DIR/confirmation   ours, its controls, and every rival as published, at its one setting and tuned, on runs 0, 1, ...
    DIR/ladder         the rungs from the paper to the default

All are ordinary results directories (`steering summary`, `steering.load`). Runs are read back by their keys, which have
every option and the revision of the numbers in them: a directory that also holds runs of other settings or of an older
program gives the same tables as an empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from steering.paper.chapter import Run, Wish
from steering.paper.chapters import ladder
from steering.paper.chapters.default.rivals import OURS, RIVALS, WATCHED, Rival, controls, rivals_of
from steering.paper.chapters.default.tasks import CONFIRMATION, DEVELOPMENT, DEVELOPMENT_SEED, TUNING_SEED
from steering.paper.scale import Block
from steering.paper.source import Source
from steering.paper.task import Task

DEV, CONF, LADDER = "development", "confirmation", "ladder"
PUBLISHED, SINGLE, TUNED, CONTROL, MINE = "published", "single", "tuned", "control", "ours"
MODES = {PUBLISHED: "as published", SINGLE: "at one setting", TUNED: "tuned in the task"}
"""Ways in which a rival takes part."""
GRID = "grid"


@dataclass(frozen=True)
class Design:
    """Everything that is run.

    Attributes
    ----------
    development_runs, tuning_runs
        Runs of a setting in a development task, and in a confirmation task for tuning.
    agents
        Agents of the user's own, compared as they are given.
    """

    development: tuple[Task, ...] = DEVELOPMENT
    confirmation: tuple[Task, ...] = CONFIRMATION
    rivals: tuple[Rival, ...] = RIVALS
    development_runs: int = 3
    tuning_runs: int = 3
    agents: tuple[str, ...] = ()
    ladder: tuple[Task, ...] = ladder.TASKS

    def ours(self, task: Task) -> dict[tuple[str, str], str]:
        """Settings that are run as they are with all runs of a task, by (name, how)."""
        found = {(OURS, MINE): OURS, **{(text, PUBLISHED): text for text in self.agents}}
        known = {} if task.large else controls()
        if task in self.development:
            known = {name: text for name, text in known.items() if name in WATCHED}
        return {**found, **{(name, CONTROL): text for name, text in known.items()}}

    def tuning(self, task: Task) -> Task:
        """A confirmation task as settings are tuned in it; where runs take long there are fewer."""
        return task.few(max(1, self.tuning_runs // 2) if task.large else self.tuning_runs)


def design(wish: Wish) -> Design:
    """The study that is wished for; `smoke` is one of seconds that shows that everything works."""
    if not wish.smoke:
        return Design(agents=wish.agents)
    # None of the confirmation: looking at a trial of the machinery must not be looking at those.
    named = {task.name: task for task in DEVELOPMENT}
    few = [
        replace(named[name], steps=200, runs=6) for name in ("DeepSea 8", "lock 6,5", "RiverSwim 12", "maintenance 12")
    ]
    few = [replace(task, environments=task.environments[:2]) for task in few]
    chosen = [replace(one, settings=one.settings[:2]) for one in RIVALS if one.name in ("psrl", "ids", "ucb_q")]
    rungs = tuple(replace(task, steps=60, runs=3) for task in ladder.TASKS[:1])
    return Design(tuple(few[:2]), tuple(few[2:]), tuple(chosen), 2, 2, wish.agents, rungs)


def run_stages(run: Run, wish: Wish) -> pd.DataFrame:
    """Run what is missing; a row for each run: stage, task, rival, how, setting, environment, seed, score, late."""
    made = design(wish)
    source = run("study: development", development_blocks(made), DEV)
    developed = development_table(made, source)
    if wish.stage == DEV:
        return developed
    single = single_settings(made, developed)
    tuned = tuned_settings(made, run("study: tuning", tuning_blocks(made), "tuning"))
    source = run("study: confirmation", confirmation_blocks(made, single, tuned), CONF)
    confirmed = confirmation_table(made, single, tuned, source)
    return pd.concat([developed, confirmed, ladder_table(made, run)], ignore_index=True)


def all_blocks(wish: Wish) -> list[Block]:
    """What will be run, for an estimate: the published setting stands for those that are not known yet."""
    made = design(wish)
    blocks = development_blocks(made)
    if wish.stage == DEV:
        return blocks
    first = {rival.name: rival.settings[0] for rival in made.rivals}
    last = {(task.name, rival.name): rival.settings[-1] for task in made.confirmation for rival in made.rivals}
    blocks += [*tuning_blocks(made), *confirmation_blocks(made, first, last)]
    return blocks + ladder.blocks(made.ladder)


# Blocks --------------------------------------------------------------------------------------------------------------


def _grid(made: Design, task: Task) -> list[str]:
    return [text for rival in rivals_of(task, made.rivals) for text in rival.settings]


def development_blocks(made: Design) -> list[Block]:
    """Grids on the development tasks, ours and one control there with all runs."""
    found = []
    for task in made.development:
        few = task.few(made.development_runs)
        found += few.blocks(_grid(made, task), few.seeds(DEVELOPMENT_SEED, few.runs))
        found += task.blocks(made.ours(task).values(), task.seeds(DEVELOPMENT_SEED, task.runs))
    return found


def tuning_blocks(made: Design) -> list[Block]:
    """Grids on the confirmation tasks, on runs that are not those of the comparison."""
    return [
        one
        for task in map(made.tuning, made.confirmation)
        for one in task.blocks(_grid(made, task), task.seeds(TUNING_SEED, task.runs))
    ]


Single = dict[str, str]
Tuned = dict[tuple[str, str], str]


def confirmation_settings(made: Design, task: Task, single: Single, tuned: Tuned) -> dict[tuple[str, str], str]:
    """Settings that are compared in a task, by (rival, how)."""
    found = made.ours(task)
    for rival in rivals_of(task, made.rivals):
        found[rival.name, PUBLISHED] = rival.settings[0]
        found[rival.name, SINGLE] = single[rival.name]
        found[rival.name, TUNED] = tuned[task.name, rival.name]
    return found


def confirmation_blocks(made: Design, single: Single, tuned: Tuned) -> list[Block]:
    """What is compared, on the runs of the comparison."""
    return [
        one
        for task in made.confirmation
        for one in task.blocks(confirmation_settings(made, task, single, tuned).values(), task.seeds(0, task.runs))
    ]


# Tables --------------------------------------------------------------------------------------------------------------


def _rows(source: Source, stage: str, task: Task, who: tuple[str, str], setting: str, seeds: range) -> pd.DataFrame:
    known = {"stage": stage, "task": task.name, "rival": who[0], "how": who[1], "setting": setting}
    frame = task.scores(source, setting, seeds)
    return frame.assign(**known)[[*known, *frame]]


def development_table(made: Design, source: Source) -> pd.DataFrame:
    """Every setting in every development task."""
    frames = []
    for task in made.development:
        few = task.few(made.development_runs)
        for rival in rivals_of(task, made.rivals):
            seeds = few.seeds(DEVELOPMENT_SEED, few.runs)
            frames += [_rows(source, DEV, few, (rival.name, GRID), text, seeds) for text in rival.settings]
        for who, text in made.ours(task).items():
            frames.append(_rows(source, DEV, task, who, text, task.seeds(DEVELOPMENT_SEED, task.runs)))
    return pd.concat(frames, ignore_index=True)


def single_settings(made: Design, developed: pd.DataFrame) -> Single:
    """The setting of every rival with the least mean score over the development tasks; the first of equals."""
    grid = developed[developed["how"] == GRID]
    by_task = grid.groupby(["rival", "setting", "task"], sort=False)["score"].mean()
    means = by_task.groupby(["rival", "setting"], sort=False).mean()
    return {
        rival.name: _best(rival.settings, [means[rival.name, text] for text in rival.settings]) for rival in made.rivals
    }


def tuned_settings(made: Design, source: Source) -> Tuned:
    """The setting of every rival with the least mean score in each confirmation task, on the tuning runs."""
    found: Tuned = {}
    for task in map(made.tuning, made.confirmation):
        seeds = task.seeds(TUNING_SEED, task.runs)
        for rival in rivals_of(task, made.rivals):
            means = [float(task.scores(source, text, seeds)["score"].mean()) for text in rival.settings]
            found[task.name, rival.name] = _best(rival.settings, means)
    return found


def _best(settings: Sequence[str], means: Sequence[float]) -> str:
    return settings[int(np.argmin(means))]


def confirmation_table(made: Design, single: Single, tuned: Tuned, source: Source) -> pd.DataFrame:
    """What is compared, run by run."""
    frames = [
        _rows(source, CONF, task, who, text, task.seeds(0, task.runs))
        for task in made.confirmation
        for who, text in confirmation_settings(made, task, single, tuned).items()
    ]
    return pd.concat(frames, ignore_index=True)


def ladder_table(made: Design, run: Run) -> pd.DataFrame:
    """The rungs of the ladder, run by run."""
    found = ladder.run_ladder(run, made.ladder)
    return found.rename(columns={"rung": "rival", "agent": "setting"}).assign(stage=LADDER, how=LADDER)
