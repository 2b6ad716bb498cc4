"""An environment: a finite MDP together with the setting in which an agent meets it.

Two settings. *Continuing* (``horizon=None``): one long trajectory, values are discounted, ``V(s) = E sum_t
gamma^t r_t``, and a model-based agent replans every `replan_every` steps. *Episodic* (``horizon=H``): after H
steps the state is drawn anew from the start distribution, values are ``E sum_{t<H} gamma^t r_t`` with gamma =
1 unless another discount is given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import gymnasium
import numpy as np

from steering import _checks, _html
from steering.errors import InvalidOption, UnsupportedEnvironment
from steering.mdp._checks import LARGEST_DISCOUNT
from steering.mdp.tabular import TabularMDP

SETTINGS = ("discount", "horizon", "replan_every", "max_iterations")
"""Options that every environment takes; they are fields of `Environment`."""

GYM_OBJECT = "gym-object"
"""What the name of a Gymnasium environment begins with that no text makes again."""

REWARD_SCALE = "reward_scale"
"""Option of every text: mean rewards and their deviations times this."""

SETTINGS_OF_TEXT = (*SETTINGS, REWARD_SCALE)

DISCOUNT_CONTINUING = 0.9
DISCOUNT_EPISODIC = 1.0

LARGEST_REWARD = 1e100
"""Agents square sums of rewards, and a float ends near 1e308: beyond this a run would end in infinity and NaN."""


@dataclass(frozen=True, eq=False)
class Environment:
    """A finite MDP and its setting, checked once.

    Parameters
    ----------
    name
        Canonical text; ``make_env(env.name)`` gives an equal environment wherever text can describe it.
    mdp
        The exact (or estimated) MDP; None for a Gymnasium environment that can only be stepped.
    discount
        gamma, in [0, 1 - 1e-6] when continuing (default 0.9) and in [0, 1] when episodic (default 1).
    horizon
        Steps of an episode; None is the continuing setting.
    replan_every
        Steps between two plans of a model-based agent, at most (some plan earlier); S + 1 by default.
    max_iterations
        Cap on the sweeps of policy iteration; 2 S by default.
    make_gym
        Makes a fresh Gymnasium environment; needed where `mdp` is None.
    """

    name: str
    mdp: TabularMDP | None
    discount: float = cast(float, None)
    horizon: int | None = None
    replan_every: int = cast(int, None)
    max_iterations: int = cast(int, None)
    make_gym: Callable[[], gymnasium.Env[Any, Any]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidOption(f"name is {self.name!r}; an environment needs a text of at least one character.")
        if self.mdp is not None and not isinstance(self.mdp, TabularMDP):
            raise InvalidOption(f"mdp is of type {type(self.mdp).__name__}; it must be a TabularMDP or None.")
        if self.mdp is None and self.make_gym is None:
            raise InvalidOption(f"environment '{self.name}' has neither mdp nor make_gym; give one of them.")
        if self.mdp is not None:
            _refuse_large_rewards(self.name, self.mdp)
        horizon = None if self.horizon is None else _checks.whole("horizon", self.horizon, 1)
        values = {
            "horizon": horizon,
            "discount": _checked_discount(self.discount, horizon),
            "replan_every": _default_whole("replan_every", self.replan_every, self.n_states + 1),
            "max_iterations": _default_whole("max_iterations", self.max_iterations, 2 * self.n_states),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        setting = "continuing" if self.horizon is None else f"episodes of {self.horizon} steps"
        sizes = f"{self.n_states} states, {self.n_actions} actions"
        return f"Environment: {self.name}, {sizes}, {setting}, discount {self.discount:g}"

    def _repr_html_(self) -> str:
        values = {
            "states": self.n_states,
            "actions": self.n_actions,
            "setting": "continuing" if self.horizon is None else f"episodes of {self.horizon} steps",
            "discount": self.discount,
            "steps between plans, at most": self.replan_every,
            "table": "known" if self.mdp is not None else "only samples",
        }
        return _html.table(f"Environment {self.name}", values)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        if self.mdp is not None:
            return self.mdp.n_states, self.mdp.n_actions
        assert self.make_gym is not None
        gym_env = self.make_gym()
        sizes = discrete_sizes(gym_env)
        gym_env.close()
        return sizes

    @property
    def n_states(self) -> int:
        """Number of states S (of the observation space where there is no table)."""
        return self._sizes[0]

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self._sizes[1]

    @property
    def mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Allowed actions, shape (S, A); all of them where there is no table."""
        if self.mdp is not None:
            return self.mdp.allowed
        return np.ones(self._sizes, dtype=np.bool_)

    @property
    def episodic(self) -> bool:
        """Whether there is a horizon."""
        return self.horizon is not None

    @property
    def table(self) -> TabularMDP:
        """The MDP; an error that says what to do where the environment can only be stepped."""
        if self.mdp is None:
            raise UnsupportedEnvironment(
                f"'{self.name}' has no table of probabilities; estimate one with estimate=<number of steps>."
            )
        return self.mdp

    def render(self, values: Any = None, *, state: int | None = None, cell: int = 8) -> Any:
        """Draw the map as an array (height, width, 3) of uint8 (`steering.envs.drawing.picture`)."""
        from steering.envs.drawing import picture
        from steering.envs.layout import layout_of

        return picture(self.table, values, state=state, cell=cell, layout=layout_of(self))

    def replace(self, **changes: Any) -> Environment:
        """Return a copy with some fields changed and everything checked again."""
        return dataclasses.replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Environment):
            return NotImplemented
        if self is other:
            return True
        if self._key != other._key or (self.mdp is None) != (other.mdp is None):
            return False
        return self.mdp is None or other.mdp is None or self.mdp.same_as(other.mdp)

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.name, self.discount, self.horizon, self.replan_every, self.max_iterations


