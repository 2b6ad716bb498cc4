"""Step a Gymnasium environment directly, with the same meaning of termination as the tables have.

* Termination. The terminal state is returned like any other. The step after it, whatever the action, pays 0: in the
  continuing setting it returns to a fresh start state, in the episodic setting it stays there until `reset`.
* Somebody else's code runs here, so everything that comes from it is checked (`steering.envs.guard`).
* Truncation (a time limit) is not part of the dynamics. In the continuing setting the transition counts, and then the
  environment is reset behind the scenes: `step` says ``restarted=True``, `state` is the fresh start state, and the jump
  there is not a transition to learn from. In the episodic setting nothing more happens until `reset`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import TracebackType
from typing import Any

import gymnasium

from steering import _checks
from steering.envs.base import LARGEST_REWARD, discrete_sizes
from steering.envs.guard import Guard, state_of
from steering.errors import UnsupportedEnvironment


class LiveGym:
    """A running Gymnasium environment with states 0 .. S-1 and actions 0 .. A-1.

    Parameters
    ----------
    make_gym
        Makes the environment; called once.
    seed
        Seeds the first reset; the run is a function of it and of the actions.
    episodic
        Whether finished episodes wait for `reset` (a horizon) or go on with a fresh start (continuing).
    name
        What errors call the environment; by default its class.

    Examples
    --------
    >>> import gymnasium
    >>> live = LiveGym(lambda: gymnasium.make("FrozenLake-v1", is_slippery=False), seed=0)
    >>> live.reset(), live.step(2)
    (0, (1, 0.0, False))
    """

    def __init__(
        self,
        make_gym: Callable[[], gymnasium.Env[Any, Any]],
        seed: int,
        *,
        episodic: bool = False,
        name: str | None = None,
    ) -> None:
        self._seed: int | None = _checks.whole("seed", seed, 0)
        self._guard = Guard(name or "?")
        self._env = self._guard.call("its constructor", make_gym)
        self._guard.name = self._name = name or type(self._env.unwrapped).__name__
        self._episodic = episodic
        self.n_states, self.n_actions = discrete_sizes(self._env)
        self._first_state, self._first_action = space_starts(self._env)
        self._over = self._cut = False
        self._state: int | None = None
        self.terminated = False
        """Whether the last step ended an episode by termination."""

    @property
    def state(self) -> int:
        """State in which the next action is taken; differs from the last next state after a restart."""
        if self._state is None:
            raise UnsupportedEnvironment(f"environment '{self._name}' has no state yet; call reset() first.")
        return self._state

    def reset(self) -> int:
        """Begin an episode and return its first state; the first call uses the seed."""
        observation = self._guard.parts("reset", 2, self._env.reset, seed=self._seed)[0]
        self._seed = None  # later resets continue the same stream
        self._over = self._cut = self.terminated = False
        self._state = self._number(observation)
        return self._state

    def step(self, action: int) -> tuple[int, float, bool]:
        """Take an action in `state`.

        Returns
        -------
        next_state, reward, restarted
            The transition to learn from; if `restarted`, `state` is a fresh start state and not `next_state`.
        """
        action = _checks.whole("action", action, 0, self.n_actions - 1)
        state = self.state
        self.terminated = False
        if self._over or self._cut:
            return (state if self._episodic else self.reset()), 0.0, False
        observation, reward, terminated, truncated, _ = self._guard.parts(
            "step", 5, self._env.step, action + self._first_action
        )
        self._state = next_state = self._number(observation)
        self._over = self.terminated = bool(terminated)
        value = self._reward(reward, state)
        restarted = bool(truncated) and not self._over and not self._episodic
        if restarted:
            self.reset()
        self._cut = bool(truncated) and self._episodic
        return next_state, value, restarted

    def close(self) -> None:
        """Close the environment."""
        self._guard.call("close", self._env.close)

    def __enter__(self) -> LiveGym:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _number(self, observation: Any) -> int:
        """The observation as a state; spaces must be those that the environment began with."""
        spaces = (self._env.observation_space, self._env.action_space)
        if tuple(getattr(space, "n", None) for space in spaces) != (self.n_states, self.n_actions):
            raise UnsupportedEnvironment(
                f"environment '{self._name}' changed its spaces during a run; they must stay Discrete({self.n_states}) "
                f"and Discrete({self.n_actions})."
            )
        return state_of(self._name, observation, self._first_state, self.n_states)

    def _reward(self, reward: Any, state: int) -> float:
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= LARGEST_REWARD:  # NaN is not either
            raise UnsupportedEnvironment(
                f"environment '{self._name}' gave the reward {str(reward)[:50]} in state {state}; it must be a number "
                f"of at most {LARGEST_REWARD:g} in size."
            )
        return value


def space_starts(env: gymnasium.Env[Any, Any]) -> tuple[int, int]:
    """Return the smallest observation and the smallest action of `Discrete` spaces."""
    spaces = (env.observation_space, env.action_space)
    first = [int(space.start) for space in spaces if isinstance(space, gymnasium.spaces.Discrete)]
    return first[0], first[1]
