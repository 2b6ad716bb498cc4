"""Visits to (s, a) in windows of steps: an array while that is small, only what was visited beyond.

A run of T steps visits at most T pairs, however many there are; `SparseVisits` keeps those and gives the array
(K, W, S, A) when asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering import _memory
from steering._types import Floats, Ints

SMALL = 2**18
"""Entries W S A of one run up to which visits are kept as an array."""


@dataclass(frozen=True, eq=False)
class SparseVisits:
    """Visits of K runs, of each the places (in the order of an array (W, S, A)) with their counts.

    It stands for an array of that shape: ``np.asarray(visits)``, ``visits[...]`` and ``visits.sum(...)`` make it.
    """

    shape: tuple[int, int, int, int]
    runs: tuple[tuple[Ints, Floats], ...]

    def dense(self) -> Floats:
        """The array (K, W, S, A); refused when it does not fit into memory."""
        size = float(np.prod(self.shape, dtype=np.float64))
        _memory.require(8.0 * size, f"visits of shape {self.shape} as an array", "use by_state(), or fewer windows")
        full = np.zeros((len(self.runs), int(np.prod(self.shape[1:]))))
        for row, (places, counts) in zip(full, self.runs, strict=True):
            row[places] = counts
        return full.reshape(self.shape)

    def by_state(self) -> Floats:
        """Visits to each state over all windows and actions, shape (K, S)."""
        _, _, S, A = self.shape
        return np.array([np.bincount(places // A % S, weights=counts, minlength=S) for places, counts in self.runs])

    def sum(self, axis: Any = None) -> Any:
        """Sum of the array over axes."""
        return self.dense().sum(axis=axis)

    def reshape(self, *shape: int) -> Floats:
        """The array in another shape."""
        return self.dense().reshape(*shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.dense(), dtype=dtype)

    def __getitem__(self, at: Any) -> Any:
        return self.dense()[at]


Visits = Floats | SparseVisits


def state_visits(visits: Visits) -> Floats:
    """Visits to each state over all windows and actions, shape (K, S): a heatmap with `Environment.render`."""
    return visits.by_state() if isinstance(visits, SparseVisits) else visits.sum(axis=(1, 3))


def count_visits(states: Ints, actions: Ints, edges: Ints, shape: tuple[int, int]) -> Any:
    """Visits of one run in each window: an array (W, S, A), or (places, counts) where that would be large."""
    S, A = shape
    cells = states * A + actions
    windows = len(edges) - 1
    if windows * S * A > SMALL:
        window = np.repeat(np.arange(windows), np.diff(edges))
        places, counts = np.unique(window * (S * A) + cells, return_counts=True)
        return places, counts.astype(np.float64)
    counted = [np.bincount(cells[low:high], minlength=S * A) for low, high in itertools.pairwise(edges)]
    return np.array(counted, dtype=np.float64).reshape(-1, S, A)


def most_visits(steps: int, windows: int, pairs: int) -> int:
    """Most numbers that visits of one run take."""
    return windows * pairs if windows * pairs <= SMALL else 2 * steps


def stack_visits(runs: Sequence[Any], windows: int, shape: tuple[int, int]) -> Visits:
    """Visits of several runs, shape (K, W, S, A), from what `count_visits` gave for each."""
    if runs and isinstance(runs[0], tuple):
        return SparseVisits((len(runs), windows, *shape), tuple(runs))
    return np.array(list(runs))
