"""From runs to verdicts, by a rule that is stated and not typed in.

In each confirmation task ours is compared with every rival (as published, at one setting, tuned) and every control, on
runs of the same environment and seed, which met the same noise. With d the difference of their scores (theirs - ours;
scores are regrets, so d > 0 favours us), within each instance where a task has several:

    better    the mean of d is at least `MARGIN`, and its p-value, adjusted by Holm, at most 5 %,
    worse     the mean of d is at most -`MARGIN`, and its p-value is,
    too few   there are fewer than five pairs,
    tied      everything else

(`rule.standing`). The p-value is that of the one interval rule (`runs.statistics.p_value`). Holm is applied to all
comparisons of one column (all rivals as published; at one setting; tuned; all controls): the chance of one false
verdict or more in the whole column is at most 5 %. The margin keeps differences that nobody would notice from being
called anything. `alone` says what each comparison would be called without the correction, at 99 %.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.errors import InvalidOption
from steering.paper.chapters import ladder
from steering.paper.chapters.default.details import records
from steering.paper.chapters.default.rivals import OURS
from steering.paper.chapters.default.stages import CONF, DEV, GRID, LADDER, MINE, Design, single_settings
from steering.paper.chapters.default.tasks import new_kinds
from steering.paper.fits import strata_effect
from steering.paper.rule import standing
from steering.paper.tables import Tables
from steering.runs.statistics import holm, p_value
from steering.runs.tables import FAILED

LEVEL = 0.95
ALONE = 0.99
MARGIN = 0.005


def tables(runs: pd.DataFrame, made: Design) -> Tables:
    """Everything that is published, from the table of runs; see `scores`, `settings`, `tasks`."""
    found = {"study": scores(runs, made), "study_settings": settings(runs, made), "study_tasks": tasks(runs, made)}
    rungs = runs[runs["stage"] == LADDER]
    if len(rungs):
        found["study_ladder"] = ladder.answer(rungs.rename(columns={"rival": "rung", "setting": "agent"}))
    return found


def scores(runs: pd.DataFrame, made: Design) -> pd.DataFrame:
    """Ours, controls and (in the confirmation) rivals in every task, each compared with ours.

    Columns: setting (number in `settings`), runs, score, failed (share), median and late (of the last quarter); for
    ours low and high are the ends of the 95 % interval of the score, for others of the difference; p (adjusted),
    verdict, alone.
    """
    number = {(row["rival"], row["text"]): row["setting"] for row in records(settings(runs, made))}
    rows = []
    kept = runs[(runs["stage"] != LADDER) & (runs["how"] != GRID)]
    for (stage, task), part in kept.groupby(["stage", "task"], sort=False):
        mine = part[part["how"] == MINE]
        if mine.empty:
            raise InvalidOption(f"task '{task}' has no runs of '{OURS}', so nothing can be compared with it.")
        for (rival, how), theirs in part.groupby(["rival", "how"], sort=False):
            known = {"stage": stage, "task": task, "rival": rival, "how": how}
            known["setting"] = number[str(rival), str(theirs["setting"].iloc[0])]
            rows.append({**known, **_summary(theirs), **(_own(mine) if how == MINE else _pair(mine, theirs))})
    table = pd.DataFrame(rows)
    return _judged(table)


def _summary(part: pd.DataFrame) -> dict[str, Any]:
    score = part["score"].to_numpy(dtype=np.float64)
    return {
        "runs": score.size,
        "score": float(score.mean()),
        "failed": float((score > FAILED).mean()),
        "median": float(np.median(score)),
        "late": float(part["late"].mean()),
    }


def _own(mine: pd.DataFrame) -> dict[str, Any]:
    one = strata_effect([part["score"].to_numpy(dtype=np.float64) for _, part in mine.groupby("environment")])
    return {"difference": np.nan, "low": one.low, "high": one.high, "p": np.nan}


def _pair(mine: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, Any]:
    """Mean difference of paired scores with its 95 % interval and p-value."""
    keys = ["environment", "seed"]
    both = mine.merge(theirs, on=keys, suffixes=("", "_theirs"), validate="one_to_one").sort_values(keys)
    if both.empty:
        raise InvalidOption("two agents of a task have no seed in common; give them the same seeds.")
    both["gap"] = both["score_theirs"] - both["score"]
    gaps: list[Floats] = [part["gap"].to_numpy(dtype=np.float64) for _, part in both.groupby("environment")]
    effect = strata_effect(gaps)
    ends = {"low": effect.low, "high": effect.high}
    return {"difference": effect.value, **ends, "p": p_value(gaps), "pairs": effect.values}


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    """P-values adjusted within each column of comparisons, and the verdicts."""
    table = table.assign(verdict="", alone="")
    if "pairs" not in table:
        return table
    for _, part in table[table["how"] != MINE].groupby(["stage", "how"], sort=False):
        alone = part["p"].to_numpy(dtype=np.float64)
        p = np.where(np.isnan(alone), np.nan, holm(np.where(np.isnan(alone), 1.0, alone)))
        table.loc[part.index, "p"] = p
        each = list(zip(part["difference"], part["pairs"].astype(int), strict=True))
        for column, values, level in (("verdict", p, LEVEL), ("alone", alone, ALONE)):
            table.loc[part.index, column] = [
                standing(gap, one, pairs, level=level, margin=MARGIN)
                for (gap, pairs), one in zip(each, values, strict=True)
            ]
    return table.drop(columns="pairs")


def settings(runs: pd.DataFrame, made: Design) -> pd.DataFrame:
    """Every setting with its number (0 is the published one), its mean over development, and whether it is chosen."""
    developed = runs[runs["stage"] == DEV]
    by_task = developed.groupby(["rival", "setting", "task"], sort=False)["score"].mean()
    means = by_task.groupby(["rival", "setting"], sort=False).mean()
    failed = developed["score"].gt(FAILED).groupby([developed["rival"], developed["setting"]]).mean()
    single = single_settings(made, developed)
    rows = []
    for rival in made.rivals:
        for number, text in enumerate(rival.settings):
            chosen = single[rival.name] == text
            rows.append({"rival": rival.name, "setting": number, "text": text, "single": chosen})
    known = dict.fromkeys((row["rival"], row["text"]) for row in rows)
    for row in records(runs[runs["stage"] != LADDER][["rival", "setting"]].drop_duplicates()):
        if (row["rival"], row["setting"]) not in known:
            rows.append({"rival": row["rival"], "setting": 0, "text": row["setting"], "single": True})
    table = pd.DataFrame(rows)
    keys = pd.MultiIndex.from_frame(table[["rival", "text"]])
    return table.assign(development=means.reindex(keys).to_numpy(), failed=failed.reindex(keys).to_numpy())


def tasks(runs: pd.DataFrame, made: Design) -> pd.DataFrame:
    """What the tasks are: stage, task, kind, environment, instances, steps, prior, whether the kind is new."""
    rows = []
    for stage, chosen in ((DEV, made.development), (CONF, made.confirmation)):
        for task in chosen:
            if ((runs["stage"] == stage) & (runs["task"] == task.name)).any():
                known = {"stage": stage, "task": task.name, "kind": task.kind, "environment": task.environments[0]}
                prior = ", ".join(f"{key}={value}" for key, value in task.prior.items())
                new = stage == CONF and task.kind in new_kinds()
                sizes = {"instances": len(task.environments), "steps": task.steps}
                rows.append({**known, **sizes, "prior": prior, "new": new})
    return pd.DataFrame(rows)
