"""Rows of a transition table in which all outcomes that are not listed have the same probability.

That is what a belief by support gives: outcomes never seen are alike. A row costs by what is listed, not by S.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steering._types import Floats, Ints
from steering.errors import TooLarge

SMALL_ENTRIES = 2**22
"""Entries S A S up to which a dense table is made of such rows when asked for."""

Plain: TypeAlias = tuple[Ints, NDArray[np.int32], NDArray[np.int32], Floats, Floats]
Related: TypeAlias = tuple[Ints, NDArray[np.int32], NDArray[np.int32], Floats, Floats, Floats, Floats]
Arrays: TypeAlias = Plain | Related


class GroupedRows:
    """A transition table (S, A, S): P(y|s, a) = base of the row, plus its excess where y is one of its heads.

    Parameters
    ----------
    n_states, n_actions
        Size.
    arrays
        (start, length, heads, excess, base) as `steering._compiled.grouped_planning` reads them; row s A + a. Rows of
        a state that are related have two more, (..., weight, factor).
    """

    def __init__(self, n_states: int, n_actions: int, arrays: Arrays) -> None:
        self.shape = (n_states, n_actions, n_states)
        self.arrays = arrays

    @property
    def related(self) -> bool:
        """Whether the rows of a state are related."""
        return len(self.arrays) > 5

    def row(self, state: int, action: int) -> Floats:
        """P(.|s, a), (S,)."""
        start, length, heads, excess, base = self.arrays[:5]
        first = state * self.shape[1]
        number = first + action
        places = slice(start[number], start[number] + length[number])
        row: Floats = np.full(self.shape[0], base[number])
        row[heads[places]] += excess[places]
        if len(self.arrays) == 7:
            *_, weight, factor = self.arrays
            for other in range(first, first + self.shape[1]):
                places = slice(start[other], start[other] + length[other])
                row[heads[places]] += weight[number] * factor[other] * excess[places]
        return row

    def dense(self) -> Floats:
        """The table as an array; refused beyond `SMALL_ENTRIES` entries."""
        S, A, _ = self.shape
        refuse_table("P", S, A)
        return np.array([[self.row(s, a) for a in range(A)] for s in range(S)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.dense().astype(dtype or np.float64)


Rows: TypeAlias = Floats | GroupedRows
"""A transition table, dense or grouped."""


def refuse_table(name: str, n_states: int, n_actions: int) -> None:
    """Refuse a dense (S, A, S) table of a large belief."""
    if n_states * n_actions * n_states > SMALL_ENTRIES:
        raise TooLarge(
            f"'{name}' of a belief about {n_states} states and {n_actions} actions is not made as a dense table: only "
            "outcomes that were seen are kept; use the belief's methods, or belief=dense if it fits into memory."
        )
