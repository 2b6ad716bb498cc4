"""The agents of the field on sparse beliefs: the same plans as in tables, row by row and run by run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steering
from helpers import FIELD, masked_mdp, problem_of
from steering import _memory
from steering._compiled import bamcp, grouped_extended
from steering._compiled import optimism as tables
from steering.agents import large, make_agent
from steering.agents.large_optimism import DrawnRows, arrive, expect
from steering.beliefs import GroupedRows, SparseBelief
from steering.envs import Environment, make_env
from steering.errors import TooLarge

EXACT = [
    "ucrl2b",
    "ucrl2b:scale=0.01",
    "ucrl2b:bound=l1,scale=0.1,replan=every",
    "ucrl2b:model=posterior,concentration=learned,replan=learned,scale=0.02",
    "ucbvi",
    "ucbvi:bound=hoeffding,scale=0.01",
    "ucbvi:bound=simplified,model=posterior,replan=learned",
    "mbie_eb:scale=0.1",
    "rmax",
    "rmax:scale=0.5,m=2,r_min=-1",
    "opsrl",
    "opsrl:quantile=0.7,samples=6,hope=0.5,r_min=-1",
    "rlsvi",
    "rlsvi:noise=simple,scale=0.1",
    "k_learning",
    "k_learning:temperature=0.1,replan=learned",
    "vapor",
    "bamcp:simulations=20,depth=20",
]
ENVS = ["deepsea:6", "priormdp:4,2,seed=0", "gym:FrozenLake-v1", "riverswim:6", "widenarrow:1,4", "deepsea:4,horizon=5"]
LARGE_TOO = [spec for spec in FIELD if not spec.startswith("ucb_q")]


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("agent", EXACT)
def test_sparse_agents_take_the_steps_of_dense_ones(env: str, agent: str, monkeypatch) -> None:
    """Step by step, with plans solved to rounding; the random numbers are the same too."""
    monkeypatch.setattr(large, "ACCURACY", 1e-14)
    runs = [steering.run(env, agent, steps=400, seeds=2, belief=form) for form in ("dense", "sparse")]
    np.testing.assert_array_equal(runs[0].visits, runs[1].visits)
    np.testing.assert_array_equal(runs[0].rewards, runs[1].rewards)


def both(spec: str, env: Environment, n: int = 60, seed: int = 0):
    """Two agents that saw the same n transitions from random pairs, with a dense and with a sparse belief."""
    agents = [make_agent(spec, belief=form) for form in ("dense", "sparse")]
    rng = np.random.default_rng(seed)
    mdp = env.table
    s, a = np.divmod(rng.choice(np.flatnonzero(mdp.mask), size=n), mdp.n_actions)
    y = (mdp.P[s, a].cumsum(axis=1) > rng.random((n, 1)) * (1 - 1e-12)).argmax(axis=1)
    r = rng.normal(mdp.reward_mean[s, a, y], mdp.reward_std[s, a, y])
    for agent in agents:
        agent.start(problem_of(env), np.random.default_rng(seed + 1), np.random.default_rng(seed + 2))
        agent._solver.accuracy = 1e-14
        agent.belief.observe_many((s, a, r, y))
        agent.belief.refresh()
    return agents


# --- plausible rows --------------------------------------------------------------------------------------------------


def random_rows(rng: np.random.Generator, S: int, A: int, mass: float) -> GroupedRows:
    """Rows with 0 to S heads each; the others share about `mass`, exactly 0 at times."""
    start, length, heads, excess, base = [], [], [], [], []
    for _ in range(S * A):
        k = int(rng.integers(0, S + 1))
        rest = float(rng.choice([0.0, mass, 1.0])) if k else 1.0
        start.append(len(heads))
        length.append(k)
        base.append(rest / S)
        heads.extend(rng.permutation(S)[:k])
        excess.extend((1.0 - rest) * rng.dirichlet(np.ones(k)) if k else [])
    arrays = (np.array(start), np.array(length, np.int32), np.array(heads, np.int32), np.array(excess), np.array(base))
    return GroupedRows(S, A, arrays)


@given(st.integers(0, 10**6), st.integers(1, 9), st.booleans(), st.sampled_from([0.0, 0.01, 0.3, 1.0]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_the_best_plausible_row_is_that_of_a_table(seed: int, S: int, l1: bool, size: float, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    A = 2
    rows = random_rows(rng, S, A, 0.2)
    P, r, mask = rows.dense(), rng.normal(size=(S, A)), np.ones((S, A), bool)
    V = rng.integers(0, 3, S).astype(float) if ties else rng.normal(size=S)
    widths = size * rng.uniform(0, 2, (2, S * A))
    full = widths[0].reshape(S, A, 1) * (np.ones(1) if l1 else np.sqrt(np.maximum(P * (1 - P), 0)))
    full = full if l1 else full + widths[1].reshape(S, A, 1)
    Q, mine, best = np.empty((2, S, A)), np.empty((2, S), np.int64), np.empty((S, S))
    tables._extended_backup(P, r, full, l1, mask, 0.9, V, Q[0], best, mine[0])
    space = grouped_extended.row_space(rows.arrays)
    grouped_extended.extended_backup(rows.arrays, r.ravel(), widths, l1, mask, 0.9, V, Q[1], mine[1], space)
    np.testing.assert_allclose(Q[1], Q[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bound", ["bernstein", "l1"])
@pytest.mark.parametrize("seed", range(4))
def test_the_average_reward_is_planned_for_by_the_same_sweeps(bound: str, seed: int) -> None:
    """Without exact ties in the world, the policies are the same."""
    env = make_env(masked_mdp(seed, 6, 3))
    agents = both(f"ucrl2b:criterion=average,bound={bound},scale=0.05,r_min=-3,r_max=3", env, 300, seed)
    for agent in agents:
        agent.plan()
    np.testing.assert_array_equal(agents[0].policy, agents[1].policy)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize(
    "spec", ["ucbvi:scale=0.002", "ucbvi:model=posterior,bound=simplified,scale=0.1", "mbie_eb:scale=0.05"]
)
def test_values_with_bonuses(spec: str, horizon: int | None) -> None:
    env = make_env(masked_mdp(7, 6, 3), horizon=horizon)
    Q = []
    for agent in both(spec, env, 2000):
        P, r, known = agent.model()
        bonus, factor = (agent.bonus(), np.zeros_like(r)) if spec.startswith("mbie") else agent.bonus(P)
        Q.append(agent.solve_with_bonus(P, r, bonus, factor, known))
    np.testing.assert_allclose(Q[1], Q[0], rtol=1e-11)
    assert len(np.unique(Q[0])) > 5  # more than the cap alone


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize("tau", [0.05, 2.0])
def test_soft_values(horizon: int | None, tau: float) -> None:
    env = make_env(masked_mdp(7, 6, 3), horizon=horizon)
    agents = both(f"k_learning:temperature={tau}", env)
    for agent in agents:
        agent.plan()
    np.testing.assert_allclose(agents[1].logits, agents[0].logits, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("horizon", [None, 4])
def test_the_dual_of_vapor(horizon: int | None) -> None:
    """Value, gradient and occupancies at random values; the solver itself makes more of rounding."""
    env = make_env(masked_mdp(7, 6, 3), horizon=horizon)
    agents = both("vapor", env)
    rng = np.random.default_rng(0)
    layers = horizon or 1
    V, sigma = rng.normal(size=(layers, 6)), rng.uniform(0.1, 1, (layers, 6, 3))
    found = [agent.dual(*agent.belief.mean_model(), sigma, V, 1) for agent in agents]
    for dense, sparse in zip(*found, strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-13)


def test_expectations_and_arrivals_are_those_of_the_table() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 7, 2, 0.3)
    V, flow = rng.normal(size=(3, 7)), rng.random((3, 7, 2))
    np.testing.assert_allclose(expect(rows, V), expect(rows.dense(), V), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(arrive(rows, flow), arrive(rows.dense(), flow), rtol=1e-12)


# --- draws -----------------------------------------------------------------------------------------------------------


def drawn_table(drawn: DrawnRows, B: int, S: int, A: int) -> np.ndarray:
    """Draws as a table (B, S, A, S + 1)."""
    rows = GroupedRows(S, A * B, drawn.arrays).dense().reshape(S, A, B, S)
    table = np.concatenate([rows, drawn.share.reshape(S, A, B, 1)], axis=-1)
    return np.moveaxis(table, 2, 0)


def test_opsrl_draws_the_same_rows() -> None:
    env = make_env(masked_mdp(7, 6, 3))
    dense, sparse = both("opsrl", env)
    drawn = DrawnRows(sparse.belief, sparse.planning_rng, 8, 1.0, False)
    np.testing.assert_allclose(drawn_table(drawn, 8, 6, 3), dense.draw_rows(), rtol=1e-13)


@pytest.mark.parametrize("eta", [0.01, 0.5])
def test_opsrl_with_mass_on_every_outcome_draws_from_the_posterior(eta: float) -> None:
    """Means and variances of 20,000 draws of a row, within 5 standard errors of the Dirichlet's."""
    env = make_env(masked_mdp(7, 6, 3))
    _, agent = both(f"opsrl:eta={eta}", env, 40)
    B = 20_000
    table = drawn_table(DrawnRows(agent.belief, agent.planning_rng, B, 0.7, True), B, 6, 3)
    np.testing.assert_allclose(table.sum(axis=-1), 1.0, rtol=1e-9)
    alpha = np.concatenate([agent.belief.alpha, np.full((6, 3, 1), 0.7)], axis=-1)
    total = alpha.sum(axis=-1, keepdims=True)
    mean = alpha / total
    variance = mean * (1 - mean) / (total + 1)
    assert (np.abs(table.mean(axis=0) - mean) <= 5 * np.sqrt(variance / B) + 2e-6).all()
    np.testing.assert_allclose(table.var(axis=0).sum(axis=-1), variance.sum(axis=-1), rtol=0.1)


