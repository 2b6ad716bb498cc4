"""Stock keeping: order too much and it lies around, order too little and customers go (lost sales).

Stock s = 0 .. n. Action a orders a lot of ``a * lot`` pieces, as many as still fit in; they come at once, so that
y = min(s + a lot, n) pieces meet the demand D, a Poisson number. What is not in stock is not sold::

    s -> s' = max(y - D, 0)      reward   price (y - s') - unit (y - s) - fixed [y > s] - hold y

with noise of standard deviation `sigma`. The mean demand is drawn from the seed, uniform on [0.15, 0.3] n.

With ``fixed=0`` and ``lot=1`` a base stock is best: order up to the least y with
P(D <= y) >= (price - unit - hold) / (price - g unit), where g is the discount and orders are large enough.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x1A7E
"""Keeps the draws of `inventory` apart from other uses of the same seed."""


def stock_keeping(
    n: int = 20,
    *,
    orders: int = 6,
    lot: int = 3,
    price: float = 8.0,
    unit: float = 3.0,
    fixed: float = 4.0,
    hold: float = 0.5,
    sigma: float = 1.0,
    seed: int = 0,
) -> TabularMDP:
    """Shop with room for n pieces that orders for a demand that is not known.

    Parameters
    ----------
    n
        Room, at least 1; there are n + 1 states.
    orders, lot
        Number of actions 0, 1, ..., and pieces that an action orders for each unit of its number.
    price, unit, fixed, hold
        Income of a sale; costs of a piece, of an order, and of a piece in stock for a step.
    sigma
        Standard deviation of every reward.
    seed
        Draws the mean demand.
    """
    from scipy import stats  # it takes longer to import than the rest of the package

    n = _checks.whole("n of inventory", n, 1)
    A = _checks.whole("orders of inventory", orders, 1)
    size = _checks.whole("lot of inventory", lot, 1)
    money = {"price": price, "unit": unit, "fixed": fixed, "hold": hold}
    p, c, f, h = (_checks.number(f"{key} of inventory", value, least=0.0) for key, value in money.items())
    noise = _checks.number("sigma of inventory", sigma, least=0.0)
    seed = _checks.whole("seed of inventory", seed, 0)
    require_dense("inventory", n + 1, A)
    chance = stats.poisson.pmf(np.arange(n + 1), generator(seed, STREAM).uniform(0.15, 0.3) * n)
    stock = np.arange(n + 1)
    level = np.minimum(stock[:, None] + size * np.arange(A), n)
    sold = level[..., None] - stock
    P = np.where(sold >= 0, chance[np.maximum(sold, 0)], 0.0)
    P[..., 0] = 0.0
    P[..., 0] = 1.0 - P.sum(axis=-1)
    bought = level - stock[:, None]
    mean = np.maximum(p * sold, 0.0) - (c * bought + f * (bought > 0) + h * level)[..., None]
    return TabularMDP(P=P, reward_mean=mean, reward_std=noise, action_names=[f"order {size * a}" for a in range(A)])
