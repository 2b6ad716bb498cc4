"""Pictures of grid worlds, drawn from the MDP alone: cells from the names of states, walls from the transitions.

A state named ``(row, column)`` is a cell. A wall stands between two neighbours that no action connects. Without values
a picture shows what pays (green), what costs to enter (red) and where runs start (blue); with one value for each state,
such as visits or V, the darker the larger.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering import _checks
from steering._types import Bools, Floats, Ints
from steering.errors import NotAvailable
from steering.mdp import _arrays
from steering.mdp.tabular import TabularMDP

Picture = NDArray[np.uint8]

_CELL = re.compile(r"\((\d+), (\d+)\)")
_GREEN, _RED, _BLUE, _DARK = (
    np.array(rgb, dtype=np.float64) for rgb in ((0, 150, 80), (215, 60, 40), (40, 90, 200), (8, 48, 107))
)
_WALL = 30


def picture(mdp: TabularMDP, values: ArrayLike | None = None, *, state: int | None = None, cell: int = 8) -> Picture:
    """Draw a grid world as an array (height, width, 3) of uint8.

    Parameters
    ----------
    mdp
        An MDP whose states are named ``(row, column)``, as those of `maze`, `rooms` and `griddeepsea` are.
    values
        One number for each state, shown as shades; see the module for the picture without.
    state
        A state to mark in the middle of its cell.
    cell
        Pixels along the side of a cell, at least 3.
    """
    size = _checks.whole("cell", cell, 3)
    row, column = cells_of(mdp)
    colours = _colours(mdp) if values is None else _shades(mdp, values)
    height, width = int(row.max()) + 1, int(column.max()) + 1
    grid = np.full((height, width, 3), _WALL, dtype=np.float64)
    grid[row, column] = colours
    image = np.repeat(np.repeat(grid, size, axis=0), size, axis=1).round().astype(np.uint8)
    if state is not None:
        s = _checks.whole("state", state, 0, mdp.n_states - 1)
        top, left = row[s] * size + size // 4, column[s] * size + size // 4
        image[top : top + (size + 1) // 2, left : left + (size + 1) // 2] = (230, 120, 0)
    right, below = walls_of(mdp, row, column, (height, width))
    for r, c in np.argwhere(right):
        image[r * size : (r + 1) * size, (c + 1) * size - 1] = _WALL
    for r, c in np.argwhere(below):
        image[(r + 1) * size - 1, c * size : (c + 1) * size] = _WALL
    return image


def is_grid(mdp: TabularMDP) -> bool:
    """Whether the first state is named as a cell, so that a picture may be asked for."""
    return bool(mdp.state_names) and _CELL.fullmatch(mdp.state_names[0]) is not None


def cells_of(mdp: TabularMDP) -> tuple[Ints, Ints]:
    """Row and column of every state; refused unless all states are named ``(row, column)``."""
    return places_of(mdp.state_names)


def places_of(names: Sequence[str]) -> tuple[Ints, Ints]:
    """Row and column of every name, as of `cells_of`."""
    found = [_CELL.fullmatch(name) for name in names]
    if not found or any(match is None for match in found):
        raise NotAvailable("there is nothing to draw: only states that are named '(row, column)' make a picture.")
    places = np.array([match.groups() for match in found if match is not None], dtype=np.int64)
    return places[:, 0], places[:, 1]


def _shades(mdp: TabularMDP, values: ArrayLike) -> Floats:
    numbers = _arrays.numbers("values", values)
    if numbers.shape != (mdp.n_states,):
        raise NotAvailable(f"values has shape {numbers.shape}; a picture needs one for each of {mdp.n_states} states.")
    low, high = float(numbers.min()), float(numbers.max())
    depth = np.zeros(mdp.n_states) if high == low else np.sqrt((numbers - low) / (high - low))
    shaded: Floats = 255.0 - depth[:, None] * (255.0 - _DARK)
    return shaded


def _colours(mdp: TabularMDP) -> Floats:
    table = mdp.transitions
    colours = np.full((mdp.n_states, 3), 255.0)
    weight = np.bincount(table.successors, weights=table.probabilities, minlength=mdp.n_states)
    paid = np.bincount(table.successors, weights=table.probabilities * table.spread(table.mean), minlength=mdp.n_states)
    entering = np.divide(paid, weight, out=np.zeros(mdp.n_states), where=weight > 0)
    worth = np.where(mdp.allowed, mdp.rewards, -np.inf).max(axis=1)
    usual = np.median(entering)
    scale = max(float(np.abs(entering - usual).max()), 1e-300)
    colours[entering < usual - 0.3 * scale] = _RED
    colours[mdp.start_distribution > 0] = _BLUE
    if worth.max() > 0:
        colours[worth >= 0.5 * worth.max()] = _GREEN
    return colours


def walls_of(mdp: TabularMDP, row: Ints, column: Ints, shape: tuple[int, int]) -> tuple[Bools, Bools]:
    """Where a wall stands to the right of a cell and below it; none where neighbours are nowhere connected."""
    height, width = shape
    number = np.full((height + 1, width + 1), -1, dtype=np.int64)
    number[row, column] = np.arange(mdp.n_states)
    table = mdp.transitions
    tails = np.repeat(np.arange(mdp.n_states), np.diff(table.offsets[:: mdp.n_actions]))
    heads = table.successors
    walls: list[Any] = []
    for down, along in ((0, 1), (1, 0)):
        neighbour = number[down : height + down, along : width + along]
        open_ = np.zeros((height + 1, width + 1), dtype=np.bool_)
        forward = (row[heads] - row[tails] == down) & (column[heads] - column[tails] == along)
        back = (row[tails] - row[heads] == down) & (column[tails] - column[heads] == along)
        open_[row[tails[forward]], column[tails[forward]]] = True
        open_[row[heads[back]], column[heads[back]]] = True
        both = (number[:-1, :-1] >= 0) & (neighbour >= 0)
        walls.append(both & ~open_[:-1, :-1] if open_.any() else np.zeros_like(both))
    return walls[0], walls[1]
