"""Q-learning: its update by hand, and how it explores."""

import numpy as np
import pytest

from helpers import problem_of
from steering._compiled.model_free import epsilon_greedy
from steering.agents import Problem, make_agent
from steering.agents.q_learning import QLearning
from steering.envs import make_env
from steering.mdp import backward_induction, policy_iteration


def started(problem: Problem, **options) -> QLearning:
    agent = make_agent("q_learning", **options)
    agent.start(problem, np.random.default_rng(0), np.random.default_rng(1))
    assert isinstance(agent, QLearning)
    return agent


def test_the_update_by_hand() -> None:
    mask = np.array([[True, True], [True, False]])
    agent = started(Problem(2, 2, mask, 0.5), learning_rate=0.1)
    agent.observe(0, 1, 2.0, 1)
    assert agent.Q[0].tolist() == [[0.0, 0.2], [0.0, 0.0]]
    agent.Q[0, 1] = [3.0, 99.0]  # the masked action's value must not be used
    agent.observe(0, 1, 1.0, 1)
    assert agent.Q[0, 0, 1] == pytest.approx(0.2 + 0.1 * (1.0 + 0.5 * 3.0 - 0.2))
    agent.plan()
    assert agent.policy.tolist() == [[1, 0]]


def test_layers_of_an_episode_bootstrap_from_the_next_and_the_last_from_nothing() -> None:
    agent = started(Problem(2, 1, np.ones((2, 1), bool), 1.0, horizon=2), learning_rate=0.5)
    agent.Q[:] = [[[10.0], [20.0]], [[30.0], [40.0]]]
    agent.observe(0, 0, 1.0, 1, step=0)
    assert agent.Q[0, 0, 0] == 10 + 0.5 * (1 + 40 - 10)
    agent.observe(0, 0, 1.0, 1, step=1)
    assert agent.Q[1, 0, 0] == 30 + 0.5 * (1 - 30)


def test_episodes_of_one_step_are_a_bandit() -> None:
    agent = started(Problem(1, 2, np.ones((1, 2), bool), 1.0, horizon=1), learning_rate=1.0)
    for _ in range(3):
        agent.observe(0, 0, 5.0, 0)
    assert agent.Q[0, 0, 0] == 5.0


def test_epsilon_greedy_frequencies() -> None:
    """Exploring half of the time over two allowed actions: 3/4 to the best (4.5 standard errors, fixed seed)."""
    n = 40_000
    values, mask = np.array([0.0, 1.0, 9.0]), np.array([True, True, False])
    uniforms = np.random.default_rng(0).random((n, 3))
    actions = np.array([epsilon_greedy(values, mask, 0.5, u) for u in uniforms])
    assert set(actions) == {0, 1}
    assert abs((actions == 1).mean() - 0.75) < 4.5 * np.sqrt(0.75 * 0.25 / n)
    ties = np.array([epsilon_greedy(np.zeros(3), np.ones(3, bool), 0.0, u) for u in uniforms])
    assert (np.abs(np.bincount(ties) / n - 1 / 3) < 4.5 * np.sqrt(2 / 9 / n)).all()


def test_exploration_decays_with_the_clock() -> None:
    agent = started(Problem(1, 2, np.ones((1, 2), bool), 0.9), epsilon=1.0, timescale=5.0, initial=1.0)
    agent.Q[0, 0, 1] = 2.0
    early = [agent.act(0) for _ in range(200)]
    for _ in range(500):
        agent.clock += 1
    late = [agent.act(0) for _ in range(200)]
    assert 60 < sum(early) < 140
    assert sum(late) == 200


@pytest.mark.parametrize("horizon", [None, 4])
def test_learns_a_deterministic_problem(two_states, horizon: int | None) -> None:
    env = make_env(two_states, horizon=horizon)
    agent = started(problem_of(env), epsilon=1.0, learning_rate=1.0)
    state = 0
    for t in range(4000):
        step = t % horizon if horizon else 0
        if horizon and step == 0:
            state = t // horizon % 2
        action = agent.act(state, step)
        successor = state if action == 0 else 1 - state
        agent.observe(state, action, float(two_states.reward_mean[state, action, 0]), successor, step)
        state = successor
    agent.plan()
    optimal = (
        policy_iteration(two_states, 0.9).Q[None] if horizon is None else backward_induction(two_states, horizon, 1.0).Q
    )
    mean, std = agent.q_posterior(np.random.default_rng(0))
    np.testing.assert_allclose(mean, optimal, rtol=1e-6)
    np.testing.assert_array_equal(std, 0.0)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": 1.5}, "learning_rate"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"timescale": 0.0}, "timescale"),
        ({"initial": float("inf")}, "initial"),
    ],
)
def test_options_out_of_range_are_named(options, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_agent("q_learning", **options)
