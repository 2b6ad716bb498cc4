"""Pictures of MDPs, drawn from the MDP alone: cells from the names of states, walls from the transitions.

A state named ``(row, column)`` is a cell. A wall stands between two neighbours that no action connects. Chains are rows
of cells, other small MDPs graphs (`steering.envs.layout`). Without values a picture shows what pays (green), what costs
to enter (red) and where runs start (blue); with one value for each state, such as visits or V, the darker the larger.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering import _checks
from steering._types import Bools, Floats, Ints
from steering.errors import NotAvailable
from steering.mdp import _arrays
from steering.mdp.tabular import TabularMDP

if TYPE_CHECKING:
    from steering.envs.layout import Layout

Picture = NDArray[np.uint8]

_CELL = re.compile(r"\((\d+), (\d+)\)")
_GREEN, _RED, _BLUE, _DARK = (
    np.array(rgb, dtype=np.float64) for rgb in ((0, 150, 80), (215, 60, 40), (40, 90, 200), (8, 48, 107))
)
_WALL, _THIN, _ROOMY = 30, 225, 16


def picture(
    mdp: TabularMDP,
    values: ArrayLike | None = None,
    *,
    state: int | None = None,
    cell: int = 8,
    layout: Layout | None = None,
    moves: ArrayLike | None = None,
) -> Picture:
    """Draw the map of an MDP as an array (height, width, 3) of uint8.

    Parameters
    ----------
    mdp
        Any MDP: states named ``(row, column)``, as those of `maze`, `rooms` and `griddeepsea` are, make a grid, chains
        make rows, other small ones a graph, and the rest rows of cells (`steering.envs.layout`).
    values
        One number for each state, shown as shades; see the module for the picture without.
    state
        A state to mark in the middle of its cell.
    cell
        Pixels along the side of a cell, at least 3; a state of a graph is a disc of that size.
    layout
        The map, where it is known already.
    moves
        For each state the state that an arrow points to, or the state itself or -1 for none.
    """
    from steering.envs.layout import layout_of_mdp

    size = _checks.whole("cell", cell, 3)
    place = layout_of_mdp(mdp) if layout is None else layout
    marked = None if state is None else _checks.whole("state", state, 0, mdp.n_states - 1)
    colours = (_colours(mdp) if values is None else _shades(mdp, values)).round().astype(np.uint8)
    centres = centres_of(place, mdp.n_states, size)
    image = _graph(place, centres, colours, size) if place.kind == "graph" else _raster(place, colours, size)
    if moves is not None:
        _arrows(image, centres, np.asarray(moves, dtype=np.int64), size)
    if marked is not None:
        row, column = (centres[marked] - size / 2).astype(np.int64)
        top, left = row + size // 4, column + size // 4
        image[top : top + (size + 1) // 2, left : left + (size + 1) // 2] = (230, 120, 0)
    for row, column, side in place.walls.tolist():
        if side == 0:
            image[row * size : (row + 1) * size, (column + 1) * size - 1] = _WALL
        else:
            image[(row + 1) * size - 1, column * size : (column + 1) * size] = _WALL
    return image


def centres_of(place: Layout, n_states: int, size: int) -> Floats:
    """The middle (row, column) of every state in a picture with cells of that size, in pixels."""
    points = np.stack([place.y, place.x], axis=1)
    return size + points * (_side(n_states, size) - 2 * size) if place.kind == "graph" else (points + 0.5) * size


def _side(n_states: int, size: int) -> int:
    """Pixels along the side of a graph."""
    return max(10 * size, round(3.0 * size * math.sqrt(n_states)))


def _raster(place: Layout, colours: Picture, size: int) -> Picture:
    """Cells; between those of chains and rows there is a line."""
    grid = np.full((place.height, place.width, 3), _WALL, dtype=np.uint8)
    grid[place.y.astype(np.int64), place.x.astype(np.int64)] = colours
    image = np.repeat(np.repeat(grid, size, axis=0), size, axis=1)
    line = _WALL if place.kind != "grid" else _THIN
    if place.kind != "grid" or size >= _ROOMY:
        image[size - 1 :: size] = np.minimum(image[size - 1 :: size], line)
        image[:, size - 1 :: size] = np.minimum(image[:, size - 1 :: size], line)
    return image


def _graph(place: Layout, centres: Floats, colours: Picture, size: int) -> Picture:
    """Discs with lines between them."""
    side = _side(len(colours), size)
    image = np.full((side, side, 3), 245, dtype=np.uint8)
    for tail, head in place.edges.tolist():
        _line(image, centres[tail], centres[head], (170, 170, 170))
    rows, columns = np.mgrid[0:side, 0:side] + 0.5
    for (y, x), colour in zip(centres, colours, strict=True):
        far = np.hypot(rows - y, columns - x)
        image[far <= size / 2] = _WALL
        image[far <= size / 2 - 1] = colour
    return image


def _line(image: Picture, start: Floats, end: Floats, colour: tuple[int, int, int]) -> None:
    points = np.linspace(start, end, max(int(np.abs(end - start).max()), 1) + 1)
    rows, columns = np.clip(points.T.astype(np.int64), 0, [[image.shape[0] - 1], [image.shape[1] - 1]])
    image[rows, columns] = colour


def _arrows(image: Picture, centres: Floats, moves: Ints, size: int) -> None:
    """From every state a short line with a head towards the state it leads to; nothing where it stays."""
    for s in np.flatnonzero((moves >= 0) & (moves != np.arange(moves.size))):
        way = centres[moves[s]] - centres[s]
        unit = way / max(float(np.hypot(*way)), 1e-9)
        back, tip = centres[s] - 0.3 * size * unit, centres[s] + 0.3 * size * unit
        side = np.array([-unit[1], unit[0]])
        for end in (back, tip - 0.22 * size * (unit + side), tip - 0.22 * size * (unit - side)):
            _line(image, tip, end, (230, 120, 0))


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
    if not np.isfinite(numbers).all():
        raise NotAvailable(
            f"values[{int(np.argmin(np.isfinite(numbers)))}] is not finite; a picture has no shade for it."
        )
    low, high = shade_range(numbers)
    depth = np.zeros(mdp.n_states) if high == low else np.sqrt((numbers - low) / (high - low))
    shaded: Floats = 255.0 - depth[:, None] * (255.0 - _DARK)
    return shaded


def shade_range(values: Floats) -> tuple[float, float]:
    """The values of the lightest and the darkest shade; between them it is the square root that counts."""
    return float(values.min()), float(values.max())


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
