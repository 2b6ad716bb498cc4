"""Optimistic planning: plausible models against linear programs, fixed points, and optimism as often as promised."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers import masked_mdp, problem_of
from steering._compiled import optimism as kernels
from steering.agents import make_agent
from steering.agents.optimism import OptimisticAgent, empirical_model, reward_spread, row_spread
from steering.envs import Environment, make_env
from steering.mdp import TabularMDP, backward_induction, evaluate, policy_iteration

TOLD = "r_min=-3,r_max=3"


def bounded_mdp(seed: int, S: int = 4, A: int = 3) -> TabularMDP:
    """A random MDP with a mask whose rewards are from 0 to 1, without noise."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.6), size=(S, A))
    mask = rng.random((S, A)) < 0.8
    mask[np.arange(S), rng.integers(A, size=S)] = True
    return TabularMDP(P, rng.random((S, A)), mask=mask)


def trained(spec: str, env: Environment, n: int, seed: int = 0, **options):
    """An agent that has seen n transitions from random pairs."""
    agent = make_agent(spec, **options)
    agent.start(problem_of(env), np.random.default_rng(seed + 1), np.random.default_rng(seed + 2))
    agent.plan()  # EUBRL remembers how unsure it was at first
    rng = np.random.default_rng(seed)
    mdp = env.table
    s, a = np.divmod(rng.choice(np.flatnonzero(mdp.mask), size=n), mdp.n_actions)
    y = (mdp.P[s, a].cumsum(axis=1) > rng.random((n, 1)) * (1 - 1e-12)).argmax(axis=1)
    agent.belief.observe_many((s, a, rng.normal(mdp.reward_mean[s, a, y], mdp.reward_std[s, a, y]), y))
    return agent


