"""A finite Markov decision process as validated, read-only arrays.

With S states and A actions, ``P[s, a, s']`` is the probability of moving to s'. The reward of that move is drawn from a
normal distribution with mean ``reward_mean[s, a, s']`` and standard deviation ``reward_std[s, a, s']``. ``mask[s, a]``
says which actions are allowed; whatever is given for the others is ignored and kept as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steering._types import Bools, Floats
from steering.errors import InvalidMDP

ROW_SUM_TOLERANCE = 1e-9

MAX_ENTRIES = 2**27
"""Largest number of entries of an (S, A, S) array that is built or loaded: 1 GB in double precision."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TabularMDP:
    """A finite MDP: checked once, then read-only.

    Parameters
    ----------
    P
        Transition probabilities, shape (S, A, S).
    reward_mean
        Mean reward; shape (S, A, S), or (S, A) or (S,) when it does not depend on the rest, or one number.
    reward_std
        Standard deviation of the reward, broadcast in the same way; 0 (the default) means no noise.
    mask
        Allowed actions, shape (S, A); all allowed by default.
    start
        Distribution of the first state, shape (S,), or the number of a state; state 0 by default.
    state_names, action_names
        Optional names, used in tables and figures.

    Examples
    --------
    >>> mdp = TabularMDP(P=[[[0.1, 0.9]], [[1.0, 0.0]]], reward_mean=[[0.0], [1.0]])
    >>> mdp.n_states, mdp.n_actions
    (2, 1)
    """

    P: Floats
    reward_mean: Floats
    reward_std: Floats
    mask: Bools
    start: Floats
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]

    def __init__(
        self,
        P: ArrayLike,
        reward_mean: ArrayLike,
        reward_std: ArrayLike = 0.0,
        mask: ArrayLike | None = None,
        start: ArrayLike = 0,
        state_names: Sequence[str] = (),
        action_names: Sequence[str] = (),
    ) -> None:
        rows = _numbers("P", P)
        if rows.ndim != 3 or rows.shape[0] != rows.shape[2] or 0 in rows.shape:
            raise InvalidMDP(f"P has shape {rows.shape}; it must be (S, A, S) with S and A at least 1.")
        S, A, _ = rows.shape
        allowed = _checked_mask(mask, S, A)
        rows = _checked_rows(rows, allowed)
        mean = _checked_rewards("reward_mean", reward_mean, rows.shape, allowed)
        std = _checked_rewards("reward_std", reward_std, rows.shape, allowed)
        if (std < 0).any():
            where = _first(std < 0)
            raise InvalidMDP(f"reward_std{list(where)} is {std[where]:g}; a standard deviation cannot be negative.")
        values = {
            "P": rows,
            "reward_mean": mean,
            "reward_std": std,
            "mask": allowed,
            "start": _checked_start(start, S),
            "state_names": _checked_names("state_names", state_names, S),
            "action_names": _checked_names("action_names", action_names, A),
        }
        self.__setstate__(values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Also called when a copy is unpickled in another process: arrays stay read-only there.
        for key, value in state.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, key, value)

    @property
    def n_states(self) -> int:
        """Number of states S."""
        return int(self.P.shape[0])

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return int(self.P.shape[1])

    @property
    def allowed(self) -> Bools:
        """Allowed actions, shape (S, A); the same as `mask`."""
        return self.mask

    @property
    def start_distribution(self) -> Floats:
        """Distribution of the first state, shape (S,); the same as `start`."""
        return self.start

    @cached_property
    def rewards(self) -> Floats:
        """Expected reward r(s, a) = sum over s' of P(s'|s, a) reward_mean(s, a, s'), shape (S, A)."""
        r: Floats = np.einsum("ijk,ijk->ij", self.P, self.reward_mean)
        r.flags.writeable = False
        return r

    def same_as(self, other: TabularMDP) -> bool:
        """Whether every array and name is equal to that of the other MDP, to the bit."""
        arrays = ("P", "reward_mean", "reward_std", "mask", "start")
        return (self.state_names, self.action_names) == (other.state_names, other.action_names) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays
        )

    def __repr__(self) -> str:
        return f"TabularMDP(n_states={self.n_states}, n_actions={self.n_actions})"


def _first(bad: Bools) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _numbers(name: str, values: ArrayLike) -> Floats:
    """Return a fresh array of float64; every zero is +0, so that equal numbers are equal bits."""
    error = InvalidMDP(f"{name} is not an array of numbers; give nested lists or an array of one shape.")
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "biuf":
            raise error
        array = np.array(raw, dtype=np.float64, order="C")
        array += 0.0
        return array
    except (TypeError, ValueError, OverflowError):
        raise error from None


