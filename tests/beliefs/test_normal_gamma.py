"""Normal-Gamma cells: updates in any order, moments, evidence, extreme rewards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from steering.beliefs import NormalGammaCells
from steering.errors import InvalidOption

PRIORS = st.sampled_from([(0.0, 4.0, 3.0, 3.0), (0.0, 1.0, 4.0, 4.0), (-2.0, 0.1, 1.5, 0.01), (10.0, 30.0, 2.0, 100.0)])
REWARDS = st.lists(st.tuples(st.integers(0, 2), st.floats(-50, 50)), max_size=25)


def parameters(cells: NormalGammaCells) -> np.ndarray:
    return np.array([cells.mu, cells.lam, cells.shape, cells.rate])


def moments_by_cell(data: list[tuple[int, float]]) -> tuple[list[int], list[float], list[float]]:
    groups = [np.array([r for cell, r in data if cell == i]) for i in range(3)]
    return (
        [len(g) for g in groups],
        [float(g.mean()) if len(g) else 0.0 for g in groups],
        [float(((g - g.mean()) ** 2).sum()) if len(g) else 0.0 for g in groups],
    )


@given(PRIORS, REWARDS, REWARDS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_batch_is_sequential_in_any_order(prior, first, second, shuffler) -> None:
    one, other, batch = (NormalGammaCells((3,), prior) for _ in range(3))
    data = first + second
    for cell, reward in data:
        one.observe(cell, reward)
    batch.observe_moments(*moments_by_cell(first))
    batch.observe_moments(*moments_by_cell(second))
    shuffler.shuffle(data)
    for cell, reward in data:
        other.observe((cell,), reward)
    for cells in (other, batch):
        np.testing.assert_allclose(parameters(one), parameters(cells), rtol=1e-9, atol=1e-9)


@given(PRIORS, st.lists(st.floats(-20, 20), min_size=1, max_size=10))
@settings(max_examples=40)
def test_posterior_is_the_textbook_recursion(prior, rewards) -> None:
    cells = NormalGammaCells((), prior)
    mu, lam, alpha, beta = prior
    for r in rewards:
        cells.observe((), r)
        beta += 0.5 * lam * (r - mu) ** 2 / (lam + 1)
        mu = (lam * mu + r) / (lam + 1)
        lam, alpha = lam + 1, alpha + 0.5
    np.testing.assert_allclose(parameters(cells), [mu, lam, alpha, beta], rtol=1e-9, atol=1e-12)


@given(PRIORS, REWARDS)
@settings(max_examples=60)
def test_log_marginal_is_the_product_of_predictives(prior, data) -> None:
    cells = NormalGammaCells((3,), prior)
    total = 0.0
    for cell, reward in data:
        total += cells.log_predictive(reward)[cell]
        cells.observe(cell, reward)
    assert cells.log_marginal() == pytest.approx(total, rel=1e-9, abs=1e-9)


def test_predictive_and_evidence_by_integration_over_mean_and_precision() -> None:
    prior = (0.5, 2.0, 3.0, 1.5)
    cells = NormalGammaCells((), prior)
    rewards = [0.2, 1.4]

    def joint(mean: float, tau: float) -> float:
        density = stats.gamma(prior[2], scale=1 / prior[3]).pdf(tau)
        density *= stats.norm(prior[0], 1 / np.sqrt(prior[1] * tau)).pdf(mean)
        return density * np.prod(stats.norm(mean, 1 / np.sqrt(tau)).pdf(rewards))

    mean = np.linspace(-6, 7, 401)[:, None]
    tau = np.geomspace(1e-3, 40, 401)[None, :]
    table = stats.gamma(prior[2], scale=1 / prior[3]).pdf(tau) * stats.norm(prior[0], 1 / np.sqrt(prior[1] * tau)).pdf(
        mean
    )
    for r in rewards:
        table = table * stats.norm(mean, 1 / np.sqrt(tau)).pdf(r)
    evidence = integrate.simpson(integrate.simpson(table * tau, np.log(tau[0]), axis=1), mean[:, 0])
    for r in rewards:
        cells.observe((), r)
    assert cells.log_marginal() == pytest.approx(np.log(evidence), abs=1e-4)


def test_draws_of_the_mean_have_the_student_moments() -> None:
    """Mean and variance within 5 standard errors (fixed seed); kurtosis exists because the shape is above 2."""
    cells = NormalGammaCells((2,), (1.0, 4.0, 3.0, 3.0))
    for r in (2.0, 2.5, 1.0, 3.0):
        cells.observe(0, r)
    n = 100_000
    draws = cells.draw_means(np.random.default_rng(0), size=n)
    spread = cells.variance_of_mean()
    assert (np.abs(draws.mean(axis=0) - cells.mu) < 5 * np.sqrt(spread / n)).all()
    squares = (draws - cells.mu) ** 2
    assert (np.abs(squares.mean(axis=0) - spread) < 5 * squares.std(axis=0) / np.sqrt(n)).all()
    student = stats.t(2 * cells.shape, cells.mu, np.sqrt(cells.rate / (cells.shape * cells.lam)))
    np.testing.assert_allclose(spread, student.var(), rtol=1e-12)
    np.testing.assert_allclose(cells.expected_variance(), spread * cells.lam, rtol=1e-12)
    assert cells.draw_means(np.random.default_rng(0)).shape == (2,)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 1e6), (1e6, 0.0), (1e-6, 0.0), (0.0, 1e6), (0.0, 0.0)])
def test_extreme_rewards_lose_no_digits(scale: float, offset: float) -> None:
    rewards = offset + scale * np.random.default_rng(1).normal(size=50)
    cells = NormalGammaCells((), (0.0, 4.0, 3.0, 3.0))
    for r in rewards:
        cells.observe((), float(r))
    assert float(cells.average) == pytest.approx(rewards.mean(), rel=1e-12)
    scatter = float(((rewards - rewards.mean()) ** 2).sum())
    assert float(cells.scatter) == pytest.approx(scatter, rel=1e-8, abs=1e-12)
    assert np.isfinite(parameters(cells)).all()
    assert np.isfinite(cells.log_marginal())
    assert np.isfinite(cells.draw_means(np.random.default_rng(2), size=100)).all()


@pytest.mark.parametrize(
    ("prior", "word"),
    [
        ((0, 0, 3, 3), "lambda"),
        ((0, 4, -1, 3), "alpha"),
        ((0, 4, 3, float("nan")), "beta"),
        ((float("inf"), 4, 3, 3), "mu"),
        ((0, 4, 3), "four numbers"),
        ((0, 4, 3, "x"), "four numbers"),
        (5.0, "four numbers"),
    ],
)
def test_bad_priors_are_named(prior, word: str) -> None:
    with pytest.raises(InvalidOption, match=word):
        NormalGammaCells((1,), prior)


def test_bad_data_is_refused_and_changes_nothing() -> None:
    cells = NormalGammaCells((2,))
    with pytest.raises(InvalidOption, match="reward of cell"):
        cells.observe(0, float("nan"))
    ones = np.ones(2)
    for counts, average, scatter in (
        (-ones, ones, ones),
        (ones, ones * np.nan, ones),
        (ones, ones, -ones),
        (ones, ones, ones * np.nan),
        (ones * np.inf, ones, ones),
    ):
        with pytest.raises(InvalidOption, match="a batch needs"):
            cells.observe_moments(counts, average, scatter)
    assert cells.counts.sum() == 0


def test_the_variance_of_a_mean_needs_a_shape_above_one() -> None:
    cells = NormalGammaCells((1,), (0, 1, 1, 4))
    with pytest.raises(InvalidOption, match="does not exist"):
        cells.variance_of_mean()
    cells.observe(0, 1.0)
    assert cells.variance_of_mean()[0] == pytest.approx(cells.rate[0] / (2 * 0.5))
