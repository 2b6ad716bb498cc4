"""Admission to a queue: take the customer who is there, or keep the place for one who pays more?

A state is the number i = 0 .. n of customers in the house and who stands at the door: nobody, one who pays `low` or
one who pays `high`; state 3 i + door. Taken customers stay until they are served, one in a step with probability m,
drawn from the seed, uniform on [0.3, 0.5]; each costs `hold` a step. Who comes next does not depend on anything: nobody
with probability 0.4, `low` 0.4, `high` 0.2::

    refuse   i stays                                  reward -hold i
    take     i + 1 where there is somebody and room   reward what is paid - hold (i + 1)
    then one of the customers in the house is served with probability m

with noise of standard deviation `sigma`. If everybody was served at once (m = 1) and customers cost nothing, taking all
would be worth (0.4 low + 0.2 high) g / (1 - g) from an empty house, and is best.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0xAD31
"""Keeps the draws of `admission` apart from other uses of the same seed."""

DOOR = np.array([0.4, 0.4, 0.2])
REFUSE, TAKE = 0, 1


def admission_control(
    n: int = 6,
    *,
    low: float = 5.0,
    high: float = 30.0,
    hold: float = 1.0,
    service: float | None = None,
    sigma: float = 1.0,
    seed: int = 0,
) -> TabularMDP:
    """Queue with room for n customers of two kinds, who are taken or refused.

    Parameters
    ----------
    n
        Room, at least 1; there are 3 (n + 1) states.
    low, high
        What customers of the two kinds pay.
    hold
        Cost of a customer in the house for a step.
    service
        Probability m of a service in a step; none draws it from the seed.
    sigma
        Standard deviation of every reward.
    seed
        Draws the probability of a service.
    """
    n = _checks.whole("n of admission", n, 1)
    pays = (0.0, _checks.number("low of admission", low), _checks.number("high of admission", high))
    cost = _checks.number("hold of admission", hold, least=0.0)
    noise = _checks.number("sigma of admission", sigma, least=0.0)
    seed = _checks.whole("seed of admission", seed, 0)
    drawn = float(generator(seed, STREAM).uniform(0.3, 0.5))
    m = drawn if service is None else _checks.probability("service of admission", service)
    S = 3 * (n + 1)
    require_dense("admission", S, 2)
    P = np.zeros((S, 2, n + 1, 3))
    mean = np.zeros((S, 2))
    for s in range(S):
        i, door = divmod(s, 3)
        for action in (REFUSE, TAKE):
            taken = int(action == TAKE and door > 0 and i < n)
            inside = i + taken
            P[s, action, inside] += (1.0 - m if inside else 1.0) * DOOR
            P[s, action, max(inside - 1, 0)] += (m if inside else 0.0) * DOOR
            mean[s, action] = taken * pays[door] - cost * inside
    return TabularMDP(
        P=P.reshape(S, 2, S),
        reward_mean=mean,
        reward_std=noise,
        state_names=[f"{i} in, {who}" for i in range(n + 1) for who in ("nobody", "low", "high")],
        action_names=("refuse", "take"),
    )
