"""Effects with their intervals: means, shares, growth and decay exponents.

Intervals are of 95 %, by the one rule of `runs.statistics` (Student's t, corrected for skewness where that reaches
farther). One or two runs say too little about spread: then there is no effect. For a mean the values are those of the
runs. For an exponent b they are the jackknife's pseudo-values, with b_(i) the exponent without run i,

    b + (n - 1) (b - b_(i)),

whose standard error is that of b to first order; the interval is put around b itself. A share of runs has the exact
binomial interval (Clopper and Pearson): 15 successes out of 15 are [0.78, 1].

A curve y = c x^b is a line of slope b on logarithmic axes. The slope is fitted by least squares to the mean curve over
runs, at points evenly spaced in log x (so that the last decade does not outvote the others). A mean that is not
positive has no logarithm; such points are left out, and with fewer than `LEAST_POINTS` left there is no exponent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from steering._types import Floats
from steering.runs.statistics import LEAST_VALUES, interval_of_mean

POINTS = 24
LEAST_POINTS = 3
LEVEL = 0.95


@dataclass(frozen=True)
class Effect:
    """A number with the ends of its interval (95 %, unless said otherwise) and how many values it rests on."""

    value: float
    low: float
    high: float
    values: int = 0

    @property
    def known(self) -> bool:
        """Whether the number exists."""
        return bool(np.isfinite([self.value, self.low, self.high]).all())

    def text(self, digits: int = 3) -> str:
        """As written in a table: value [low, high]."""
        if not self.known:
            return "–"
        return f"{self.value:.{digits}g} [{self.low:.{digits}g}, {self.high:.{digits}g}]"


UNKNOWN = Effect(np.nan, np.nan, np.nan)


def mean_effect(values: Floats) -> Effect:
    """Mean over runs with its interval; paired comparisons pass differences."""
    values = np.asarray(values, dtype=np.float64)
    if values.size < LEAST_VALUES or not np.isfinite(values).all():
        return UNKNOWN
    return _around(float(values.mean()), [values])


def strata_effect(strata: Sequence[Floats], level: float = LEVEL) -> Effect:
    """Mean over all runs of several environments, each a stratum of its own."""
    found = interval_of_mean(strata, level)
    return Effect(found.mean, found.low, found.high, found.values)


def share_effect(successes: NDArray[np.bool_]) -> Effect:
    """Share of runs that succeed, with the exact binomial interval of Clopper and Pearson."""
    k, n = int(np.sum(successes)), int(np.size(successes))
    if n < 2:
        return UNKNOWN
    tail = (1 - LEVEL) / 2
    low = float(stats.beta.ppf(tail, k, n - k + 1)) if k else 0.0
    high = float(stats.beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0
    return Effect(k / n, low, high)


def _around(value: float, strata: list[Floats]) -> Effect:
    """A value with the reach of the interval of the mean of some values, to both sides."""
    found = interval_of_mean(strata, LEVEL)
    return Effect(value, value - (found.mean - found.low), value + (found.high - found.mean))


def exponent(x: Floats, curves: Floats, *, first: float = 0.0) -> Effect:
    """Slope b of y = c x^b for the mean of curves (runs, points), from x = `first` on.

    Parameters
    ----------
    x
        Positive places of the points.
    curves
        One curve for each run.
    first
        Smallest x used: the beginning of a curve is not its growth.
    """
    kept = fit_points(x, first)
    if kept.size < LEAST_POINTS:
        return UNKNOWN
    logs, heights = np.log(x[kept]), curves[:, kept]
    value = float(slopes(logs, heights.mean(axis=0)[None])[0])
    runs = len(curves)
    if runs < LEAST_VALUES or not np.isfinite(value):
        return UNKNOWN
    left_out = slopes(logs, (heights.sum(axis=0) - heights) / (runs - 1))
    if not np.isfinite(left_out).all():
        return UNKNOWN
    return _around(value, [value + (runs - 1) * (value - left_out)])


def slopes(logs: Floats, heights: Floats) -> Floats:
    """Least-squares slopes of log heights (curves, points) on `logs`; NaN where too few heights are positive."""
    good = heights > 0
    counts = good.sum(axis=1)
    y = np.log(np.where(good, heights, 1.0))
    n = np.maximum(counts, 1)
    mx = (good * logs).sum(axis=1) / n
    my = (good * y).sum(axis=1) / n
    dx = np.where(good, logs - mx[:, None], 0.0)
    spread = (dx**2).sum(axis=1)
    slope = (dx * (y - my[:, None])).sum(axis=1) / np.where(spread > 0, spread, 1.0)
    result: Floats = np.where((counts >= LEAST_POINTS) & (spread > 0), slope, np.nan)
    return result


def scan_exponent(x: Floats, groups: list[Floats]) -> Effect:
    """Exponent of means of independent groups of runs, one group at each x: groups are the strata of the interval.

    The mean over strata weighs group k by its share n_k / N of the runs, the exponent does not: N / n_k undoes that.
    """
    fewest = min((group.size for group in groups), default=0)
    if x.size < 2 or fewest < LEAST_VALUES:
        return UNKNOWN
    means = np.array([group.mean() for group in groups])
    if (means <= 0).any():
        return UNKNOWN
    value = float(_line(x, means[:, None])[0])
    total = sum(group.size for group in groups)
    strata = []
    for place, group in enumerate(groups):
        left_out = np.tile(means[:, None], group.size)
        left_out[place] = (group.sum() - group) / (group.size - 1)
        if (left_out <= 0).any():
            return UNKNOWN
        strata.append(value + (group.size - 1) * (value - _line(x, left_out)) * total / group.size)
    return _around(value, strata)


def _line(x: Floats, heights: Floats) -> Floats:
    """Slopes of log heights (places, data sets) against log x."""
    slope: Floats = np.polynomial.polynomial.polyfit(np.log(x), np.log(heights), 1)[1]
    return slope


def fit_points(x: Floats, first: float) -> NDArray[np.int64]:
    """Indices of the up to `POINTS` points that an exponent is fitted to, evenly spaced in log x from `first` on.

    Of these points alone the same are chosen again.
    """
    allowed = np.flatnonzero((x >= first) & (x > 0))
    if allowed.size <= LEAST_POINTS:
        return allowed.astype(np.int64)
    targets = np.geomspace(x[allowed[0]], x[allowed[-1]], POINTS)
    return np.unique(allowed[0] + np.searchsorted(x[allowed], targets * (1 - 1e-12))).astype(np.int64)
