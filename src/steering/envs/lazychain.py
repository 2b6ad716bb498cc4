"""LazyChain: every move costs, staying is free, and only the far right is worth the way (used by EUBRL, 2026).

States 0 .. 2c, start in the middle (state c), actions 0 (left), 1 (right), 2 (stay)::

    left, right:   one state on with probability 1 - p_error, else nothing moves    reward -1
    stay:          nothing moves                                                    reward 0
    in state 0 every action pays c - 1, in state 2c it pays 2c - 1; then back to the middle

A round to the left earns -c + (c - 1) = -1 without errors, so laziness beats it; a round to the right earns c - 1. With
discount g, e = p_error, x = g (1 - e) / (1 - g e), going right is worth, from the middle,

    V(c) = (x^c (2c - 1) - (1 - x^c) / (1 - g)) / (1 - g x^c)

where that is positive; else staying for ever is best. At discount 0.9 it is negative from c = 11 on, so the discount of
this environment is 0.999 unless another is given (published runs have 1000 c steps, c from 10 to 200).

Where sources may differ: a failed move stays where it is and costs 1 all the same.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

LEFT, RIGHT, STAY = 0, 1, 2


def lazy_chain(c: int, *, p_error: float = 0.0) -> TabularMDP:
    """Chain of 2c + 1 states in which moves cost and only the right end pays for the way.

    Parameters
    ----------
    c
        Moves from the middle to an end, at least 1.
    p_error
        Probability that a move fails.
    """
    c = _checks.whole("c of lazychain", c, 1)
    fail = _checks.probability("p_error of lazychain", p_error)
    n = 2 * c + 1
    require_dense("lazychain", n, 3)
    i = np.arange(1, n - 1)
    P = np.zeros((n, 3, n))
    P[i, LEFT, i - 1] = P[i, RIGHT, i + 1] = 1.0 - fail
    P[i, LEFT, i] = P[i, RIGHT, i] = fail
    P[i, STAY, i] = 1.0
    P[[0, n - 1], :, c] = 1.0
    mean = np.zeros((n, 3))
    mean[1:-1, :STAY] = -1.0
    mean[0], mean[-1] = c - 1.0, 2.0 * c - 1.0
    return TabularMDP(P=P, reward_mean=mean, start=c, action_names=("left", "right", "stay"))
