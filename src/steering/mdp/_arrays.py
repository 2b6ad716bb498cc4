"""Checks of the arrays that make up an MDP; every refusal names the first bad entry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from steering._types import Bools, Floats
from steering.errors import InvalidMDP

ROW_SUM_TOLERANCE = 1e-9


def first(bad: Bools) -> tuple[int, ...]:
    """Index of the first true entry."""
    return tuple(int(i) for i in np.argwhere(bad)[0])


def locked(array: Floats) -> Floats:
    """A read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def unlocked(array: Floats) -> Floats:
    """The array below a read-only view made by `locked`, for compiled functions, which leave it as it is.

    Theirs are another type when read-only: agents plan in tables that they write, and planning in that of an MDP would
    be compiled once more.
    """
    own = array.base
    if isinstance(own, np.ndarray) and own.flags.writeable and own.flags.c_contiguous and array.flags.c_contiguous:
        whole = own.size == array.size and own.dtype == array.dtype and own.ctypes.data == array.ctypes.data
        return own.reshape(array.shape) if whole else array
    return array


def numbers(name: str, values: ArrayLike) -> Floats:
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


Names = tuple[Sequence[str], Sequence[str]]
"""Names of states and of actions; none where they have no names."""


def place(name: str, where: tuple[int, ...], names: Names = ((), ())) -> str:
    """An entry of an array (S, ...), (S, A, ...) or (S, A, S), with the names of its states and action if they have."""
    texts = []
    for i, given in zip(where, (names[0], names[1], names[0]), strict=False):
        known = not isinstance(given, str) and i < len(given)  # what is wrong with the names is said later
        texts.append(repr(str(given[i])) if known else str(i))
    same = all(text == str(i) for text, i in zip(texts, where, strict=False))
    return f"{name}{list(where)}" if same else f"{name}{list(where)}, that is ({', '.join(texts)}),"


def refuse_non_finite(name: str, array: Floats, names: Names = ((), ())) -> None:
    """Refuse infinity and NaN."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = first(bad)
        raise InvalidMDP(f"{place(name, where, names)} is {array[where]}; every entry must be a finite number.")


def refuse_negative(name: str, array: Floats, what: str, names: Names = ((), ())) -> None:
    """Refuse entries below 0; `what` says what such an entry is."""
    if (array < 0).any():
        where = first(array < 0)
        raise InvalidMDP(f"{place(name, where, names)} is {array[where]:g}; {what} cannot be negative.")


def checked_mask(mask: ArrayLike | None, S: int, A: int) -> Bools:
    """Return the allowed actions, shape (S, A); at least one in every state."""
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


def checked_rows(P: Floats, mask: Bools, names: Names = ((), ())) -> Floats:
    """Return P with zeros where an action is not allowed; all other rows must be distributions."""
    P[~mask] = 0.0
    refuse_non_finite("P", P, names)
    refuse_negative("P", P, "a probability", names)
    refuse_bad_sums(P.sum(axis=2), mask, names)
    return P


def refuse_bad_sums(total: Floats, mask: Bools, names: Names = ((), ())) -> None:
    """Refuse sums (S, A) of the rows of P that are not 1 where the action is allowed."""
    bad = mask & (np.abs(total - 1.0) > ROW_SUM_TOLERANCE)
    if bad.any():
        s, a = first(bad)
        raise InvalidMDP(
            f"{place('P', (s, a), names)} sums to {total[s, a]:.12g}; every row of an allowed action must sum to 1 "
            f"(within {ROW_SUM_TOLERANCE:g})."
        )


def checked_rewards(name: str, values: ArrayLike, shape: tuple[int, ...], mask: Bools) -> Floats:
    """Return rewards of shape (S, A, S), broadcast from (S, A), (S,) or one number."""
    array = numbers(name, values)
    if array.shape in ((shape[0],), shape[:2]):
        array = array.reshape(array.shape + (1,) * (3 - array.ndim))
    elif array.shape not in (shape, (), (1,)):
        raise InvalidMDP(
            f"{name} has shape {array.shape}; it must be (S, A, S) = {shape}, (S, A) = {shape[:2]}, "
            f"(S,) = {shape[:1]} or a single number."
        )
    full = np.array(np.broadcast_to(array, shape), dtype=np.float64, order="C")
    full[~mask] = 0.0
    refuse_non_finite(name, full)
    return full


def checked_start(start: ArrayLike, S: int) -> Floats:
    """Return the distribution of the first state, shape (S,), from itself or the number of a state."""
    if isinstance(start, (int, np.integer)) and not isinstance(start, bool):
        if not 0 <= start < S:
            raise InvalidMDP(f"start is state {start}; with {S} states it must be from 0 to {S - 1}.")
        array = np.zeros(S)
        array[start] = 1.0
        return array
    array = numbers("start", start)
    if array.shape != (S,):
        raise InvalidMDP(f"start has shape {array.shape}; it must be (S,) = {(S,)} or the number of a state.")
    refuse_non_finite("start", array)
    if (array < 0).any():
        s = int(np.argwhere(array < 0)[0, 0])
        raise InvalidMDP(f"start[{s}] is {array[s]:g}; a probability cannot be negative.")
    if abs(array.sum() - 1.0) > ROW_SUM_TOLERANCE:
        raise InvalidMDP(f"start sums to {array.sum():.12g}; it must sum to 1 (within {ROW_SUM_TOLERANCE:g}).")
    return array


def checked_names(name: str, values: Sequence[str], n: int) -> tuple[str, ...]:
    """Return one text for each of n states or actions, or none at all."""
    if isinstance(values, str):
        raise InvalidMDP(f"{name} is one text; give a list of {n} names, or none.")
    names = tuple(str(value) for value in values)
    if names and len(names) != n:
        raise InvalidMDP(f"{name} has {len(names)} entries; give one for each of the {n}, or none.")
    odd = next((value for value in names if not _is_text(value)), None)
    if odd is not None:
        raise InvalidMDP(f"{name} has {odd!r}, which cannot be stored; use text without zero characters.")
    seen: set[str] = set()
    for value in names:
        if value in seen:
            raise InvalidMDP(f"{name} has '{value}' twice; names must differ.")
        seen.add(value)
    return names


def _is_text(value: str) -> bool:
    """Whether a name survives every file format: no zero characters (padding) and valid Unicode."""
    return "\0" not in value and value.encode("utf-8", "ignore").decode() == value
