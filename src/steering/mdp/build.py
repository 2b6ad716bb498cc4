"""Sparse MDPs from what people have: matrices, columns of transitions, functions of labelled states."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from steering._checks import number, whole
from steering._types import Bools, Floats, Ints
from steering.errors import InvalidMDP
from steering.mdp import _arrays
from steering.mdp import sparse as rows
from steering.mdp.columns import Columns
from steering.mdp.sparse import LARGEST_STATE, SparseTable


def scaled(
    dense: dict[str, Floats] | None, table: SparseTable | None, factor: float
) -> tuple[dict[str, Floats] | None, SparseTable | None]:
    """Dense arrays or sparse rows, whichever there are, with rewards times a factor."""
    times = number("factor", factor, above=0.0)
    if table is not None:
        return None, replace(table, mean=times * table.mean, std=times * table.std)
    return {key: array if key == "P" else times * array for key, array in (dense or {}).items()}, None


def is_sparse(P: Any) -> bool:
    """Whether P is a scipy sparse matrix or a list of them."""
    if isinstance(P, (list, tuple)):
        return bool(P) and all(sparse.issparse(part) for part in P)
    return bool(sparse.issparse(P))


def from_matrices(P: Any, mean: Any, std: Any, mask: ArrayLike | None) -> tuple[SparseTable, Bools]:
    """Rows of a sparse matrix (S A, S) or of A sparse matrices (S, S), with rewards in a form that fits them."""
    stacked = not sparse.issparse(P)
    S = int(P[0].shape[1]) if stacked else int(P.shape[1])
    if stacked and any(part.shape != (S, S) for part in P):
        raise InvalidMDP(f"P is a list of sparse matrices, of which each must have shape (S, S) = {(S, S)}.")
    if not stacked and (S == 0 or P.shape[0] == 0 or P.shape[0] % S):
        raise InvalidMDP(f"P has shape {P.shape}; a sparse P must be (S A, S), with row s A + a for (s, a).")
    A = len(P) if stacked else P.shape[0] // S
    state, action, successor, p = _entries(P, S, A, stacked)
    rewards = []
    for name, values in (("reward_mean", mean), ("reward_std", std)):
        if is_sparse(values):
            values = _looked_up(name, values, stacked, (S, A), (state * A + action) * S + successor)
        elif np.ndim(values) == 1 and np.size(values) == S and S > 1:
            values = np.repeat(np.asarray(values)[:, None], A, axis=1)
        rewards.append(values)
    columns = Columns(state, action, successor, p, *rewards)
    parts = from_columns(columns, S, A, 0, mask, (), (), names=("P", "reward_mean", "reward_std"))
    return parts["table"], parts["mask"]


def _entries(P: Any, S: int, A: int, stacked: bool) -> tuple[Ints, Ints, Ints, Floats]:
    """Stored entries of sparse matrices as columns."""
    if not stacked:
        coo = sparse.coo_array(P)
        row, successor = coo.coords
        rows_: Ints = row.astype(np.int64)
        return rows_ // A, rows_ % A, successor.astype(np.int64), _data("P", coo)
    parts = [sparse.coo_array(part) for part in P]
    state: Ints = np.concatenate([part.coords[0] for part in parts]).astype(np.int64)
    successors: Ints = np.concatenate([part.coords[1] for part in parts]).astype(np.int64)
    action: Ints = np.repeat(np.arange(A, dtype=np.int64), [part.nnz for part in parts])
    probabilities: Floats = np.concatenate([_data("P", part) for part in parts])
    return state, action, successors, probabilities


def _data(name: str, coo: Any) -> Floats:
    return _arrays.numbers(name, coo.data)


def _looked_up(name: str, values: Any, stacked: bool, shape: tuple[int, int], keys: Ints) -> Floats:
    """Value of a sparse matrix of rewards at every transition; 0 where it stores none."""
    S, A = shape
    wanted = [(S, S)] * A if stacked else [(S * A, S)]
    parts = list(values) if isinstance(values, (list, tuple)) else [values]
    if [part.shape for part in parts] != wanted:
        raise InvalidMDP(f"{name} is sparse and does not have the shape of P; give matrices of the same shapes.")
    state, action, successor, data = _entries(values, S, A, stacked)
    own = (state * A + action) * S + successor
    order = np.argsort(own, kind="stable")
    own, data = own[order], data[order]
    if not own.size:
        return np.zeros(keys.size)
    at = np.minimum(np.searchsorted(own, keys), own.size - 1)
    return np.where(own[at] == keys, data[at], 0.0)


def from_columns(
    columns: Columns,
    n_states: int | None,
    n_actions: int | None,
    start: Any,
    mask: ArrayLike | None,
    state_names: Sequence[str],
    action_names: Sequence[str],
    names: tuple[str, str, str] = ("probabilities", "rewards", "reward_std"),
) -> dict[str, Any]:
    """Check columns and build rows; returns the arguments of `TabularMDP._of`."""
    n = columns.state.size
    for name, column in (("actions", columns.action), ("next_states", columns.successor)):
        if column.size != n:
            raise InvalidMDP(f"{name} has {column.size} entries and states has {n}; columns must be of equal length.")
    state, successor, found = _numbered(columns, {"state": columns.state, "next state": columns.successor})
    (action, found_actions) = _numbered(columns, {"action": columns.action})
    state_names = state_names or found
    action_names = action_names or found_actions
    S = whole("n_states", n_states, 1) if n_states is not None else int(max(state.max(), successor.max())) + 1
    A = whole("n_actions", n_actions, 1) if n_actions is not None else int(action.max()) + 1
    if S > LARGEST_STATE:
        raise InvalidMDP(f"there would be {S} states; at most {LARGEST_STATE} can be numbered.")
    rows.require_rows(f"{n} transitions", n, S, A)
    _refuse_outside(columns, "state", state, S, n_states is not None)
    _refuse_outside(columns, "action", action, A, n_actions is not None)
    _refuse_outside(columns, "next state", successor, S, n_states is not None)
    if isinstance(start, str):
        if start not in state_names:
            raise InvalidMDP(f"start is '{start}', which is not the name of a state.")
        start = list(state_names).index(start)
    p = _values(names[0], columns.probability, n, state, action, (S, A), "a probability")
    if p.size != n:
        p = np.full(n, p[0])
    mean = _values(names[1], columns.reward, n, state, action, (S, A), None)
    std = _values(names[2], columns.std, n, state, action, (S, A), "a standard deviation")
    if mask is not None:
        allowed = _arrays.checked_mask(mask, S, A)
        kept = allowed[state, action]
        state, action, successor, p = state[kept], action[kept], successor[kept], p[kept]
        mean, std = (part[kept] if part.size > 1 or n == 1 else part for part in (mean, std))
        _refuse_empty_rows(allowed, state, action, (state_names, action_names))
    table, listed = rows.from_columns(state, action, successor, p, mean, std, (S, A), (state_names, action_names))
    return {"table": table, "mask": listed, "start": start, "state_names": state_names, "action_names": action_names}


def _refuse_empty_rows(allowed: Bools, state: Ints, action: Ints, names: _arrays.Names) -> None:
    listed = np.zeros(allowed.shape, dtype=np.bool_)
    listed[state, action] = True
    if (allowed & ~listed).any():
        where = _arrays.place("mask", _arrays.first(allowed & ~listed), names)
        raise InvalidMDP(f"{where} allows an action that has no transitions; list them or forbid it.")


def _numbered(columns: Columns, parts: dict[str, NDArray[Any]]) -> tuple[Any, ...]:
    """Numbers of states or actions in each part, and their labels (none when they came as numbers)."""
    if all(_are_numbers(part) for part in parts.values()):
        for what, part in parts.items():
            _refuse_no_numbers(columns, what, part)
        return (*(part.astype(np.int64, copy=False) for part in parts.values()), ())
    import pandas as pd

    # Numbers in one column and texts in the other: the same label is the same text in both.
    texts = {
        what: (part.astype(str) if part.dtype.kind in "iu" or _are_long(part) else part).astype(object)
        for what, part in parts.items()
    }
    try:
        codes, labels = pd.factorize(np.concatenate(list(texts.values())))
    except TypeError:
        kind = next(iter(parts))
        raise InvalidMDP(f"the {kind}s are neither numbers nor labels; give whole numbers or texts.") from None
    numbers = np.split(codes.astype(np.int64), np.cumsum([part.size for part in parts.values()])[:-1])
    for what, part in zip(parts, numbers, strict=True):
        if (part < 0).any():
            raise InvalidMDP(f"the {what} of {columns.at(int(np.argmax(part < 0)))} is missing.")
    return (*numbers, tuple(str(label) for label in labels))


def _are_numbers(part: NDArray[Any]) -> bool:
    return part.dtype.kind in "iuf" or _are_long(part)


def _are_long(part: NDArray[Any]) -> bool:
    """Whether it holds whole numbers that 64 bits do not hold, which numpy keeps as objects."""
    return part.dtype.kind == "O" and all(type(entry) is int for entry in part) and abs(part).max() >= 2**63


def _refuse_no_numbers(columns: Columns, what: str, part: NDArray[Any]) -> None:
    """Refuse what cannot be the number of a state or action; what is negative is refused later."""
    fractions = (part != np.floor(part)) if part.dtype.kind == "f" else np.zeros(part.size, dtype=np.bool_)
    bad = fractions | (abs(part) >= LARGEST_STATE)  # NaN is no floor of itself
    if bad.any():
        k = int(np.argmax(bad))
        if part[k] != part[k]:
            raise InvalidMDP(f"the {what} of {columns.at(k)} is missing.")
        kind = f"{what.split()[-1]}s"
        range_ = f"numbers of {kind} go from 0 to {LARGEST_STATE - 1}"
        rule = f"{kind} are whole numbers from 0" if fractions[k] else range_
        raise InvalidMDP(f"the {what} of {columns.at(k)} is {part[k]}; {rule}, and names are texts.")


def _refuse_outside(columns: Columns, what: str, numbers: Ints, n: int, stated: bool) -> None:
    bad = (numbers < 0) | (numbers >= n)
    if bad.any():
        k = int(np.argmax(bad))
        plural = "states" if what.endswith("state") else "actions"
        range_ = f"with {n} {plural} it must be from 0 to {n - 1}" if stated else "it must be at least 0"
        raise InvalidMDP(f"the {what} of {columns.at(k)} is {int(numbers[k])}; {range_}.")


def _values(
    name: str, values: Any, n: int, state: Ints, action: Ints, shape: tuple[int, int], sign: str | None
) -> Floats:
    """One number for each transition from a column, an array (S, A) or a number (kept as one); finite, or refused."""
    array = _arrays.numbers(name, values)
    if array.shape == shape and array.ndim == 2:
        array = array[state, action]
    elif array.ndim == 0:
        array = array.reshape(1)
    elif array.shape not in ((n,), (1,)):
        raise InvalidMDP(
            f"{name} has shape {array.shape}; it must be a column of {n} entries, (S, A) = {shape} or a single number."
        )
    _arrays.refuse_non_finite(name, array)
    if sign is not None:
        _arrays.refuse_negative(name, array, sign)
    return array


def explore(
    function: Callable[[Any, Any], Iterable[Sequence[Any]]],
    start: Hashable | Mapping[Any, float],
    actions: Sequence[Hashable] | Callable[[Any], Iterable[Hashable]],
    max_states: int,
) -> dict[str, Any]:
    """All states that the start leads to, breadth first; returns the arguments of `TabularMDP._of`."""
    limit = whole("max_states", max_states, 1)
    first = dict(start) if isinstance(start, Mapping) else {start: 1.0}
    if not first:
        raise InvalidMDP("start is empty; give a state or a dict from states to probabilities.")
    states: dict[Any, int] = {label: i for i, label in enumerate(first)}
    choices: dict[Any, int] = {} if callable(actions) else {label: i for i, label in enumerate(actions)}
    queue, columns = list(states), []
    for s, label in enumerate(queue):  # the list grows while it is read: breadth first
        for action in actions(label) if callable(actions) else choices:
            a = choices.setdefault(action, len(choices))
            for outcome in function(label, action) or ():
                p, successor, reward, std = _outcome(label, action, outcome)
                if successor not in states:
                    if len(states) >= limit:
                        raise InvalidMDP(f"the start leads to more than {limit} states; raise max_states.")
                    states[successor] = len(states)
                    queue.append(successor)
                columns.append((s, a, states[successor], p, reward, std))
    if not columns:
        raise InvalidMDP(f"state {queue[0]!r} has no outcomes for any action; the function must give some.")
    found = Columns(*(np.array(column) for column in zip(*columns, strict=True)))
    probabilities = np.zeros(len(states))
    probabilities[: len(first)] = _arrays.numbers("start", list(first.values()))
    names = tuple(str(label) for label in states), tuple(str(label) for label in choices)
    return from_columns(found, len(states), len(choices), probabilities, None, *names)


def _outcome(state: Any, action: Any, outcome: Sequence[Any]) -> tuple[float, Any, float, float]:
    try:
        p, successor, reward, *rest = outcome
        std = float(rest[0]) if rest else 0.0
        hash(successor)
        return float(p), successor, float(reward), std
    except (TypeError, ValueError):
        raise InvalidMDP(
            f"an outcome of ({state!r}, {action!r}) is {outcome!r}; it must be (probability, next_state, reward) or "
            "the same with a standard deviation, and states must be hashable."
        ) from None
