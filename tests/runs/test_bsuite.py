"""bsuite's deep sea score: against a count episode by episode."""

import numpy as np
import pytest

import steering
from helpers import FollowsPolicy
from steering.envs import make_env
from steering.errors import InvalidOption
from steering.mdp import backward_induction
from steering.runs import deep_sea_episodes, deep_sea_score


class GoodFrom(FollowsPolicy):
    """Goes left everywhere until an episode, then follows the optimal policy."""

    def __init__(self, policy, first: int) -> None:
        super().__init__(policy)
        self.first = first

    def _reset(self) -> None:
        super()._reset()
        self.episode = 0

    def plan(self, state: int = 0, step: int = 0) -> None:
        super().plan(state, step)
        self.episode += 1
        if self.episode < self.first:
            self.policy = 1 - self.policy


@pytest.mark.parametrize("first", [1, 2, 50, 105])
def test_solved_at_the_first_episode_with_few_enough_bad_ones(first: int) -> None:
    env = make_env("griddeepsea:3")
    policy = backward_induction(env.table, 3).policy
    results = steering.run(env, GoodFrom(policy, first), steps=3 * 130, seeds=2)
    bad = np.arange(1, 131) < first
    expected = next(k for k in range(1, 131) if bad[:k].mean() < 0.9)
    assert deep_sea_episodes(results).tolist() == [expected, expected]
    assert deep_sea_score(results) == (1.0 if expected < 108 else 0.0)


def test_never_solved_and_refusals() -> None:
    env = make_env("griddeepsea:3")
    lazy = FollowsPolicy(1 - backward_induction(env.table, 3).policy)
    results = steering.run(env, lazy, steps=60, seeds=1)
    assert deep_sea_episodes(results).tolist() == [np.inf]
    assert deep_sea_score(results) == 0.0
    for text in ("deepsea:3", "griddeepsea:3,horizon=4", "griddeepsea:3,stochastic=true"):
        with pytest.raises(InvalidOption, match="no deep sea score"):
            deep_sea_score(steering.run(text, "q_learning", steps=20, seeds=1))
    with pytest.raises(InvalidOption, match="no whole episode"):
        deep_sea_score(steering.run(env, "q_learning", steps=2, seeds=1))
