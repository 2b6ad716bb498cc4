"""GridDeepSea: the N x N deep sea of bsuite, one row further down at every step.

State ``row * n + column``, start in the top left corner (state 0). Two actions; in every cell one of them is
"right"::

    right:  column -> min(column + 1, n - 1)   reward -move_cost / n;   +1 in column n - 1
    left:   column -> max(column - 1, 0)       reward 0
    then row -> row + 1; from the bottom row the next state is state 0 again

Only cells with column <= row can be reached, so +1 is paid in the bottom right corner alone. The optimal return
of an episode of n steps is 1 - move_cost. *Stochastic*: right moves with probability 1 - 1/n only (it pays and
costs the same when it fails, and the column stays), and rewards in the two corners of the bottom row have N(0, 1)
noise; always going right then returns (1 - 1/n)^(n - 1) - move_cost, and the optimal policy a little more, as it
saves the cost of going right once that cannot lead to the corner.

The setting is episodic with horizon n unless another horizon is given; as the bottom row leads back to the
start, the continuing setting (``horizon=none``) is the same falling again and again.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_rows
from steering.mdp.tabular import DENSE_ENTRIES, TabularMDP


def grid_deep_sea(
    n: int, *, stochastic: bool = False, mapping_seed: int | None = 0, move_cost: float = 0.01
) -> TabularMDP:
    """Grid of n x n states in which one path of n moves right pays (bsuite's deep sea, episodic).

    Parameters
    ----------
    n
        Side of the grid, at least 2; there are n * n states.
    stochastic
        Whether right fails with probability 1/n and the bottom corners are noisy.
    mapping_seed
        Which action is "right" in each cell, as bsuite draws it from this seed; None makes it action 1
        everywhere.
    move_cost
        Cost of n moves to the right.
    """
    n = _checks.whole("n of griddeepsea", n, 2)
    windy = _checks.truth("stochastic of griddeepsea", stochastic)
    cost = _checks.number("move_cost of griddeepsea", move_cost) / n
    require_rows(f"griddeepsea of {6 * n * n} transitions", 6 * n * n, n * n, 2)
    row, column = (index.ravel() for index in np.indices((n, n)))
    s = row * n + column
    right = _action_right(n, mapping_seed).ravel()
    bottom = row == n - 1

    def below(next_column: np.ndarray) -> np.ndarray:
        return np.where(bottom, 0, (row + 1) * n + next_column)

    fail = 1.0 / n if windy else 0.0
    moves = [
        (1 - right, below(np.maximum(column - 1, 0)), 1.0),
        (right, below(np.minimum(column + 1, n - 1)), 1.0 - fail),
        (right, below(column), fail),
    ]
    mean = np.zeros((n * n, 2))
    mean[s, right] = np.where(column == n - 1, 1.0, 0.0) - cost
    corner = bottom & ((column == 0) | (column == n - 1))
    std = np.where(corner & windy, 1.0, 0.0)
    names = tuple(f"({r}, {c})" for r, c in zip(row, column, strict=True))
    if n * n * 2 * n * n > DENSE_ENTRIES:
        states, actions = np.tile(s, 3), np.concatenate([action for action, _, _ in moves])
        successors = np.concatenate([successor for _, successor, _ in moves])
        p = np.repeat([probability for _, _, probability in moves], n * n)
        deviations = np.repeat(std[:, None], 2, axis=1)
        return TabularMDP.from_transitions(
            states, actions, successors, p, mean, n * n, 2, reward_std=deviations, state_names=names
        )
    P = np.zeros((n * n, 2, n * n))
    for action, successor, probability in moves:
        # Added, not set: in the bottom row and at the right border failure and success lead to the same state.
        P[s, action, successor] += probability
    return TabularMDP(P=P, reward_mean=mean, reward_std=std, state_names=names)


def _action_right(n: int, mapping_seed: int | None) -> np.ndarray:
    if mapping_seed is None:
        return np.ones((n, n), dtype=np.int64)
    seed = _checks.whole("mapping_seed of griddeepsea", mapping_seed, 0, 2**32 - 1)
    # The legacy generator, whose stream is frozen, so that a seed gives the grid that bsuite has for it.
    return np.random.RandomState(seed).binomial(1, 0.5, (n, n))
