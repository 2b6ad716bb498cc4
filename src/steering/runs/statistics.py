"""Intervals over seeds: one rule for every mean, stated and measured (docs/statistics.md), and none below 3 values.

*The rule.* With N values in strata k (environments; n_k values each, which vary by themselves), mean m and

    v   = sum_k n_k s_k^2 / N^2                              variance of the mean, s_k^2 with divisor n_k - 1,
    nu  = v^2 / sum_k (n_k s_k^2 / N^2)^2 / (n_k - 1)        its degrees of freedom (Welch and Satterthwaite),
    g   = (sum_k n_k m3_k / N^3) / (sum_k n_k m2_k / N^2)^(3/2)      skewness of the mean, from central moments,
    t   = quantile of Student's distribution with nu degrees of freedom,

the lower end is m - sqrt(v) max(t, h(t)) and the upper one m + sqrt(v) max(t, -h(-t)), with Hall's transformation

    h(t) = 3 (cbrt(1 + g (t - g / 6)) - 1) / g:

each end is the farther one of Student's and of that corrected for skewness. Of normal values it covers at least the
stated level, of skew ones a little less: Student's t alone covers 88 to 90 % of exponential values at a nominal 95 %
with 3 to 10 runs, this rule 92 to 94 %, a percentile bootstrap 70 to 86 %. Nothing that is computed from the runs can
speak of failures that no run had: tables give the share of failed runs beside every mean.

A stratum with fewer than `LEAST_VALUES` values says too little about its spread: then the strata are the values, and
what they differ by is in the interval too. Of K strata with means m_k the values are m + (m_k - m) n_k K / N: their
mean is m, and their spread that of the ratio sum_k n_k m_k / sum_k n_k, linearised; with equal sizes they are the m_k.
With fewer than `LEAST_VALUES` values there is no interval: its ends are NaN.

*Interquartile mean*: the mean of the middle half of all scores, pooled over environments; robust as a median, with far
less noise. c = floor(N / 4) scores are cut at each end. Its interval is that of the values pulled in to the kept range
(winsorised) and stretched by N / (N - 2 c), with (N - 2 c - 1) / (N - 1) times the degrees of freedom (Tukey and
McLaughlin).

*P(X < Y)*: the chance that a run of X has a lower score than a run of Y, ties counting one half; the mean over
environments. Paired: runs of the same seed, which met the same noise, are compared. *Profile*: for each tau the share
of runs with a score of at most tau, the mean over environments. These two have percentile intervals of the stratified
bootstrap, which draws seeds with replacement within every environment; with few seeds they are too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from steering._types import Floats
from steering.errors import InvalidOption

Strata = Mapping[str, Floats]

LEVEL = 0.95
"""Coverage of the intervals in tables and figures."""

LEAST_VALUES = 3
"""Fewest values that have an interval."""

BAND = f"{LEVEL:.0%} interval of the mean".replace("%", " %")
"""What bands and ends are called in tables and figures."""

SYMMETRIC = 1e-6
"""Skewness below which there is none."""

BLOCK_NUMBERS = 4_000_000
"""Resampled numbers held in memory at once."""


@dataclass(frozen=True)
class Interval:
    """Mean with the ends of its interval, and how many values (runs, or MDPs where these are the values) it rests on.

    The ends are NaN with fewer than `LEAST_VALUES` values.
    """

    mean: float
    low: float
    high: float
    values: int


def interval_of_mean(strata: Sequence[Floats], level: float = LEVEL) -> Interval:
    """Mean over all values with its interval; see the module's docstring.

    Parameters
    ----------
    strata
        One array for each environment; a single one for a single environment.
    level
        Confidence level, such as 0.99.
    """
    if not strata or any(one.size == 0 for one in strata) or not all(np.isfinite(one).all() for one in strata):
        raise InvalidOption("an interval needs at least one value in every environment, all of them finite.")
    _check_level(level)
    kept = _enough([np.asarray(one, dtype=np.float64)[:, None] for one in strata])
    mean, low, high = _interval(kept, level)
    return Interval(float(mean[0]), float(low[0]), float(high[0]), sum(len(one) for one in kept))


def p_value(strata: Sequence[Floats]) -> float:
    """Smallest 1 - level at which the interval of the mean does not hold 0: a two-sided test with the same rule.

    With x = m / sqrt(v) > 0 the lower end is above 0 for quantiles t below both x and the t with h(t) = x, which is
    ((1 + g x / 3)^3 - 1) / g + g / 6; for m < 0 all signs are turned. NaN for fewer than 3 values.

    Examples
    --------
    >>> round(p_value([np.array([1.0, 2.0, 3.0])]), 4)
    0.0742
    """
    interval_of_mean(strata)  # refuses what has no interval
    kept = _enough([np.asarray(one, dtype=np.float64)[:, None] for one in strata])
    if sum(len(one) for one in kept) < LEAST_VALUES:
        return float("nan")
    mean, error, freedom, skew = (float(one[0]) for one in _moments(kept))
    if error == 0.0 or mean == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    x, g = abs(mean) / error, skew * np.sign(mean)
    hall = x if abs(g) < SYMMETRIC else ((1 + g * x / 3) ** 3 - 1) / g + g / 6
    return float(2 * special.stdtr(freedom, -max(min(x, hall), 0.0)))


def holm(p: Floats) -> Floats:
    """P-values adjusted by Holm: rejecting those of at most a errs anywhere with a chance of at most a."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return adjusted


