"""Exponents: exact on exact powers, covered by their intervals on noisy ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.paper.fits import exponent, mean_effect, scan_exponent, share_effect, slopes

X = np.arange(1.0, 301.0)


@settings(max_examples=25)
@given(st.floats(-2, 2), st.floats(0.01, 100), st.integers(3, 6))
def test_exact_powers_are_recovered(power: float, factor: float, runs: int) -> None:
    curves = np.tile(factor * X**power, (runs, 1))
    found = exponent(X, curves)
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low == pytest.approx(power, abs=1e-9)
    assert found.high == pytest.approx(power, abs=1e-9)


def test_only_the_end_of_a_curve_counts() -> None:
    curve = np.tile(np.where(X < 30, 1.0, X**0.5), (3, 1))
    assert exponent(X, curve, first=30).value == pytest.approx(0.5, abs=1e-9)
    assert abs(exponent(X, curve).value - 0.5) > 0.05


def test_intervals_cover_the_truth() -> None:
    """300 data sets of 30 runs, 95 %: fewer than 270 covered has a probability below 1e-3, more than 297 too."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        curves = X**0.5 * rng.gamma(20, 1 / 20, size=(30, 1)) * np.exp(0.2 * rng.normal(size=(30, X.size)))
        found = exponent(X, curves)
        covered += found.low <= 0.5 <= found.high
    assert 270 <= covered <= 297


@pytest.mark.parametrize("runs", [4, 5, 6])
def test_intervals_of_few_runs_cover_the_truth(runs: int) -> None:
    """1000 data sets, 95 %: fewer than 925 covered has a probability below 1e-3, more than 975 too."""
    rng = np.random.default_rng(runs)
    found = [mean_effect(values) for values in rng.normal(1.0, 2.0, size=(1000, runs))]
    assert 925 <= sum(effect.low <= 1.0 <= effect.high for effect in found) <= 975
    above = sum(effect.low > 1.0 for effect in found)
    assert above <= 42, "wrongly above: 2.5 %, more than 42 of 1000 has a probability below 1e-3"


@pytest.mark.parametrize("runs", [5, 6])
def test_exponents_of_few_runs_cover_the_truth(runs: int) -> None:
    """300 data sets, 95 %: fewer than 270 covered has a probability below 1e-3."""
    rng = np.random.default_rng(runs)
    covered = 0
    for _ in range(300):
        found = exponent(X, X**0.5 * np.exp(0.1 * rng.normal(size=(runs, 1)) * np.log(X)))
        covered += found.low <= 0.5 <= found.high
    assert covered >= 270


def test_scans_of_few_runs_cover_the_truth() -> None:
    """300 data sets, 95 %: fewer than 270 covered has a probability below 1e-3; groups need not be of one size."""
    rng = np.random.default_rng(2)
    x = np.array([2.0, 4.0, 8.0])
    sizes = (5, 20, 8)
    data = [[v * rng.gamma(30, 1 / 30, size=n) for v, n in zip(x, sizes, strict=True)] for _ in range(300)]
    found = [scan_exponent(x, groups) for groups in data]
    assert 270 <= sum(effect.low <= 1.0 <= effect.high for effect in found) <= 297


def test_the_interval_of_few_runs_is_students() -> None:
    found = mean_effect(np.array([1.0, 2.0, 3.0, 4.0]))
    reach = 3.182446305284263 * np.sqrt(5 / 3) / 2  # t(3) at 97.5 %, s / sqrt(n)
    assert (found.low, found.high) == pytest.approx((2.5 - reach, 2.5 + reach))
    many = np.arange(30.0)
    reach = 2.045229642132703 * np.sqrt(77.5 / 30)  # t(29)
    assert (mean_effect(many).low, mean_effect(many).high) == pytest.approx((14.5 - reach, 14.5 + reach), rel=0.02)
    assert mean_effect(many).high >= 14.5 + reach - 1e-9, "never narrower than Student's"


def test_skew_values_have_a_wider_interval() -> None:
    values = np.r_[np.zeros(28), 1.0, 1.0]
    reach = 2.045229642132703 * values.std(ddof=1) / np.sqrt(30)
    found = mean_effect(values)
    assert found.high - found.value > 1.1 * reach
    assert found.value - found.low == pytest.approx(reach), "towards the short tail it is Student's"


def test_one_or_two_runs_say_nothing() -> None:
    assert not mean_effect(np.array([0.3])).known
    assert not mean_effect(np.array([0.3, 0.4])).known
    assert not share_effect(np.array([True])).known
    assert not exponent(X, X[None]).known
    assert not scan_exponent(np.array([2.0, 4.0]), [np.ones(1), np.ones(3)]).known


@pytest.mark.parametrize(
    ("kept", "runs", "low", "high"),
    [(15, 15, 0.7820, 1.0), (0, 15, 0.0, 0.2180), (14, 15, 0.6805, 0.9983), (5, 10, 0.1871, 0.8129)],
)
def test_shares_have_the_exact_interval(kept: int, runs: int, low: float, high: float) -> None:
    """Against the tables of Clopper and Pearson."""
    found = share_effect(np.arange(runs) < kept)
    assert (found.value, found.low, found.high) == pytest.approx((kept / runs, low, high), abs=5e-5)


def test_what_has_no_exponent_is_unknown() -> None:
    assert not exponent(X, np.zeros((3, X.size))).known
    assert not exponent(X[:2], np.ones((3, 2))).known
    assert not exponent(X, np.ones((3, X.size)), first=1e9).known
    assert not scan_exponent(np.array([2.0]), [np.ones(3)]).known
    assert not scan_exponent(np.array([]), []).known
    assert not scan_exponent(np.array([2.0, 3.0]), [np.ones(3), np.array([])]).known
    assert not scan_exponent(np.array([2.0, 3.0]), [np.ones(3), -np.ones(3)]).known
    assert not mean_effect(np.array([1.0, np.nan])).known


def test_points_that_are_not_positive_are_left_out() -> None:
    heights = X[None] ** 2
    heights[0, ::7] = -1.0
    assert slopes(np.log(X), heights)[0] == pytest.approx(2.0)


def test_scans_resample_each_group() -> None:
    x = np.array([2.0, 4.0, 8.0])
    exact = scan_exponent(x, [np.full(5, v**1.5) for v in x])
    assert exact.value == pytest.approx(1.5)
    rng = np.random.default_rng(0)
    noisy = scan_exponent(x, [v * rng.gamma(5, 0.2, size=60) for v in x])
    assert noisy.low < 1.0 < noisy.high
    assert noisy.low < noisy.value < noisy.high
