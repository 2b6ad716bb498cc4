"""The one rule for intervals: coverage measured, closed form against the textbook's, refusing what has no meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steering.errors import InvalidOption
from steering.runs.statistics import (
    LEAST_VALUES,
    curve_interval,
    interquartile_interval,
    interval_of_mean,
    mean_interval,
    pooled_interval,
)

SETS = 20_000


def covered(values: np.ndarray, truth: float, level: float = 0.95) -> float:
    """Share of the data sets (columns) whose interval holds the truth."""
    _, low, high = curve_interval(values, level=level)
    return float(np.mean((low <= truth) & (truth <= high)))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("runs", [3, 4, 5, 6, 8, 10, 20, 30])
def test_normal_values_are_covered_at_least_at_the_level(runs: int, level: float) -> None:
    """20,000 data sets; four standard errors of a share are 0.006 at 95 %: an honest rule is below that once in
    30,000 times (fixed seed). Student's own interval is exact, and this one is never inside it."""
    values = np.random.default_rng(runs).normal(3.0, 2.0, size=(runs, SETS))
    found = covered(values, 3.0, level)
    assert found >= level - 4 * np.sqrt(level * (1 - level) / SETS)
    assert found <= level + (1 - level) / 2, "and it is not so wide that it says nothing"


@pytest.mark.parametrize(
    ("runs", "least"), [(3, 0.92), (4, 0.915), (5, 0.915), (6, 0.92), (8, 0.93), (10, 0.935), (20, 0.95), (30, 0.95)]
)
def test_skew_values_are_covered_nearly_at_the_level(runs: int, least: float) -> None:
    """Exponential values at 95 %, 20,000 data sets (standard error 0.002); Student's t has 0.88 to 0.93 here."""
    values = np.random.default_rng(runs).exponential(size=(runs, SETS))
    student = stats.t.ppf(0.975, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    assert covered(values, 1.0) >= least
    assert covered(values, 1.0) > np.mean(np.abs(values.mean(axis=0) - 1) <= student) + 0.015


@pytest.mark.parametrize(("runs", "seen"), [(4, 0.75), (10, 0.95), (30, 0.95)])
def test_failures_are_covered_once_they_are_seen(runs: int, seen: float) -> None:
    """Runs that fail with probability 0.3: with 4 of them no failure is seen in 0.24 of the data sets, and nothing
    computed from such runs knows of it. 20,000 data sets, standard error at most 0.003; allowed are four."""
    rng = np.random.default_rng(runs)
    values = 0.1 + 0.02 * rng.normal(size=(runs, SETS)) + 0.9 * (rng.random((runs, SETS)) < 0.3)
    assert covered(values, 0.37) >= seen - 0.012


@pytest.mark.parametrize(("strata", "runs"), [(2, 3), (3, 3), (20, 3), (5, 6), (10, 1), (10, 2)])
def test_strata_are_covered(strata: int, runs: int) -> None:
    """2000 data sets at 95 %, standard error 0.005: below 0.93 has a probability under 1e-4 (fixed seed)."""
    rng = np.random.default_rng(strata * 100 + runs)
    inside = 0
    for _ in range(2000):
        one = interval_of_mean(list(rng.normal(size=(strata, runs))))
        inside += one.low <= 0 <= one.high
    assert inside / 2000 >= 0.93


@pytest.mark.parametrize("runs", [3, 5, 6, 8, 10, 30])
def test_interquartile_means_are_covered(runs: int) -> None:
    """1000 data sets at 95 % with the truth 0, standard error 0.007: below 0.91 is beyond five of them."""
    rng = np.random.default_rng(runs)
    inside = 0
    for _ in range(1000):
        _, low, high = interquartile_interval({"a": rng.normal(size=runs)})
        inside += low <= 0 <= high
    assert inside / 1000 >= 0.91


def test_values_without_skewness_have_students_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    reach = 3.182446305284263 * np.sqrt(5 / 3) / 2  # t(3) at 97.5 %, s / sqrt(n)
    assert mean_interval(values) == pytest.approx((2.5, 2.5 - reach, 2.5 + reach))


def test_skewness_moves_the_end_of_the_long_tail() -> None:
    """By hand for 0, 0, 0, 1: m2 = 3/16, m3 = 3/32, so that the mean's skewness is (3/32) / (3/16)^1.5 / 2."""
    values = np.array([0.0, 0.0, 0.0, 1.0])
    skew = (3 / 32) / (3 / 16) ** 1.5 / 2
    t, error = 3.182446305284263, 0.25
    hall = [3 * (np.cbrt(1 + skew * (sign * t - skew / 6)) - 1) / skew for sign in (1, -1)]
    mean, low, high = mean_interval(values)
    assert hall[0] < t < -hall[1]
    assert (mean, low, high) == pytest.approx((0.25, 0.25 - t * error, 0.25 - hall[1] * error))
    mirrored = mean_interval(-values)
    assert mirrored == pytest.approx((-mean, -high, -low))


@given(st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=3, max_size=12), st.floats(-50, 50))
def test_intervals_follow_shifts_and_hold_students(values: list[float], shift: float) -> None:
    array = np.array(values)
    mean, low, high = mean_interval(array)
    reach = stats.t.ppf(0.975, array.size - 1) * array.std(ddof=1) / np.sqrt(array.size)
    assert low <= mean - reach + 1e-6
    assert high >= mean + reach - 1e-6
    assert mean_interval(array + shift) == pytest.approx((mean + shift, low + shift, high + shift), abs=1e-6)


@pytest.mark.parametrize("runs", [1, 2])
def test_below_three_runs_there_is_no_interval(runs: int) -> None:
    values = np.arange(float(runs))
    assert runs < LEAST_VALUES
    for mean, low, high in (
        mean_interval(values),
        pooled_interval({"a": values}),
        interquartile_interval({"a": values}),
    ):
        assert mean == values.mean()
        assert np.isnan([low, high]).all()
    mean, low, high = curve_interval(values[:, None] * np.ones(3))
    assert mean.shape == (3,)
    assert np.isnan([low, high]).all()
    one = interval_of_mean([values])
    assert (one.mean, one.values) == (values.mean(), runs)
    assert np.isnan([one.low, one.high]).all()


def test_equal_values_have_an_interval_without_width() -> None:
    mean, low, high = mean_interval(np.full(30, 0.1))
    assert low == mean == high
    assert mean_interval(np.zeros(3)) == (0.0, 0.0, 0.0)


def test_curves_are_treated_point_by_point() -> None:
    curves = np.random.default_rng(3).exponential(size=(7, 5)).cumsum(axis=1)
    mean, low, high = curve_interval(curves)
    for t in range(5):
        assert (mean[t], low[t], high[t]) == pytest.approx(mean_interval(curves[:, t]))


@pytest.mark.parametrize("level", [0.0, 1.0, -1, float("nan")])
def test_levels_must_lie_between_zero_and_one(level: float) -> None:
    for function, values in ((mean_interval, np.ones(3)), (curve_interval, np.ones((3, 2)))):
        with pytest.raises(InvalidOption, match="level"):
            function(values, level=level)
        with pytest.raises(InvalidOption, match="at least one value"):
            function(values[:0])
