"""Agents in large worlds: sparse beliefs give the same runs as dense ones, and plans that are repaired are right."""

import numpy as np
import pytest

import steering
from steering import _memory
from steering._compiled import sparse_plans
from steering.agents import large, systems
from steering.agents.large import RepairedPlan, RowBonus, RowSolver
from steering.beliefs import ModelBelief, SparseBelief
from steering.errors import NotAvailable, SteeringError, TooLarge
from steering.mdp import TabularMDP, policy_iteration

EXACT = [
    "steering:replan=every",
    # Related rows are left out: a plan that is repaired judges whether a row would lose by values of another moment.
    "steering:reward_noise=0,value_weight=0,rows=independent",
    "steering:preset=v1",
    "steering:preset=v1,planning=mean,reference=empirical,replan=learned,reward_noise=0",
    "ids:planning=mean",
    "ids:information=gain,planning=mean,concentration=learned,replan=learned",
    "ube:replan=learned",
    "mm:concentration=learned,reward_scale=learned",
    "beb",
    "vbrb",
    "eubrl",
]
ENVS = ["deepsea:6", "priormdp:4,2,seed=0", "gym:FrozenLake-v1", "riverswim:6", "widenarrow:1,4", "deepsea:4,horizon=5"]


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("agent", EXACT)
def test_sparse_agents_take_the_steps_of_dense_ones(env: str, agent: str, monkeypatch) -> None:
    """Step by step, with plans solved to rounding; no ties but exact ones."""
    for name in ("ACCURACY", "REPAIR_ACCURACY"):
        monkeypatch.setattr(large, name, 1e-14)
    runs = [steering.run(env, agent, steps=600, seeds=2, belief=form) for form in ("dense", "sparse")]
    np.testing.assert_array_equal(runs[0].visits, runs[1].visits)
    np.testing.assert_array_equal(runs[0].rewards, runs[1].rewards)


def random_model(seed: int, S: int = 30, A: int = 3) -> tuple[SparseBelief, ModelBelief]:
    rng = np.random.default_rng(seed)
    forms = SparseBelief(S, A, concentration="learned"), ModelBelief(S, A, concentration="learned")
    n = 200
    s, a = rng.integers(S, size=n), rng.integers(A, size=n)
    data = (s, a, rng.normal(size=n), (s + rng.integers(1, 4, size=n)) % S)
    for belief in forms:
        belief.observe_many(data)
        belief.refresh()
    return forms


def problem(S: int, A: int, discount: float = 0.95, horizon: int | None = None) -> steering.agents.Problem:
    mask = np.ones((S, A), bool)
    mask[::3, 0] = False
    return steering.agents.Problem(S, A, mask, discount, horizon)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", ["mean_model", "data_model", "draw_model", "related_rows"])
