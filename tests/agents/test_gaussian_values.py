"""UBE and moment matching: closed forms against a plain derivation, against sampling, and against their meaning."""

import numpy as np
import pytest

from helpers import masked_mdp, problem_of
from steering.agents import make_agent
from steering.agents.gaussian_values import GaussianValueAgent
from steering.beliefs import DirichletRows, NormalGammaCells
from steering.envs import Environment, make_env
from steering.mdp import TabularMDP, backward_induction, policy_iteration

KINDS = ("ube", "mm")


def trained(spec: str, env: Environment, n: int = 60, seed: int = 0, **options) -> GaussianValueAgent:
    """An agent that has seen n transitions of random allowed actions."""
    agent = make_agent(spec, **options)
    assert isinstance(agent, GaussianValueAgent)
    agent.start(problem_of(env), np.random.default_rng(1), np.random.default_rng(2))
    rng = np.random.default_rng(seed)
    mdp = env.table
    for _ in range(n):
        s, a = divmod(int(rng.choice(np.flatnonzero(mdp.mask))), mdp.n_actions)
        y = int(rng.choice(mdp.n_states, p=mdp.P[s, a]))
        agent.observe(s, a, float(rng.normal(mdp.reward_mean[s, a, y], mdp.reward_std[s, a, y])), y)
    return agent


def plain_beliefs(agent: GaussianValueAgent) -> tuple[DirichletRows, NormalGammaCells]:
    b = agent.belief
    rows, cells = DirichletRows(b.counts.shape, b.eta), NormalGammaCells(b.counts.shape, b.prior)
    rows.observe_counts(b.counts)
    cells.observe_moments(b.counts, b.average, b.scatter)
    return rows, cells


def naive_local(agent: GaussianValueAgent, values: np.ndarray) -> np.ndarray:
    """Local uncertainty written with full covariance matrices, row by row."""
    rows, cells = plain_beliefs(agent)
    S, A = agent.belief.totals.shape
    m, C, v = rows.mean(), rows.covariance(), cells.variance_of_mean()
    out = np.empty((S, A))
    for s in range(S):
        for a in range(A):
            reward = sum(m[s, a, y] * v[s, a, y] for y in range(S))
            if agent.name == "ube":
                f = cells.mu[s, a]
                reach = agent.problem.horizon or 1 / (1 - agent.problem.discount)
                ratio = sum(C[s, a, y, y] / m[s, a, y] for y in range(S))
                out[s, a] = reward + f @ C[s, a] @ f + (agent.options.r_max * reach) ** 2 * ratio
            else:
                g = agent.problem.discount * values
                mu = cells.mu[s, a]
                # Var(reward) + Var(next value) + 2 Cov(reward, next value), the law of total variance spelt out
                out[s, a] = reward + mu @ C[s, a] @ mu + g @ C[s, a] @ g + 2 * (mu @ C[s, a] @ g)
    return out


