"""Selling: offers come and go, good ones are rare, and who sells has to find something new to sell.

State i = 0 .. n-1: an offer of low + (high - low) i / (n - 1) is on the table; offer i comes with a probability in
proportion to c^i, c drawn from the seed, uniform on [0.5, 0.8]. State n: nothing to sell::

    refuse   a new offer comes, whatever it is      pays -wait
    accept   to state n                             pays the offer
    in state n whatever is done: with probability 0.25 an offer comes, else nothing happens; pays 0

with noise of standard deviation `sigma`. With discount g, accepting offers from i on, which have probability F and mean
m, is worth V = (-wait (1 - F) + F (m + g W)) / (1 - g (1 - F)) before an offer is seen, with W = 0.25 g V /
(1 - 0.75 g) from state n: V = (F m - wait (1 - F)) / (1 - g (1 - F) - F g 0.25 g / (1 - 0.75 g)).
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x5E11
"""Keeps the draws of `selling` apart from other uses of the same seed."""

FOUND = 0.25
REFUSE, ACCEPT = 0, 1


def offer_selling(
    n: int = 10, *, low: float = 5.0, high: float = 50.0, wait: float = 1.0, sigma: float = 1.0, seed: int = 0
) -> TabularMDP:
    """Thing with n possible offers, of which good ones are rare.

    Parameters
    ----------
    n
        Number of offers, at least 2; there are n + 1 states.
    low, high
        Least and largest offer.
    wait
        Cost of refusing.
    sigma
        Standard deviation of every reward.
    seed
        Draws how rare good offers are.
    """
    n = _checks.whole("n of selling", n, 2)
    least, most = _checks.number("low of selling", low), _checks.number("high of selling", high)
    cost = _checks.number("wait of selling", wait, least=0.0)
    noise = _checks.number("sigma of selling", sigma, least=0.0)
    seed = _checks.whole("seed of selling", seed, 0)
    require_dense("selling", n + 1, 2)
    chance = generator(seed, STREAM).uniform(0.5, 0.8) ** np.arange(n)
    chance /= chance.sum()
    P = np.zeros((n + 1, 2, n + 1))
    P[:n, REFUSE, :n] = chance
    P[:n, ACCEPT, n] = 1.0
    P[n, :, :n] = FOUND * chance
    P[n, :, n] = 1.0 - FOUND
    mean = np.zeros((n + 1, 2))
    mean[:n, REFUSE] = -cost
    mean[:n, ACCEPT] = np.linspace(least, most, n)
    names = (*(f"offer {x:g}" for x in np.linspace(least, most, n)), "nothing to sell")
    return TabularMDP(
        P=P, reward_mean=mean, reward_std=noise, start=n, state_names=names, action_names=("refuse", "accept")
    )
