"""OPSRL, K-learning, VAPOR, BAMCP and optimistic Q-learning against first principles."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from helpers import masked_mdp, problem_of
from steering._compiled import soft_planning as kernels
from steering.agents import make_agent
from steering.envs import Environment, make_env
from steering.mdp import TabularMDP, policy_iteration


def fresh(spec: str, env: Environment, n: int = 0, seed: int = 0):
    agent = make_agent(spec)
    agent.start(problem_of(env), np.random.default_rng(seed + 1), np.random.default_rng(seed + 2))
    rng = np.random.default_rng(seed)
    mdp = env.table
    s, a = np.divmod(rng.choice(np.flatnonzero(mdp.mask), size=n), mdp.n_actions)
    y = (mdp.P[s, a].cumsum(axis=1) > rng.random((n, 1)) * (1 - 1e-12)).argmax(axis=1)
    agent.belief.observe_many((s, a, rng.normal(mdp.reward_mean[s, a, y], mdp.reward_std[s, a, y]), y))
    return agent


# --- OPSRL -----------------------------------------------------------------------------------------------------------


def test_the_quantile_of_the_draws_is_that_of_the_posterior() -> None:
    """20,000 draws by the agent, 200,000 by the definition; the level of its quantile within 5 standard errors."""
    env = make_env(masked_mdp(1))
    agent = fresh("opsrl:samples=20000,quantile=0.9", env, 40)
    V = np.append(np.linspace(0, 5, 4), 10.0)
    mine = np.sort((agent.draw_rows() @ V)[:, 0, 0])[agent.rank]
    alpha = np.append(agent.belief.counts[0, 0], 1.0)
    rng = np.random.default_rng(5)
    theirs = rng.dirichlet(alpha[alpha > 0], size=200_000) @ V[alpha > 0]
    level = (theirs <= mine).mean()
    assert abs(level - 0.9) < 5 * np.sqrt(0.9 * 0.1 * (1 / 20_000 + 1 / 200_000))


def test_what_was_never_tried_is_worth_the_bound() -> None:
    env = make_env(masked_mdp(1))
    agent = fresh("opsrl:r_max=2", env)
    rows = agent.draw_rows()
    assert (rows[..., -1] == 1.0).all()
    V, _, _ = kernels.maximum_iteration(rows, np.zeros(rows.shape[:3]), env.mask, 0.9, 20.0, 100)
    np.testing.assert_allclose(V, [18.0, 18.0, 18.0, 18.0, 20.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_maximum_by_policy_iteration_is_the_fixed_point(seed: int) -> None:
    env = make_env(masked_mdp(seed))
    agent = fresh("opsrl", env, 50, seed)
    rows, rewards = agent.draw_rows(), agent.draw_rewards()
    exact = kernels.maximum_iteration(rows, rewards, env.mask, 0.9, 10.0, 200)
    swept = kernels.quantile_iteration(rows, rewards, 7, env.mask, 0.9, 10.0, 1e-12, 10**6)
    np.testing.assert_allclose(exact[0], swept[0], rtol=1e-9)
    np.testing.assert_array_equal(exact[2], swept[2])
    V = np.append(exact[0][:4], 10.0)
    Q = np.where(env.mask, (rewards + 0.9 * rows @ V).max(axis=0), -np.inf)
    np.testing.assert_allclose(Q.max(axis=1), V[:4], rtol=1e-10)


def test_a_quantile_in_an_episode_by_plain_recursion() -> None:
    env = make_env(masked_mdp(3), horizon=4)
    agent = fresh("opsrl:quantile=0.5,samples=5", env, 50)
    rows, rewards = agent.draw_rows(), agent.draw_rewards()
    _, Q, policy = kernels.quantile_induction(rows, rewards, agent.rank, env.mask, 1.0, agent.caps)
    after = np.zeros(5)
    for h in range(3, -1, -1):
        table = np.sort(rewards + rows @ after, axis=0)[2]
        table[~env.mask] = -np.inf
        np.testing.assert_allclose(Q[h][env.mask], table[env.mask], rtol=1e-12)
        np.testing.assert_array_equal(policy[h], table.argmax(axis=1))
        after = np.append(table.max(axis=1), agent.caps[h])


# --- K-learning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("tau", [0.05, 1.0, 20.0])
def test_k_learning_is_the_best_policy_with_entropy(horizon: int | None, tau: float) -> None:
    """V(s) = max over policies of the sum of r + tau entropy: against a solver over all policies at once."""
    env = make_env(masked_mdp(2, 3, 2), horizon=horizon)
    agent = fresh(f"k_learning:temperature={tau}", env, 60)
    P, r = agent.belief.mean_model()
    reward = r + agent.variance() / (2 * tau)
    layers = horizon or 1
    g = env.discount

    def value(x: np.ndarray) -> np.ndarray:
        logits = np.where(env.mask, x.reshape(layers, 3, 2), -np.inf)
        pi = np.exp(logits - logits.max(axis=2, keepdims=True))
        pi /= pi.sum(axis=2, keepdims=True)
        entropy = -np.where(pi > 0, pi * np.log(np.where(pi > 0, pi, 1)), 0).sum(axis=2)
        local = np.where(env.mask, pi * reward, 0).sum(axis=2) + tau * entropy
        chain = np.einsum("hsa,say->hsy", pi, P)
        if horizon is None:
            return np.linalg.solve(np.eye(3) - g * chain[0], local[0])
        V = np.zeros(3)
        for h in range(horizon - 1, -1, -1):
            V = local[h] + g * chain[h] @ V
        return V

    starts = [np.zeros(layers * 6), np.random.default_rng(0).normal(size=layers * 6)]
    best = max(
        (minimize(lambda x: -value(x).sum(), x0, method="BFGS", options={"gtol": 1e-9}) for x0 in starts),
        key=lambda found: -found.fun,
    )
    if horizon is None:
        V, _ = kernels.soft_iteration(P, reward[0], env.mask, g, tau, 200)
    else:
        V = kernels.soft_induction(P, reward, env.mask, g, tau)[0][0]
    np.testing.assert_allclose(V, value(best.x), rtol=2e-5)
    assert (value(best.x) - 1e-8 * np.abs(V) <= V).all()


def test_k_bounds_the_expected_optimal_value() -> None:
    """K(s, a) >= tau ln E exp(Q* / tau) >= E Q* over 2000 posterior draws of the rows, rewards known."""
    env = make_env(masked_mdp(2, 3, 2), horizon=3)
    tau = 1.0
    agent = fresh(f"k_learning:temperature={tau},sigma=0", env, 25)
    P, _ = agent.belief.mean_model()
    rng = np.random.default_rng(1)
    reward = rng.random((3, 2))
    _, K = kernels.soft_induction(P, reward + agent.variance() / (2 * tau), env.mask, 1.0, tau)
    draws = []
    for _ in range(2000):
        q = rng.standard_gamma(agent.belief.alpha)
        q /= q.sum(axis=2, keepdims=True)
        V = np.zeros(3)
        for _ in range(3):
            Q = np.where(env.mask, reward + q @ V, -np.inf)
            V = Q.max(axis=1)
        draws.append(Q[env.mask])
    draws = np.array(draws)
    risk = tau * np.log(np.exp(draws / tau).mean(axis=0))
    assert (risk >= draws.mean(axis=0) - 1e-9).all()
    assert (K[0][env.mask] >= risk).all()


def test_the_schedule_of_the_temperature_minimises_the_bound() -> None:
    """tau k H ln A + size S A (1 + ln k) / (2 tau), with a fixed tau, is least at sqrt(2) times the schedule."""
    env = make_env(masked_mdp(1), horizon=5)
    agent = fresh("k_learning", env, 500)
    S, A, H, k = 4, 3, 5, 100.0
    size = 1.0 + 25.0
    bound = lambda tau: tau * k * H * np.log(A) + size * S * A * (1 + np.log(k)) / (2 * tau)  # noqa: E731
    best = minimize(lambda x: bound(np.exp(x[0])), [0.0], tol=1e-12).x[0]
    assert np.sqrt(2) * agent.temperature() == pytest.approx(np.exp(best), rel=1e-5)


def test_a_softmax_policy_draws_by_its_probabilities() -> None:
    """20,000 actions, 5 standard errors."""
    env = make_env(masked_mdp(1))
    agent = fresh("k_learning:temperature=1", env, 50)
    agent.plan()
    state = int(env.mask.sum(axis=1).argmax())
    logits = np.where(env.mask[state], agent.logits[0, state], -np.inf)
    share = np.exp(logits - logits.max())
    share /= share.sum()
    seen = np.bincount([agent.act(state) for _ in range(20_000)], minlength=3) / 20_000
    assert (np.abs(seen - share) <= 5 * np.sqrt(share * (1 - share) / 20_000)).all()


# --- VAPOR -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [None, 3])
def test_vapor_against_a_convex_solver(horizon: int | None) -> None:
    """The program itself, over the occupancies of all policies (BFGS), against the dual of the agent."""
    env = make_env(masked_mdp(2, 3, 2), horizon=horizon)
    agent = fresh("vapor:iterations=2000", env, 60)
    agent.plan(1)
    P, r = agent.belief.mean_model()
    g, mask = env.discount, np.broadcast_to(env.mask, (horizon or 1, 3, 2))
    sigma = np.sqrt((1.0 + agent.spans[1:, None, None] ** 2) / agent.visits)

    def occupancy(logits: np.ndarray) -> np.ndarray:
        """Discounted visits of the softmax policy with these logits: every feasible point is one of them."""
        table = np.full(mask.shape, -np.inf)
        table[mask] = logits
        policy = np.exp(table - logsumexp(table, axis=2, keepdims=True))
        start = np.eye(3)[1]
        if horizon is None:
            chain = np.einsum("sa,say->sy", policy[0], P)
            return policy * np.linalg.solve(np.eye(3) - g * chain.T, (1 - g) * start)[None, :, None]
        flow = np.zeros(mask.shape)
        for h in range(horizon):
            flow[h] = policy[h] * start[:, None]
            start = g * np.einsum("say,sa->y", P, flow[h])
        return flow

    def objective(logits: np.ndarray) -> float:
        table = occupancy(logits)
        safe = np.where(table > 0, np.minimum(table, 1.0), 1.0)
        return -float((table * (r + sigma * np.sqrt(-2 * np.log(safe)))).sum())

    best = minimize(objective, np.zeros(mask.sum()), method="BFGS", options={"gtol": 1e-7})
    value, gradient, log = agent.dual(P, r, np.broadcast_to(sigma, mask.shape), agent._V, 1)
    assert np.abs(gradient).max() < 1e-4
    assert value == pytest.approx(-best.fun, rel=1e-4)
    np.testing.assert_allclose(np.exp(log)[mask], occupancy(best.x)[mask], atol=2e-3)


def test_vapor_flows_are_those_of_the_closed_form() -> None:
    """max over l of l x + sigma l sqrt(-2 ln l) on a grid."""
    env = make_env(masked_mdp(0, 1, 1), horizon=1)
    agent = fresh("vapor", env)
    grid = np.linspace(1e-9, 1, 2_000_001)
    for x in (-3.0, -0.5, 0.0, 0.7, 4.0):
        for sigma in (0.3, 2.0):
            V = np.zeros((1, 1))
            value, _, log = agent.dual(np.ones((1, 1, 1)), np.full((1, 1), x), np.full((1, 1, 1), sigma), V, 0)
            table = grid * x + sigma * grid * np.sqrt(-2 * np.log(grid))
            assert value == pytest.approx(table.max(), rel=1e-9, abs=1e-8)
            assert np.exp(log[0, 0, 0]) == pytest.approx(grid[table.argmax()], abs=1e-3)


# --- BAMCP -----------------------------------------------------------------------------------------------------------


def bayes_values(alpha: np.ndarray, mu: np.ndarray, mask: np.ndarray, g: float, depth: int, state: int) -> np.ndarray:
    """Q of the Bayes-adaptive MDP by recursion over all futures of the counts."""

    @functools.cache
    def best(counts: tuple[float, ...], s: int, left: int) -> float:
        return max(values(counts, s, left)) if left else 0.0

    def values(counts: tuple[float, ...], s: int, left: int) -> list[float]:
        table = np.array(counts).reshape(alpha.shape)
        out = []
        for a in np.flatnonzero(mask[s]):
            total = 0.0
            for y in range(alpha.shape[2]):
                after = table.copy()
                after[s, a, y] += 1
                chance = table[s, a, y] / table[s, a].sum()
                total += chance * (mu[s, a, y] + g * best(tuple(after.ravel()), y, left - 1))
            out.append(total)
        return out

    return np.array(values(tuple(alpha.ravel()), state, depth))


@pytest.mark.parametrize("horizon", [None, 4])
def test_bamcp_finds_the_exact_bayes_adaptive_values(horizon: int | None) -> None:
    """Two states, two actions, four steps: 60,000 simulations, values within 2 % of the range, and the best action."""
    rng = np.random.default_rng(3)
    env = make_env(TabularMDP(rng.dirichlet(np.ones(2), size=(2, 2)), rng.normal(size=(2, 2, 2))), horizon=horizon)
    agent = fresh("bamcp:simulations=60000,depth=4,exploration=0.3,eta=0.5", env, 6)
    agent.plan()
    alpha = agent.belief.alpha.copy()
    for state in (0, 1):
        exact = bayes_values(alpha, agent.belief.mu, env.mask, env.discount, 4, state)
        values, counts = agent.search(state)
        assert counts.sum() == 60_000
        scale = np.abs(exact).max() + 1
        assert values[exact.argmax()] == pytest.approx(exact.max(), abs=0.02 * scale)
        assert values.argmax() == exact.argmax()
    np.testing.assert_allclose(agent.belief.alpha, alpha, rtol=0, atol=1e-9)


def test_bamcp_explores_where_the_mean_model_does_not() -> None:
    """Staying pays 0.3. Leaving leads to one of two places, always the same, and back; one of them pays 1.

    In 12 steps staying earns 3.6, always leaving 3 on average; leaving once and then doing what is better
    0.5 (1 + 5) + 0.5 (10 * 0.3) = 4.5.
    """
    P = np.zeros((3, 2, 3))
    P[0, 0, 0] = P[1:, :, 0] = 1
    P[0, 1, 1:] = 0.5
    env = make_env(TabularMDP(P, 0.0), horizon=12)
    agent = fresh("bamcp:simulations=5000,depth=12", env)
    agent.belief.alpha[:] = 1e-6 + 1e6 * P
    agent.belief.alpha[0, 1] = [1e-9, 0.01, 0.01]  # one try tells
    agent.belief.mu[:] = 0.0
    agent.belief.mu[0, 0], agent.belief.mu[1] = 0.3, 1.0
    agent.plan()
    assert agent.policy[0, 0] == 0
    assert agent.act(0) == 1
    assert 3.6 < agent.search(0)[0][1] < 4.6  # from below: the search tries worse actions too


# --- optimistic Q-learning -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [None, 3])
def test_optimistic_q_learning_step_by_step(horizon: int | None) -> None:
    env = make_env(masked_mdp(1), horizon=horizon)
    agent = make_agent("ucb_q:r_max=2,scale=0.5,delta=0.1")
    agent.start(problem_of(env), np.random.default_rng(1), np.random.default_rng(2))
    H = float(horizon or 1 / (1 - env.discount))
    left = [2.0 * H] if horizon is None else [6.0, 4.0, 2.0]
    Q = np.repeat(np.array(left), 12).reshape(-1, 4, 3)
    low, n = Q.copy(), np.zeros_like(Q)
    size = 0.5 * left[0] * (4 if horizon is None else 1)
    rng = np.random.default_rng(0)
    for _ in range(200):
        h, s = int(rng.integers(len(left))), int(rng.integers(4))
        a, y, r = int(rng.choice(np.flatnonzero(env.mask[s]))), int(rng.integers(4)), float(rng.normal())
        agent.observe(s, a, r, y, h)
        n[h, s, a] += 1
        rate = (H + 1) / (H + n[h, s, a])
        bonus = size * np.sqrt(H * (np.log(12 / 0.1) + 2 * np.log(n[h, s, a] + 1)) / n[h, s, a])
        after = 0 if horizon and h + 1 == horizon else low[h + 1 if horizon else 0, y][env.mask[y]].max()
        Q[h, s, a] = (1 - rate) * Q[h, s, a] + rate * (r + bonus + env.discount * after)
        low[h, s, a] = min(low[h, s, a], Q[h, s, a])
    np.testing.assert_allclose(agent.bound, low, rtol=1e-12)
    mean, _ = agent.q_posterior(rng)
    assert np.isnan(mean[:, ~env.mask]).all()


def test_optimistic_q_learning_stays_above_the_truth_and_comes_down_to_it() -> None:
    """In 40 runs of 3000 steps the bound is below Q* somewhere in at most delta of them (here: none)."""
    env = make_env("chain:3,near=0.2,far=1")
    best = policy_iteration(env.table, env.discount).Q
    below = 0
    for seed in range(40):
        agent = make_agent("ucb_q")
        agent.start(problem_of(env), np.random.default_rng(seed), np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        s = 0
        for _ in range(3000):
            a = agent.act(s)
            y = int(rng.choice(3, p=env.table.P[s, a]))
            agent.observe(s, a, float(env.table.reward_mean[s, a, y]), y)
            s = y
        below += bool((agent.bound[0] < best - 1e-9).any())
    assert below <= 4