def mean_interval(values: Floats, *, level: float = LEVEL) -> tuple[float, float, float]:
    """Mean of one number for each seed, and the ends of its interval (NaN for fewer than 3)."""
    mean, low, high = curve_interval(np.asarray(values, dtype=np.float64)[:, None], level=level)
    return float(mean[0]), float(low[0]), float(high[0])


def curve_interval(curves: Floats, *, level: float = LEVEL) -> tuple[Floats, Floats, Floats]:
    """Mean curve of (K, T) and the ends of its pointwise interval (NaN for fewer than 3 curves)."""
    _check_level(level)
    if curves.size == 0:
        raise InvalidOption("an interval needs at least one value.")
    return _interval([curves], level)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InvalidOption(f"level is {level}; it must lie between 0 and 1.")


def _enough(strata: list[Floats]) -> list[Floats]:
    """The strata as they are, or one of their means where some are too small."""
    if len(strata) == 1 or min(len(one) for one in strata) >= LEAST_VALUES:
        return strata
    everything = np.concatenate(strata)
    mean = everything.mean(axis=0)
    share = len(strata) / len(everything)
    return [np.array([mean + (one - mean).sum(axis=0) * share for one in strata])]


def _interval(strata: list[Floats], level: float, kept: float = 1.0) -> tuple[Floats, Floats, Floats]:
    """Mean and ends, for arrays (n_k, T) at every one of the T places; `kept` is the share of freedom that counts."""
    total = sum(len(one) for one in strata)
    mean: Floats = np.concatenate(strata).mean(axis=0)
    if total < LEAST_VALUES:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    mean, error, freedom, skew = _moments(strata, kept)
    t: Floats = np.asarray(special.stdtrit(freedom, (1 + level) / 2))
    return mean, mean - error * np.maximum(t, _hall(t, skew)), mean + error * np.maximum(t, -_hall(-t, skew))


