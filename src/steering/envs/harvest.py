"""Harvest: fish or wood grows by itself out of what is left of it; who takes all waits long for more.

Stock s = 0 .. n-1. A harvest takes h(s) of it and leaves y = s - h. A year is good with probability q; what is
left then grows logistically with rate c, in a bad year it stays as it is. Both are drawn from the seed, q uniform on
[0.4, 0.8] and c on [0.2, 0.8]::

    nothing, quarter, half, all    h = 0, s / 4, s / 2, s, rounded up      pays price h - cost [h > 0]
    y > 0    y -> up(y) = y + c y (1 - y / (n - 1)), rounded up, with probability q, else y
    y = 0    0 -> 1 with probability `recover`, else 0

with noise of standard deviation `sigma`. With discount g, x = g q / (1 - g (1 - q)) and z = g recover /
(1 - g (1 - recover)), taking all as soon as the stock is k or more is worth V(0) = w (price b - cost) / (1 - w) from an
empty stock, w = z x^m, where b = up(... up(1)) is the first of these stocks that is k or more and m the number of steps
to it. Half of a stock that regrows pays more: greed earns once, and then has to wait for 1 / recover years.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x4A2F
"""Keeps the draws of `harvest` apart from other uses of the same seed."""

QUARTERS = np.array([0, 1, 2, 4])
"""Of the stock that the actions take."""


def renewable_harvest(
    n: int = 20,
    *,
    price: float = 4.0,
    cost: float = 3.0,
    recover: float = 0.05,
    sigma: float = 1.0,
    seed: int = 0,
) -> TabularMDP:
    """Stock of up to n - 1 units that grows by itself and is harvested.

    Parameters
    ----------
    n
        Number of stocks, at least 2.
    price, cost
        Income of a unit, and cost of a harvest of whatever size.
    recover
        Probability that an empty stock has a unit again after a step.
    sigma
        Standard deviation of every reward.
    seed
        Draws the probability of a good year and the rate of growth.
    """
    n = _checks.whole("n of harvest", n, 2)
    unit, fixed = (_checks.number(f"{k} of harvest", v, least=0.0) for k, v in (("price", price), ("cost", cost)))
    again = _checks.probability("recover of harvest", recover)
    noise = _checks.number("sigma of harvest", sigma, least=0.0)
    seed = _checks.whole("seed of harvest", seed, 0)
    require_dense("harvest", n, 4)
    good, rate = generator(seed, STREAM).uniform((0.4, 0.2), (0.8, 0.8))
    y = np.arange(n)
    grown = y + np.ceil(rate * y * (n - 1 - y) / (n - 1)).astype(int)
    years = np.zeros((n, n))
    years[y, grown] = good
    years[y, y] += 1.0 - good
    years[0, :2] = 1.0 - again, again
    taken = -(-y[:, None] * QUARTERS // 4)
    return TabularMDP(
        P=years[y[:, None] - taken],
        reward_mean=unit * taken - fixed * (taken > 0),
        reward_std=noise,
        start=n - 1,
        state_names=[f"stock {s}" for s in range(n)],
        action_names=("nothing", "quarter", "half", "all"),
    )
