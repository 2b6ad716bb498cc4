"""Loop: several loops meet in one state, and the best of them forgives no mistake (Dearden et al. 1998; Strens 2000).

State 0 belongs to all loops; loop j has `length` - 1 states of its own. In state 0 action j enters loop j. In the loops
0 .. l-2 every action goes on, and closing the loop pays `near`. In the last loop only its own action l - 1 goes on,
every other leads back to state 0 for nothing; closing it pays `far`. There is no chance in it. With discount g the last
loop is worth V(0) = far g^(length - 1) / (1 - g^length), far / length a step.

The classic has l = 2 loops of 5 states (9 states) with rewards 1 and 2. Where sources differ: others have more loops,
of which one pays; that is ``loop:L,near=0``.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP


def dearden_loop(l: int = 2, *, length: int = 5, near: float = 1.0, far: float = 2.0) -> TabularMDP:  # noqa: E741
    """Loops through one state: all but the last close by themselves and pay little.

    Parameters
    ----------
    l
        Number of loops and of actions, at least 1; 2 is the classic.
    length
        Steps around a loop, at least 2.
    near, far
        Reward of closing one of the first loops, and of closing the last one.
    """
    loops = _checks.whole("l of loop", l, 1)
    length = _checks.whole("length of loop", length, 2)
    small, large = _checks.number("near of loop", near), _checks.number("far of loop", far)
    own = length - 1
    n_states = loops * own + 1
    require_dense("loop", n_states, loops)
    j, k = (index.ravel() for index in np.indices((loops, own)))
    s = 1 + j * own + k
    following = np.where(k == own - 1, 0, s + 1)
    P = np.zeros((n_states, loops, n_states))
    mean = np.zeros((n_states, loops))
    P[0, np.arange(loops), 1 + np.arange(loops) * own] = 1.0
    for action in range(loops):
        on = (j < loops - 1) | (action == loops - 1)
        P[s, action, np.where(on, following, 0)] = 1.0
        closes = on & (k == own - 1)
        mean[s[closes], action] = np.where(j[closes] == loops - 1, large, small)
    names = ("start", *(f"loop {a}, step {b}" for a, b in zip(j, k + 1, strict=True)))
    return TabularMDP(P=P, reward_mean=mean, state_names=names)
