"""Rooms: K x K cells in square rooms, with one door in every wall between two rooms.

The generalisation of the four rooms (Sutton, Precup & Singh 1999): ``rooms:10`` has four rooms of 5 x 5 cells. Where
the doors are is drawn from the seed. Moves, goal, lava and costs are those of `steering.envs.grids`.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering._types import Bools
from steering.envs.grids import generator, grid_mdp, refuse_large
from steering.mdp.tabular import TabularMDP

STREAM = 0x4007
"""Keeps the draws of `rooms` apart from other uses of the same seed."""


def rooms(
    k: int,
    *,
    room: int = 5,
    seed: int = 0,
    slip: float = 0.1,
    lava: float = 0.0,
    step_cost: float = 0.0,
    permuted: bool = False,
) -> TabularMDP:
    """Grid of k x k cells in square rooms joined by doors; the goal pays 1 and leads back to the start.

    Parameters
    ----------
    k
        Side, at least 2; there are k * k states and 4 actions.
    room
        Side of a room; those at the right and at the bottom are smaller where it does not divide k.
    seed
        Fixes doors, lava and permutations.
    slip, lava, step_cost, permuted
        As in `maze`.
    """
    k = _checks.whole("k of rooms", k, 2)
    size = _checks.whole("room of rooms", room, 1)
    seed = _checks.whole("seed of rooms", seed, 0)
    refuse_large("rooms", k)
    rng = generator(seed, STREAM)
    right = _doors(k, size, rng)
    down = _doors(k, size, rng).T
    return grid_mdp("rooms", right, down, rng, slip=slip, lava=lava, step_cost=step_cost, permuted=permuted)


def _doors(k: int, size: int, rng: np.random.Generator) -> Bools:
    """Openings to the right, shape (k, k - 1): all within a room, one door in the wall between two rooms."""
    opening = np.ones((k, k - 1), dtype=np.bool_)
    for wall in range(size - 1, k - 1, size):
        opening[:, wall] = False
        for top in range(0, k, size):
            opening[top + rng.integers(min(size, k - top)), wall] = True
    return opening
