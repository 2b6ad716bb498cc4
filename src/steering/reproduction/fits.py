"""Effects with their intervals: means, shares, growth and decay exponents.

Intervals are of 95 %. What they rest on depends on the number n of runs:

    n = 1          nothing is known about the spread: there is no effect
    n < 20         value ± t(n - 1) standard error, the error by the jackknife (for a mean: s / sqrt(n))
    n >= 20        percentile bootstrap over runs

The percentile bootstrap of four to six runs covers 80 to 86 % where it should cover 95 %; Student's t covers 95 % of
normal data for every n. A share of runs has the exact binomial interval (Clopper and Pearson): 15 successes out of 15
are [0.78, 1].

A curve y = c x^b is a line of slope b on logarithmic axes. The slope is fitted by least squares to the mean curve over
runs, at points evenly spaced in log x (so that the last decade does not outvote the others). A mean that is not
positive has no logarithm; such points are left out, and with fewer than `LEAST_POINTS` left there is no exponent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from steering.results import mean_interval

Floats = NDArray[np.float64]

POINTS = 24
LEAST_POINTS = 3
RESAMPLES = 2000
FEW = 20
"""With fewer runs than this the bootstrap is too narrow, and Student's t is used."""


@dataclass(frozen=True)
class Effect:
    """A number with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

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
    if values.size < 2 or not np.isfinite(values).all():
        return UNKNOWN
    if values.size >= FEW:
        return Effect(*mean_interval(values))
    return _student(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)), values.size - 1)


def share_effect(successes: NDArray[np.bool_]) -> Effect:
    """Share of runs that succeed, with the exact binomial interval of Clopper and Pearson."""
    k, n = int(np.sum(successes)), int(np.size(successes))
    if n < 2:
        return UNKNOWN
    low = float(stats.beta.ppf(0.025, k, n - k + 1)) if k else 0.0
    high = float(stats.beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0
    return Effect(k / n, low, high)


def _student(value: float, error: float, freedom: int) -> Effect:
    """value ± t standard errors."""
    reach = float(stats.t.ppf(0.975, freedom)) * error
    return Effect(value, value - reach, value + reach)


def _jackknife(left_out: Floats) -> float:
    """Variance of a statistic, from its values with one run left out at a time: (n - 1) / n sum (v_i - mean)^2."""
    return float((left_out.size - 1) * left_out.var())


def exponent(x: Floats, curves: Floats, *, first: float = 0.0, seed: int = 0) -> Effect:
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
    kept = _log_spaced(x, first)
    if kept.size < LEAST_POINTS:
        return UNKNOWN
    logs, heights = np.log(x[kept]), curves[:, kept]
    value = float(slopes(logs, heights.mean(axis=0)[None])[0])
    runs = len(curves)
    if runs < 2 or not np.isfinite(value):
        return UNKNOWN
    if runs < FEW:
        left_out = slopes(logs, (heights.sum(axis=0) - heights) / (runs - 1))
        if not np.isfinite(left_out).all():
            return UNKNOWN
        return _student(value, np.sqrt(_jackknife(left_out)), runs - 1)
    rng = np.random.Generator(np.random.PCG64(seed))
    weights = rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    resampled = slopes(logs, weights @ heights)
    resampled = resampled[np.isfinite(resampled)]
    if resampled.size < RESAMPLES // 2:
        return UNKNOWN
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Effect(value, float(low), float(high))


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


def scan_exponent(x: Floats, groups: list[Floats], *, seed: int = 0) -> Effect:
    """Exponent of means of independent groups of runs, one group at each x; every group is resampled on its own."""
    fewest = min((group.size for group in groups), default=0)
    if x.size < 2 or fewest < 2:
        return UNKNOWN
    means = np.array([group.mean() for group in groups])
    if (means <= 0).any():
        return UNKNOWN
    value = float(_line(x, means[:, None])[0])
    if fewest < FEW:
        variance = 0.0
        for place, group in enumerate(groups):
            left_out = np.tile(means[:, None], group.size)
            left_out[place] = (group.sum() - group) / (group.size - 1)
            if (left_out <= 0).any():
                return UNKNOWN
            variance += _jackknife(_line(x, left_out))
        return _student(value, np.sqrt(variance), fewest - 1)
    rng = np.random.Generator(np.random.PCG64(seed))
    draws = np.stack([g[rng.integers(g.size, size=(RESAMPLES, g.size))].mean(axis=1) for g in groups])
    if (draws <= 0).any():
        return UNKNOWN
    low, high = np.quantile(_line(x, draws), [0.025, 0.975])
    return Effect(value, float(low), float(high))


def _line(x: Floats, heights: Floats) -> Floats:
    """Slopes of log heights (places, data sets) against log x."""
    slope: Floats = np.polynomial.polynomial.polyfit(np.log(x), np.log(heights), 1)[1]
    return slope


def _log_spaced(x: Floats, first: float) -> NDArray[np.int64]:
    """Indices of up to `POINTS` points, evenly spaced in log x."""
    allowed = np.flatnonzero((x >= first) & (x > 0))
    if allowed.size <= LEAST_POINTS:
        return allowed.astype(np.int64)
    targets = np.geomspace(x[allowed[0]], x[allowed[-1]], POINTS)
    return np.unique(allowed[0] + np.searchsorted(x[allowed], targets * (1 - 1e-12))).astype(np.int64)
