"""One run and many: reproducible, independent of what is recorded, regret as defined."""

import numpy as np
import pandas as pd
import pytest

import steering
import steering.mdp as planners
from helpers import AGENTS, FollowsPolicy, masked_mdp
from steering.agents import Agent
from steering.envs import make_env
from steering.errors import InvalidOption, NotAvailable, SteeringError, UnknownName
from steering.mdp import TabularMDP, backward_induction, evaluate, policy_iteration
from steering.runs import Runs, run


def same(a, b, rows=slice(None)) -> None:
    np.testing.assert_array_equal(a.rewards, b.rewards[rows])
    np.testing.assert_array_equal(a.visits, b.visits[rows])
    np.testing.assert_array_equal(a.expected_rewards, b.expected_rewards[rows])
    np.testing.assert_array_equal(a.oracle_rewards, b.oracle_rewards[rows])


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize("spec", AGENTS)
def test_a_run_depends_on_its_seed_only_and_recording_does_not_change_it(spec: str, horizon: int | None) -> None:
    env = steering.make_env(masked_mdp(1), horizon=horizon)
    first = run(env, spec, steps=120, seeds=3)
    same(first, run(env, spec, steps=120, seeds=3))
    same(run(env, spec, steps=120, seeds=[2, 0]), first, [2, 0])
    recorded = run(env, spec, steps=120, seeds=3, record=("value_gap", "q_posterior"), windows=7, snapshots=5)
    np.testing.assert_array_equal(first.rewards, recorded.rewards)
    assert not np.array_equal(first.rewards[0], first.rewards[1])


def test_one_agent_object_can_be_used_again_in_any_order() -> None:
    env = steering.make_env("deepsea:4")
    agents = [steering.make_agent(name) for name in ("psrl", "ube", "q_learning")]
    forward = [run(env, agent, steps=100, seeds=2) for agent in agents]
    backward = [run(env, agent, steps=100, seeds=2) for agent in agents[::-1]][::-1]
    for one, other in zip(forward, backward, strict=True):
        same(one, other)


def test_a_longer_run_begins_like_the_shorter_one() -> None:
    for spec in ("psrl", "q_learning", "bayesian_q", "mm"):
        short, long = (run("deepsea:4", spec, steps=steps, seeds=2) for steps in (50, 3000))
        np.testing.assert_array_equal(short.rewards, long.rewards[:, :50])
        np.testing.assert_array_equal(short.oracle_expected, long.oracle_expected[:50])


def test_regret_on_two_states_by_hand(two_states) -> None:
    # Optimal: go to state 1, stay there. The agent moves back and forth and earns nothing.
    results = run(two_states, FollowsPolicy([[1, 1]]), steps=6, seeds=2)
    for kind in ("realised", "expected"):
        np.testing.assert_array_equal(results.regret_curve(kind=kind), [[0, 1, 2, 3, 4, 5]] * 2)
        np.testing.assert_array_equal(results.regret(kind=kind), [5, 5])
        np.testing.assert_array_equal(results.regret(kind=kind, normalised=True), [1, 1])
    # Stays in state 0 twice, then optimal: impossible for a table policy; the half-way agent stays where it is.
    stays = run(two_states, FollowsPolicy([[0, 0]]), steps=6, seeds=1)
    assert stays.regret().tolist() == [5.0]
    assert run(two_states, FollowsPolicy([[1, 0]]), steps=6, seeds=1).regret().tolist() == [0.0]


