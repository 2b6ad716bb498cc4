"""Dirichlet rows: updates in any order, closed-form moments, exact evidence, draws."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from steering.beliefs import DirichletRows
from steering.beliefs.dirichlet import draw_rows
from steering.errors import InvalidOption, SteeringError

ETAS = st.sampled_from([1e-3, 0.1, 0.5, 1.0, 3.0, 1e3])
SEQUENCES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=30)


def filled(eta: float = 1.0, seed: int = 0, shape: tuple[int, ...] = (3, 4)) -> DirichletRows:
    rows = DirichletRows(shape, eta)
    rows.observe_counts(np.random.default_rng(seed).integers(0, 6, size=shape))
    return rows


@given(ETAS, SEQUENCES, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_batch_is_sequential_in_any_order(eta: float, sequence: list[tuple[int, int]], shuffler) -> None:
    one, other, batch = (DirichletRows((3, 4), eta) for _ in range(3))
    table = np.zeros((3, 4))
    for row, outcome in sequence:
        one.observe(row, outcome)
        table[row, outcome] += 1
    shuffler.shuffle(sequence)
    for row, outcome in sequence:
        other.observe((row,), outcome)
    batch.observe_counts(table)
    for rows in (other, batch):
        np.testing.assert_array_equal(one.alpha, rows.alpha)
    assert one.log_marginal() == batch.log_marginal()


@given(ETAS, SEQUENCES)
@settings(max_examples=60)
def test_log_marginal_is_the_product_of_predictives(eta: float, sequence: list[tuple[int, int]]) -> None:
    rows = DirichletRows((3, 4), eta)
    total = 0.0
    for row, outcome in sequence:
        total += np.log(rows.predictive()[row, outcome])
        rows.observe(row, outcome)
    assert rows.log_marginal() == pytest.approx(total, rel=1e-9, abs=1e-9)


def test_evidence_of_a_sequence_in_rational_arithmetic() -> None:
    # eta = 1, outcomes 0, 0, 2 of three: 1/3 * 2/4 * 1/5.
    rows = DirichletRows((3,), 1.0)
    for outcome in (0, 0, 2):
        rows.observe((), outcome)
    assert rows.log_marginal() == pytest.approx(np.log(float(Fraction(1, 3) * Fraction(2, 4) * Fraction(1, 5))))


def test_moments_are_those_of_the_beta_distribution_for_two_outcomes() -> None:
    rows = DirichletRows((1, 2), 0.7)
    rows.observe_counts([[3, 5]])
    beta = stats.beta(3.7, 5.7)
    assert rows.mean()[0, 0] == pytest.approx(beta.mean())
    assert rows.variance()[0] == pytest.approx([beta.var()] * 2)
    assert rows.covariance()[0] == pytest.approx(beta.var() * np.array([[1, -1], [-1, 1]]))


@given(ETAS, st.integers(0, 1000))
@settings(max_examples=60)
def test_moment_identities(eta: float, seed: int) -> None:
    rows = filled(eta, seed)
    rng = np.random.default_rng(seed + 1)
    f, g = rng.normal(size=(2, 3, 4))
    C = rows.covariance()
    np.testing.assert_allclose(C.sum(axis=-1), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.diagonal(C, axis1=-2, axis2=-1), rows.variance(), rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(rows.covariance_of(f, g), np.einsum("ij,ijk,ik->i", f, C, g), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(rows.variance_of(f), rows.covariance_of(f, f), rtol=1e-12)
    np.testing.assert_allclose(
        rows.variance_of(f + g),
        rows.variance_of(f) + rows.variance_of(g) + 2 * rows.covariance_of(f, g),
        rtol=1e-9,
        atol=1e-15,
    )
    assert (rows.variance_of(np.full(4, 7.0)) < 1e-25).all()


@pytest.mark.parametrize("eta", [1e-3, 0.019, 0.021, 0.3, 1.0, 50.0])
def test_draws_have_the_exact_moments(eta: float) -> None:
    """12 means and 12 variances for each eta: standardised deviations below 5 (1.4e-5 in total; fixed seed)."""
    rows = filled(eta, seed=4)
    n = 40_000
    draws = rows.draw(np.random.default_rng(5), size=n)
    assert draws.shape == (n, 3, 4)
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0, rtol=1e-12)
    spread = rows.variance()
    assert (np.abs(draws.mean(axis=0) - rows.mean()) <= 5 * np.sqrt(spread / n)).all()
    squares = (draws - rows.mean()) ** 2
    assert (np.abs(squares.mean(axis=0) - spread) <= 5 * squares.std(axis=0) / np.sqrt(n) + 1e-12).all()


@pytest.mark.parametrize("eta", [1e-6, 1e-3, 0.02])
def test_tiny_concentrations_draw_nearly_one_point_with_the_right_marginal(eta: float) -> None:
    """The first entry of an unseen row is Beta(eta, 3 eta): fraction above 1/2 within 4.5 standard errors."""
    n = 20_000
    draws = DirichletRows((4,), eta).draw(np.random.default_rng(6), size=n)
    assert np.isfinite(draws).all()
    above = stats.beta(eta, 3 * eta).sf(0.5)
    assert abs((draws[:, 0] > 0.5).mean() - above) < 4.5 * np.sqrt(above * (1 - above) / n)
    assert draws.max(axis=1).mean() > 0.9


def test_a_draw_of_one_outcome_is_certain_at_any_concentration() -> None:
    for eta in (1e-6, 1e-3, 0.02, 0.03, 1.0):
        draws = draw_rows(np.full((200_000, 1), eta), np.random.default_rng(0), smallest=eta)
        np.testing.assert_array_equal(draws, 1.0)


def test_one_draw_has_the_shape_of_the_table() -> None:
    assert filled().draw(np.random.default_rng(0)).shape == (3, 4)


@pytest.mark.parametrize("eta", [0, -1.0, float("nan"), float("inf")])
def test_eta_must_be_positive(eta: float) -> None:
    with pytest.raises(InvalidOption, match=r"eta is .* must be a positive number"):
        DirichletRows((2, 2), eta)


def test_bad_input_is_refused_and_changes_nothing() -> None:
    with pytest.raises(InvalidOption, match="cannot have shape"):
        DirichletRows((2, 0))
    rows = filled()
    before = rows.counts.copy()
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidOption, match="finite and not negative"):
            rows.observe_counts(np.full((3, 4), bad))
    with pytest.raises(SteeringError, match="shape"):
        rows.observe_counts(np.ones((5, 5)))
    for row, outcome in ((3, 0), (0, 4), (-1, 0), (0, -1), ((0, 0), 0)):
        with pytest.raises(SteeringError, match="outcome"):
            rows.observe(row, outcome)
    np.testing.assert_array_equal(rows.counts, before)
