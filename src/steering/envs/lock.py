"""Combination lock: the right digits in a row open it, one wrong digit starts again.

State i = 0 .. n-1 says that i digits are right; state n is the open lock. Every digit is one of a actions, drawn from
`seed`; with probability `slip` a random action happens instead of the chosen one::

    right digit in i < n:   i -> i + 1      wrong digit:  i -> 0      reward 0
    open (state n):         n -> 0 whatever is done                   reward 1
    lure:                   in state 0 one wrong digit, when it is chosen, pays `lure`

A random policy opens it once in about a^n tries. With p = 1 - slip + slip / a, discount g and x = p g, entering the
code is worth V(0) = x^n / (1 - g x^n - g (1 - p) (1 - x^n) / (1 - x)) in the first state; taking the lure for ever is
worth lure / (1 - g), or a little more by slips.

Where sources differ: locks in the literature punish a wrong digit, have no way back, or have noise in the observation;
this one is the lock of our study (n = 6, a = 5, slip = 0.1, lure = 0.05).
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.errors import InvalidOption
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP


def combination_lock(n: int, a: int, *, slip: float = 0.0, lure: float = 0.0, seed: int = 0) -> TabularMDP:
    """Lock with n digits and a actions: only the right digits in a row pay.

    Parameters
    ----------
    n
        Number of digits, at least 1.
    a
        Number of actions, at least 1; of each digit one is right.
    slip
        Probability that a random action happens instead of the chosen one.
    lure
        Reward of one wrong action in the first state; needs at least two actions.
    seed
        Draws the digits.
    """
    n = _checks.whole("n of lock", n, 1)
    a = _checks.whole("a of lock", a, 1)
    chance = _checks.probability("slip of lock", slip)
    small = _checks.number("lure of lock", lure)
    if small and a == 1:
        raise InvalidOption("lure of lock is a wrong action, and with a = 1 there is none; use a of at least 2.")
    require_dense("lock", n + 1, a)
    seed = _checks.whole("seed of lock", seed, 0, 2**32 - 1)
    # The legacy generator, whose stream is frozen, so that a seed means the same lock for ever.
    digits = np.random.RandomState(seed).randint(a, size=n)
    i = np.arange(n)
    P = np.zeros((n + 1, a, n + 1))
    P[i, :, 0] = 1.0
    P[i, digits, 0] = 0.0
    P[i, digits, i + 1] = 1.0
    P = (1.0 - chance) * P + chance * P.mean(axis=1, keepdims=True)
    P[n, :, 0] = 1.0
    mean = np.zeros((n + 1, a))
    mean[n] = 1.0
    mean[0, (digits[0] + 1) % a] += small
    return TabularMDP(P=P, reward_mean=mean, state_names=(*(f"{k} right" for k in range(n)), "open"))