@given(st.integers(0, 100_000), st.integers(1, 6), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_best_plausible_row_against_a_linear_program(seed: int, S: int, l1: bool) -> None:
    rng = np.random.default_rng(seed)
    p, V = rng.dirichlet(np.full(S, 0.5)), rng.normal(size=S)
    order = np.argsort(-V, kind="mergesort")
    row = np.empty(S)
    if l1:
        radius = float(rng.uniform(0, 2.5))
        kernels.optimistic_l1(p, radius, order, row)
        assert np.abs(row - p).sum() <= radius + 1e-12
        # variables q, u with u >= |q - p| and sum u <= radius
        eye = np.eye(S)
        above = np.block([[eye, -eye], [-eye, -eye]])
        rows = np.vstack([above, np.append(np.zeros(S), np.ones(S))])
        bound = np.concatenate([p, -p, [radius]])
        best = linprog(np.append(-V, np.zeros(S)), rows, bound, [np.append(np.ones(S), np.zeros(S))], [1.0])
    else:
        width = rng.uniform(0, 0.5, S)
        kernels.optimistic_box(p, width, order, row)
        limits = list(zip(np.maximum(p - width, 0), np.minimum(p + width, 1), strict=True))
        assert all(low - 1e-12 <= q <= high + 1e-12 for q, (low, high) in zip(row, limits, strict=True))
        best = linprog(-V, A_eq=[np.ones(S)], b_eq=[1.0], bounds=limits)
    assert row.sum() == pytest.approx(1.0)
    assert (row >= 0).all()
    assert row @ V == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.parametrize("bound", ["bernstein", "l1"])
@pytest.mark.parametrize("seed", range(6))
def test_extended_iteration_against_a_linear_program(bound: str, seed: int) -> None:
    """min sum V with V >= r + g q'V for every vertex q of every plausible set; vertices by all orders of the states."""
    env = make_env(bounded_mdp(seed))
    agent = trained(f"ucrl2b:bound={bound},scale=0.2", env, 300, seed)
    P, r, _ = agent.model()
    width, mask, S = agent.row_width(P), env.mask, env.n_states
    best = np.minimum(1.0, r + agent.reward_width())
    V, Q = kernels.extended_iteration(P, best, width, bound == "l1", mask, 0.9, np.zeros(S, dtype=np.int64), 100)
    rows, limits = [], []
    row = np.empty(S)
    for order in itertools.permutations(range(S)):
        for s, a in zip(*np.nonzero(mask), strict=True):
            if bound == "l1":
                kernels.optimistic_l1(P[s, a], width[s, a, 0], np.array(order), row)
            else:
                kernels.optimistic_box(P[s, a], width[s, a], np.array(order), row)
            rows.append(0.9 * row - np.eye(S)[s])
            limits.append(-best[s, a])
    found = linprog(np.ones(S), rows, limits, bounds=(None, None))
    np.testing.assert_allclose(V, found.x, rtol=1e-7)
    np.testing.assert_allclose(Q.max(axis=1), V, rtol=1e-9)


def test_extended_value_iteration_leaves_its_model_alone() -> None:
    """Public code changes phat in place."""
    env = make_env(bounded_mdp(0))
    agent = trained("ucrl2b", env, 50)
    P, r, _ = agent.model()
    before = P.copy()
    agent.plan()
    np.testing.assert_array_equal(agent.model()[0], before)
    width = agent.row_width(P)
    kernels.extended_induction(P, r, width, False, env.mask, 4, 1.0)
    np.testing.assert_array_equal(P, before)


def test_average_reward_planning_is_optimal_for_the_average_with_narrow_sets() -> None:
    """RiverSwim: with sets of no width the policy of the average criterion is that of the largest gain."""
    mdp = make_env("riverswim").mdp
    nothing = np.zeros((6, 2, 6))
    policy = kernels.extended_average(mdp.P, np.array(mdp.rewards), nothing, False, np.array(mdp.mask), 1e-9, 10**6)
    assert (policy == 1).all()


def plan_value(agent: OptimisticAgent, env: Environment) -> np.ndarray:
    """Value of the plan that an optimistic agent believes in, (S,) from the first step."""
    p, spec = env, agent.name
    P, r, known = agent.model()
    if spec == "ucrl2b":
        l1 = agent.options.bound == "l1"
        best, width = np.minimum(agent.options.r_max, r + agent.reward_width()), agent.row_width(P)
        if p.horizon is None:
            start = np.zeros(p.n_states, dtype=np.int64)
            return kernels.extended_iteration(P, best, width, l1, p.mask, p.discount, start, 100)[0]
        return kernels.extended_induction(P, best, width, l1, p.mask, p.horizon, p.discount)[0][0]
    bonus, factor = agent.bonus(P) if spec == "ucbvi" else (agent.bonus(), np.zeros_like(r))
    return agent.solve_with_bonus(P, r, bonus, factor, known)[0].max(axis=1)


OPTIMISTS = ["ucrl2b", "ucrl2b:bound=l1", "ucbvi", "ucbvi:bound=hoeffding", "mbie_eb"]


@pytest.mark.parametrize("horizon", [None, 5])
@pytest.mark.parametrize("spec", OPTIMISTS)
def test_plans_are_optimistic_as_often_as_promised(spec: str, horizon: int | None) -> None:
    """1000 random MDPs with their own data, delta = 0.1: a plan below V* somewhere at most once in ten.

    The promise is 100 failures or fewer; with a true rate of 0.1 more than 140 have a probability below 3e-5.
    """
    failures, tight = 0, 0
    for seed in range(1000):
        env = make_env(bounded_mdp(seed, 3, 2), horizon=horizon)
        agent = trained(spec, env, 0, seed, delta=0.1)
        mdp, b = env.table, agent.belief
        rng = np.random.default_rng(seed)
        b.totals[:] = (10 ** rng.uniform(0, 9) * rng.uniform(0.5, 1.5, env.mask.shape)).astype(int) + 1
        rows = np.where(mdp.P.sum(axis=2, keepdims=True) > 0, mdp.P, 1 / 3)
        b.counts[:] = rng.multinomial(b.totals.astype(int), rows)
        b.average[:] = mdp.reward_mean
        truth = policy_iteration(mdp, 0.9).V if horizon is None else backward_induction(mdp, horizon).V[0]
        value = plan_value(agent, env)
        failures += bool((value < truth - 1e-9).any())
        tight += bool((value < float(agent.caps[0]) - 1e-9).all())
    assert failures <= 140
    assert tight > 100, tight  # the bound says something


@pytest.mark.parametrize("horizon", [None, 5])
def test_without_the_bonus_optimism_fails_often(horizon: int | None) -> None:
    """The test above can fail: with scale = 0 most plans are below V* somewhere."""
    failures = 0
    for seed in range(100):
        env = make_env(bounded_mdp(seed, 3, 2), horizon=horizon)
        agent = trained("mbie_eb:scale=0", env, 200, seed)
        mdp = env.table
        truth = policy_iteration(mdp, 0.9).V if horizon is None else backward_induction(mdp, horizon).V[0]
        failures += bool((plan_value(agent, env) < truth - 1e-9).any())
    assert failures > 50


SCALED = ["ucrl2b", "ucrl2b:bound=l1", "ucbvi", "ucbvi:bound=hoeffding", "ucbvi:bound=simplified", "mbie_eb", "rlsvi"]
SCALED += ["rlsvi:noise=simple", "eubrl", "beb", "vbrb", "rmax:m=1"]


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize("spec", SCALED)
def test_without_a_bonus_the_policy_is_that_of_the_mean_model(spec: str, horizon: int | None) -> None:
    env = make_env(masked_mdp(6), horizon=horizon)
    told = "" if spec.startswith("eubrl") else f",{TOLD}"
    agent = trained(spec + (":" if ":" not in spec else ",") + "scale=0" + told, env, 2000)
    agent.plan()
    assert (agent.belief.totals[env.mask] > 0).all()
    if spec.partition(":")[0] in ("eubrl", "beb", "vbrb"):
        P, r = agent.belief.mean_model()
    else:
        P, r = empirical_model(agent.belief)
    if spec == "rlsvi":  # its regularised model
        shrink = agent.belief.totals / (agent.belief.totals + 1)
        Q_of = backward_with(P * shrink[..., None], r * shrink, env)
    else:
        Q_of = backward_with(P, r, env)
    np.testing.assert_array_equal(agent.policy, Q_of)


def backward_with(P: np.ndarray, r: np.ndarray, env: Environment) -> np.ndarray:
    """Optimal policy (layers, S) of a model by plain iteration."""
    V = np.zeros(env.n_states)
    policies = []
    for _ in range(env.horizon or 2000):
        Q = np.where(env.mask, r + env.discount * P @ V, -np.inf)
        V = Q.max(axis=1)
        policies.append(Q.argmax(axis=1))
    return np.array(policies[::-1]) if env.horizon else policies[-1][None]


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize(
    "spec",
    [
        *(f"{s}{',' if ':' in s else ':'}{TOLD},scale=0.001" for s in SCALED[:8] if s != "rlsvi"),
        "eubrl",
        f"beb:{TOLD}",
        f"vbrb:{TOLD}",
        f"rmax:{TOLD}",
        f"opsrl:{TOLD}",
        f"opsrl:quantile=0.8,samples=16,{TOLD}",
        f"k_learning:{TOLD},temperature=0.01",
    ],
)
def test_with_much_data_policies_are_optimal(spec: str, horizon: int | None) -> None:
    env = make_env(masked_mdp(4), horizon=horizon)
    agent = trained(spec, env, 400_000)
    b = agent.belief
    for table in (b.counts, b.totals):
        table *= 1e4  # bonuses as after 4e9 steps; what they are added to is exact enough
    np.add(b.counts, b.eta, out=b.alpha)
    agent.plan()
    mdp = env.table
    if horizon is None:
        got = evaluate(mdp, agent.policy[0], env.discount)
        np.testing.assert_allclose(got, policy_iteration(mdp, env.discount).V, atol=0.02)
    else:
        np.testing.assert_array_equal(agent.policy, backward_induction(mdp, horizon).policy)


@given(st.integers(0, 10_000), st.sampled_from([None, 4]))
@settings(max_examples=30, deadline=None)
def test_bonus_iteration_is_a_fixed_point_below_the_cap(seed: int, horizon: int | None) -> None:
    env = make_env(bounded_mdp(seed), horizon=horizon)
    agent = trained("ucbvi:bound=simplified", env, 60, seed)
    P, r, known = agent.model()
    bonus, factor = agent.bonus(P)
    Q = agent.solve_with_bonus(P, r, bonus, factor, known)
    V = Q.max(axis=2)
    after = V if horizon is None else np.vstack([V[1:], np.zeros((1, 4))])
    caps = agent.caps[: len(V), None, None]
    assert (caps[:, 0] + 1e-12 >= V).all()
    for h in range(len(V)):
        mean = P @ after[h]
        spread = np.sqrt((P * (after[h] - mean[..., None]) ** 2).sum(axis=2))
        plain = np.minimum(caps[h], r + bonus[h] + factor * spread + env.discount * mean)
        expected = np.where(known, plain, caps[h])
        # where the variance makes the map not monotone, the value is the lowest met on the way down
        assert (Q[h][env.mask] <= expected[env.mask] + 1e-4).all()
        if horizon is not None:
            np.testing.assert_allclose(Q[h][env.mask], expected[env.mask], rtol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.9, 0.99]), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_capped_iteration_is_where_value_iteration_ends(seed: int, discount: float, S: int, A: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = bounded_mdp(seed, S, A)
    known = rng.random((S, A)) < 0.8
    r = np.where(mdp.mask, mdp.rewards + rng.exponential(0.3, (S, A)), 0.0)
    cap = float(rng.uniform(0.3, 1.2)) / (1 - discount)
    mask, nothing = np.array(mdp.mask), np.zeros((S, A))
    policy = np.zeros(S, dtype=np.int64)
    V, Q = kernels.capped_iteration(mdp.P, r, known, mask, discount, cap, policy, 100)
    W, R, _ = kernels.bonus_iteration(mdp.P, r, nothing, nothing, known, mask, discount, cap, 0.0, 100_000)
    np.testing.assert_allclose(V, W, rtol=1e-9)
    np.testing.assert_allclose(Q[mask], R[mask], rtol=1e-9)
    assert (Q[np.arange(S), policy] >= Q.max(axis=1) - 1e-9 * cap).all()


def test_variance_is_that_of_the_value_and_not_of_its_mean() -> None:
    """One row (1/2, 1/2) with values 0 and 1 has a standard deviation of 1/2 (public code has that of phat V)."""
    P = np.array([[[0.5, 0.5]], [[0.0, 1.0]]])
    Q = np.empty((2, 1))
    ones = np.ones((2, 1))
    V = np.array([0.0, 1.0])
    kernels._bonus_backup(P, 0 * ones, 0 * ones, ones, ones > 0, ones > 0, 1.0, 9.0, V, Q)
    np.testing.assert_allclose(Q, [[0.5 + 0.5], [1.0]])


def test_spreads_are_standard_deviations_by_monte_carlo() -> None:
    """200,000 draws of the belief, 5 standard errors (fixed seed)."""
    env = make_env(masked_mdp(1))
    belief = trained("eubrl", env, 30).belief
    rng = np.random.default_rng(0)
    q = rng.dirichlet(belief.alpha[0, 0], size=200_000)
    squares = ((q - q.mean(axis=0)) ** 2).sum(axis=1)
    assert abs(squares.mean() - row_spread(belief)[0, 0] ** 2) < 5 * squares.std() / np.sqrt(len(q))
    tau = rng.gamma(belief.shape[0, 0], 1 / belief.rate[0, 0], size=(200_000, 4))
    mean = rng.normal(belief.mu[0, 0], 1 / np.sqrt((belief.prior[1] + belief.counts[0, 0]) * tau))
    weights = belief.alpha[0, 0] / belief.alpha[0, 0].sum()
    terms = (weights * (mean - belief.mu[0, 0]) ** 2).sum(axis=1)
    assert abs(terms.mean() - reward_spread(belief)[0, 0] ** 2) < 5 * terms.std() / np.sqrt(len(terms))


def test_eubrl_mixes_reward_and_uncertainty() -> None:
    env = make_env(masked_mdp(2))
    agent = trained("eubrl:scale=2", env, 0)
    agent.plan()  # the prior is as unsure as it gets
    largest = agent.uncertainty()[env.mask].max()
    agent = trained("eubrl:scale=2", env, 60)
    agent._largest = largest
    agent.plan()
    E = agent.uncertainty()
    p = E / largest
    P, r = agent.belief.mean_model()
    model = TabularMDP(P, (1 - p) * r + p * E, mask=env.mask)
    np.testing.assert_array_equal(agent.policy[0], policy_iteration(model, env.discount).policy)


def test_rmax_is_worth_the_bound_until_m_visits() -> None:
    env = make_env(bounded_mdp(3))
    for m in (1, 5, 30):
        agent = trained(f"rmax:m={m}", env, 100)
        P, r, _ = agent.model()
        nothing = np.zeros_like(r)
        Q = agent.solve_with_bonus(P, r, nothing, nothing, agent.belief.totals >= m)[0]
        unknown = env.mask & (agent.belief.totals < m)
        np.testing.assert_allclose(Q[unknown], 10.0, rtol=1e-12)
        agent.plan()
        lures = unknown.any(axis=1)
        assert unknown[np.arange(4), agent.policy[0]][lures].all()


def test_rlsvi_noise_is_centred_at_zero() -> None:
    """The mean over plans of Q is that of the model without noise (public code counts rbar twice)."""
    env = make_env(bounded_mdp(5), horizon=1)
    agent = trained("rlsvi:noise=simple", env, 500)
    P, r, _ = agent.model()
    draws = np.array([agent.planning_rng.standard_normal((1, 4, 3)) * agent.noise_scale() for _ in range(2000)])
    q = np.array([agent.solve_layers(P, r + noise)[0] for noise in draws])
    error = q.mean(axis=0) - r
    standard = agent.noise_scale()[0] / np.sqrt(2000)
    assert (np.abs(error)[env.mask] < 5 * standard[env.mask]).all()


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("ucrl2b:bound=x", "bound"),
        ("ucrl2b:criterion=x", "criterion"),
        ("ucbvi:bound=l1", "bound"),
        ("ucbvi:delta=0", "delta"),
        ("ucbvi:r_min=1,r_max=1", "r_max"),
        ("mbie_eb:scale=-1", "scale"),
        ("mbie_eb:model=x", "model"),
        ("rmax:m=0", "m is 0"),
        ("rlsvi:noise=x", "noise"),
        ("opsrl:samples=0", "samples"),
        ("opsrl:quantile=2", "quantile"),
        ("opsrl:prior_mass=0", "prior_mass"),
        ("eubrl:normal_gamma=(0,1,1,1)", "alpha"),
        ("vbrb:normal_gamma=(0,1,1,1)", "alpha"),
        ("k_learning:temperature=-1", "temperature"),
        ("k_learning:scale=0", "scale"),
        ("vapor:iterations=0", "iterations"),
        ("ucb_q:r_max=inf", "r_max"),
        ("bamcp:simulations=0", "simulations"),
        ("bamcp:depth=0", "depth"),
        ("bamcp:epsilon=2", "epsilon"),
    ],
)
def test_options_out_of_range_are_named(spec: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_agent(spec)
