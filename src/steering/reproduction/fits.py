"""Growth and decay exponents: the slope of log y against log x, with a bootstrap interval over runs.

A curve y = c x^b is a line of slope b on logarithmic axes. The slope is fitted by least squares to the mean curve over
runs, at points evenly spaced in log x (so that the last decade does not outvote the others), and its interval is the
percentile bootstrap over runs. A mean that is not positive has no logarithm; such points are left out, and with fewer
than `LEAST_POINTS` left there is no exponent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steering.results import mean_interval

Floats = NDArray[np.float64]

POINTS = 24
LEAST_POINTS = 3
RESAMPLES = 2000


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
    """Mean over runs with its bootstrap interval."""
    if not np.isfinite(values).all():
        return UNKNOWN
    return Effect(*mean_interval(np.asarray(values, dtype=np.float64)))


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
    value = slopes(logs, heights.mean(axis=0)[None])[0]
    rng = np.random.Generator(np.random.PCG64(seed))
    runs = len(curves)
    weights = rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    resampled = slopes(logs, weights @ heights)
    resampled = resampled[np.isfinite(resampled)]
    if not np.isfinite(value) or resampled.size < RESAMPLES // 2:
        return UNKNOWN
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Effect(float(value), float(low), float(high))


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
    if x.size < 2:
        return UNKNOWN
    rng = np.random.Generator(np.random.PCG64(seed))
    means = np.array([group.mean() for group in groups])
    draws = np.stack([g[rng.integers(g.size, size=(RESAMPLES, g.size))].mean(axis=1) for g in groups], axis=1)
    if (means <= 0).any() or (draws <= 0).any():
        return UNKNOWN
    line = np.polynomial.polynomial.polyfit
    value = line(np.log(x), np.log(means), 1)[1]
    low, high = np.quantile(line(np.log(x), np.log(draws).T, 1)[1], [0.025, 0.975])
    return Effect(float(value), float(low), float(high))


def _log_spaced(x: Floats, first: float) -> NDArray[np.int64]:
    """Indices of up to `POINTS` points, evenly spaced in log x."""
    allowed = np.flatnonzero((x >= first) & (x > 0))
    if allowed.size <= LEAST_POINTS:
        return allowed.astype(np.int64)
    targets = np.geomspace(x[allowed[0]], x[allowed[-1]], POINTS)
    return np.unique(allowed[0] + np.searchsorted(x[allowed], targets * (1 - 1e-12))).astype(np.int64)