def test_regret_in_episodes_by_hand(two_states) -> None:
    # H = 3 from state 0: move, stay, stay pays 2; seven steps are two episodes and the first step of a third.
    env = steering.make_env(two_states, horizon=3)
    results = run(env, FollowsPolicy([[0, 0]] * 3), steps=7, seeds=1)
    np.testing.assert_array_equal(results.oracle_expected, [0, 1, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(results.regret_curve()[0], [0, 1, 2, 2, 3, 4, 4])


@pytest.mark.parametrize("horizon", [None, 5])
def test_the_oracle_has_no_regret(horizon: int | None) -> None:
    """Same noise: realised regret is exactly 0. Expected regret has mean 0: 4.5 standard errors over 200 seeds."""
    mdp = masked_mdp(3)
    env = steering.make_env(mdp, horizon=horizon)
    policy = (
        policy_iteration(mdp, env.discount).policy[None] if horizon is None else backward_induction(mdp, horizon).policy
    )
    results = run(env, FollowsPolicy(policy), steps=100, seeds=200, record="value_gap")
    np.testing.assert_array_equal(results.regret_curve(), 0.0)
    expected = results.regret(kind="expected")
    assert expected.std() > 0
    assert abs(expected.mean()) < 4.5 * expected.std(ddof=1) / np.sqrt(200)
    np.testing.assert_allclose(results.value_gaps, 0.0, atol=1e-9)


def test_expected_rewards_are_the_means_of_what_was_visited() -> None:
    mdp = masked_mdp(5)
    results = run(mdp, "psrl", steps=200, seeds=2, windows=4)
    total = np.einsum("kwsa,sa->k", results.visits, mdp.rewards)
    np.testing.assert_allclose(results.expected_rewards.sum(axis=1), total, rtol=1e-10)


@pytest.mark.parametrize(("steps", "windows"), [(100, 10), (103, 7), (3, 10), (1, 1)])
def test_visits_are_counted_in_windows(steps: int, windows: int) -> None:
    mdp = masked_mdp(2)
    results = run(mdp, "psrl", steps=steps, seeds=2, windows=windows)
    edges = results.windows
    assert (edges[0], edges[-1]) == (0, steps)
    assert len(edges) == min(steps, windows) + 1
    np.testing.assert_array_equal(results.visits.sum(axis=(2, 3)), np.tile(np.diff(edges), (2, 1)))
    assert np.ptp(np.diff(edges)) <= 1
    assert results.visits[:, :, ~mdp.mask].sum() == 0


def test_value_gaps_are_not_negative_and_match_the_policy() -> None:
    env = steering.make_env("deepsea:5")
    results = run(env, "psrl", steps=200, seeds=3, record=["value_gap"])
    assert results.value_gaps.shape == (3, len(results.plan_times))
    np.testing.assert_array_equal(np.diff(results.plan_times), env.replan_every)
    assert (results.value_gaps > -1e-12).all()
    assert (results.value_gaps > 1e-6).any()
    policy = np.array([0] * 5)
    fixed = run(env, FollowsPolicy([policy]), steps=20, seeds=1, record="value_gap")
    gap = policy_iteration(env.mdp, 0.9).V[0] - evaluate(env.mdp, policy, 0.9)[0]
    assert fixed.value_gaps[0, 0] == pytest.approx(gap)


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("spec", ["psrl", "ube", "bayesian_q", "q_learning"])
def test_snapshots_of_the_q_posterior(spec: str, horizon: int | None) -> None:
    env = steering.make_env(masked_mdp(2), horizon=horizon)
    results = run(env, spec, steps=90, seeds=2, record="q_posterior", snapshots=6)
    q = results.q_posterior
    assert q.mean.shape == q.std.shape == (2, 6, horizon or 1, 4, 3)
    np.testing.assert_array_equal(np.isnan(q.mean), np.broadcast_to(~env.mask, q.mean.shape))
    np.testing.assert_array_equal(np.isnan(q.optimal), np.broadcast_to(~env.mask, q.optimal.shape))
    every = horizon or env.replan_every
    wanted = np.array([0, 15, 30, 45, 60, 75])
    np.testing.assert_array_equal(q.times, -(-wanted // every) * every)  # the first plan at or after each
    if horizon is None:
        np.testing.assert_allclose(q.optimal[0][env.mask], policy_iteration(env.mdp, 0.9).Q[env.mask])


def test_more_snapshots_than_plans_gives_one_for_each_plan_at_its_time() -> None:
    results = run("deepsea:4", "psrl", steps=23, seeds=1, record="q_posterior", snapshots=20)
    np.testing.assert_array_equal(results.q_posterior.times, [0, 5, 10, 15, 20])


def test_normalised_regret_is_refused_where_the_oracle_earns_nothing() -> None:
    for reward in (0.0, -1.0):
        results = run(TabularMDP(np.ones((1, 2, 1)), reward), "psrl", steps=10, seeds=2)
        with pytest.raises(NotAvailable, match="not positive"):
            results.regret(normalised=True)
        with pytest.raises(NotAvailable):
            results.regret_curve(normalised=True)
        np.testing.assert_array_equal(results.regret(), 0.0)
        assert "normalised_regret" not in results.table()
        assert results.summary()["measure"] == "realised_regret"


def test_tables_and_shapes() -> None:
    results = steering.run("deepsea:4", "psrl", steps=50, seeds=[3, 5], eta=2)
    assert results.agent == "psrl:eta=2.0"
    assert results.environment == "deepsea:4"
    assert results.steps == 50
    assert results.regret(normalised=True).shape == (2,)
    assert results.regret_curve().shape == (2, 50)
    table = results.table()
    assert isinstance(table, pd.DataFrame)
    assert table["seed"].tolist() == [3, 5]
    np.testing.assert_allclose(table["reward"], results.rewards.sum(axis=1))
    np.testing.assert_allclose(table["realised_regret"], table["oracle_reward"] - table["reward"])
    np.testing.assert_allclose(table["normalised_regret"] * results.oracle_total(), table["realised_regret"])
    np.testing.assert_allclose(results.oracle_total(), results.oracle_expected.sum())


def test_progress_counts_the_seeds() -> None:
    seen: list[tuple[int, int]] = []
    run("deepsea:4", "q_learning", steps=10, seeds=3, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("env", "agent", "options", "error", "word"),
    [
        ("deepse:8", "psrl", {}, UnknownName, "did you mean 'deepsea'"),
        ("deepsea:8", "prsl", {}, UnknownName, "did you mean 'psrl'"),
        ("deepsea:1", "psrl", {}, InvalidOption, "at least 3"),
        ("deepsea:8,discount=1", "psrl", {}, InvalidOption, "below 1"),
        ("deepsea:8,discount=1.5", "psrl", {}, InvalidOption, "discount"),
        ("deepsea:8", "psrl", {"eta": 0}, InvalidOption, "eta"),
        ("deepsea:8", "psrl", {"eta": -1.0}, InvalidOption, "eta"),
        ("deepsea:8", "psrl", {"steps": 0}, InvalidOption, "steps is 0"),
        ("deepsea:8", "psrl", {"steps": -5}, InvalidOption, "steps is -5"),
        ("deepsea:8", "psrl", {"steps": 2.5}, InvalidOption, "whole number"),
        ("deepsea:8", "psrl", {"steps": "many"}, InvalidOption, "whole number"),
        ("deepsea:8", "psrl", {"steps": None}, InvalidOption, "whole number"),
        ("deepsea:8", "psrl", {"steps": True}, InvalidOption, "whole number"),
        ("deepsea:8", "psrl", {"seeds": 0}, InvalidOption, "seeds is -?[01]; it must be at least 1"),
        ("deepsea:8", "psrl", {"seeds": -1}, InvalidOption, "seeds is -?[01]; it must be at least 1"),
        ("deepsea:8", "psrl", {"seeds": [-1]}, InvalidOption, "seed -1"),
        ("deepsea:8", "psrl", {"seeds": [1, 1]}, InvalidOption, "twice"),
        ("deepsea:8", "psrl", {"seeds": []}, InvalidOption, "empty"),
        ("deepsea:8", "psrl", {"seeds": 1.5}, InvalidOption, "seeds is 1.5"),
        ("deepsea:8", "psrl", {"seeds": "three"}, InvalidOption, "seeds is 'three'"),
        ("deepsea:8", "psrl", {"seeds": None}, InvalidOption, "seeds is None"),
        ("deepsea:8", "psrl", {"seeds": [0, "1"]}, InvalidOption, "seed '1'"),
        ("deepsea:8", "psrl", {"windows": 0}, InvalidOption, "windows"),
        ("deepsea:8", "psrl", {"snapshots": 0}, InvalidOption, "snapshots"),
        ("deepsea:8", "psrl", {"record": 5}, InvalidOption, "record is 5"),
        ("deepsea:8", "psrl", {"steps": 10**12}, InvalidOption, "use fewer steps"),
        ("deepsea:8", "psrl", {"record": "everything"}, InvalidOption, "record has 'everything'"),
        ("deepsea:8", "psrl", {"colour": 1}, UnknownName, "option of agent"),
    ],
)
def test_bad_input_gets_one_sentence(env, agent, options, error, word: str) -> None:
    with pytest.raises(error, match=word) as caught:
        run(env, agent, **options)
    assert isinstance(caught.value, SteeringError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", AGENTS)
def test_one_state_and_one_action_run(spec: str) -> None:
    results = run(TabularMDP(np.ones((1, 1, 1)), 2.0, 0.5), spec, steps=30, seeds=2)
    np.testing.assert_allclose(results.regret(), 0.0, atol=1e-12)


def test_seeds_are_run_one_after_the_other_and_can_be_stopped() -> None:
    whole = run("deepsea:4", "psrl", steps=60, seeds=4, record="value_gap")
    runs = Runs("deepsea:4", "psrl", steps=60, seeds=4, record="value_gap")
    seen = []
    for one in runs:
        seen.append(one.seed)
        if one.seed == 1:
            break
    assert seen == [0, 1]
    part = runs.results()
    assert part.seeds == (0, 1)
    np.testing.assert_array_equal(part.rewards, whole.rewards[:2])
    np.testing.assert_array_equal(part.value_gaps, whole.value_gaps[:2])
    assert [one.seed for one in runs] == [2, 3]
    np.testing.assert_array_equal(runs.results().visits, whole.visits)


def test_watchers_see_every_plan_and_change_nothing() -> None:
    class Watcher:
        def __init__(self) -> None:
            self.times: list[int] = []

        def look(self, agent: Agent, state: int, now: int) -> None:
            self.times.append(now)

    first, second = Watcher(), Watcher()
    runs = Runs("deepsea:4", "psrl", steps=60, seeds=[3], record="value_gap", watchers=[first, second])
    list(runs)
    results = runs.results()
    assert first.times == second.times == results.plan_times.tolist()
    np.testing.assert_array_equal(results.rewards, run("deepsea:4", "psrl", steps=60, seeds=[3]).rewards)


@pytest.mark.parametrize("horizon", [None, 5])
def test_the_oracle_is_solved_once_for_all_agents(horizon: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[str] = []
    for name in ("policy_iteration", "backward_induction", "expected_reward_curve", "occupancy_finite"):
        plain = getattr(planners, name)
        monkeypatch.setattr(planners, name, lambda *a, n=name, f=plain: (solved.append(n), f(*a))[1])
    env = make_env("deepsea:5", horizon=horizon)
    for agent in ("q_learning", "psrl"):
        run(env, agent, steps=50, seeds=2)
        run(make_env("deepsea:5", horizon=horizon), agent, steps=50, seeds=2)  # an equal one
    assert len(solved) == 3  # the solution, what it earns and what a random policy earns
    run(env, "psrl", steps=60, seeds=1)
    assert len(solved) == 5  # expected rewards of another length
    other = make_env("deepsea:5,reward=dense", horizon=horizon).replace(name=env.name)
    assert other.name == env.name
    np.testing.assert_array_less(
        run(env, "psrl", steps=50, seeds=1).oracle_expected.sum(),
        run(other, "psrl", steps=50, seeds=1).oracle_expected.sum(),
    )
    assert len(solved) == 10
