r"""The transitions of an MDP that has few of them: rows of P one after the other, positive entries only.

Row ``s * A + a`` holds the successors of (s, a) in increasing order in ``successors[offsets[row]:offsets[row + 1]]``,
their probabilities beside them (compressed sparse rows). Mean and standard deviation of rewards are stored for every
transition, for every row, or once: what is constant is not stored twice.

**Transitions given more than once** are merged: probabilities add up, the reward gets the mean and the standard
deviation of the mixture, :math:`m = \sum_i w_i m_i` and :math:`\sigma^2 = \sum_i w_i (\sigma_i^2 + (m_i - m)^2)` with
:math:`w_i = p_i / \sum_j p_j`, so that expectation and variance of what is paid stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from steering import _memory
from steering._compiled.rows import merge_sorted, split_keys
from steering._types import Bools, Floats, Ints
from steering.errors import InvalidMDP
from steering.mdp._arrays import Names, refuse_bad_sums

LARGEST_STATE = 2**31 - 2
"""States are numbered in 32 bits in the rows."""

BYTES_BUILDING = 80
"""What one transition takes while rows are built from columns: columns, sort keys and the result."""


@dataclass(frozen=True, eq=False)
class SparseTable:
    """Rows of P with rewards (module docstring).

    Attributes
    ----------
    offsets
        Where each of the S A rows begins, shape (S A + 1,).
    successors, probabilities
        Next states (int32, increasing within a row) and their probabilities (positive), shape (n,).
    mean, std
        Mean and standard deviation of rewards, each of shape (n,) by transition, (S A,) by row, or (1,).
    shape
        (S, A).
    """

    offsets: Ints
    successors: NDArray[np.int32]
    probabilities: Floats
    mean: Floats
    std: Floats
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of transitions."""
        return int(self.successors.size)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of the fields."""
        return self.offsets, self.successors, self.probabilities, self.mean, self.std

    def spread(self, values: Floats) -> Floats:
        """Bring `mean` or `std` to one number for each transition, shape (n,)."""
        if values.shape == self.successors.shape and values.size != 1:
            return values
        if values.size == 1:
            return np.full(self.size, values[0])
        return np.repeat(values, np.diff(self.offsets))

    def of_row(self, values: Floats, row: int) -> Floats:
        """`mean` or `std` of the transitions of one row."""
        low, high = self.offsets[row], self.offsets[row + 1]
        if values.size == 1:
            return np.full(high - low, values[0])
        if values.size == self.size:
            return values[low:high]
        return np.full(high - low, values[row])

    @cached_property
    def matrix(self) -> Any:
        """P as a scipy array of shape (S A, S); it shares the probabilities."""
        return self.matrix_of(self.probabilities)

    def matrix_of(self, values: Floats) -> Any:
        """A scipy array (S A, S) with the given value at every transition."""
        S, A = self.shape
        return sparse.csr_array((values, self.successors, self.offsets), shape=(S * A, S))

    def expected_rewards(self) -> Floats:
        """r(s, a) = sum over s' of P(s'|s, a) mean(s, a, s'), shape (S, A)."""
        S, A = self.shape
        if self.mean.size == 1:
            r = self.matrix @ np.full(S, self.mean[0])
        else:
            r = self.matrix_of(self.probabilities * self.spread(self.mean)) @ np.ones(S)
        return np.asarray(r, dtype=np.float64).reshape(S, A)

    def dense(self, values: Floats) -> Floats:
        """An array (S, A, S) of probabilities, means or deviations; zero in rows without transitions.

        What is stored once or by row fills whole rows; what is stored by transition is zero where there is none.
        """
        S, A = self.shape
        if values.size != self.size:
            rows = np.where(np.diff(self.offsets) > 0, values, 0.0)
            return np.repeat(rows, S).reshape(S, A, S)
        full = np.zeros(S * A * S)
        full[np.repeat(np.arange(S * A), np.diff(self.offsets)) * S + self.successors] = values
        return full.reshape(S, A, S)


def from_dense(P: Floats, mean: Floats, std: Floats) -> SparseTable:
    """Rows of a dense (S, A, S) table that has been checked; positive entries only."""
    S, A, _ = P.shape
    flat = np.flatnonzero(P)
    offsets = np.concatenate([[0], np.cumsum(np.count_nonzero(P.reshape(S * A, S), axis=1))])
    successors = (flat % S).astype(np.int32)
    m, d = (compact(array.ravel()[flat], offsets) for array in (mean, std))
    return SparseTable(offsets, successors, P.ravel()[flat], m, d, (S, A))


def from_columns(
    state: Ints,
    action: Ints,
    successor: Ints,
    p: Floats,
    mean: Floats,
    std: Floats,
    shape: tuple[int, int],
    names: Names = ((), ()),
) -> tuple[SparseTable, Bools]:
    """Sort and merge columns of transitions, whose entries have been checked; returns the rows and the mask.

    A pair (s, a) without any transition is not allowed; every other must have probabilities that sum to 1.
    """
    S, A = shape
    require_rows(f"{p.size} transitions", p.size, S, A)
    row = state * A + action
    listed = np.zeros(S * A, dtype=np.bool_)
    listed[row] = True
    mask = listed.reshape(shape)
    _refuse_dead_ends(mask, names[0])
    row *= S
    key = np.add(row, successor, out=row)
    del state, action, successor, row
    key, p, mean, std = _merged(key, p, mean, std)
    if (p == 0.0).any():  # the sums are not changed by them
        kept = p > 0.0
        key, p = key[kept], p[kept]
        mean = mean[kept] if mean.size > 1 else mean
        std = std[kept] if std.size > 1 else std
    offsets, successors, total = split_keys(key, p, S, S * A)
    refuse_bad_sums(total.reshape(shape), mask, names)
    return SparseTable(offsets, successors, p, compact(mean, offsets), compact(std, offsets), shape), mask


def _merged(key: Ints, p: Floats, mean: Floats, std: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Sort by key and merge equal ones (module docstring)."""
    steps = np.diff(key)
    if (steps > 0).all():
        return key, p, mean, std
    if (steps < 0).any():
        order = np.argsort(key, kind="stable")
        key, p = key[order], p[order]
        mean = mean[order] if mean.size > 1 else mean
        std = std[order] if std.size > 1 else std
    constant = mean.size == 1 and std.size == 1
    full = [np.zeros(p.size) if constant else np.array(np.broadcast_to(part, p.shape)) for part in (mean, std)]
    left = merge_sorted(key, p, *full)
    if constant:
        return key[:left].copy(), p[:left].copy(), mean, std
    return key[:left].copy(), p[:left].copy(), full[0][:left].copy(), full[1][:left].copy()


def compact(values: Floats, offsets: Ints) -> Floats:
    """Rewards by transition as one number, one for each row, or as they are: the smallest that says the same."""
    if values.size <= 1:
        return np.zeros(1) if values.size == 0 else values
    if (values == values[0]).all():
        return values[:1].copy()
    counts = np.diff(offsets)
    if counts.size >= values.size:
        return values
    begin = offsets[:-1][counts > 0]
    by_row = np.zeros(counts.size)
    by_row[counts > 0] = values[begin]
    return by_row if np.array_equal(np.repeat(by_row, counts), values) else values


def _refuse_dead_ends(mask: Bools, names: Sequence[str]) -> None:
    empty = np.flatnonzero(~mask.any(axis=1))
    if empty.size:
        where = f"{int(empty[0])}" if not names else f"'{names[int(empty[0])]}'"
        begin = "; numbers of states begin at 0" if where == "0" else ""  # counted from 1, as a rule
        raise InvalidMDP(
            f"state {where} has no transitions; every state needs at least one action (a state that ends an "
            f"episode may lead to itself or back to the start){begin}."
        )


def require_rows(what: str, n: int, S: int, A: int) -> None:
    """Refuse sparse rows that do not fit into memory, before they are built."""
    _memory.require(BYTES_BUILDING * n + 40 * S * A, f"an MDP of {S} states and {what}", "make it smaller")


def require_dense(what: str, S: int, A: int) -> None:
    """Refuse dense (S, A, S) tables of probabilities, means and deviations that do not fit into memory."""
    _memory.require(
        4 * 8 * S * A * S,
        f"{what} of {S} states and {A} actions as a dense table",
        "give the transitions that are possible instead (TabularMDP.from_transitions), or make it smaller",
    )
