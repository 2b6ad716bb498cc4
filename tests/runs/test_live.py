"""Environments without a table are stepped: what is learnt from, what is refused, and what stays reproducible."""

import gymnasium
import numpy as np
import pytest

import steering
from helpers import AGENTS
from steering.agents.base import ModelBasedAgent
from steering.errors import NotAvailable
from steering.runs import run


class Corridor(gymnasium.Env):
    """Four states in a row; action 1 goes right, action 0 left; the last state ends the episode and pays 1."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(2))
        return self.place, {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action == 1 else -1), 0), 3)
        over = self.place == 3
        return self.place, float(over), over, False, {}


def corridor(limit: int | None = None, horizon: int | None = None):
    def make():
        env = Corridor()
        return env if limit is None else gymnasium.wrappers.TimeLimit(env, limit)

    return steering.envs.Environment("corridor", None, horizon=horizon, make_gym=make)


@pytest.mark.parametrize("horizon", [None, 5])
@pytest.mark.parametrize("spec", AGENTS)
def test_every_agent_runs_and_a_seed_gives_the_same_run(spec: str, horizon: int | None) -> None:
    env = corridor(horizon=horizon)
    one, other = run(env, spec, steps=60, seeds=2), run(env, spec, steps=60, seeds=[0, 1])
    np.testing.assert_array_equal(one.rewards, other.rewards)
    np.testing.assert_array_equal(one.visits, other.visits)
    assert one.visits.sum() == 120


def test_psrl_learns_the_corridor() -> None:
    results = run(corridor(), "psrl", steps=600, seeds=3)
    # At best one reward every 3 or 4 steps (0 or 1 -> 3, and the step back to a start).
    assert (results.rewards[:, 300:].mean(axis=1) > 0.22).all()


@pytest.mark.parametrize(("limit", "horizon"), [(None, None), (3, None), (3, 5), (None, 5)])
def test_every_step_is_learnt_from_and_no_jump_is(limit: int | None, horizon: int | None) -> None:
    agent = steering.make_agent("psrl")
    run(corridor(limit, horizon), agent, steps=200, seeds=1)
    assert isinstance(agent, ModelBasedAgent)
    counts = agent.belief.counts
    assert counts.sum() == 200
    for s in range(3):
        for a, neighbours in ((0, {max(s - 1, 0), s}), (1, {s + 1, s})):
            seen = set(np.flatnonzero(counts[s, a]).tolist())
            # Staying put is possible only where an episode waits for its reset.
            assert seen <= (neighbours if horizon else neighbours - ({s} if s or a else set()))
    # The end of an episode waits for the reset, or leads to a start.
    after_end = set(np.flatnonzero(counts[3].sum(axis=0)).tolist())
    assert after_end <= ({3} if horizon else {0, 1})


def test_regret_and_records_are_refused_with_the_reason() -> None:
    results = run(corridor(), "q_learning", steps=20, seeds=2)
    for call in (results.regret, results.oracle_total, results.regret_curve):
        with pytest.raises(NotAvailable, match="gives only samples"):
            call()
    with pytest.raises(NotAvailable, match="q_posterior"):
        run(corridor(), "psrl", steps=20, record="q_posterior")
    assert results.summary()["measure"] == "reward"
    assert "realised_regret" not in results.table()


def test_a_gymnasium_environment_with_a_table_has_regret() -> None:
    results = run("gym:FrozenLake-v1", "psrl", steps=200, seeds=2)
    assert np.isfinite(results.regret()).all()
