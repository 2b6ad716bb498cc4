"""Where the states of an MDP stand on the map: a grid, a chain, a laid-out graph, or rows of cells.

A grid comes from states named ``(row, column)`` or from a Gymnasium environment that says its shape. A chain is an MDP
in which every state leads to the next one and all other moves go to a neighbour or back to a start. Everything else is
a graph while it is small, and rows of cells in the order of the states when it is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steering._types import Floats, Ints
from steering.envs.base import Environment
from steering.envs.drawing import cells_of, places_of, walls_of
from steering.errors import NotAvailable
from steering.mdp import TabularMDP

LARGEST_GRAPH = 150
"""States above which a graph is a tangle, so that rows of cells show more."""
LARGEST_GRID = 100_000
"""Cells of a grid, at most: names may leave most of them empty."""
CHAIN_ROW = 16
"""Cells in one row of a long chain."""


@dataclass(frozen=True)
class Layout:
    """Places of the states: cells of a raster (`kind` "grid", "chain", "cells") or points in a square ("graph")."""

    kind: str
    x: Floats
    y: Floats
    width: int
    height: int
    walls: Ints
    """Rows (row, column, side): a wall to the right (0) of a cell or below it (1)."""
    edges: Ints
    """Pairs of states that a graph connects."""


def layout_of(environment: Environment) -> Layout:
    """The map of an environment that has a table."""
    return layout_of_mdp(environment.table, gym_shape(environment))


def layout_of_mdp(mdp: TabularMDP, shape: tuple[int, int] | None = None) -> Layout:
    """The map of an MDP; `shape` (rows, columns) makes a grid of states without the names of cells."""
    try:
        row, column = cells_of(mdp)
        return _cells("grid", column, row, _named_walls(mdp, row, column))
    except NotAvailable:
        pass
    if shape is not None:
        return _raster("grid", mdp.n_states, shape[1])
    if is_chain(mdp):
        n = mdp.n_states
        return _raster("chain", n, n if n <= CHAIN_ROW else CHAIN_ROW)
    return graph_or_cells(mdp.n_states, *edges_of(mdp))


def graph_or_cells(n: int, tails: Ints, heads: Ints) -> Layout:
    """A graph while it is small, and rows of cells when it is not."""
    if n > LARGEST_GRAPH:
        return _raster("cells", n, math.ceil(math.sqrt(n)))
    points = spring(n, tails, heads)
    edges = np.stack([tails, heads], axis=1)
    return Layout("graph", points[:, 0], points[:, 1], 1, 1, np.zeros((0, 3), np.int64), edges)


def cells_by_name(names: Sequence[str]) -> Layout | None:
    """A grid of states that are all named ``(row, column)``, each cell once; None where they are not."""
    try:
        row, column = places_of(names)
    except (NotAvailable, OverflowError, ValueError):  # not such names, or numbers beyond all grids
        return None
    width, height = int(column.max()) + 1, int(row.max()) + 1
    if width * height > LARGEST_GRID or np.unique(row * width + column).size < row.size:
        return None
    return _cells("grid", column, row, np.zeros((0, 3), np.int64))


def edges_of(mdp: TabularMDP) -> tuple[Ints, Ints]:
    """Pairs of different states (s, s') with a move from s to s'."""
    rows = mdp.transitions
    tails = np.repeat(np.arange(mdp.n_states), np.diff(rows.offsets[:: mdp.n_actions]))
    heads = np.asarray(rows.successors, dtype=np.int64)
    kept = (rows.probabilities > 0) & (tails != heads)
    pairs = np.unique(np.stack([tails[kept], heads[kept]], axis=1), axis=0).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def is_chain(mdp: TabularMDP) -> bool:
    """Whether every state leads to the next one, and otherwise to a neighbour or to a start."""
    tails, heads = edges_of(mdp)
    step = heads - tails
    home = mdp.start_distribution[heads] > 0
    onward = np.unique(tails[step == 1]).size == mdp.n_states - 1
    return mdp.n_states > 1 and onward and bool(np.all((np.abs(step) == 1) | home))


def gym_shape(environment: Environment) -> tuple[int, int] | None:
    """Rows and columns of a Gymnasium grid (`desc` of FrozenLake, `shape` of CliffWalking); None where it has none."""
    if environment.make_gym is None:
        return None
    made = environment.make_gym()
    inner: Any = made.unwrapped
    shape = getattr(getattr(inner, "desc", None), "shape", None) or getattr(inner, "shape", None)
    made.close()
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    rows, columns = int(shape[0]), int(shape[1])
    # One more state may stand for the end of an episode (see `steering.envs.tables`).
    return (rows, columns) if 0 <= environment.n_states - rows * columns <= 1 else None


def spring(n: int, tails: Ints, heads: Ints, *, rounds: int = 200) -> Floats:
    """Points (n, 2) in the unit square: edges pull, all pairs push (Fruchterman and Reingold 1991), from a circle."""
    angle = 2.0 * np.pi * np.arange(n) / max(n, 1)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ideal = 1.5 / math.sqrt(max(n, 1))
    for turn in range(rounds):
        away = points[:, None] - points[None]
        distance = np.maximum(np.sqrt((away**2).sum(axis=-1)), 1e-3)
        move = (away * (ideal**2 / distance**2)[:, :, None]).sum(axis=1)
        pull = (points[tails] - points[heads]) * (distance[tails, heads] / ideal)[:, None]
        np.add.at(move, tails, -pull)
        np.add.at(move, heads, pull)
        length = np.maximum(np.sqrt((move**2).sum(axis=1)), 1e-9)
        points += move / length[:, None] * np.minimum(length, 0.1 * (1.0 - turn / rounds))[:, None]
    low, high = points.min(axis=0), points.max(axis=0)
    placed: Floats = (points - low) / np.maximum(high - low, 1e-9)
    return placed


def _raster(kind: str, n: int, columns: int) -> Layout:
    place = np.arange(n)
    return _cells(kind, place % columns, place // columns, np.zeros((0, 3), np.int64))


def _cells(kind: str, column: Ints, row: Ints, walls: Ints) -> Layout:
    width, height = int(column.max()) + 1, int(row.max()) + 1
    none = np.zeros((0, 2), np.int64)
    return Layout(kind, column.astype(np.float64), row.astype(np.float64), width, height, walls, none)


def _named_walls(mdp: TabularMDP, row: Ints, column: Ints) -> Ints:
    sides = walls_of(mdp, row, column, (int(row.max()) + 1, int(column.max()) + 1))
    return np.concatenate([np.insert(np.argwhere(wall), 2, side, axis=1) for side, wall in enumerate(sides)])
