"""From scores to verdicts, by a rule that is stated and not typed in.

In each cell our default is compared with every other family on runs of the same environment and seed, which met the
same noise. With d the difference of their scores (theirs - ours; scores are regrets, so d > 0 favours us):

    better    the 99 % interval of the mean of d lies above 0, and the mean is at least `MARGIN`,
    worse     the interval lies below 0, and the mean is at most -`MARGIN`,
    too few   the interval rests on fewer than `LEAST_VALUES` values (pairs; MDPs, where a class has under 3 for each),
    tied      everything else.

The interval is that of `runs.statistics`, over pairs, within each MDP where a cell has several. The level is 99 %
because there are some hundreds of comparisons; the margin, half a percent of the oracle's reward (of the larger score,
where scores are not normalised), keeps differences that nobody would notice from being called anything.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.errors import InvalidOption
from steering.paper.studies.design import OURS
from steering.runs.statistics import Interval, interval_of_mean, probability_of_improvement

LEVEL = 0.99
MARGIN = 0.005
LEAST_VALUES = 5
VERDICTS = ("better", "tied", "worse", "too few")


def verdict(gap: Interval, margin: float) -> str:
    """The verdict for a mean difference (theirs - ours) with its interval."""
    if gap.values < LEAST_VALUES:
        return "too few"
    if gap.low > 0 and gap.mean >= margin:
        return "better"
    if gap.high < 0 and gap.mean <= -margin:
        return "worse"
    return "tied"


def compare(finals: pd.DataFrame, ours: str = OURS) -> pd.DataFrame:
    """Compare one family with all others, cell by cell.

    Parameters
    ----------
    finals
        Columns cell, family, setting, environment, seed, score, normalised; see `run.finals_of`.
    ours
        The family that is judged.

    Returns
    -------
    DataFrame
        One row for each cell and other family: number of pairs, mean scores of both, mean difference with its
        interval, paired probability that ours is lower (ties count one half), and the verdict.
    """
    rows = []
    for cell, part in finals.groupby("cell", sort=False):
        mine = part[part["family"] == ours]
        if mine.empty:
            raise InvalidOption(f"cell '{cell}' has no runs of '{ours}', so nothing can be compared with it.")
        for family, theirs in part[part["family"] != ours].groupby("family", sort=False):
            rows.append({"cell": cell, "family": family, **_pair(mine, theirs)})
    return pd.DataFrame(rows)


def _pair(mine: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, object]:
    keys = ["environment", "seed"]
    both = mine.merge(theirs, on=keys, suffixes=("", "_theirs"), validate="one_to_one").sort_values(keys)
    if both.empty:
        raise InvalidOption("two families of a cell have no seed in common; give them the same seeds.")
    x: dict[str, Floats] = {}
    y: dict[str, Floats] = {}
    for name, part in both.groupby("environment"):
        x[str(name)] = part["score"].to_numpy(dtype=np.float64)
        y[str(name)] = part["score_theirs"].to_numpy(dtype=np.float64)
    gap = interval_of_mean([y[name] - x[name] for name in x], LEVEL)
    chance, _, _ = probability_of_improvement(x, y)
    ours, others = float(both["score"].mean()), float(both["score_theirs"].mean())
    margin = MARGIN if bool(both["normalised"].all()) else MARGIN * max(abs(ours), abs(others))
    return {
        "setting": theirs["setting"].iloc[0],
        "pairs": len(both),
        "ours": ours,
        "theirs": others,
        "difference": gap.mean,
        "low": gap.low,
        "high": gap.high,
        "p_lower": chance,
        "verdict": verdict(gap, margin),
    }
