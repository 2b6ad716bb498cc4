"""Car rental: two places, and cars that are moved overnight to where they will be asked for (Sutton & Barto, ex. 4.2).

State i (n + 1) + j: i and j of up to n cars stand at the two places. Action a moves a - moves cars from the first to
the second, as far as there are cars and room, for `cost` each. Then Poisson numbers of cars are asked for at each
place, 10 is earned for each that is there, and Poisson numbers come back (what does not fit is sent away). Mean
requests and returns of the two places are drawn from the seed, uniform on [1, 4]. Rewards are the mean earnings less
the cost of moving, with noise of standard deviation `sigma`.

Where sources differ: the book has up to 20 cars a place, moves up to 5, discount 0.9 and means 3, 4 (requests), 3, 2
(returns).
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering._types import Floats
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0xCA12
"""Keeps the draws of `rental` apart from other uses of the same seed."""

EARNED = 10.0


def car_rental(n: int = 5, *, moves: int = 2, cost: float = 2.0, sigma: float = 1.0, seed: int = 0) -> TabularMDP:
    """Two car rentals with room for n cars each, and cars that are moved overnight.

    Parameters
    ----------
    n
        Room at each place, at least 1; there are (n + 1)^2 states.
    moves
        Most cars that are moved; there are 2 moves + 1 actions.
    cost
        Cost of moving a car.
    sigma
        Standard deviation of every reward.
    seed
        Draws mean requests and returns.
    """
    n = _checks.whole("n of rental", n, 1)
    most = _checks.whole("moves of rental", moves, 0)
    each = _checks.number("cost of rental", cost, least=0.0)
    noise = _checks.number("sigma of rental", sigma, least=0.0)
    seed = _checks.whole("seed of rental", seed, 0)
    S, A = (n + 1) ** 2, 2 * most + 1
    require_dense("rental", S, A)
    rates = generator(seed, STREAM).uniform(1.0, 4.0, size=(2, 2))
    (first, earned), (second, more) = (_place(n, *rates[k]) for k in range(2))
    i, j = np.divmod(np.arange(S)[:, None], n + 1)
    asked = np.arange(A) - most
    moved = np.clip(asked, np.maximum(-j, i - n), np.minimum(i, n - j))
    a, b = i - moved, j + moved
    P = (first[a][..., :, None] * second[b][..., None, :]).reshape(S, A, S)
    mean = earned[a] + more[b] - each * np.abs(moved)
    names = [f"move {k}" for k in range(-most, most + 1)]
    return TabularMDP(P=P, reward_mean=mean, reward_std=noise, start=S - 1, action_names=names)


def _place(n: int, requests: float, returns: float) -> tuple[Floats, Floats]:
    """Cars in the evening (n + 1, n + 1) and mean earnings (n + 1,) of one place, by the cars in the morning."""
    from scipy import stats  # it takes longer to import than the rest of the package

    counts = np.arange(n + 1)
    asked = stats.poisson.pmf(counts, requests)
    back = stats.poisson.pmf(counts, returns)
    rows = np.zeros((n + 1, n + 1))
    earned = np.zeros(n + 1)
    for cars in counts:
        rented = np.append(asked[:cars], 1.0 - asked[:cars].sum())  # all of them, where as many or more were asked for
        earned[cars] = EARNED * rented @ np.arange(cars + 1)
        for gone, chance in enumerate(rented):
            left = cars - gone
            rows[cars, left:n] += chance * back[: n - left]
            rows[cars, n] += chance * (1.0 - back[: n - left].sum())
    return rows, earned
