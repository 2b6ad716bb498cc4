"""Stepping a Gymnasium environment: termination, truncation, offsets of spaces."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from steering.envs import LiveGym
from steering.errors import InvalidOption, UnsupportedEnvironment


class Corridor(gymnasium.Env[Any, Any]):
    """States 5 .. 8 and actions 3 (stay), 4 (on); the last state terminates with reward 10. No table."""

    def __init__(self, bad: str = "") -> None:
        self.observation_space = gymnasium.spaces.Discrete(4, start=5)
        self.action_space = gymnasium.spaces.Discrete(2, start=3)
        self.bad = bad
        self.at = 5

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 5 + int(self.np_random.integers(2))
        return np.int64(self.at), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.at += int(action) - 3
        if self.bad == "observation":
            return 99, 0.0, False, False, {}
        if self.bad == "text":
            return "here", 0.0, False, False, {}
        over = self.at == 8
        return np.int64(self.at), float("nan") if self.bad == "reward" else 10.0 * over, over, False, {}


def limited(steps: int) -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TimeLimit(Corridor(), max_episode_steps=steps)


def reset_to_first(live: LiveGym) -> None:
    """Reset until the start is state 0, which half of the resets give."""
    assert any(live.reset() == 0 for _ in range(50))


def walk(live: LiveGym) -> list[tuple[int, float, bool]]:
    reset_to_first(live)
    return [live.step(1) for _ in range(3)]


def test_termination_continuing_takes_one_step_back_to_the_start() -> None:
    live = LiveGym(Corridor, seed=0)
    assert walk(live) == [(1, 0.0, False), (2, 0.0, False), (3, 10.0, False)]
    assert live.terminated
    assert live.state == 3
    state, reward, restarted = live.step(0)
    assert state in (0, 1)
    assert (reward, restarted, live.terminated, live.state) == (0.0, False, False, state)


def test_termination_episodic_waits_for_reset() -> None:
    live = LiveGym(Corridor, seed=0, episodic=True)
    walk(live)
    assert [live.step(1) for _ in range(2)] == [(3, 0.0, False)] * 2
    assert not live.terminated
    assert live.reset() in (0, 1)


def test_truncation_continuing_restarts_without_a_transition() -> None:
    live = LiveGym(lambda: limited(2), seed=0)
    reset_to_first(live)
    assert live.step(1) == (1, 0.0, False)
    assert live.step(1) == (2, 0.0, True)  # the transition counts
    assert live.state in (0, 1)  # and the next action is taken in a fresh start state
    assert not live.terminated


def test_truncation_episodic_waits_for_reset() -> None:
    live = LiveGym(lambda: limited(1), seed=0, episodic=True)
    first = live.reset()
    assert live.step(1) == (first + 1, 0.0, False)
    assert live.step(1) == (first + 1, 0.0, False)


def test_termination_at_the_time_limit_is_termination() -> None:
    live = LiveGym(lambda: limited(3), seed=0)
    assert walk(live)[-1] == (3, 10.0, False)
    assert live.state == 3


def test_the_seed_decides() -> None:
    def trajectory(seed: int) -> list[object]:
        with LiveGym(lambda: gymnasium.make("FrozenLake-v1"), seed) as live:
            return [live.reset(), *[live.step(i % 4) for i in range(100)]]

    assert trajectory(1) == trajectory(1)
    assert trajectory(1) != trajectory(2)


def test_refuses() -> None:
    live = LiveGym(Corridor, seed=0)
    assert (live.n_states, live.n_actions) == (4, 2)
    with pytest.raises(UnsupportedEnvironment, match=r"call reset\(\) first"):
        live.step(0)
    live.reset()
    with pytest.raises(InvalidOption, match="action is 2; it must be from 0 to 1"):
        live.step(2)
    with pytest.raises(InvalidOption, match="seed is -1"):
        LiveGym(Corridor, seed=-1)
    with pytest.raises(UnsupportedEnvironment, match="Tuple"):
        LiveGym(lambda: gymnasium.make("Blackjack-v1"), seed=0)


@pytest.mark.parametrize(
    ("bad", "says"),
    [("observation", "observation 99, which is not in"), ("text", "observation here"), ("reward", "the reward nan")],
)
def test_broken_environments(bad: str, says: str) -> None:
    live = LiveGym(lambda: Corridor(bad), seed=0)
    live.reset()
    with pytest.raises(UnsupportedEnvironment, match=says):
        live.step(0)