def test_many_draws_are_refused_before_memory_is_gone(monkeypatch) -> None:
    env = make_env(masked_mdp(7, 6, 3))
    _, agent = both("opsrl", env)
    monkeypatch.setattr(_memory, "available", lambda: 3 * 10**7)
    with pytest.raises(TooLarge, match="100000 posterior draws of 6 states and 3 actions"):
        DrawnRows(agent.belief, agent.planning_rng, 100_000, 1.0, False)


@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([0.01, 1.0, 30.0]))
@settings(max_examples=100, deadline=None)
def test_the_urn_by_support_is_that_of_the_table(seed: int, S: int, eta: float) -> None:
    """Shares of all outcomes, by a fine grid of uniforms, with what came on the way added."""
    rng = np.random.default_rng(seed)
    belief = SparseBelief(S, 1, eta=eta)
    for y in rng.integers(0, S, size=int(rng.integers(0, 6))):
        belief.observe(0, 0, 1.0, int(y))
    path = np.zeros((4, 4), np.int64)
    path[:, 3] = rng.integers(0, S, size=4)
    before = np.array([-1, 0, 1, 2])
    alpha = belief.alpha[0, 0].copy()
    np.add.at(alpha, path[:, 3], 1.0)
    support = (belief.pool, belief.totals.ravel(), S, belief.eta, belief.prior)
    outcomes, weights = np.empty(S + 4, np.int64), np.empty(S + 4)
    for u in (np.arange(200) + rng.random()) / 200:
        assert bamcp._grouped_urn(support, 0, path, 3, before, outcomes, weights, u) == bamcp._urn(alpha, u)


