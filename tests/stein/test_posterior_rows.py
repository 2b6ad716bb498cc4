"""The compiled posterior information against the exact quadrature."""

from __future__ import annotations

import numpy as np
import pytest

import steering.stein as stein
from steering._compiled.stein import ratio_mean
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution
from steering.stein.ratios import gamma_ratio_mean


def sparse_counts(rng: np.random.Generator, rows: int, states: int, seen: int, decades: float) -> np.ndarray:
    counts = np.zeros((rows, states))
    for row in counts:
        where = rng.choice(states, rng.integers(0, seen + 1), replace=False)
        row[where] = np.ceil(rng.exponential(size=len(where)) * 10 ** rng.uniform(0, decades))
    return counts


@pytest.mark.parametrize("reference", ["mean", "empirical"])
@pytest.mark.parametrize("eta", [1e-6, 1e-5, 1e-4, 1e-3, 0.1, 0.5, 1.0, 1.7, 2.0, 4.0, 11.9, 12.0, 1e3])
def test_compiled_rows_agree_with_quadrature(eta: float, reference: str) -> None:
    rng = np.random.default_rng(int(eta * 1000))
    for states, seen, decades in ((15, 3, 3), (40, 3, 6), (5, 5, 1), (1, 1, 1), (2, 2, 2)):
        counts = sparse_counts(rng, 8, states, seen, decades)
        exact = stein.posterior_information(eta + counts, counts, reference=reference, empty="mean")
        fast = stein.posterior_information_rows(counts, eta, reference=reference)
        np.testing.assert_allclose(fast, exact, rtol=1e-3, atol=1e-14)


def test_rows_keep_their_leading_axes_and_kernel_scale() -> None:
    counts = np.random.default_rng(0).integers(0, 40, (3, 2, 6))
    hamming = stein.posterior_information_rows(counts, 1.0)
    assert hamming.shape == (3, 2)
    delta = stein.posterior_information_rows(counts, 1.0, kernel="delta")
    np.testing.assert_allclose(hamming, (1 - np.exp(-1)) * delta, rtol=1e-12)
    np.testing.assert_allclose(hamming[1], stein.posterior_information_rows(counts[1], 1.0), rtol=1e-12)


def test_rows_are_invariant_to_relabelling_and_finite_at_extremes() -> None:
    rng = np.random.default_rng(1)
    counts = sparse_counts(rng, 10, 12, 6, 6)
    order = rng.permutation(12)
    for eta in (1e-6, 1e-3, 1.0, 1e3):
        one = stein.posterior_information_rows(counts, eta)
        two = stein.posterior_information_rows(counts[:, order], eta)
        np.testing.assert_allclose(one, two, rtol=1e-9)
        assert np.isfinite(one).all()
        assert (one > 0).all()


def test_ratio_mean_agrees_with_the_special_function() -> None:
    alphas = np.r_[10 ** np.linspace(-3, 3, 31), 0.5, 1.0, 1 + 1e-9, 1 - 1e-6, 1.5, 2.0, 12.0]
    for alpha in alphas:
        for log_g in np.linspace(-7, 7, 41):
            exact = float(gamma_ratio_mean(alpha, log_g))
            assert ratio_mean(alpha, float(np.exp(log_g)), log_g) == pytest.approx(exact, rel=3e-5)


def test_rows_refuse_what_they_cannot_do() -> None:
    counts = np.ones((2, 3))
    with pytest.raises(InvalidOption, match="Gram"):
        stein.posterior_information_rows(counts, 1.0, kernel=np.eye(3))
    with pytest.raises(InvalidOption, match="reference"):
        stein.posterior_information_rows(counts, 1.0, reference="draw")  # type: ignore[arg-type]
    with pytest.raises(InvalidDistribution, match="eta"):
        stein.posterior_information_rows(counts, 0.0)
    with pytest.raises(InvalidDistribution, match="counts"):
        stein.posterior_information_rows(-counts, 1.0)
