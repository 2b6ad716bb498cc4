"""Posterior expectations with kernels of a function f, and mixtures: exact ways against other exact ways and draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import steering.stein as stein
from steering.errors import InvalidOption

ALPHA = np.array([[1.0, 1, 1, 1, 1], [3, 1, 1, 9, 1], [0.2, 0.2, 4.2, 0.2, 1.2], [30.5, 20.5, 0.5, 0.5, 0.5]])
COUNTS = np.array([[1, 0, 0, 0, 0], [2, 0, 0, 8, 0], [0, 0, 4, 0, 1], [30, 20, 0, 0, 0]])
F = np.array([0.5, -2.0, 3.0, 0.0, 1.5])
REFERENCES = ["mean", "empirical", "draw"]
ALPHAS = st.lists(st.floats(np.log(1e-2), np.log(1e4)), min_size=2, max_size=6).map(np.exp)


def information(alpha, f, operator: str = "barker", **options) -> float:
    return stein.posterior_information(alpha, operator=operator, kernel=stein.ValueKernel(f), **options)  # type: ignore[return-value]


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("operator", ["barker", "gibbs"])
def test_exact_information_agrees_with_monte_carlo(operator: str, reference: str) -> None:
    """Eight comparisons a case at 4.5 standard errors: fails by chance with probability below 1e-4 (seed fixed)."""
    for kernel in (stein.ValueKernel(F), stein.MixedKernel([(2.0, "exp-hamming"), (0.5, stein.ValueKernel(F))])):
        exact = stein.posterior_information(ALPHA, COUNTS, operator, kernel, reference)
        mean, error = stein.posterior_information(
            ALPHA, COUNTS, operator, kernel, reference, draws=4000, rng=1, return_error=True
        )
        assert (np.abs(exact - mean) < 4.5 * error).all()
        assert (error < 0.1 * exact).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_difference_agrees_with_monte_carlo(n: int) -> None:
    """Parameters above 8, so that the sample mean has finite variance; 4.5 standard errors, fixed seed."""
    alpha, kernel = 8.0 + np.arange(n), stein.MixedKernel([(0.5, "exp-hamming"), (1.0, stein.ValueKernel(F[:n]))])
    exact = stein.posterior_information(alpha, operator="difference", kernel=kernel)
    mean, error = stein.posterior_information(
        alpha, operator="difference", kernel=kernel, draws=20_000, rng=2, return_error=True
    )
    assert abs(exact - mean) <= 4.5 * error


@pytest.mark.parametrize("operator", ["gibbs", "barker"])
def test_two_outcomes_have_a_closed_form(operator: str) -> None:
    """S = 2: w = +-(B - p_1) with one Beta variable B, for both operators, so E (w'f)^2 = (f_1 - f_0)^2 E (B - p)^2."""
    a, b = 2.5, 0.7
    total = a + b
    variance, gap = a * b / (total**2 * (total + 1)), 3.0**2
    assert information([a, b], [1.0, 4.0], operator) == pytest.approx(gap * variance, rel=1e-11)
    shifted = information([a, b], [1.0, 4.0], operator, counts=[1, 3], reference="empirical")
    assert shifted == pytest.approx(gap * (variance + (a / total - 0.25) ** 2), rel=1e-11)
    twice = information([a, b], [1.0, 4.0], operator, reference="draw")
    assert twice == pytest.approx(2 * gap * variance, rel=1e-10)


def integral(alpha: np.ndarray, f: np.ndarray, p: np.ndarray) -> float:
    """E (w'f)^2 over Dirichlet(alpha), S = 3, from the definition: q_0 is Beta, and so is the split of the rest."""

    def beta(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
        x, weights = special.roots_jacobi(300, b - 1, a - 1)
        return (1 + x) / 2, weights / weights.sum()

    (u, wu), (v, wv) = beta(alpha[0], alpha[1] + alpha[2]), beta(alpha[1], alpha[2])
    q = np.stack(np.broadcast_arrays(u[:, None], np.outer(1 - u, v), np.outer(1 - u, 1 - v)), -1)
    moved = p[:, None] * q[..., None, :] / (q[..., None, :] + q[..., :, None])  # from y to z
    w = moved.sum(-2) - moved.sum(-1)
    return float(wu @ (w @ f) ** 2 @ wv)


def test_three_outcomes_against_two_dimensional_integration() -> None:
    f = np.array([1.0, -0.5, 3.0])
    for alpha in ([2.5, 3.0, 4.0], [3.0, 9.0, 30.0], [2.0, 2.0, 2.0]):
        a = np.array(alpha)
        assert information(a, f) == pytest.approx(integral(a, f, a / a.sum()), rel=1e-7)
        away = information(a, f, counts=[5, 2, 3], reference="empirical")
        assert away == pytest.approx(integral(a, f, np.array([0.5, 0.2, 0.3])), rel=1e-7)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("operator", ["gibbs", "barker"])
@pytest.mark.parametrize(
    "alpha", [*ALPHA, np.array([1e-3, 1e-3, 2.0]), np.array([1e4, 1.0, 1.0]), np.array([1e12, 1.0, 1.0])]
)
def test_the_sum_over_indicators_is_the_delta_kernel(alpha: np.ndarray, operator: str, reference: str) -> None:
    """``sum_z e_z e_z' = I``: two formulas, one for pairs and one for centres, to the stated 1e-9."""
    n = len(alpha)
    counts = np.arange(1, n + 1)
    every = stein.MixedKernel([(1.0, stein.ValueKernel(row)) for row in np.eye(n)])
    one = stein.posterior_information(alpha, counts, operator, every, reference)
    two = stein.posterior_information(alpha, counts, operator, "delta", reference)
    # 1 - |m|^2 costs the named kernel of gibbs digits where one outcome is nearly certain, not this one
    assert one == pytest.approx(two, rel=1e-9, abs=1e-15 / alpha.sum() if operator == "gibbs" else 0.0)


def test_gibbs_is_the_posterior_variance_of_the_mean_value() -> None:
    alpha = np.array([2.0, 3.0, 4.0, 0.5, 1.0])
    m = alpha / alpha.sum()
    covariance = (np.diag(m) - np.outer(m, m)) / (alpha.sum() + 1)
    truth = F @ covariance @ F
    assert information(alpha, F, "gibbs") == pytest.approx(truth, rel=1e-12)
    assert information(alpha, F, "gibbs", reference="draw") == pytest.approx(2 * truth, rel=1e-12)
    counts = np.array([1, 2, 3, 0, 0])
    assert information(alpha, F, "gibbs", counts=counts, reference="empirical") == pytest.approx(
        truth + (F @ (m - counts / 6)) ** 2, rel=1e-12
    )
    # Values of a long horizon: a constant of 1e8 takes 8 of 16 digits from f, and no more from the result.
    assert information(alpha, F + 1e8, "gibbs") == pytest.approx(truth, rel=1e-7)


@settings(max_examples=40)
@given(
    alpha=ALPHAS,
    seed=st.integers(0, 99),
    shift=st.floats(-10, 10),
    reference=st.sampled_from(REFERENCES),
    operator=st.sampled_from(["gibbs", "barker"]),
)
def test_shift_scale_numbering_and_the_parallelogram(
    alpha: np.ndarray, seed: int, shift: float, reference: str, operator: str
) -> None:
    """A quadratic form in f that sees differences only, whatever the outcomes are called."""
    rng = np.random.default_rng(seed)
    n = len(alpha)
    f, g, order = rng.normal(size=n), rng.normal(size=n), rng.permutation(n)
    options = {"counts": rng.integers(1, 9, n), "reference": reference}
    one, two = information(alpha, f, operator, **options), information(alpha, g, operator, **options)
    assert one >= 0
    slack = 1e-10 * (one + two) + 1e-13
    assert information(alpha, f + shift, operator, **options) == pytest.approx(one, rel=1e-8, abs=slack)
    assert information(alpha, -3 * f, operator, **options) == pytest.approx(9 * one, rel=1e-9)
    both = information(alpha, f + g, operator, **options) + information(alpha, f - g, operator, **options)
    assert both == pytest.approx(2 * (one + two), rel=1e-8)
    options["counts"] = options["counts"][order]
    assert information(alpha[order], f[order], operator, **options) == pytest.approx(one, rel=1e-8, abs=slack)


def test_many_rows_and_blocks_are_one_row_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = information(ALPHA[:, None], F)
    assert np.shape(rows) == (4, 1)
    for alpha, value in zip(ALPHA, np.ravel(rows), strict=True):
        assert information(alpha, F) == value
    monkeypatch.setattr("steering.stein.exact._BLOCK", 1)
    np.testing.assert_allclose(
        information(ALPHA[:, None], F, reference="draw"),
        np.array([[information(alpha, F, reference="draw")] for alpha in ALPHA]),
        rtol=1e-13,
    )
    np.testing.assert_allclose(information(ALPHA[:, None], F), rows, rtol=1e-12)


def test_limits_of_much_data_and_of_none() -> None:
    """Much data: the variance of the linear part. None at all: the outcomes are in random order, each before half."""
    m = np.array([0.1, 0.2, 0.4, 0.05, 0.25])
    gap, total = F[None, :] - F[:, None], m[:, None] + m[None, :]
    # w'f = sum_{y < z} (f_z - f_y) (m_y d_z - m_z d_y) / (m_y + m_z) for q = m + d
    slope = (gap * m[:, None] / total).sum(0)
    linear = m @ slope**2 - (m @ slope) ** 2
    assert information(1e8 * m, F) == pytest.approx(linear / 1e8, rel=1e-6)
    assert information(1e8 * m, F, reference="draw") == pytest.approx(2 * linear / 1e8, rel=1e-6)
    # alpha -> 0: w_z = (2 rank_z - (S - 1)) / S with a uniformly random ranking
    ranks = 6 / 15 * ((F - F.mean()) ** 2).sum()
    assert information(np.full(5, 1e-3), F) == pytest.approx(ranks, rel=1e-2)
    for operator in ("gibbs", "barker"):
        for reference in ("mean", "draw"):
            assert information(ALPHA, np.full(5, 7.0), operator, reference=reference) == pytest.approx(0.0, abs=1e-28)
        assert information([3.0], [2.0], operator) == pytest.approx(0.0, abs=1e-30)


def test_information_about_value_shrinks_with_data_and_ignores_what_does_not_matter() -> None:
    values = [information(1 + n * np.array([0.2, 0.5, 0.3]), [0.0, 1.0, 3.0]) for n in (0, 10, 100, 1000, 10_000)]
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(values[-2] / 10, rel=0.05)
    # one outcome of value among a hundred whose differences do not matter: the row's structure is not the question
    f = np.zeros(100)
    f[0] = 1.0
    certain = information(np.r_[1e6, np.ones(99)], f, "gibbs")
    assert certain < 1e-3 * information(np.r_[1.0, np.ones(99)], f, "gibbs") / 99


def test_mixtures_are_exact_when_their_parts_are() -> None:
    value = stein.ValueKernel(F)
    kernel = stein.MixedKernel([(0.25, "delta"), (3.0, value)])
    for operator in ("gibbs", "barker"):
        for reference in REFERENCES:
            parts = [stein.posterior_information(ALPHA, COUNTS, operator, k, reference) for k in ("delta", value)]
            whole, error = stein.posterior_information(ALPHA, COUNTS, operator, kernel, reference, return_error=True)
            np.testing.assert_allclose(whole, 0.25 * parts[0] + 3.0 * parts[1], rtol=1e-12)
            assert (error == 0).all()
    sampled = stein.MixedKernel([(1.0, value), (1.0, np.eye(5))])
    with pytest.raises(InvalidOption, match="rng="):
        stein.posterior_information(ALPHA, kernel=sampled)
    assert (stein.posterior_information(ALPHA, kernel=sampled, rng=0) > 0).all()
    m = ALPHA / ALPHA.sum(-1, keepdims=True)
    spread = (1 + m @ F**2 - (m**2).sum(-1) - (m @ F) ** 2) / (ALPHA.sum(-1) + 1)
    np.testing.assert_allclose(stein.posterior_information(ALPHA, operator="gibbs", kernel=sampled), spread, rtol=1e-12)