# --- edges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", LARGE_TOO)
def test_edges_on_sparse_beliefs(spec: str) -> None:
    """One state, one action, any discount, an episode of one step, rewards in another unit: finite and twice alike."""
    for S, A, horizon, discount, unit in (
        (1, 2, None, 0.9, 1),
        (3, 1, 1, 0.5, 1),
        (4, 3, None, 0.0, 1e6),
        (4, 3, 3, 1, 1),
    ):
        mdp = masked_mdp(5, S, A)
        mdp = steering.mdp.TabularMDP(mdp.P, mdp.reward_mean * unit, mdp.reward_std * unit, mdp.mask, mdp.start)
        env = make_env(mdp, horizon=horizon, discount=discount)
        runs = [steering.run(env, spec, steps=30, seeds=1, belief="sparse").rewards for _ in range(2)]
        assert np.isfinite(runs[0]).all()
        np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize(
    "spec", ["ucrl2b:scale=0.1", "mbie_eb:scale=0.1", "k_learning", "opsrl", "bamcp:simulations=3"]
)
def test_a_discount_near_one_ends(spec: str) -> None:
    env = make_env(masked_mdp(5), discount=0.999999)
    assert np.isfinite(steering.run(env, spec, steps=15, seeds=1, belief="sparse").rewards).all()


