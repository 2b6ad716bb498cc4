"""From scores to verdicts, by a rule that is stated and not typed in.

In each task our default is compared with every other family on runs of the same environment and seed, which met the
same noise. With d the difference of their scores (theirs - ours; scores are regrets, so d > 0 favours us):

    better    the 99 % interval of the mean of d lies above 0, and the mean is at least `MARGIN`,
    worse     the interval lies below 0, and the mean is at most -`MARGIN`,
    too few   the interval rests on fewer than five values (pairs; MDPs, where a class has under 3 for each),
    tied      everything else

(`rule.standing`). The interval is that of `runs.statistics`, over pairs, within each MDP where a task has several. The
level is 99 % because there are some hundreds of comparisons; the margin, half a percent of the oracle's reward (of the
larger score, where scores are not normalised), keeps differences that nobody would notice from being called anything.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.errors import InvalidOption
from steering.paper.chapters.default.design import OURS
from steering.paper.fits import strata_effect
from steering.paper.rule import standing
from steering.runs.statistics import probability_of_improvement

LEVEL = 0.99
MARGIN = 0.005


def compare(finals: pd.DataFrame, ours: str = OURS) -> pd.DataFrame:
    """Compare one family with all others, task by task.

    Parameters
    ----------
    finals
        Columns task, family, setting, environment, seed, score, normalised; see `tuning.finals_of`.
    ours
        The family that is judged.

    Returns
    -------
    DataFrame
        One row for each task and other family: number of pairs, mean scores of both, mean difference with its
        interval, paired probability that ours is lower (ties count one half), and the verdict.
    """
    rows = []
    for task, part in finals.groupby("task", sort=False):
        mine = part[part["family"] == ours]
        if mine.empty:
            raise InvalidOption(f"task '{task}' has no runs of '{ours}', so nothing can be compared with it.")
        for family, theirs in part[part["family"] != ours].groupby("family", sort=False):
            rows.append({"task": task, "family": family, **_pair(mine, theirs)})
    return pd.DataFrame(rows)


def _pair(mine: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, object]:
    keys = ["environment", "seed"]
    both = mine.merge(theirs, on=keys, suffixes=("", "_theirs"), validate="one_to_one").sort_values(keys)
    if both.empty:
        raise InvalidOption("two families of a task have no seed in common; give them the same seeds.")
    x: dict[str, Floats] = {}
    y: dict[str, Floats] = {}
    for name, part in both.groupby("environment"):
        x[str(name)] = part["score"].to_numpy(dtype=np.float64)
        y[str(name)] = part["score_theirs"].to_numpy(dtype=np.float64)
    gap = strata_effect([y[name] - x[name] for name in x], LEVEL)
    chance, _, _ = probability_of_improvement(x, y)
    ours, others = float(both["score"].mean()), float(both["score_theirs"].mean())
    margin = MARGIN if bool(both["normalised"].all()) else MARGIN * max(abs(ours), abs(others))
    return {
        "setting": theirs["setting"].iloc[0],
        "pairs": len(both),
        "ours": ours,
        "theirs": others,
        "difference": gap.value,
        "low": gap.low,
        "high": gap.high,
        "p_lower": chance,
        "verdict": standing(gap, margin),
    }
