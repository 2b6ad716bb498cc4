"""Reservoir: water that is let out makes electricity; a full dam floods the valley, an empty one leaves it dry.

Level s = 0 .. n-1. Action a lets out y = min(a, s) units; then I = 0 .. 4 units flow in, with probabilities in
proportion to c^I, c drawn from the seed, uniform on [0.5, 1]; what goes beyond level n-1 runs over::

    s -> s' = min(s - y + I, n - 1)      reward   price sqrt(y) - flood [s' = n-1] - shortage [s' = 0]

with noise of standard deviation `sigma`. Electricity is worth less the more of it there is, so that an even flow earns
more than now and then a lot. With discount g and n > 5, letting out all that there is (at most 4) makes the level the
inflow: from s <= 4 it is worth price sqrt(s) + (g price E sqrt(I) - shortage P(I = 0)) / (1 - g).
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0xDA33
"""Keeps the draws of `reservoir` apart from other uses of the same seed."""

STORM = 4
"""Largest inflow of a step."""


def dam_reservoir(
    n: int = 20,
    *,
    release: int = 4,
    price: float = 10.0,
    flood: float = 50.0,
    shortage: float = 20.0,
    sigma: float = 1.0,
    seed: int = 0,
) -> TabularMDP:
    """Dam with n levels that lets out water for electricity, between flood and shortage.

    Parameters
    ----------
    n
        Number of levels, at least 3.
    release
        Most units that are let out in a step; there are release + 1 actions.
    price
        Income of the first unit of a step; y units pay its sqrt(y)-fold.
    flood, shortage
        Costs of coming to the highest level and to the lowest.
    sigma
        Standard deviation of every reward.
    seed
        Draws how much flows in.
    """
    n = _checks.whole("n of reservoir", n, 3)
    A = _checks.whole("release of reservoir", release, 1) + 1
    money = {"price": price, "flood": flood, "shortage": shortage}
    unit, over, dry = (_checks.number(f"{key} of reservoir", value, least=0.0) for key, value in money.items())
    noise = _checks.number("sigma of reservoir", sigma, least=0.0)
    seed = _checks.whole("seed of reservoir", seed, 0)
    require_dense("reservoir", n, A)
    chance = generator(seed, STREAM).uniform(0.5, 1.0) ** np.arange(STORM + 1)
    chance /= chance.sum()
    level = np.arange(n)
    filled = np.zeros((n, n))
    for inflow, probability in enumerate(chance):
        filled[level, np.minimum(level + inflow, n - 1)] += probability
    out = np.minimum(np.arange(A), level[:, None])
    harm = over * (level == n - 1) + dry * (level == 0)
    return TabularMDP(
        P=filled[level[:, None] - out],
        reward_mean=unit * np.sqrt(out)[..., None] - harm,
        reward_std=noise,
        start=n // 2,
        state_names=[f"level {s}" for s in range(n)],
        action_names=[f"let out {a}" for a in range(A)],
    )
