"""Seats of a flight: a low price fills them early, a high one leaves them empty, and no empty seat is worth anything.

State t (n + 1) + j: t = periods .. 0 periods are left to book one of j = 0 .. n seats. In a period one customer comes,
who buys with a probability d(price) of the price that is asked, drawn from the seed::

    price           low           middle        high
    pays            low           middle        high
    d uniform on    [0.8, 1.0]    [0.4, 0.7]    [0.05, 0.35]
    t > 0, j > 0    to t - 1 and j - 1 with probability d(price), which pays; else to t - 1 and j, pays 0
    t > 0, j = 0    to t - 1, pays 0
    t = 0           the flight leaves, whatever is done: to t = periods and j = n, pays 0

with noise of standard deviation `sigma`. With discount g, one price p for ever is worth
p d sum_{i < periods} g^i P(B(i, d) < n) / (1 - g^(periods + 1)) when booking begins, where B(i, d) is binomial.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x5EA7
"""Keeps the draws of `seats` apart from other uses of the same seed."""

DEMAND = np.array([[0.8, 0.4, 0.05], [1.0, 0.7, 0.35]])
"""Least and largest probabilities of a sale at the three prices."""


def flight_seats(
    n: int = 4,
    *,
    periods: int = 8,
    low: float = 10.0,
    middle: float = 30.0,
    high: float = 60.0,
    sigma: float = 1.0,
    seed: int = 0,
) -> TabularMDP:
    """Flight of n seats that are sold at a low, middle or high price, until it leaves and the next one is booked.

    Parameters
    ----------
    n
        Seats, at least 1; there are (periods + 1) (n + 1) states.
    periods
        Number of periods of booking, at least 1.
    low, middle, high
        The three prices.
    sigma
        Standard deviation of every reward.
    seed
        Draws the probabilities of a sale.
    """
    n = _checks.whole("n of seats", n, 1)
    T = _checks.whole("periods of seats", periods, 1)
    money = {"low": low, "middle": middle, "high": high}
    prices = [_checks.number(f"{key} of seats", value, least=0.0) for key, value in money.items()]
    noise = _checks.number("sigma of seats", sigma, least=0.0)
    seed = _checks.whole("seed of seats", seed, 0)
    S = (T + 1) * (n + 1)
    require_dense("seats", S, 3)
    sold = generator(seed, STREAM).uniform(*DEMAND)
    P = np.zeros((T + 1, n + 1, 3, T + 1, n + 1))
    mean = np.zeros_like(P)
    P[0, :, :, T, n] = 1.0
    t = np.arange(1, T + 1)
    P[t, 0, :, t - 1, 0] = 1.0
    for j in range(1, n + 1):
        P[t, j, :, t - 1, j] = 1.0 - sold
        P[t, j, :, t - 1, j - 1] = sold
        mean[t, j, :, t - 1, j - 1] = prices
    return TabularMDP(
        P=P.reshape(S, 3, S),
        reward_mean=mean.reshape(S, 3, S),
        reward_std=noise,
        start=S - 1,
        state_names=[f"{t} periods, {j} seats" for t in range(T + 1) for j in range(n + 1)],
        action_names=("low", "middle", "high"),
    )
