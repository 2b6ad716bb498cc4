"""Patience: a prize grows while it is left alone and may be lost at any moment; a small sure income lures.

Age s = 0 .. n-1 of the prize. The risk q of a loss is drawn from the seed, uniform on [0.01, 0.05]::

    wait    s -> min(s + 1, n - 1), but with probability q all is lost: s -> 0     pays 0
    cash    s -> 0                                              pays prize (s / (n - 1))^3, in state 0 `lure`

with noise of standard deviation `sigma`. With discount g and x = g (1 - q), waiting until age k and cashing then is
worth V(0) = x^k c(k) / (1 - g x^k - g q (1 - x^k) / (1 - x)), c(k) the prize of that age; the lure for ever is worth
lure / (1 - g). Nearly all of the prize comes at the end: half of the way is an eighth of it.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x9A71
"""Keeps the draws of `patience` apart from other uses of the same seed."""

WAIT, CASH = 0, 1


def growing_prize(
    n: int = 15, *, prize: float = 30.0, lure: float = 0.3, sigma: float = 0.5, seed: int = 0
) -> TabularMDP:
    """Prize of n ages: wait for more of it and risk all, or cash in.

    Parameters
    ----------
    n
        Number of ages, at least 2.
    prize, lure
        What the oldest and the youngest prize pay.
    sigma
        Standard deviation of every reward.
    seed
        Draws the risk of a loss.
    """
    n = _checks.whole("n of patience", n, 2)
    full, small = _checks.number("prize of patience", prize), _checks.number("lure of patience", lure)
    noise = _checks.number("sigma of patience", sigma, least=0.0)
    seed = _checks.whole("seed of patience", seed, 0)
    require_dense("patience", n, 2)
    lost = generator(seed, STREAM).uniform(0.01, 0.05)
    s = np.arange(n)
    P = np.zeros((n, 2, n))
    P[s, WAIT, np.minimum(s + 1, n - 1)] = 1.0 - lost
    P[s, WAIT, 0] += lost
    P[s, CASH, 0] = 1.0
    mean = np.zeros((n, 2))
    mean[:, CASH] = full * (s / (n - 1)) ** 3
    mean[0, CASH] = small
    return TabularMDP(P=P, reward_mean=mean, reward_std=noise, action_names=("wait", "cash"))
