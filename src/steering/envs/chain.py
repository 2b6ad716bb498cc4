"""Chain: go forward for a large reward far away, or back for a small one at once (Strens 2000; Dearden et al. 1998).

States 0 .. n-1, start in 0, actions 0 (forward) and 1 (back). With probability `slip` the other one happens::

    forward from i:   i -> i + 1    reward 0;   in the last state it stays and pays `far`
    back from i:      i -> 0        reward `near`

With q = slip, p = 1 - q and discount g, going forward everywhere is worth
V(0) = (q near + p far (p g)^(n - 1)) / (1 - g) in the first state, and pays q near + p far p^(n - 1) a step: 3.677 for
the classic n = 5, slip = 0.2, rewards 2 and 10, which is the figure that the papers quote.

Where sources differ: Dearden et al. discount by 0.99 and count phases of 1000 steps; Strens counts undiscounted reward.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

FORWARD, BACK = 0, 1


def dearden_chain(n: int = 5, *, slip: float = 0.2, near: float = 2.0, far: float = 10.0) -> TabularMDP:
    """Chain of n states: a small reward for turning back, a large one for staying at the far end.

    Parameters
    ----------
    n
        Number of states, at least 2; 5 is the classic.
    slip
        Probability that the other action happens.
    near, far
        Reward of going back, and of going forward in the last state.
    """
    n = _checks.whole("n of chain", n, 2)
    q = _checks.probability("slip of chain", slip)
    small, large = _checks.number("near of chain", near), _checks.number("far of chain", far)
    require_dense("chain", n, 2)
    i = np.arange(n)
    ahead = np.minimum(i + 1, n - 1)
    P = np.zeros((n, 2, n))
    for action, luck in ((FORWARD, 1.0 - q), (BACK, q)):
        P[i, action, ahead] = luck
        P[i, action, 0] = 1.0 - luck
    mean = np.zeros((n, 2, n))
    mean[:, :, 0] = small
    mean[n - 1, :, n - 1] = large
    return TabularMDP(P=P, reward_mean=mean, action_names=("forward", "back"))
