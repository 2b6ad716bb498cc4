"""Maintenance: a machine wears, earns less and less, and breaks; repairs help a little, a new one helps for sure.

Condition s = 0 (new) .. n-1 (broken). With u(s) = w + 0.3 s / n, the wear w drawn from the seed, uniform on
[0.2, 0.5]::

    run       s -> s + 1 with probability u(s), else s   pays profit (1 - 0.9 (s / (n - 1))^2)
              broken: stays broken                       pays -profit
    repair    s -> max(s - 3, 0) with probability 0.8    pays -profit / 2
    replace   s -> 0                                     pays -2.5 profit

with noise of standard deviation `sigma`. Run until condition k, then replace, is worth V(0) = R / (1 - g X(k)), with
discount g, x(s) = g u(s) / (1 - g (1 - u(s))), X(s) = x(0) ... x(s - 1), and
R = sum_{s<k} X(s) r(s) / (1 - g (1 - u(s))) - 2.5 profit X(k).
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x3A1D
"""Keeps the draws of `maintenance` apart from other uses of the same seed."""

RUN, REPAIR, REPLACE = 0, 1, 2


def machine_maintenance(n: int = 12, *, profit: float = 10.0, sigma: float = 1.0, seed: int = 0) -> TabularMDP:
    """Machine with n conditions that is run, repaired or replaced.

    Parameters
    ----------
    n
        Number of conditions, at least 2.
    profit
        What a new machine earns in a step; costs are in proportion.
    sigma
        Standard deviation of every reward.
    seed
        Draws how fast the machine wears.
    """
    n = _checks.whole("n of maintenance", n, 2)
    scale = _checks.number("profit of maintenance", profit, above=0.0)
    noise = _checks.number("sigma of maintenance", sigma, least=0.0)
    seed = _checks.whole("seed of maintenance", seed, 0)
    require_dense("maintenance", n, 3)
    s = np.arange(n)
    worse = generator(seed, STREAM).uniform(0.2, 0.5) + 0.3 * s / n
    worse[-1] = 0.0
    P = np.zeros((n, 3, n))
    P[s, RUN, np.minimum(s + 1, n - 1)] = worse
    P[s, RUN, s] += 1.0 - worse
    P[s, REPAIR, np.maximum(s - 3, 0)] = 0.8
    P[s, REPAIR, s] += 0.2
    P[s, REPLACE, 0] = 1.0
    earned = 1.0 - 0.9 * (s / (n - 1)) ** 2
    earned[-1] = -1.0
    mean = scale * np.stack([earned, np.full(n, -0.5), np.full(n, -2.5)], axis=1)
    names = ("run", "repair", "replace")
    return TabularMDP(P=P, reward_mean=mean, reward_std=noise, action_names=names)