def _refuse_non_finite(name: str, array: Floats) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        where = _first(bad)
        raise InvalidMDP(f"{name}{list(where)} is {array[where]}; every entry must be a finite number.")


def _checked_mask(mask: ArrayLike | None, S: int, A: int) -> Bools:
    if mask is None:
        return np.ones((S, A), dtype=np.bool_)
    try:
        array = np.array(mask)
    except ValueError:
        raise InvalidMDP("mask is not an array; give nested lists or an array of one shape.") from None
    if array.shape != (S, A):
        raise InvalidMDP(f"mask has shape {array.shape}; it must be (S, A) = {(S, A)}.")
    if array.dtype != np.bool_:
        if array.dtype.kind not in "iuf" or not np.isin(array, (0, 1)).all():
            raise InvalidMDP("mask must hold only true and false (or 1 and 0).")
        array = array.astype(np.bool_)
    empty = np.flatnonzero(~array.any(axis=1))
    if empty.size:
        raise InvalidMDP(f"state {int(empty[0])} has no allowed action; allow at least one in mask[{int(empty[0])}].")
    return np.ascontiguousarray(array)


def _checked_rows(P: Floats, mask: Bools) -> Floats:
    P[~mask] = 0.0
    _refuse_non_finite("P", P)
    if (P < 0).any():
        where = _first(P < 0)
        raise InvalidMDP(f"P{list(where)} is {P[where]:g}; a probability cannot be negative.")
    total = P.sum(axis=2)
    bad = mask & (np.abs(total - 1.0) > ROW_SUM_TOLERANCE)
    if bad.any():
        s, a = _first(bad)
        raise InvalidMDP(
            f"P[{s}, {a}] sums to {total[s, a]:.12g}; every row of an allowed action must sum to 1 "
            f"(within {ROW_SUM_TOLERANCE:g})."
        )
    return P


def _checked_rewards(name: str, values: ArrayLike, shape: tuple[int, ...], mask: Bools) -> Floats:
    array = _numbers(name, values)
    if array.shape in ((shape[0],), shape[:2]):
        array = array.reshape(array.shape + (1,) * (3 - array.ndim))
    elif array.shape not in (shape, (), (1,)):
        raise InvalidMDP(
            f"{name} has shape {array.shape}; it must be (S, A, S) = {shape}, (S, A) = {shape[:2]}, "
            f"(S,) = {shape[:1]} or a single number."
        )
    full = np.array(np.broadcast_to(array, shape), dtype=np.float64, order="C")
    full[~mask] = 0.0
    _refuse_non_finite(name, full)
    return full


def _checked_start(start: ArrayLike, S: int) -> Floats:
    if isinstance(start, (int, np.integer)) and not isinstance(start, bool):
        if not 0 <= start < S:
            raise InvalidMDP(f"start is state {start}; with {S} states it must be from 0 to {S - 1}.")
        array = np.zeros(S)
        array[start] = 1.0
        return array
    array = _numbers("start", start)
    if array.shape != (S,):
        raise InvalidMDP(f"start has shape {array.shape}; it must be (S,) = {(S,)} or the number of a state.")
    _refuse_non_finite("start", array)
    if (array < 0).any():
        s = int(np.argwhere(array < 0)[0, 0])
        raise InvalidMDP(f"start[{s}] is {array[s]:g}; a probability cannot be negative.")
    if abs(array.sum() - 1.0) > ROW_SUM_TOLERANCE:
        raise InvalidMDP(f"start sums to {array.sum():.12g}; it must sum to 1 (within {ROW_SUM_TOLERANCE:g}).")
    return array


def _checked_names(name: str, values: Sequence[str], n: int) -> tuple[str, ...]:
    if isinstance(values, str):
        raise InvalidMDP(f"{name} is one text; give a list of {n} names, or none.")
    names = tuple(str(value) for value in values)
    if names and len(names) != n:
        raise InvalidMDP(f"{name} has {len(names)} entries; give one for each of the {n}, or none.")
    odd = next((value for value in names if not _is_text(value)), None)
    if odd is not None:
        raise InvalidMDP(f"{name} has {odd!r}, which cannot be stored; use text without zero characters.")
    if len(set(names)) != len(names):
        twice = next(value for value in names if names.count(value) > 1)
        raise InvalidMDP(f"{name} has '{twice}' twice; names must differ.")
    return names


def _is_text(value: str) -> bool:
    """Whether a name survives every file format: no zero characters (padding) and valid Unicode."""
    return "\0" not in value and value.encode("utf-8", "ignore").decode() == value