@pytest.mark.parametrize(("spec", "maze"), [("mm", "maze:8,slip=0"), ("ube", "maze:10,slip=0")])
def test_variances_of_values_settle_where_rows_are_all_but_certain(spec: str, maze: str) -> None:
    """A jump along the slowest mode of the values of a policy once led away from them, to -1e121: no root has that."""
    with np.errstate(all="raise", under="ignore"):
        for seed in range(3):
            steering.run(maze, f"{spec}:concentration=learned", steps=2500, seeds=[seed], belief="sparse")


@pytest.mark.parametrize("spec", LARGE_TOO)
def test_a_maze_of_900_states(spec: str) -> None:
    """Whose tables would have 3 million entries each; draws of rows are sparse with a small concentration."""
    draws = spec.startswith("psrl") or "eta_mass" in spec
    options = {"eta": 0.001} if draws else {}
    env = make_env("maze:30,seed=0")
    agent = make_agent(spec, **options)
    assert np.isfinite(steering.run(env, agent, steps=60, seeds=1).rewards).all()


# --- options that had no effect --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("horizon", [None, 3])
def test_the_scale_of_rmax_is_what_the_unknown_is_worth(form: str, horizon: int | None) -> None:
    """Vmin + scale (Vmax - Vmin) of the steps left, next to a known pair that stays at 0.6 a step."""
    P = np.zeros((1, 2, 1)) + 1.0
    env = make_env(steering.mdp.TabularMDP(P, [[0.6, 0.0]]), horizon=horizon, discount=0.9)
    left = [10.0] if horizon is None else [2.71, 1.9, 1.0]
    for scale, chosen in ((1.0, 1), (0.85, 1), (0.75, 0), (0.0, 0)):
        agent = make_agent("rmax:m=1,r_min=-1", scale=scale, belief=form)
        agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(0))
        agent.belief.observe(0, 0, 0.6, 0)
        agent.plan()
        np.testing.assert_allclose(agent.hopes(scale)[: len(left)], np.array(left) * (2 * scale - 1))
        assert (agent.policy == chosen).all()


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_hope_of_opsrl_is_what_its_pseudo_state_is_worth(form: str) -> None:
    env = make_env(steering.mdp.TabularMDP(np.ones((1, 2, 1)), [[0.0, 0.0]]), discount=0.9)
    policies = []
    for r_min in (-3.0, 0.9):
        agent = make_agent("opsrl:hope=0.5,r_max=1,normal_gamma=(0,4,3,1e-9)", r_min=r_min, belief=form)
        agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(0))
        for _ in range(50):
            agent.belief.observe(0, 0, 0.5, 0)  # known to be worth 5; the unknown is worth -9 or 8.55
        agent.plan()
        policies.append(int(agent.policy[0, 0]))
    assert policies == [0, 1]


def test_vbrb_with_one_step_has_no_bonus_for_rows() -> None:
    """Nothing follows the only step, so how sure its row is does not matter."""
    env = make_env(masked_mdp(2), horizon=1)
    agent = make_agent("vbrb:delta=0.25")
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(0))
    np.testing.assert_allclose(agent.bonus(), 2.0 * steering.agents.optimism.reward_spread(agent.belief), rtol=1e-14)
