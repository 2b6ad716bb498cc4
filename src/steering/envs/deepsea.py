"""DeepSea, the chain in which only sustained swimming to the right pays.

States i = 0 .. n-1, actions 0 (left) and 1 (right), start in state 0, d = 0.1 exp(-n / 4)::

    left  from i:  i -> max(i - 1, 0)                              reward N(0, d^2)
    right from i:  i -> i + 1            with probability 1 - 1/n  reward N(-d, d^2)
                   i -> max(i - 1, 0)    with probability 1/n      reward N(-d, d^2)
    right from n-1: success (1 - 1/n) returns to state 0           reward N(1, d^2)

*Dense* rewards use the same moves, but every successful right pays: N(1/n, d^2) before the last state and
N(1, d^2) in the last one, as before. So progress pays at once, and always swimming right stays optimal. (Paying
in proportion to the state, (i + 1) / n, would not keep that: next to the last state it is then better to turn
back and forth than to start again.)
"""

from __future__ import annotations

import math

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_rows
from steering.mdp.tabular import TabularMDP

LEFT, RIGHT = 0, 1


def deep_sea(n: int, *, reward: str = "sparse", delta: float | None = None) -> TabularMDP:
    """Chain of n states in which only swimming right all the way pays (the paper's main environment).

    Parameters
    ----------
    n
        Number of states, at least 3 (with two, a success and a failure of the last state would lead to the
        same state).
    reward
        ``"sparse"`` (the paper) or ``"dense"`` (every successful right pays at least 1/n).
    delta
        Cost of swimming right and standard deviation of every reward; ``0.1 exp(-n / 4)`` by default.
    """
    n = _checks.whole("n of deepsea", n, 3)
    reward = _checks.choice("reward of deepsea", reward, ("sparse", "dense"))
    d = 0.1 * math.exp(-n / 4) if delta is None else _checks.number("delta of deepsea", delta, least=0.0)
    require_rows(f"deepsea of {3 * n} transitions", 3 * n, n, 2)
    i = np.arange(n)
    back, ahead = np.maximum(i - 1, 0), (i + 1) % n
    pay = np.where(i == n - 1, 1.0, 1.0 / n if reward == "dense" else -d)
    mdp = TabularMDP.from_transitions(
        np.tile(i, 3),
        np.repeat([LEFT, RIGHT, RIGHT], n),
        np.concatenate([back, back, ahead]),
        np.repeat([1.0, 1.0 / n, 1.0 - 1.0 / n], n),
        np.concatenate([np.zeros(n), np.full(n, -d), pay]),
        n_states=n,
        n_actions=2,
        reward_std=d,
        action_names=("left", "right"),
    )
    return mdp.by_size()
