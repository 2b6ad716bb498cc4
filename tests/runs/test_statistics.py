"""Bootstrap intervals: right coverage, repeatable, refusing what has no meaning."""

import numpy as np
import pytest

from steering.errors import InvalidOption
from steering.runs.statistics import curve_interval, mean_interval


def test_the_interval_covers_at_its_level() -> None:
    """400 data sets of 40 normal numbers: coverage of a 90 % interval in [0.84, 0.94] (p below 1e-3; fixed seed)."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        _, low, high = mean_interval(rng.normal(size=40), level=0.9, resamples=500)
        inside += low <= 0 <= high
    assert 0.84 <= inside / 400 <= 0.94


def test_the_normal_limit() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=2000)
    mean, low, high = mean_interval(values)
    half = 1.96 * values.std() / np.sqrt(2000)
    assert mean == values.mean()
    assert low == pytest.approx(mean - half, abs=0.1 * half)
    assert high == pytest.approx(mean + half, abs=0.1 * half)


def test_the_same_values_give_the_same_interval() -> None:
    values = np.random.default_rng(2).random(10)
    assert mean_interval(values) == mean_interval(values)
    assert mean_interval(values) != mean_interval(values, seed=1)
    assert mean_interval(np.array([4.0])) == (4.0, 4.0, 4.0)


def test_curves_are_treated_point_by_point() -> None:
    curves = np.random.default_rng(3).normal(size=(30, 5)).cumsum(axis=1)
    mean, low, high = curve_interval(curves, resamples=4000)
    np.testing.assert_allclose(mean, curves.mean(axis=0))
    for t in range(5):
        _, a, b = mean_interval(curves[:, t], resamples=4000)
        assert low[t] == pytest.approx(a, abs=0.05 * (b - a))
        assert high[t] == pytest.approx(b, abs=0.05 * (b - a))


@pytest.mark.parametrize("level", [0.0, 1.0, -1, float("nan")])
def test_levels_must_lie_between_zero_and_one(level: float) -> None:
    for function, values in ((mean_interval, np.ones(3)), (curve_interval, np.ones((3, 2)))):
        with pytest.raises(InvalidOption, match="level"):
            function(values, level=level)
        with pytest.raises(InvalidOption, match="at least one value"):
            function(values[:0])
