"""Coverage of intervals of the mean: the rule of `runs.statistics` beside Student's t and a percentile bootstrap.

Run with::

    python -m benchmarks coverage

Each share is of 10,000 simulated data sets, so that its standard error is at most 0.5 points. Scores are normal, skew
(exponential) and those of runs that fail at times: 0.1 with a little noise, 1 when the run fails, with probability 0.3
or 0.1. The bootstrap has 1000 resamples, the same for all data sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from steering._types import Floats
from steering.runs.statistics import LEVEL, curve_interval

SETS = 10_000
BLOCK = 1000
RESAMPLES = 1000
RUNS = (3, 4, 5, 6, 8, 10, 15, 20, 30)


def main() -> list[dict[str, Any]]:
    """One row for each number of runs and kind of score: coverage in percent."""
    rows = []
    for runs in RUNS:
        rng = np.random.default_rng(runs)
        for name, values, truth in scores(runs, rng):
            low, high = curve_interval(values)[1:]
            columns = {"this rule": (low, high), "Student's t": student(values), "bootstrap": bootstrap(values, rng)}
            row: dict[str, Any] = {"runs": runs, "scores": name}
            for method, (low, high) in columns.items():
                row[method] = f"{100 * np.mean((low <= truth) & (truth <= high)):.1f} %"
            rows.append(row)
    return rows


def scores(runs: int, rng: np.random.Generator) -> list[tuple[str, Floats, float]]:
    """Name, data sets (runs, sets) and true mean."""
    shape = (runs, SETS)
    kinds = [("normal", rng.normal(size=shape), 0.0), ("exponential", rng.exponential(size=shape), 1.0)]
    for share in (0.3, 0.1):
        values = 0.1 + 0.02 * rng.normal(size=shape) + 0.9 * (rng.random(shape) < share)
        kinds.append((f"{share:.0%} fail".replace("%", " %"), values, 0.1 + 0.9 * share))
    return kinds


def student(values: Floats) -> tuple[Floats, Floats]:
    """Student's interval of each data set."""
    runs = len(values)
    reach = stats.t.ppf((1 + LEVEL) / 2, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    return values.mean(axis=0) - reach, values.mean(axis=0) + reach


def bootstrap(values: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentile interval of each data set."""
    runs = len(values)
    weights = rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    parts = [np.quantile(weights @ values[:, at : at + BLOCK], tails, axis=0) for at in range(0, SETS, BLOCK)]
    low, high = np.concatenate(parts, axis=1)
    return low, high
