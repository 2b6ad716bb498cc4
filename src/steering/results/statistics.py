"""Intervals over seeds, by the bootstrap: vectorised and with a fixed seed, so that a table never changes by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steering.errors import InvalidOption

Floats = NDArray[np.float64]


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
    picks = rng.integers(values.size, size=(resamples, values.size))
    means = values[picks].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(low), float(high)


def curve_interval(
    curves: Floats, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Mean curve of (K, T) and its pointwise percentile bootstrap band."""
    _check(curves, level)
    rng = np.random.Generator(np.random.PCG64(seed))
    seeds = curves.shape[0]
    # Resampling is a matrix of weights times the curves: K x T once for each resample is never formed.
    weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds
    means = weights @ curves
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return curves.mean(axis=0), low, high


def _check(values: Floats, level: float) -> None:
    if not 0 < level < 1:
        raise InvalidOption(f"level is {level}; it must lie between 0 and 1.")
    if values.size == 0:
        raise InvalidOption("an interval needs at least one value.")