def naive_moments(agent: GaussianValueAgent, env: Environment) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of Q by planning in the mean model and repeated substitution."""
    rows, cells = plain_beliefs(agent)
    P = rows.mean()
    model = TabularMDP(P, cells.mu, mask=env.mask)
    f = env.discount**2
    if env.horizon is None:
        solution = policy_iteration(model, env.discount)
        local = naive_local(agent, solution.V)
        u = np.zeros_like(local)
        here = np.arange(env.n_states)
        for _ in range(2000):
            u = local + f * P @ u[here, solution.policy]
        return solution.Q[None], np.sqrt(u)[None]
    finite = backward_induction(model, env.horizon, env.discount)
    stds = np.empty(finite.Q.shape)
    after = np.zeros(env.n_states)
    for h in range(env.horizon - 1, -1, -1):
        u = naive_local(agent, finite.V[h + 1]) + f * P @ after
        stds[h] = np.sqrt(u)
        after = u[np.arange(env.n_states), finite.policy[h]]
    return finite.Q, stds


@pytest.mark.parametrize("horizon", [None, 4, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_moments_are_those_of_a_plain_derivation(kind: str, horizon: int | None, seed: int) -> None:
    env = make_env(masked_mdp(seed), horizon=horizon)
    agent = trained(kind, env, seed=seed, eta=0.7)
    agent.plan()
    mean, std = naive_moments(agent, env)
    allowed = env.mask
    np.testing.assert_allclose(agent.mean[:, allowed], mean[:, allowed], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(agent.std[:, allowed], std[:, allowed], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_moments_approach_the_exact_ones(kind: str) -> None:
    """20,000 drawn tables: local variances within 5 % (their standard error is about 1 %; fixed seed)."""
    env = make_env(masked_mdp(5))
    exact = trained(kind, env)
    sampled = trained(kind, env, moments="sampled", samples=20_000)
    exact.plan()
    sampled.plan()
    np.testing.assert_array_equal(exact.mean, sampled.mean)
    np.testing.assert_allclose(sampled.std[:, env.mask], exact.std[:, env.mask], rtol=0.05)


def test_ratio_of_variance_to_mean_sums_to_s_minus_one() -> None:
    for eta in (1e-3, 1.0, 30.0):
        rows = DirichletRows((4, 6), eta)
        rows.observe_counts(np.random.default_rng(0).integers(0, 9, (4, 6)))
        ratio = (rows.variance() / rows.mean()).sum(axis=-1)
        np.testing.assert_allclose(ratio, 5 / (rows.alpha.sum(axis=-1) + 1), rtol=1e-12)


def test_moment_matching_obeys_the_law_of_total_variance() -> None:
    """nu is the variance of sum_y P_y (mu_y + g V_y) + (m_z - mu_z), P and m from the posterior and z drawn from P.

    200,000 draws of each of 12 rows; 5 standard errors of the sample variance (7e-6 in total; fixed seed).
    """
    env = make_env(masked_mdp(6))
    agent = trained("mm", env)
    rows, cells = plain_beliefs(agent)
    values = np.random.default_rng(3).normal(size=env.n_states)
    agent.belief.mean_model()
    nu = agent.exact_uncertainty(values)
    rng = np.random.default_rng(4)
    n = 200_000
    P = rows.draw(rng, size=n)
    noise = cells.draw_means(rng, size=n) - cells.mu
    z = (P.cumsum(axis=-1) > rng.random((n, *nu.shape, 1))).argmax(axis=-1)
    x = (P * (cells.mu + 0.9 * values)).sum(axis=-1) + np.take_along_axis(noise, z[..., None], axis=-1)[..., 0]
    squares = (x - x.mean(axis=0)) ** 2
    assert (np.abs(squares.mean(axis=0) - nu) < 5 * squares.std(axis=0) / np.sqrt(n)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_uncertainty_vanishes_with_data(kind: str) -> None:
    env = make_env(masked_mdp(7))
    spread = []
    for n in (50, 500, 5000):
        agent = trained(kind, env, n=n)
        agent.plan()
        spread.append(agent.std[:, env.mask].max())
    assert spread[0] > 2 * spread[1] > 4 * spread[2]


def test_the_public_codes_division_by_the_discount_is_an_option() -> None:
    env = make_env(masked_mdp(8))
    one, other = trained("mm", env), trained("mm", env, divide_by_discount=True)
    one.plan()
    other.plan()
    np.testing.assert_allclose(other.std, one.std / 0.9, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_actions_are_the_argmax_of_normal_draws(kind: str) -> None:
    """Two actions: P(1) = Phi(difference / spread); 4.5 standard errors (fixed seed)."""
    from scipy.stats import norm

    mdp = TabularMDP(np.full((2, 2, 2), 0.5), [[0.0, 0.3], [0.0, 0.3]], 0.1)
    agent = trained(kind, make_env(mdp), n=30, zeta=0.7)
    agent.plan()
    n = 20_000
    actions = np.array([agent.act(0) for _ in range(n)])
    mean, std = agent.mean[0, 0], 0.7 * agent.std[0, 0]
    p = norm.cdf((mean[1] - mean[0]) / np.hypot(*std))
    assert 0.01 < p < 0.99
    assert abs(actions.mean() - p) < 4.5 * np.sqrt(p * (1 - p) / n)


def test_without_noise_the_greedy_policy_is_followed() -> None:
    env = make_env(masked_mdp(9))
    agent = trained("ube", env, zeta=0.0)
    agent.plan()
    assert [agent.act(s) for s in range(env.n_states)] == agent.policy[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"zeta": -1.0}, "zeta"),
        ({"moments": "guess"}, "moments"),
        ({"samples": 1}, "samples"),
        ({"normal_gamma": (0, 1, 1, 4)}, "alpha above 1"),
        ({"normal_gamma": ("0", "1", "1", "4")}, "alpha above 1"),
    ],
)
def test_options_out_of_range_are_named(kind: str, options, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_agent(kind, **options)


def test_r_max_must_be_positive() -> None:
    with pytest.raises(ValueError, match="r_max"):
        make_agent("ube", r_max=0.0)
