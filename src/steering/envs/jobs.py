"""Jobs: a machine is offered jobs of different pay and length, and while it works on one it misses others.

State r (types + 1) + door: r = 0 .. n-1 steps of work are left of the job in progress (0: idle), and at the door is
nobody or a job of type 1, 2, ... Type k takes d(k) steps, uniform on 1 .. n, and pays w(k), uniform on [10, 60], both
drawn from the seed. Who comes next does not depend on anything: nobody with probability 0.4, all types alike::

    refuse   r -> max(r - 1, 0)     pays 0
    accept   r -> d(k) - 1          pays w(k) - abort r: what was in progress is given up, `abort` for each step left
             with nobody at the door the same as refuse

with noise of standard deviation `sigma`. With discount g, accepting the types of a set K when idle, and never aborting,
is worth V = sum_K c w(k) / (1 - g (1 - F) - sum_K c g^d(k)) before the offer is seen, where c is the probability of a
type and F that of the set.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.envs.grids import generator
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP

STREAM = 0x10B5
"""Keeps the draws of `jobs` apart from other uses of the same seed."""

NOBODY = 0.4
REFUSE, ACCEPT = 0, 1


def job_offers(n: int = 8, *, types: int = 4, abort: float = 10.0, sigma: float = 1.0, seed: int = 0) -> TabularMDP:
    """Machine for jobs of up to n steps, which are accepted or refused as they are offered.

    Parameters
    ----------
    n
        Steps of the longest job, at least 2; there are n (types + 1) states.
    types
        Number of types of jobs, at least 1.
    abort
        Cost of each step of work that is left of a job that is given up for another.
    sigma
        Standard deviation of every reward.
    seed
        Draws lengths and pay of the types.
    """
    n = _checks.whole("n of jobs", n, 2)
    kinds = _checks.whole("types of jobs", types, 1)
    cost = _checks.number("abort of jobs", abort, least=0.0)
    noise = _checks.number("sigma of jobs", sigma, least=0.0)
    seed = _checks.whole("seed of jobs", seed, 0)
    S = n * (kinds + 1)
    require_dense("jobs", S, 2)
    rng = generator(seed, STREAM)
    steps = rng.integers(1, n + 1, size=kinds)
    pay = rng.uniform(10.0, 60.0, size=kinds)
    door = np.append(NOBODY, np.full(kinds, (1.0 - NOBODY) / kinds))
    P = np.zeros((n, kinds + 1, 2, n, kinds + 1))
    mean = np.zeros((n, kinds + 1, 2))
    for r in range(n):
        P[r, :, REFUSE, max(r - 1, 0)] = door
        P[r, 0, ACCEPT, max(r - 1, 0)] = door
        P[r, np.arange(1, kinds + 1), ACCEPT, steps - 1] = door
        mean[r, 1:, ACCEPT] = pay - cost * r
    return TabularMDP(
        P=P.reshape(S, 2, S),
        reward_mean=mean.reshape(S, 2),
        reward_std=noise,
        state_names=[
            f"{r} left, {who}" for r in range(n) for who in ("nobody", *(f"type {k + 1}" for k in range(kinds)))
        ],
        action_names=("refuse", "accept"),
    )
