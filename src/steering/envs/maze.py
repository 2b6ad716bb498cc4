"""Maze: K x K cells between which walls stand at random, with a way from every cell to the goal.

A random spanning tree of the cells stays open; every other wall between two cells stands with probability `walls` (1 is
a perfect maze, 0 an open field). Moves, goal, lava and costs are those of `steering.envs.grids`.
"""

from __future__ import annotations

from steering import _checks
from steering.envs.grids import generator, grid_mdp, refuse_large, spanning_tree
from steering.mdp.tabular import TabularMDP

STREAM = 0x3A2E
"""Keeps the draws of `maze` apart from other uses of the same seed."""


def maze(
    k: int,
    *,
    seed: int = 0,
    walls: float = 0.5,
    slip: float = 0.1,
    lava: float = 0.0,
    step_cost: float = 0.0,
    permuted: bool = True,
) -> TabularMDP:
    """Maze of k x k cells from one corner to the other; the goal pays 1 and leads back to the start.

    Parameters
    ----------
    k
        Side, at least 2; there are k * k states and 4 actions.
    seed
        Fixes walls, lava and what each action does in each cell.
    walls
        Probability that a wall stands where the maze does not need an opening.
    slip
        Probability that a direction drawn at random is taken instead.
    lava
        Share of cells that are lava (a step into one pays 1 less); never on the shortest way.
    step_cost
        Cost of every step outside the goal.
    permuted
        Whether each cell has its own permutation of the four directions.
    """
    k = _checks.whole("k of maze", k, 2)
    seed = _checks.whole("seed of maze", seed, 0)
    _checks.in_range("walls of maze", _checks.number("walls of maze", walls), 0.0, 1.0)
    refuse_large("a maze", k)
    rng = generator(seed, STREAM)
    right, down = spanning_tree(k, rng)
    right |= rng.random(right.shape) >= walls
    down |= rng.random(down.shape) >= walls
    return grid_mdp("maze", right, down, rng, slip=slip, lava=lava, step_cost=step_cost, permuted=permuted)
