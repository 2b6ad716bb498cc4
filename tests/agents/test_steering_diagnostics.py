"""Diagnostics of STEERING: they change no run, say what the plan rested on, and the theorem's inequality holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import STEERING, masked_mdp, problem_of
from steering.agents import make_agent
from steering.envs import make_env
from steering.errors import SteeringError
from steering.mdp import TabularMDP, backward_induction, evaluate, evaluate_finite, policy_iteration
from steering.runs import run
from steering.runs.results import Diagnostics


@pytest.mark.parametrize("record", ["diagnostics", "q_posterior", "value_gap"])
@pytest.mark.parametrize("spec", STEERING)
def test_looking_changes_nothing(spec: str, record: str) -> None:
    plain = run(masked_mdp(3), spec, steps=120, seeds=2)
    watched = run(masked_mdp(3), spec, steps=120, seeds=2, record=[record])
    np.testing.assert_array_equal(plain.rewards, watched.rewards)
    np.testing.assert_array_equal(plain.visits, watched.visits)


@pytest.mark.parametrize("spec", STEERING)
@pytest.mark.parametrize("env", ["deepsea:5", "deepsea:4,horizon=4", "priormdp:3,2,seed=1"])
def test_the_inequality_of_the_theorem_holds(spec: str, env: str) -> None:
    diagnostics = run(env, spec, steps=200, seeds=2, record=["diagnostics"]).diagnostics
    assert diagnostics is not None
    left, right = diagnostics.theorem_sides()
    assert left.shape == right.shape == (2,)
    assert (left <= right * (1 + 1e-12)).all()
    assert np.isfinite(right).all()
    assert (left > 0).all()
    for name in ("info_weight", "information", "gain", "regret", "ratio", "dictionary"):
        # A seed with fewer plans than the other has NaN at the end.
        values = getattr(diagnostics, name)[~np.isnan(diagnostics.regret)]
        assert np.isfinite(values).all()
        assert (values >= 0).all()


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.sampled_from(["steering", STEERING[1]]))
@settings(max_examples=15)
def test_the_inequality_holds_on_random_mdps(seed: int, S: int, A: int, spec: str) -> None:
    diagnostics = run(masked_mdp(seed, S, A), spec, steps=60, seeds=[seed], record=["diagnostics"]).diagnostics
    assert diagnostics is not None
    left, right = diagnostics.theorem_sides()
    assert (left <= right * (1 + 1e-12)).all()


def test_without_anything_to_learn_the_ratio_and_the_bound_are_infinite() -> None:
    """One state: transitions are known, rewards are not."""
    mdp = TabularMDP(np.ones((1, 2, 1)), np.array([[0.0, 1.0]]), 1.0)
    diagnostics = run(mdp, "steering", steps=20, seeds=1, record=["diagnostics"]).diagnostics
    assert diagnostics is not None
    left, right = diagnostics.theorem_sides()
    assert (diagnostics.gain == 0).all()
    assert left[0] > 0
    assert right[0] == np.inf


def test_the_inequality_can_fail_for_numbers_that_do_not_belong_together() -> None:
    one = np.ones((1, 3))
    sides = Diagnostics(one, np.ones((1, 3, 1, 1)), one, 2 * one, one, one).theorem_sides()
    assert sides[0][0] > sides[1][0]


def test_shapes_and_meaning() -> None:
    results = run("deepsea:5", "steering:preset=v1,info_weight=0.4", steps=120, seeds=2, record=["diagnostics"])
    d = results.diagnostics
    assert d is not None
    assert d.information.shape == (2, 20, 5, 2)
    np.testing.assert_allclose(d.info_weight, 0.4)
    np.testing.assert_array_equal(d.dictionary, np.tile(np.arange(20) * 6, (2, 1)))  # a plan every 6 steps
    # Every row was as unknown as any other at first; what is visited is known better at the end.
    assert np.ptp(d.information[:, 0]) == pytest.approx(0.0)
    seen = results.visits.sum(axis=1) > 5
    assert (d.information[:, -1][seen] < 0.5 * d.information[:, 0][seen]).all()
    assert d.gain[:, -1].mean() < d.gain[:, 0].mean()


def test_the_gain_is_the_value_of_the_policy_in_the_mean_model() -> None:
    env = make_env(masked_mdp(2))
    agent = make_agent("steering")
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
    rng = np.random.default_rng(2)
    n = 2000
    s, a = np.divmod(rng.choice(np.flatnonzero(env.mask), size=n), env.n_actions)
    y = (env.table.P[s, a].cumsum(axis=1) > rng.random((n, 1)) * (1 - 1e-12)).argmax(axis=1)
    agent.belief.observe_many((s, a, env.table.reward_mean[s, a, y], y))
    agent.plan(3)
    got = agent.diagnose(np.random.default_rng(3))
    P, _ = agent.belief.mean_model()
    gain = evaluate(TabularMDP(P.copy(), agent.D, mask=env.mask), agent.policy[0], agent.discount)[3]
    assert got["gain"] == pytest.approx(gain, rel=1e-9)
    assert 0.0 < got["regret"] < 1.0  # the model is nearly known
    assert got["ratio"] == pytest.approx(got["regret"] ** 2 / got["gain"])
    assert got["dictionary"] == n


@pytest.mark.parametrize("horizon", [None, 4])
def test_the_regret_is_that_of_the_policy_in_sixteen_draws(horizon: int | None) -> None:
    """Draw by draw with the exact planners of the library, from the state of the plan."""
    env = make_env(masked_mdp(2), horizon=horizon)
    agent = make_agent("steering")
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
    agent.belief.observe_many((np.array([0, 1, 2, 3]), np.zeros(4, int), np.ones(4), np.array([1, 2, 3, 0])))
    agent.plan(3)
    policy = agent.policy.copy()
    got = agent.diagnose(np.random.default_rng(3))["regret"]
    np.testing.assert_array_equal(agent.policy, policy)
    rng = np.random.default_rng(3)
    gaps = []
    for _ in range(16):
        P, r = agent.belief.draw_model(rng)
        mdp = TabularMDP(P.copy(), r.copy(), mask=env.mask)
        if horizon is None:
            gap = policy_iteration(mdp, agent.discount).V - evaluate(mdp, policy[0], agent.discount)
        else:
            V = backward_induction(mdp, horizon, agent.discount).V
            gap = V[0] - evaluate_finite(mdp, policy, horizon, agent.discount)[0]
        gaps.append(gap[3])
    assert min(gaps) >= -1e-9
    assert got > 0.01
    assert got == pytest.approx(np.mean(gaps), rel=1e-6)


def test_the_true_sum_is_that_of_the_value_gaps_and_may_exceed_the_bound() -> None:
    """All rewards of CliffWalking are far below what the prior expects, so its expectations say little about it."""
    results = run("gym:CliffWalking-v1", "steering:preset=v1", steps=1000, seeds=2, record=["diagnostics", "value_gap"])
    d = results.diagnostics
    assert d is not None
    assert results.value_gaps is not None
    np.testing.assert_array_equal(d.true_sum(), results.value_gaps.sum(axis=1))
    assert (d.true_sum() > d.theorem_sides()[1]).all()
    alone = run("deepsea:4", "steering", steps=60, seeds=1, record=["diagnostics"])
    assert alone.value_gaps is None
    assert alone.diagnostics is not None
    assert alone.diagnostics.true_sum()[0] > 0


def test_records_without_the_true_regret_say_so() -> None:
    one = np.ones((1, 3))
    with pytest.raises(SteeringError, match="true regret of plans is not in these records"):
        Diagnostics(one, np.ones((1, 3, 1, 1)), one, one, one, one).true_sum()


def test_the_ratio_objective_records_its_own_weight() -> None:
    d = run("deepsea:5", "steering:objective=ratio", steps=600, seeds=1, record=["diagnostics"]).diagnostics
    assert d is not None
    assert len(np.unique(d.info_weight)) > 10


def test_other_agents_say_that_they_have_none() -> None:
    with pytest.raises(SteeringError, match="no diagnostics"):
        run("deepsea:4", "psrl", steps=20, seeds=1, record=["diagnostics"])


@pytest.mark.parametrize("objective", ["regularised", "ratio"])
def test_a_plan_in_the_middle_of_an_episode_is_about_what_is_left_of_it(objective: str) -> None:
    """With one step to go the gain is D of that step's action alone, and regret is within one step's rewards."""
    env = make_env("deepsea:5,horizon=6")
    agent = make_agent(f"steering:objective={objective},replan=learned")
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
    agent.plan(2, 5)
    said = agent.diagnose(np.random.default_rng(0))
    assert said["gain"] == pytest.approx(agent.D[2, agent.policy[5, 2]], rel=1e-12)
    agent.plan(2, 0)
    assert agent.diagnose(np.random.default_rng(0))["gain"] > 2 * said["gain"]
