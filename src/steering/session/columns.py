"""Tables that grow row by row and are read as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = np.dtype(
    [
        ("event", "<i8"),
        ("time", "<f8"),
        ("id", "<i8"),
        ("unit", "<i4"),
        ("state", "<i4"),
        ("action", "<i4"),
        ("reward", "<f8"),
        ("next", "<i4"),
        ("to", "<i4"),
        ("done", "?"),
    ]
)
"""One thing that happened. `next` is the next state as it was told (-1: none), `to` the one that is learned: that of
the next episode where one ended (-1: not known yet)."""

ASKS = np.dtype([("state", "<i4"), ("action", "<i4"), ("status", "<i1"), ("row", "<i8")])
"""One suggestion; `status` is one of the following, `row` where what happened stands (-1: nowhere)."""
UNDER_WAY, TOLD, CANCELLED = 0, 1, 2

ORDER = np.dtype([("row", "<i8")])
"""Rows in the order in which they are learned."""


class Columns:
    """A structured array with room at the end."""

    def __init__(self, dtype: np.dtype[Any], content: NDArray[Any] | None = None) -> None:
        self._array = np.zeros(1024, dtype) if content is None or not content.size else content.copy()
        self._size = 0 if content is None else content.size

    def __len__(self) -> int:
        return self._size

    @property
    def array(self) -> NDArray[Any]:
        """What is in the table; a view that later rows may leave behind."""
        return self._array[: self._size]

    def append(self, row: tuple[Any, ...]) -> int:
        """Add a row and return its place."""
        self._room(1)
        self._array[self._size] = row
        self._size += 1
        return self._size - 1

    def extend(self, rows: NDArray[Any]) -> None:
        """Add many rows."""
        self._room(rows.size)
        self._array[self._size : self._size + rows.size] = rows
        self._size += rows.size

    def _room(self, more: int) -> None:
        if self._size + more > self._array.size:
            larger = np.zeros(max(2 * self._array.size, self._size + more), self._array.dtype)
            larger[: self._size] = self._array[: self._size]
            self._array = larger
