"""RiverSwim: swim against the current to the right bank, or rest at the left one for a little.

States 0 .. n-1, actions 0 (left, with the current: i -> max(i - 1, 0) for certain) and 1 (right, against
it)::

    variant "osband" (Osband, Russo and Van Roy, 2013)        right: left / stay / right
        state 0                                                       -   / 0.4  / 0.6
        states 1 .. n-2                                               0.05 / 0.6 / 0.35
        state n-1                                                     0.4 / 0.6  / -
        start in state 0

    variant "strehl" (Strehl and Littman, 2008)
        state 0                                                       -   / 0.7  / 0.3
        states 1 .. n-2                                               0.1 / 0.6  / 0.3
        state n-1                                                     0.7 / 0.3  / -
        start in state 1 or 2, each with probability 1/2

Left in state 0 pays `left_reward` = 5/1000 and right in state n-1 pays `right_reward` = 1, whatever the
outcome; all else pays 0, without noise. Strehl and Littman scale these as 5 and 10,000:
``left_reward=5,right_reward=10000``.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_rows
from steering.mdp.tabular import TabularMDP

LEFT, RIGHT = 0, 1

# (stay, right) in state 0; (left, stay, right) between; (left, stay) in the last state.
_CURRENTS = {
    "osband": ((0.4, 0.6), (0.05, 0.6, 0.35), (0.4, 0.6)),
    "strehl": ((0.7, 0.3), (0.1, 0.6, 0.3), (0.7, 0.3)),
}


def river_swim(
    n: int = 6, *, variant: str = "osband", left_reward: float = 0.005, right_reward: float = 1.0
) -> TabularMDP:
    """River of n states: a small reward at the left bank, a large one upstream at the right bank.

    Parameters
    ----------
    n
        Number of states, at least 3; 6 is the classic.
    variant
        ``"osband"`` (Osband et al. 2013) or ``"strehl"`` (Strehl and Littman 2008): probabilities and start
        state.
    left_reward, right_reward
        Reward of left in the first state and of right in the last one.
    """
    n = _checks.whole("n of riverswim", n, 3)
    first, between, last = _CURRENTS[_checks.choice("variant of riverswim", variant, tuple(_CURRENTS))]
    require_rows(f"riverswim of {4 * n} transitions", 4 * n, n, 2)
    i = np.arange(n)
    moves = [np.stack([i, np.full(n, LEFT), np.maximum(i - 1, 0), np.ones(n)])]
    for step, p in zip((-1, 0, 1), between, strict=True):
        inner = np.arange(1, n - 1)
        moves.append(np.stack([inner, np.full(n - 2, RIGHT), inner + step, np.full(n - 2, p)]))
    moves.append(np.array([[0, 0], [RIGHT, RIGHT], [0, 1], first]))
    moves.append(np.array([[n - 1, n - 1], [RIGHT, RIGHT], [n - 2, n - 1], last]))
    state, action, successor, p = np.concatenate(moves, axis=1)
    mean = np.zeros((n, 2))
    mean[0, LEFT] = _checks.number("left_reward of riverswim", left_reward)
    mean[n - 1, RIGHT] = _checks.number("right_reward of riverswim", right_reward)
    start = np.zeros(n)
    start[[0] if variant == "osband" else [1, 2]] = 1.0
    mdp = TabularMDP.from_transitions(
        state,
        action,
        successor,
        p,
        mean,
        n_states=n,
        n_actions=2,
        start=start / start.sum(),
        action_names=("left", "right"),
    )
    return mdp.by_size()