@pytest.mark.parametrize("accuracy", [1e-13, 1.1e-9])
def test_grouped_rows_are_solved_as_dense_ones(seed: int, make: str, accuracy: float) -> None:
    """By systems, and by sweeps."""
    sparse, _ = random_model(seed)
    if make == "related_rows":
        sparse.eta = 0.01  # a prior worth less than one observation
        r = sparse.data_model()[1]
        P = sparse.related_rows(np.random.default_rng(9).normal(size=30))
        assert P.related
    else:
        P, r = getattr(sparse, make)(*([np.random.default_rng(9)] if make == "draw_model" else []))
    given = problem(30, 3)
    solver = RowSolver(given)
    solver.accuracy = accuracy
    policy = np.zeros((1, 30), np.int64)
    V, Q = solver.solve(P, r, policy)
    exact = policy_iteration(TabularMDP(P.dense(), r, mask=given.mask), 0.95)
    np.testing.assert_allclose(V[0], exact.V, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(Q[0][given.mask], exact.Q[given.mask], rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(policy[0], exact.policy)
    np.testing.assert_allclose(solver.evaluate(P, r, policy)[0], exact.V, rtol=1e-8)


@pytest.mark.parametrize("short", [0, 10**6])
def test_the_values_of_a_chain_by_a_sparse_and_by_a_dense_system(short: int, monkeypatch) -> None:
    monkeypatch.setattr(systems, "SHORT", short)
    sparse, _ = random_model(1)
    P, r = sparse.mean_model()
    policy = np.arange(30) % 3
    exact = np.linalg.solve(np.eye(30) - 0.99 * P.dense()[np.arange(30), policy], r[np.arange(30), policy])
    np.testing.assert_allclose(systems.chain_values(P, r.ravel(), policy, 0.99), exact, rtol=1e-11)


@pytest.mark.parametrize("discount", [0.9, 0.99])
@pytest.mark.parametrize("accuracy", [1e-1, 1e-3, 1e-8])
@pytest.mark.parametrize("related", [False, True])
@pytest.mark.parametrize("passes", [0, 10])
def test_a_repaired_plan_keeps_its_stated_residual(
    discount: float, accuracy: float, related: bool, passes: int
) -> None:
    """After each of 300 observations the Bellman residual is at most accuracy (1 - discount) max|V|.

    Related rows are seen three times at once: whether those tried less are related depends on the values of a plan.
    """
    S, A = 40, 3
    rng = np.random.default_rng(5)
    belief = SparseBelief(S, A, concentration="learned", reward_scale="learned", evenness="learned")
    given = problem(S, A, discount)
    plan = RepairedPlan(given, belief, "data", RowBonus(1, 0.6, 0.3, 0.5, 1.0, related=related))
    plan.accuracy, plan.passes = accuracy, passes
    policy = np.zeros(S, np.int64)
    plan.draw_noise(rng)
    state, repaired = 0, 0
    for step in range(300):
        action = int(rng.choice(np.flatnonzero(given.mask[state])))
        reward, after = float(rng.normal(state == 7, 0.1)), int((state + rng.integers(1, 3)) % S)
        for _ in range(3 if related else 1):
            belief.observe(state, action, reward, after)
        belief.refresh()
        before = plan.sweeps
        plan.update(policy)
        repaired += plan.sweeps == before
        Q = plan.q_values()
        if step % 10 == 0:
            fresh = RepairedPlan(given, belief, "data", plan.bonus)
            fresh.noise[:] = plan.noise
            fresh.accuracy = 1e-12
            fresh.update(policy.copy())
            # the plan's rows may rest on a common mean reward that has moved by a third of the tolerance
            np.testing.assert_allclose(fresh.D, plan.D, rtol=1e-12)
            residual = np.abs(_backed_up(fresh, plan.V) - plan.V).max()
            assert residual <= 1.01 * accuracy * (1 - discount) * max(np.abs(plan.V).max(), np.abs(plan.local).max())
            assert np.abs(fresh.V - plan.V).max() <= 1.01 * accuracy * np.abs(plan.V).max()
        assert (Q[np.arange(S), policy] >= Q.max(axis=1) - accuracy * np.abs(plan.V).max()).all()
        state = after
    assert repaired > 30 or accuracy < 1e-3


@pytest.mark.parametrize("passes", [0, 10])
@pytest.mark.parametrize("reward", [0.5, 1.0])
def test_a_repair_goes_on_with_the_states_that_feel_the_sum_of_all_values(passes: int, reward: float) -> None:
    """A reward found on a chain raises the values behind it, and so what actions never tried are worth.

    With passes the states that have such actions are backed up once more; all are swept only if it is a large one.
    """
    S = 200
    belief = SparseBelief(S, 2, eta=1e-4)
    given = steering.agents.Problem(S, 2, np.ones((S, 2), bool), 0.9)
    for s in range(S):
        for a in range(2 if s % 10 else 1):
            for _ in range(3):
                belief.observe(s, a, 5.0 * (s == 10), (s + 1) % S)
    belief.refresh()
    plan, policy = RepairedPlan(given, belief, "data", RowBonus(), 0.9), np.zeros(S, np.int64)
    plan.accuracy, plan.passes = 0.03, passes
    plan.update(policy)
    sweeps = plan.sweeps
    for _ in range(3):
        belief.observe(30, 1, reward, 31)
    belief.refresh()
    plan.update(policy)
    assert (plan.sweeps == sweeps) == (passes > 0 and reward < 1)
    fresh = RepairedPlan(given, belief, "data", RowBonus(), 0.9)
    fresh.accuracy = 1e-12
    fresh.update(policy.copy())
    assert np.abs(_backed_up(fresh, plan.V) - plan.V).max() <= 0.03 * 0.1 * np.abs(plan.V).max()
    assert np.abs(fresh.V - plan.V).max() <= 0.03 * np.abs(plan.V).max()


def test_plans_of_large_worlds_are_coarser_and_put_sweeps_off() -> None:
    plans = [
        RepairedPlan(problem(S, 1), SparseBelief(S, 1), "data", RowBonus()) for S in (large.LARGE, large.LARGE + 1)
    ]
    assert [(p.accuracy, p.passes) for p in plans] == [(1e-2, 0), (5e-2, 10)]


@pytest.mark.parametrize("passes", [0, 10])
def test_the_tolerance_of_repairs_follows_values_that_fall(passes: int) -> None:
    """Five states paid 50 once and then -49.8; what is learned of small rewards afterwards must still be passed on."""
    S, discount = 1100, 0.9
    belief = SparseBelief(S, 1, eta=1e-6)
    plan = RepairedPlan(steering.agents.Problem(S, 1, np.ones((S, 1), bool), discount), belief, "data", RowBonus())
    plan.accuracy, plan.passes = 0.03, passes
    policy = np.zeros(S, np.int64)
    for s in range(S):
        for _ in range(1 if s < 5 else 50):
            belief.observe(s, 0, 50.0 if s < 5 else 0.1, min(s, 699))
    belief.refresh()
    plan.update(policy)
    high = np.abs(plan.V).max()
    for s in range(5):
        belief.observe(s, 0, -49.8, s)
    belief.refresh()
    plan.update(policy)
    assert np.abs(plan.V).max() < 0.02 * high
    for _ in range(40):
        belief.observe(699, 0, 0.3, 699)
        belief.refresh()
        plan.update(policy)
        residual = np.abs(_backed_up(plan, plan.V) - plan.V).max()
        assert residual <= 0.03 * (1 - discount) * max(np.abs(plan.V).max(), np.abs(plan.local).max())


def test_actions_that_are_not_allowed_feel_nothing() -> None:
    """They are never tried, so that their rows would feel every move of the sum."""
    S = 30
    rows = (*(np.zeros(2 * S, np.int64) for _ in range(3)), np.zeros(1), np.tile([1e-6, 1.0 / S], S))
    sums, queue = np.zeros(S), (np.empty(S + 1, np.int32), np.zeros(S, np.bool_))
    mask = np.ones((S, 2), np.bool_)
    mask[:, 1] = False
    assert sparse_plans._feel(10.0, rows, mask, 0.9, sums, queue, 0.01) == 0
    mask[7:9, 1] = True
    assert sparse_plans._feel(10.0, rows, mask, 0.9, sums, queue, 0.01) == 2
    assert queue[0][:2].tolist() == [7, 8]
    sums[7] = 10.0  # was backed up since
    queue[1][:] = False
    assert sparse_plans._feel(10.0, rows, mask, 0.9, sums, queue, 0.01) == 1


@pytest.mark.parametrize("moved", ["grown", "promise", "row_promise", "evenness"])
def test_a_repaired_plan_follows_what_is_learned_without_new_data(moved: str) -> None:
    given = problem(12, 2)
    belief = SparseBelief(12, 2, reward_scale="open")
    rng = np.random.default_rng(0)
    for _ in range(60):
        s, a = int(rng.integers(8)), int(rng.integers(2))
        belief.observe(s, a, float(rng.normal()), int(rng.integers(4)))
    belief.refresh()
    bonus = RowBonus(novelty=0.5, alike=True)
    plan, policy = RepairedPlan(given, belief, "data", bonus), np.zeros(12, np.int64)
    plan.update(policy)
    before, grown = plan.local.copy(), 0.0
    if moved == "grown":
        grown = 50.0
    else:
        setattr(belief, moved, 2.0 * getattr(belief, moved) + 0.5)
    plan.update(policy, grown)
    fresh = RepairedPlan(given, belief, "data", bonus)
    fresh.update(policy.copy(), grown)
    assert not np.array_equal(plan.local, before)
    np.testing.assert_array_equal(plan.local, fresh.local)


def _backed_up(plan: RepairedPlan, V: np.ndarray) -> np.ndarray:
    kept, plan.V = plan.V, V
    Q = plan.q_values()
    plan.V = kept
    return Q.max(axis=1)


DRAWING = ["psrl:eta=0.01", "ids:eta=0.01", "steering:objective=ratio", "steering:planning=sampled"]


@pytest.mark.parametrize("agent", DRAWING)
def test_agents_that_draw_run_on_sparse_beliefs(agent: str) -> None:
    """Other draws, the same distribution: mean rewards of 20 runs are within 5 standard errors (fixed seeds)."""
    means = []
    for form in ("dense", "sparse"):
        rewards = steering.run("riverswim:5", agent, steps=400, seeds=20, belief=form).rewards.sum(axis=1)
        means.append((rewards.mean(), rewards.std(ddof=1) / np.sqrt(20)))
    gap = abs(means[0][0] - means[1][0])
    assert gap <= 5 * np.hypot(means[0][1], means[1][1]) + 1e-9


def test_records_of_a_sparse_agent() -> None:
    results = steering.run(
        "riverswim:5",
        "steering",
        steps=60,
        seeds=1,
        belief="sparse",
        record=["value_gap", "q_posterior", "diagnostics"],
    )
    assert np.isfinite(results.value_gaps).all()
    assert np.isfinite(results.diagnostics.gain).all()


def test_large_worlds_run_and_what_cannot_is_refused(monkeypatch) -> None:
    env = steering.make_env("maze:30,seed=0")
    for agent in ("steering:replan=learned", "ids:planning=mean", "ube", "mm", "q_learning", "bayesian_q"):
        assert np.isfinite(steering.run(env, agent, steps=200, seeds=1).rewards).all()
    with pytest.raises(NotAvailable, match="because moments=sampled draws whole tables; use belief=dense"):
        steering.run(env, "ube:moments=sampled,belief=sparse", steps=20, seeds=1)
    with pytest.raises(NotAvailable, match="because selection=dictionary"):
        steering.run(env, "steering:preset=paper-sound,belief=sparse", steps=20, seeds=1)
    with pytest.raises(SteeringError, match="belief is 'x'"):
        steering.make_agent("psrl:belief=x")
    monkeypatch.setattr(_memory, "available", lambda: 3 * 10**7)
    with pytest.raises(TooLarge, match="agent 'steering' needs dense tables, because only barker"):
        steering.run(env, "steering:operator=gibbs", steps=20, seeds=1)
    with pytest.raises(TooLarge, match="concentration=learned"):
        steering.run(env, "psrl:belief=sparse", steps=20, seeds=1)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_restricted_agent_plans_without_what_is_forbidden(form: str) -> None:
    """Excursions too, which are solved apart."""
    planned = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        given = problem(40, 3)
        agent = steering.make_agent("steering", belief=form)
        agent.start(given, rng, np.random.default_rng(seed))
        state = 0
        for _ in range(60 + 10 * seed):
            action = int(rng.choice(np.flatnonzero(given.mask[state])))
            after = max(state - 1, 0) if action == 0 else min(state + action, 39)
            agent.observe(state, action, 0.0, after)
            state = after
        agent.plan(state)
        begun = agent.on_excursion
        mask = given.mask.copy()
        mask[state, agent.act(state)] = False
        agent.restrict(mask)
        agent.plan(state)
        planned += begun and agent.on_excursion
        assert mask[np.arange(40), agent.policy[0]].all()
    assert planned > 0