def _moments(strata: list[Floats], kept: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, its standard error, degrees of freedom and skewness, for arrays (n_k, T)."""
    total = sum(len(one) for one in strata)
    mean: Floats = np.concatenate(strata).mean(axis=0)
    variance, squares, second, third = (np.zeros_like(mean) for _ in range(4))
    for one in strata:
        n = len(one)
        away = one - one.mean(axis=0)
        part = (away**2).sum(axis=0) * n / (n - 1) / total**2
        variance += part
        squares += part**2 / (n - 1)
        second += (away**2).sum(axis=0) / total**2
        third += (away**3).sum(axis=0) / total**3
    flat = variance <= (1e-12 * mean) ** 2  # all equal, but for rounding
    safe = np.where(flat, 1.0, variance)
    freedom = np.maximum(safe**2 / np.where(flat, 1.0, squares) * kept, 1.0)
    skew = third / np.where(flat, 1.0, second) ** 1.5
    error = np.where(flat, 0.0, np.sqrt(safe))
    return mean, error, freedom, skew


def _hall(t: Floats, skew: Floats) -> Floats:
    """Hall's transformation of a quantile for the skewness of the mean; t itself without skewness."""
    small = np.abs(skew) < SYMMETRIC
    some = np.where(small, 1.0, skew)
    moved: Floats = np.where(small, t, 3 * (np.cbrt(1 + some * (t - some / 6)) - 1) / some)
    return moved


def interquartile_mean(scores: Floats) -> Floats:
    """Mean of the middle half, over the last axis: floor(n / 4) numbers are cut at each end."""
    n = scores.shape[-1]
    cut = n // 4
    middle: Floats = np.sort(scores, axis=-1)[..., cut : n - cut].mean(axis=-1)
    return middle


def interquartile_interval(strata: Strata, *, level: float = LEVEL) -> tuple[float, float, float]:
    """Interquartile mean of pooled scores with the ends of its interval (NaN for fewer than 3); see the docstring."""
    values = _checked(strata, level)
    pooled = np.sort(np.concatenate(values))
    n, cut = pooled.size, pooled.size // 4
    middle = n - 2 * cut
    pulled = [np.clip(one, pooled[cut], pooled[n - cut - 1])[:, None] * (n / middle) for one in values]
    centre, low, high = _interval(_enough(pulled), level, kept=(middle - 1) / max(n - 1, 1))
    value = float(pooled[cut : n - cut].mean())
    return value, float(value + (low - centre)[0]), float(value + (high - centre)[0])


def pooled_interval(strata: Strata, *, level: float = LEVEL) -> tuple[float, float, float]:
    """Mean over all scores with the ends of its interval (NaN for fewer than 3)."""
    found = interval_of_mean(_checked(strata, level), level)
    return found.mean, found.low, found.high


def probability_of_improvement(
    x: Strata, y: Strata, *, paired: bool = True, level: float = LEVEL, resamples: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """Chance that a run of X has a lower score than a run of Y, with its stratified bootstrap interval.

    Parameters
    ----------
    x, y
        Scores of the same environments; paired scores stand in the same order of seeds.
    paired
        Compare run i of X with run i of Y only, and resample pairs; else all runs with all, resampled independently.
    """
    if list(x) != list(y) or not x:
        raise InvalidOption("a comparison needs scores of the same environments for both sides.")
    _checked(x, level), _checked(y, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    value, draws = 0.0, np.zeros(resamples)
    for name in x:
        one, draw = (_paired_wins if paired else _unpaired_wins)(x[name], y[name], resamples, rng)
        value += one / len(x)
        draws += draw / len(x)
    low, high = _percentiles(draws, level, min(one.size for one in (*x.values(), *y.values())))
    return value, float(low), float(high)


def performance_profile(
    strata: Strata, taus: Floats, *, level: float = LEVEL, resamples: int = 2000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Share of runs with a score of at most each tau, mean over environments, with its pointwise bootstrap band."""
    values = _checked(strata, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    share, draws = np.zeros(taus.size), np.zeros((resamples, taus.size))
    for scores in values:
        below = (scores[:, None] <= taus).astype(np.float64)
        share += below.mean(axis=0) / len(values)
        draws += _resampled_means(below, resamples, rng) / len(values)
    low, high = _percentiles(draws, level, min(scores.size for scores in values))
    return share, low, high


def area_under_curve(steps: Floats, curve: Floats) -> Floats:
    """Mean height over time of curves (K, points) that start from 0 at step 0, by the trapezoid rule."""
    at = np.concatenate([[0.0], steps])
    from_zero = np.concatenate([np.zeros((*curve.shape[:-1], 1)), curve], axis=-1)
    area: Floats = np.trapezoid(from_zero, at, axis=-1) / at[-1]
    return area


def _paired_wins(x: Floats, y: Floats, resamples: int, rng: np.random.Generator) -> tuple[float, Floats]:
    if x.size != y.size:
        raise InvalidOption(f"paired scores need the same seeds on both sides; there are {x.size} and {y.size}.")
    wins = (x < y) + 0.5 * (x == y)
    return float(wins.mean()), _resampled_means(wins, resamples, rng)


def _unpaired_wins(x: Floats, y: Floats, resamples: int, rng: np.random.Generator) -> tuple[float, Floats]:
    wins = (x[:, None] < y) + 0.5 * (x[:, None] == y)
    left = rng.multinomial(x.size, np.full(x.size, 1 / x.size), size=resamples) / x.size
    right = rng.multinomial(y.size, np.full(y.size, 1 / y.size), size=resamples) / y.size
    return float(wins.mean()), ((left @ wins) * right).sum(axis=1)


def _percentiles(draws: Floats, level: float, fewest: int) -> Floats:
    """Ends of the percentile interval; NaN where an environment has too few seeds for its resamples to say anything."""
    ends: Floats = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ends if fewest >= LEAST_VALUES else np.full_like(ends, np.nan)


def _checked(strata: Strata, level: float) -> list[Floats]:
    _check_level(level)
    values = [np.asarray(scores, dtype=np.float64) for scores in strata.values()]
    if not values or any(scores.size == 0 for scores in values):
        raise InvalidOption("an interval needs at least one value in every environment.")
    for name, scores in strata.items():
        if not np.isfinite(scores).all():
            raise InvalidOption(f"the scores of '{name}' have a value that is not finite; leave that run out.")
    return values


def _blocks(resamples: int, size: int) -> Iterator[int]:
    """Numbers of resamples of `size` numbers each that are held in memory at once."""
    block = max(BLOCK_NUMBERS // size, 1)
    for start in range(0, resamples, block):
        yield min(block, resamples - start)


def _resampled_means(values: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Means over the first axis of `values`, resampled; shape (resamples, ...).

    Resampling is a matrix of weights times the values: all values once for each resample are never formed.
    """
    size = values.shape[0]
    even = np.full(size, 1 / size)
    return np.concatenate([rng.multinomial(size, even, size=n) / size @ values for n in _blocks(resamples, size)])