def default_discount(horizon: int | None) -> float:
    """Return gamma where none is given: 0.9 when continuing, 1 when episodic."""
    return DISCOUNT_CONTINUING if horizon is None else DISCOUNT_EPISODIC


def changed_settings(usual: Environment, actual: Environment) -> dict[str, Any]:
    """Return the settings of `actual` that its name must state, because they are not those of `usual`."""
    changed = {key: getattr(actual, key) for key in SETTINGS if getattr(actual, key) != getattr(usual, key)}
    changed.pop("discount", None)
    implied = default_discount(actual.horizon)
    if usual.discount != default_discount(usual.horizon):  # an environment with a discount of its own
        implied = usual.discount
    if actual.discount != implied:
        changed = {"discount": actual.discount, **changed}
    return changed


def discrete_sizes(env: gymnasium.Env[Any, Any]) -> tuple[int, int]:
    """Return (S, A) of an environment with `Discrete` spaces; refuse every other."""
    sizes = []
    for what in ("observation", "action"):
        space = getattr(env, f"{what}_space", None)
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise UnsupportedEnvironment(
                f"the {what} space of {type(env.unwrapped).__name__} is {type(space).__name__}; tabular "
                "agents need Discrete observation and action spaces."
            )
        sizes.append(int(space.n))
    return sizes[0], sizes[1]


def _checked_discount(discount: float | None, horizon: int | None) -> float:
    if discount is None:
        return default_discount(horizon)
    value = _checks.number("discount", discount, least=0.0)
    if horizon is None and value > LARGEST_DISCOUNT:  # the planners would refuse it, but only in the run
        raise InvalidOption(
            f"discount is {value:.16g}; without a horizon it must be below 1 (at least 0, at most 1 - 1e-6)."
        )
    if value > 1:
        raise InvalidOption(f"discount is {value:g}; it must be from 0 to 1.")
    return value


def _refuse_large_rewards(name: str, mdp: TabularMDP) -> None:
    for what, array in mdp.stored_rewards().items():
        largest = max(float(array.max()), -float(array.min()))  # abs would make a copy of a large table
        if largest > LARGEST_REWARD:
            raise InvalidOption(
                f"{what} of '{name}' reaches {largest:g} in size, and sums and squares of such rewards overflow; scale "
                f"rewards to at most {LARGEST_REWARD:g}."
            )


def _default_whole(what: str, value: int | None, default: int) -> int:
    return default if value is None else _checks.whole(what, value, 1)
