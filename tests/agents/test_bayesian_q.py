"""Bayesian Q-learning: mixture moments against quadrature and sampling, KL matching, and the update as a whole."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from helpers import problem_of
from steering._compiled import model_free as kernels
from steering.agents import Problem, make_agent
from steering.agents.bayesian_q import BayesianQ
from steering.envs import make_env

DOFS = (2.000002, 2.5, 6.0, 30.0, 300.0, 1e3, 1e5)
CENTRES = (0.0, 1.0, -3.0, 20.0)
WIDTHS = (1e-3, 0.1, 1.0, 30.0, 1e3)


def reference_moments(centre: float, scale: float, dof: float, half_width: float, base: float) -> tuple[float, ...]:
    """The moments of `mixture_moments` by adaptive quadrature on pieces around both peaks."""
    constant = math.exp(special.gammaln((dof + 1) / 2) - special.gammaln(dof / 2)) / math.sqrt(dof * math.pi)
    pole, width = -centre / scale, half_width / scale
    marks = {0.0, 1.0, 6.0, 40.0, 1e3, 1e5, 1e8}
    inner = {pole + sign * k * width for sign in (-1, 1) for k in (0, 1, 10)}
    edges = sorted(m for m in {*marks, *(-m for m in marks), *inner} if abs(m) <= 1e8)

    def integral(f) -> float:
        def integrand(t: float) -> float:
            density = constant * math.exp(-0.5 * (dof + 1) * math.log1p(t * t / dof))
            return density * f(centre + scale * t)

        pieces = itertools.pairwise(edges)
        return sum(integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-9, limit=60)[0] for a, b in pieces)

    def growth(d: float) -> float:
        return 1 + (d / half_width) ** 2

    inverse = integral(lambda d: 1 / growth(d))
    mean = integral(lambda d: d / growth(d)) / inverse
    variance = integral(lambda d: (d - mean) ** 2 / growth(d)) / inverse
    return inverse / base, mean, variance, math.log(base) + integral(lambda d: math.log(growth(d)))


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("dof", DOFS)
def test_quadrature_moments_are_those_of_adaptive_integration(dof: float) -> None:
    for centre, width in itertools.product(CENTRES, WIDTHS):
        got = kernels.mixture_moments(2 * centre, 2.0, dof, 2 * width, 3.0)
        wanted = reference_moments(2 * centre, 2.0, dof, 2 * width, 3.0)
        case = f"centre {centre}, width {width}"
        assert got[0] == pytest.approx(wanted[0], rel=1e-6), case
        assert abs(got[1] - wanted[1]) < 1e-6 * math.sqrt(wanted[2]), case
        assert got[2] == pytest.approx(wanted[2], rel=2e-6), case
        assert got[3] == pytest.approx(wanted[3], abs=1e-6), case


def test_light_tails_and_wide_widths_give_the_moments_of_the_target() -> None:
    # With b constant the weights are flat, so mean and variance are the target's own.
    for dof in (5.0, 50.0, 1e3, 1e6):
        _, mean, variance, _ = kernels.mixture_moments(1.5, 2.0, dof, 1e7, 1.0)
        assert mean == pytest.approx(1.5, rel=1e-5)
        assert variance == pytest.approx(4 * dof / (dof - 2), rel=1e-3 if dof == 5 else 1e-6)


def mixture_draws(cell, centre: float, scale: float, dof: float, n: int, seed: int):
    """Draws (mu, tau) of the mixture posterior of a cell, by its definition."""
    rng = np.random.default_rng(seed)
    mu, lam, alpha, beta = cell
    target = mu + centre + scale * rng.standard_t(dof, n)
    new_mu = (lam * mu + target) / (lam + 1)
    rate = beta + 0.5 * lam * (target - mu) ** 2 / (lam + 1)
    tau = rng.gamma(alpha + 0.5, 1 / rate)
    return new_mu + rng.standard_normal(n) / np.sqrt((lam + 1) * tau), tau


CASES = [
    ((0.0, 4.0, 3.0, 3.0), 0.5, 1.0, 6.0),
    ((1.0, 20.0, 8.0, 4.0), 1.0, 0.8, 8.0),
    ((-2.0, 2.0, 2.0, 10.0), 0.0, 0.3, 40.0),
    ((0.0, 50.0, 30.0, 1.0), -1.0, 0.1, 2000.0),
]


def matched(case) -> np.ndarray:
    cell, centre, scale, dof = case
    got = np.array(cell)
    half_width = math.sqrt(2 * (cell[1] + 1) * cell[3] / cell[1])
    kernels.match_normal_gamma(got, *kernels.mixture_moments(centre, scale, dof, half_width, cell[3]))
    return got


@pytest.mark.parametrize("case", CASES)
def test_the_match_has_the_mixtures_moments(case) -> None:
    """E[tau], E[mu tau], E[mu^2 tau], E[log tau] of the matched cell against 400,000 draws: 5 standard errors each."""
    mu, lam, alpha, beta = matched(case)
    draws, tau = mixture_draws(*case, n=400_000, seed=1)
    for values, exact in (
        (tau, alpha / beta),
        (draws * tau, mu * alpha / beta),
        (draws**2 * tau, 1 / lam + mu**2 * alpha / beta),
        (np.log(tau), special.digamma(alpha) - math.log(beta)),
    ):
        assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(values.size)


def log_density(cell, mu: np.ndarray, tau: np.ndarray) -> np.ndarray:
    m, lam, alpha, beta = cell
    return stats.gamma.logpdf(tau, alpha, scale=1 / beta) + stats.norm.logpdf(mu, m, 1 / np.sqrt(lam * tau))


@pytest.mark.parametrize("case", CASES)
def test_no_neighbour_is_nearer_in_kl_divergence(case) -> None:
    """KL(mixture || cell) = const - E log cell; on common draws every neighbour must have the smaller E log."""
    best = matched(case)
    draws, tau = mixture_draws(*case, n=100_000, seed=2)
    top = log_density(best, draws, tau).mean()
    for i, factor in itertools.product(range(4), (0.9, 1.1)):
        other = best.copy()
        if i == 0:
            other[0] += (factor - 1) * 3 * math.sqrt(best[3] / (best[1] * best[2]))
        else:
            other[i] *= factor
        assert log_density(other, draws, tau).mean() < top


def test_the_shape_stays_above_one_and_the_rest_is_still_best() -> None:
    case = ((1.0, 20.0, 8.0, 0.5), 3.0, 2.0, 5.0)
    best = matched(case)
    assert best[2] == pytest.approx(1.0, abs=2e-6)
    draws, tau = mixture_draws(*case, n=100_000, seed=2)
    top = log_density(best, draws, tau).mean()
    for change in ((1, 1, 1.1, 1), (1, 1.1, 1, 1), (1, 0.9, 1, 1), (1, 1, 1, 1.1), (1, 1, 1, 0.9), (1.1, 1, 1, 1)):
        assert log_density(best * change, draws, tau).mean() < top


@pytest.mark.parametrize("horizon", [None, 2])
def test_sampling_agrees_with_quadrature(horizon: int | None) -> None:
    """One update with 400,000 draws: every parameter within 2 % (about 6 standard errors of the shape; fixed seed)."""
    problem = Problem(2, 2, np.ones((2, 2), bool), 0.9, horizon)
    cells = []
    for mixture in ("quadrature", "sampling"):
        agent = make_agent("bayesian_q", mixture=mixture, samples=400_000)
        agent.start(problem, np.random.default_rng(0), np.random.default_rng(1))
        assert isinstance(agent, BayesianQ)
        agent.table[..., 1, 0, :] = (2.0, 3.0, 4.0, 5.0)
        agent.observe(0, 1, 1.0, 1, 0)
        cells.append(agent.table[0, 0, 1])
    np.testing.assert_allclose(cells[0], cells[1], rtol=0.02)


def test_the_last_step_of_an_episode_is_an_ordinary_update() -> None:
    for horizon, step in ((3, 2), (1, 0)):
        agent = make_agent("bayesian_q")
        agent.start(
            Problem(1, 1, np.ones((1, 1), bool), 1.0, horizon), np.random.default_rng(0), np.random.default_rng(1)
        )
        agent.observe(0, 0, 5.0, 0, step)
        np.testing.assert_allclose(agent.table[step, 0, 0], (1.0, 5.0, 3.5, 3 + 0.5 * 4 * 25 / 5), rtol=1e-12)


def test_actions_are_student_draws_of_the_mean_return() -> None:
    """P(action 1) from two independent Student-t draws, by integration; 4.5 standard errors (fixed seed)."""
    agent = make_agent("bayesian_q")
    agent.start(Problem(1, 3, np.array([[True, True, False]]), 0.9), np.random.default_rng(0), np.random.default_rng(1))
    agent.table[0, 0] = [(0.0, 2.0, 3.0, 3.0), (0.5, 4.0, 5.0, 2.0), (99.0, 4.0, 3.0, 3.0)]
    n = 20_000
    actions = np.array([agent.act(0) for _ in range(n)])
    first, second = (
        stats.t(2 * alpha, mu, math.sqrt(beta / (alpha * lam))) for mu, lam, alpha, beta in agent.table[0, 0, :2]
    )
    p = integrate.quad(lambda x: second.pdf(x) * first.cdf(x), -30, 30)[0]
    assert abs(actions.mean() - p) < 4.5 * math.sqrt(p * (1 - p) / n)


def test_posterior_of_the_mean_return() -> None:
    agent = make_agent("bayesian_q")
    agent.start(problem_of(make_env("deepsea:4")), np.random.default_rng(0), np.random.default_rng(1))
    mean, std = agent.q_posterior(np.random.default_rng(0))
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(std, math.sqrt(3 / (4 * 2)))


@pytest.mark.parametrize(
    ("options", "word"),
    [({"normal_gamma": (0, 4, 1, 3)}, "alpha above 1"), ({"mixture": "x"}, "mixture"), ({"samples": 1}, "samples")],
)
def test_options_out_of_range_are_named(options, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_agent("bayesian_q", **options)
