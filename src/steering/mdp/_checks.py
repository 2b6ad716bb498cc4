"""Checks of what planners and evaluators are given besides the MDP: discount, rewards, policy, start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering._checks import number
from steering._types import Floats, Ints
from steering.errors import InvalidMDP, InvalidOption
from steering.mdp import _arrays
from steering.mdp._arrays import ROW_SUM_TOLERANCE
from steering.mdp.tabular import TabularMDP

LARGEST_DISCOUNT = 1.0 - 1e-6
"""Beyond this the values, of the size of r / (1 - discount), have too few digits to compare actions by: what two
of them may differ by and still count as equal is then no longer small against one step's reward (0.004 of it here, all
of it two powers of ten further on)."""


def checked_discount(discount: float, *, finite_horizon: bool = False) -> float:
    """Return the discount as a float, or say in which range it must lie."""
    value = number("discount", discount)
    if finite_horizon:
        if not 0.0 <= value <= 1.0:
            raise InvalidOption(f"discount is {value:g}; over a finite horizon it must be from 0 to 1.")
    elif not 0.0 <= value <= LARGEST_DISCOUNT:
        raise InvalidOption(
            f"discount is {value:.12g}; it must be at least 0 and less than 1 (at most 1 - 1e-6); "
            "without discounting use average_reward, expected_total_reward or a finite horizon."
        )
    return value


def checked_mdp(mdp: object, call: str) -> None:
    """Refuse what is not an MDP; `call` says how to make the same call with an environment."""
    if not isinstance(mdp, TabularMDP):
        raise InvalidOption(f"mdp is of type {type(mdp).__name__}; give a TabularMDP, for an environment {call}.")


def checked_rewards(mdp: TabularMDP, rewards: ArrayLike | None) -> Floats:
    """Return the expected rewards (S, A), those of the MDP by default; zero where not allowed."""
    checked_mdp(mdp, "env.mdp")
    if rewards is None:
        return np.array(mdp.rewards)
    r = _arrays.numbers("rewards", rewards)
    if r.shape != mdp.allowed.shape:
        raise InvalidMDP(f"rewards has shape {r.shape}; it must be (S, A) = {mdp.allowed.shape}.")
    r[~mdp.allowed] = 0.0
    _arrays.refuse_non_finite("rewards", r)
    return r


def checked_values(mdp: TabularMDP, V: ArrayLike) -> Floats:
    """Return finite state values (S,)."""
    values = _arrays.numbers("V", V)
    if values.shape != (mdp.n_states,):
        raise InvalidMDP(f"V has shape {values.shape}; it must be (S,) = {(mdp.n_states,)}.")
    _arrays.refuse_non_finite("V", values)
    return values


def checked_start(mdp: TabularMDP, start: ArrayLike | int | None) -> Floats:
    """Return the distribution of the first state (S,); that of the MDP by default."""
    return mdp.start_distribution if start is None else _arrays.checked_start(start, mdp.n_states)


def is_deterministic(policy: ArrayLike) -> bool:
    """Whether a policy lists action numbers (whole-number entries) rather than probabilities."""
    return bool(np.issubdtype(np.asarray(policy).dtype, np.integer))


def checked_policy(mdp: TabularMDP, policy: ArrayLike) -> Floats | Ints:
    """Return a stationary policy: action numbers (S,) as int64, or action probabilities (S, A) as floats."""
    array = policy_array(policy)
    if is_deterministic(array) and array.ndim == 1:
        return checked_actions(mdp, array)
    if array.shape != mdp.allowed.shape:
        raise InvalidOption(
            f"policy has shape {array.shape} and entries of type {array.dtype}; it must be whole "
            f"action numbers of shape (S,) = {(mdp.n_states,)} or action probabilities of shape "
            f"(S, A) = {mdp.allowed.shape}."
        )
    return checked_probabilities(mdp, array)


def checked_actions(mdp: TabularMDP, actions: ArrayLike) -> Ints:
    """Return allowed action numbers (..., S) as a fresh int64 array."""
    array = np.array(actions)
    S, A = mdp.allowed.shape
    if not np.issubdtype(array.dtype, np.integer) or array.shape[-1:] != (S,):
        raise InvalidOption(f"policy must hold one whole action number for each of the {S} states.")
    outside = (array < 0) | (array >= A)
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        raise InvalidOption(f"policy{list(where)} is {array[where]}; actions are numbered from 0 to {A - 1}.")
    forbidden = ~mdp.allowed[np.arange(S), array]
    if forbidden.any():
        where = tuple(int(i) for i in np.argwhere(forbidden)[0])
        raise InvalidOption(
            f"policy{list(where)} is {array[where]}, an action that is not allowed in state {where[-1]}; "
            f"choose one of {np.flatnonzero(mdp.allowed[where[-1]]).tolist()}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def checked_probabilities(mdp: TabularMDP, probabilities: ArrayLike) -> Floats:
    """Return action probabilities (..., S, A) as floats; disallowed actions must have probability 0."""
    array = policy_array(probabilities).astype(np.float64)
    _refuse(~np.isfinite(array), array, "every probability must be a finite number.")
    _refuse(array < 0.0, array, "a probability cannot be negative.")
    _refuse((array > 0.0) & ~mdp.allowed, array, "an action that is not allowed must have probability 0.")
    total = array.sum(axis=-1)
    bad = np.abs(total - 1.0) > ROW_SUM_TOLERANCE
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidOption(f"policy{list(where)} sums to {total[where]:.12g}; probabilities must sum to 1.")
    return array


def _refuse(bad: NDArray[np.bool_], array: Floats, rule: str) -> None:
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidOption(f"policy{list(where)} is {array[where]:g}; {rule}")


def policy_array(policy: ArrayLike) -> NDArray[Any]:
    """Return what was given for a policy as an array of numbers of any shape."""
    try:
        array = np.asarray(policy)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise InvalidOption("policy is not an array of numbers; give action numbers or action probabilities.")
    return array
