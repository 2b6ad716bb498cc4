"""Control of a queue: how fast to serve, when speed costs and waiting customers cost too.

Customers s = 0 .. n-1 (full: an arrival is lost). In a step one arrives with probability p, drawn from the seed,
uniform on [0.25, 0.4], and, if there is one, is served with probability m of the chosen speed, independently::

    speed      0    1    2
    m         0.2  0.5  0.8      reward   -cost(speed) - hold s,   costs 0, 1, 3
    up   p (1 - m),  down   m (1 - p)

with noise of standard deviation `sigma`. Under one speed for ever, with up = p (1 - m), down = m (1 - p), the number of
customers is a birth and death chain: pi(0) : pi(1) : pi(s + 1) = 1 : p / down : pi(s) up / down.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x0E0E
"""Keeps the draws of `queue` apart from other uses of the same seed."""

SPEEDS = (0.2, 0.5, 0.8)
COSTS = (0.0, 1.0, 3.0)


def service_queue(n: int = 15, *, hold: float = 1.0, sigma: float = 1.0, seed: int = 0) -> TabularMDP:
    """Queue with up to n - 1 customers that is served at one of three speeds.

    Parameters
    ----------
    n
        Number of states, at least 2.
    hold
        Cost of a customer for a step.
    sigma
        Standard deviation of every reward.
    seed
        Draws the probability of an arrival.
    """
    n = _checks.whole("n of queue", n, 2)
    waiting = _checks.number("hold of queue", hold, least=0.0)
    noise = _checks.number("sigma of queue", sigma, least=0.0)
    seed = _checks.whole("seed of queue", seed, 0)
    require_dense("queue", n, len(SPEEDS))
    arrives = generator(seed, STREAM).uniform(0.25, 0.4)
    s = np.arange(n)
    P = np.zeros((n, len(SPEEDS), n))
    for action, speed in enumerate(SPEEDS):
        served = np.where(s > 0, speed, 0.0)
        up, down = arrives * (1.0 - served), served * (1.0 - arrives)
        P[s, action, np.minimum(s + 1, n - 1)] += up
        P[s, action, np.maximum(s - 1, 0)] += down
        P[s, action, s] += 1.0 - up - down
    mean = -np.array(COSTS) - waiting * s[:, None]
    return TabularMDP(P=P, reward_mean=mean, reward_std=noise, action_names=("slow", "medium", "fast"))
