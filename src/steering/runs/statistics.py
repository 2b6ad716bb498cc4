"""Intervals over seeds, by the bootstrap: vectorised and with a fixed seed, so that a table never changes by itself.

Scores of several environments are kept apart as *strata*: {environment: one number for each seed}. The stratified
bootstrap draws seeds with replacement within every environment, K_e out of K_e, and never mixes environments; the
interval is that of the percentiles of the resampled statistic.

    interquartile mean   the mean of the middle half of all scores, pooled over environments; robust as a median, with
                         far less noise. floor(n / 4) scores are cut at each end.
    P(X < Y)             the chance that a run of X has a lower score than a run of Y, ties counting one half; the mean
                         over environments. Paired: runs of the same seed, which met the same noise, are compared.
    profile              for each tau the share of runs with a score of at most tau, the mean over environments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from steering._types import Floats
from steering.errors import InvalidOption

Strata = Mapping[str, Floats]

BLOCK_NUMBERS = 4_000_000
"""Resampled numbers held in memory at once."""


def mean_interval(
    values: Floats, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float, float]:
    """Mean of the values and the ends of its percentile bootstrap interval.

    Parameters
    ----------
    values
        One number for each seed.
    level
        Confidence level.
    resamples, seed
        Number of resamples, and the seed of their generator.

    Returns
    -------
    mean, low, high
        For a single value both ends are that value: one run says nothing about spread.
    """
    _check(values, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    means = np.concatenate([part.mean(axis=1) for part in _resampled([values], resamples, rng)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(low), float(high)


def curve_interval(
    curves: Floats, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Mean curve of (K, T) and its pointwise percentile bootstrap band."""
    _check(curves, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    means = _resampled_means(curves, resamples, rng)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return curves.mean(axis=0), low, high


def _check(values: Floats, level: float) -> None:
    if not 0 < level < 1:
        raise InvalidOption(f"level is {level}; it must lie between 0 and 1.")
    if values.size == 0:
        raise InvalidOption("an interval needs at least one value.")


def interquartile_mean(scores: Floats) -> Floats:
    """Mean of the middle half, over the last axis: floor(n / 4) numbers are cut at each end."""
    n = scores.shape[-1]
    cut = n // 4
    middle: Floats = np.sort(scores, axis=-1)[..., cut : n - cut].mean(axis=-1)
    return middle


def pooled_mean(scores: Floats) -> Floats:
    """Mean over the last axis."""
    mean: Floats = scores.mean(axis=-1)
    return mean


def stratified_interval(
    strata: Strata,
    statistic: Callable[[Floats], Floats] = interquartile_mean,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float, float]:
    """A statistic of pooled scores with its stratified bootstrap interval.

    Parameters
    ----------
    strata
        One number for each seed, for each environment; numbers of seeds may differ.
    statistic
        Function of the last axis, such as `interquartile_mean` or `pooled_mean`.

    Returns
    -------
    value, low, high
    """
    values = _checked(strata, level)
    pooled = np.concatenate(values)
    rng = np.random.Generator(np.random.PCG64(seed))
    draws = np.concatenate([statistic(part) for part in _resampled(values, resamples, rng)])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(statistic(pooled)), float(low), float(high)


def probability_of_improvement(
    x: Strata, y: Strata, *, paired: bool = True, level: float = 0.95, resamples: int = 2000, seed: int = 0
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
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return value, float(low), float(high)


def performance_profile(
    strata: Strata, taus: Floats, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Share of runs with a score of at most each tau, mean over environments, with its pointwise bootstrap band."""
    values = _checked(strata, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    share, draws = np.zeros(taus.size), np.zeros((resamples, taus.size))
    for scores in values:
        below = (scores[:, None] <= taus).astype(np.float64)
        share += below.mean(axis=0) / len(values)
        draws += _resampled_means(below, resamples, rng) / len(values)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
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


def _checked(strata: Strata, level: float) -> list[Floats]:
    if not 0 < level < 1:
        raise InvalidOption(f"level is {level}; it must lie between 0 and 1.")
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


def _resampled(values: list[Floats], resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Pooled resamples, in blocks of (resamples, all seeds)."""
    for n in _blocks(resamples, sum(scores.size for scores in values)):
        yield np.concatenate([s[rng.integers(s.size, size=(n, s.size))] for s in values], axis=1)


def _resampled_means(values: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Means over the first axis of `values`, resampled; shape (resamples, ...).

    Resampling is a matrix of weights times the values: all values once for each resample are never formed.
    """
    size = values.shape[0]
    even = np.full(size, 1 / size)
    return np.concatenate([rng.multinomial(size, even, size=n) / size @ values for n in _blocks(resamples, size)])
