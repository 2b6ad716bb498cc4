"""Grid worlds: K x K cells with thin walls between some of them, one goal, and perhaps slipping, lava and step costs.

State ``row * K + column``, start in the top left corner, goal in the bottom right one. An action moves up, right, down
or left; a wall or the border keeps the agent where it is. With probability `slip` a direction drawn uniformly from all
four is taken instead. In the goal every action pays 1 and leads back to the start, so it never ends. Every other step
pays ``-step_cost``, and 1 less when it ends in a cell of lava. With *permuted* actions a permutation of the four
directions is drawn for every cell, so that nothing learned in one cell says what an action does in another.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from steering import _checks
from steering._types import Bools, Ints
from steering.mdp.sparse import require_rows
from steering.mdp.tabular import TabularMDP

DIRECTIONS = ("up", "right", "down", "left")

NAMED = 2**17
"""Cells up to which states are named by row and column, which is what pictures are drawn from."""


def generator(seed: int, stream: int) -> np.random.Generator:
    """The generator of a seed, kept apart from other uses of the same seed by a stream number."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(stream,))))


def long_discount(mdp: TabularMDP) -> dict[str, float]:
    """Discount of a grid: far enough to see the goal from the start, 0.99 up to 100 x 100 cells."""
    return {"discount": 1.0 - 1.0 / max(100.0, float(np.sqrt(mdp.n_states)))}


def refuse_large(what: str, k: int) -> None:
    """Refuse a grid that does not fit into memory, before anything is drawn."""
    require_rows(f"{what} of {16 * k * k} transitions", 16 * k * k, k * k, 4)


def grid_mdp(
    what: str,
    right: Bools,
    down: Bools,
    rng: np.random.Generator,
    *,
    slip: float,
    lava: float,
    step_cost: float,
    permuted: bool,
) -> TabularMDP:
    """Build the MDP of a grid from its openings.

    Parameters
    ----------
    what
        Name of the environment, for refusals.
    right, down
        Whether a cell is open to its right neighbour, shape (K, K - 1), and to the one below, shape (K - 1, K).
    rng
        Draws lava and permutations.
    slip, lava, step_cost, permuted
        Module docstring; `lava` is the share of cells, none of them on a shortest way to the goal.
    """
    slip = _share(f"slip of {what}", slip)
    share = _share(f"lava of {what}", lava)
    cost = _checks.number(f"step_cost of {what}", step_cost)
    k = right.shape[0]
    goal = k * k - 1
    neighbour = _neighbours(right, down)
    hot = np.zeros(k * k, dtype=np.bool_)
    hot[rng.permutation(_away_from_path(neighbour, goal))[: round(share * k * k)]] = True
    moves = np.tile(np.arange(4), (k * k, 1))
    if _checks.truth(f"permuted of {what}", permuted):
        moves = rng.permuted(moves, axis=1)
    neighbour[goal] = 0
    order = np.argsort(neighbour, axis=1, kind="stable")
    # Entry (s, a, j): the j-th smallest neighbour of s; sorted already, so that rows need no sorting later.
    target = np.take_along_axis(neighbour, order, axis=1)
    p = np.where(order[:, None, :] == moves[:, :, None], 1.0 - slip + slip / 4, slip / 4)
    for j in range(3):  # directions that lead to the same cell
        same = target[:, j] == target[:, j + 1]
        p[same, :, j + 1] += p[same, :, j]
        p[same, :, j] = 0.0
    kept = p.ravel() > 0
    state = np.repeat(np.arange(k * k), 16)[kept]
    action = np.tile(np.repeat(np.arange(4), 4), k * k)[kept]
    successor = np.repeat(target[:, None, :], 4, axis=1).ravel()[kept]
    p = p.ravel()[kept]
    del kept, order
    if hot.any():
        reward = np.where(state == goal, 1.0, -cost - hot[successor])
    else:
        reward = np.full((k * k, 4), -cost)
        reward[goal] = 1.0
    names = [f"({r}, {c})" for r in range(k) for c in range(k)] if k * k <= NAMED else ()
    mdp = TabularMDP.from_transitions(
        state,
        action,
        successor,
        p,
        reward,
        n_states=k * k,
        n_actions=4,
        state_names=names,
        action_names=() if permuted else DIRECTIONS,
    )
    return mdp.by_size()


def spanning_tree(k: int, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Openings (right, down) of a random maze with exactly one way between any two cells (Kruskal)."""
    cells = np.arange(k * k, dtype=np.int32).reshape(k, k)  # older SciPy takes graphs with 32-bit indices only
    tails = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    heads = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    weights = rng.permutation(tails.size) + 1.0
    tree = csgraph.minimum_spanning_tree(sparse.csr_array((weights, (tails, heads)), shape=(k * k, k * k))).tocoo()
    right, down = np.zeros((k, k), dtype=np.bool_), np.zeros((k, k), dtype=np.bool_)
    across = np.abs(tree.row - tree.col) == 1
    across &= tree.row // k == tree.col // k
    right.flat[np.minimum(tree.row, tree.col)[across]] = True
    down.flat[np.minimum(tree.row, tree.col)[~across]] = True
    return right[:, :-1], down[:-1]


def _share(what: str, value: object) -> float:
    number = _checks.number(what, value, least=0.0)
    _checks.in_range(what, number, 0.0, 1.0)
    return number


def _neighbours(right: Bools, down: Bools) -> Ints:
    """Cell that each direction leads to, shape (K K, 4); the cell itself where a wall or the border stands."""
    k = right.shape[0]
    cells = np.arange(k * k).reshape(k, k)
    table = np.repeat(cells[:, :, None], 4, axis=2)
    table[1:, :, 0] = np.where(down, cells[:-1], cells[1:])
    table[:, :-1, 1] = np.where(right, cells[:, 1:], cells[:, :-1])
    table[:-1, :, 2] = np.where(down, cells[1:], cells[:-1])
    table[:, 1:, 3] = np.where(right, cells[:, :-1], cells[:, 1:])
    return table.reshape(k * k, 4)


def _away_from_path(neighbour: Ints, goal: int) -> Ints:
    """Cells that are not on one shortest way from the start to the goal."""
    n = neighbour.shape[0]
    graph = sparse.csr_array((np.ones(4 * n), neighbour.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, n))
    _, before = csgraph.breadth_first_order(graph, 0, return_predecessors=True)
    free = np.ones(n, dtype=np.bool_)
    cell = goal
    while cell > 0:
        free[cell] = False
        cell = int(before[cell])
    free[0] = False
    return np.flatnonzero(free)
