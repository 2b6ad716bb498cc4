"""Exponents: exact on exact powers, covered by their intervals on noisy ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.reproduction.fits import exponent, mean_effect, scan_exponent, slopes

X = np.arange(1.0, 301.0)


@settings(max_examples=25, deadline=None)
@given(st.floats(-2, 2), st.floats(0.01, 100), st.integers(1, 6))
def test_exact_powers_are_recovered(power: float, factor: float, runs: int) -> None:
    curves = np.tile(factor * X**power, (runs, 1))
    found = exponent(X, curves)
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low == pytest.approx(power, abs=1e-9)
    assert found.high == pytest.approx(power, abs=1e-9)


def test_only_the_end_of_a_curve_counts() -> None:
    curve = np.where(X < 30, 1.0, X**0.5)[None]
    assert exponent(X, curve, first=30).value == pytest.approx(0.5, abs=1e-9)
    assert abs(exponent(X, curve).value - 0.5) > 0.05


def test_intervals_cover_the_truth() -> None:
    """100 data sets, nominal 95 %: fewer than 85 covered has a probability below 1e-4, bootstrap bias included."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(100):
        curves = X**0.5 * rng.gamma(20, 1 / 20, size=(20, 1)) * np.exp(0.2 * rng.normal(size=(20, X.size)))
        found = exponent(X, curves)
        covered += found.low <= 0.5 <= found.high
    assert covered >= 85


def test_what_has_no_exponent_is_unknown() -> None:
    assert not exponent(X, np.zeros((3, X.size))).known
    assert not exponent(X[:2], np.ones((3, 2))).known
    assert not exponent(X, np.ones((3, X.size)), first=1e9).known
    assert not scan_exponent(np.array([2.0]), [np.ones(3)]).known
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


def test_mean_effect_is_the_mean_with_its_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    found = mean_effect(values)
    assert found.value == 2.5
    assert 1.0 <= found.low < 2.5 < found.high <= 4.0
