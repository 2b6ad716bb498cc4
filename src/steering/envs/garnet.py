"""Garnet: random MDPs with few successors (Archibald, McKinnon & Thomas 1995).

Every pair (s, a) has B different successors, drawn uniformly; their probabilities are the lengths of the B parts into
which B - 1 uniform points cut [0, 1]. A share `pays` of the pairs has a mean reward uniform on [0, 1), the others 0.
With costs, less an exponential cost of mean `cost`; `traps` pairs pay -`trap` instead.
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering._types import Ints
from steering.envs.grids import generator
from steering.errors import InvalidOption
from steering.mdp.sparse import require_rows
from steering.mdp.tabular import TabularMDP

STREAM = 0x6A27
"""Keeps the draws of `garnet` apart from other uses of the same seed."""


def garnet(
    n_states: int,
    n_actions: int,
    branches: int,
    *,
    seed: int = 0,
    pays: float = 0.1,
    sigma: float = 0.0,
    cost: float = 0.0,
    traps: int = 0,
    trap: float = 20.0,
) -> TabularMDP:
    """Random MDP in which every action of every state leads to one of a few states.

    Parameters
    ----------
    n_states, n_actions
        Sizes S and A, each at least 1.
    branches
        Successors of every pair (s, a), from 1 to S.
    seed
        Fixes the MDP.
    pays
        Share of the pairs that pay; at least one does.
    sigma
        Standard deviation of every reward.
    cost
        Mean of the exponential cost of every pair.
    traps, trap
        Number of pairs that are traps, and what one costs.
    """
    S = _checks.whole("n_states of garnet", n_states, 1)
    A = _checks.whole("n_actions of garnet", n_actions, 1)
    B = _checks.whole("branches of garnet", branches, 1, S)
    seed = _checks.whole("seed of garnet", seed, 0)
    share = _checks.number("pays of garnet", pays, least=0.0)
    if share > 1:
        raise InvalidOption(f"pays of garnet is {share:g}; it must be from 0 to 1.")
    noise = _checks.number("sigma of garnet", sigma, least=0.0)
    mean_cost = _checks.number("cost of garnet", cost, least=0.0)
    n_traps = _checks.whole("traps of garnet", traps, 0, S * A)
    trap_cost = _checks.number("trap of garnet", trap)
    require_rows(f"a garnet of {S * A * B} transitions", S * A * B, S, A)
    rng = generator(seed, STREAM)
    successors = np.sort(_different(rng, S * A, S, B), axis=1)
    cuts = np.sort(rng.random((S * A, B - 1)), axis=1)
    p = np.diff(cuts, axis=1, prepend=0.0, append=1.0)
    mean = np.zeros(S * A)
    chosen = rng.permutation(S * A)[: max(1, round(share * S * A))]
    mean[chosen] = rng.random(chosen.size)
    # Drawn last, so that a seed without costs means the same MDP as ever.
    if mean_cost > 0:
        mean -= rng.exponential(mean_cost, S * A)
    mean[rng.permutation(S * A)[:n_traps]] = -trap_cost
    rows = np.repeat(np.arange(S * A), B)
    mdp = TabularMDP.from_transitions(
        rows // A,
        rows % A,
        successors.ravel(),
        p.ravel(),
        mean.reshape(S, A),
        n_states=S,
        n_actions=A,
        reward_std=noise,
    )
    return mdp.by_size()


def _different(rng: np.random.Generator, rows: int, n: int, k: int) -> Ints:
    """k different numbers below n in each row, every subset equally likely (Floyd's algorithm, all rows at once)."""
    chosen = np.empty((rows, k), dtype=np.int64)
    for i, last in enumerate(range(n - k, n)):
        drawn = rng.integers(0, last + 1, size=rows)
        taken = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, last, drawn)
    return chosen
