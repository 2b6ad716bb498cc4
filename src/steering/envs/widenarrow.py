"""WideNarrow: a deterministic cycle through wide states with many actions and narrow ones with a single
action.

States 0 .. 2n; state s moves to s + 1 whatever is done, the last one moves to 0. With i = 0 .. n-1::

    wide   state 2 i:      W actions     reward N(mu_h, sigma^2) or N(mu_l, sigma^2)
    narrow state 2 i + 1:  one action    reward N(mu_n, sigma^2)
    last   state 2 n:      one action    reward exactly 0

The dynamics are trivial; what must be learned is which of the W actions pay. The paper's text and the code
that it builds on disagree on that: in the code one action (number 0) has the high mean and the others the low
one (``odd="one-high"``, the default), in the text one has the low mean and the others the high one
(``odd="one-low"``).
"""

from __future__ import annotations

import numpy as np

from steering import _checks
from steering.mdp.sparse import require_dense
from steering.mdp.tabular import TabularMDP


def wide_narrow(
    n: int,
    w: int,
    *,
    mu_h: float = 0.5,
    mu_l: float = 0.0,
    mu_n: float | None = None,
    sigma: float = 1.0,
    odd: str = "one-high",
) -> TabularMDP:
    """Deterministic cycle of 2n + 1 states, W actions in the wide ones, of which some pay more.

    Parameters
    ----------
    n
        Number of wide (and of narrow) states, at least 1.
    w
        Number of actions W in a wide state, at least 1.
    mu_h, mu_l
        High and low mean reward of the actions of a wide state.
    mu_n
        Mean reward of the narrow states; `mu_h` by default, as in the paper's text.
    sigma
        Standard deviation of all rewards but the last state's, which pays exactly 0.
    odd
        ``"one-high"``: action 0 pays mu_h, the others mu_l; ``"one-low"``: action 0 pays mu_l, the others
        mu_h.
    """
    n = _checks.whole("n of widenarrow", n, 1)
    w = _checks.whole("w of widenarrow", w, 1)
    high = _checks.number("mu_h of widenarrow", mu_h)
    low = _checks.number("mu_l of widenarrow", mu_l)
    narrow = high if mu_n is None else _checks.number("mu_n of widenarrow", mu_n)
    noise = _checks.number("sigma of widenarrow", sigma, least=0.0)
    odd = _checks.choice("odd of widenarrow", odd, ("one-high", "one-low"))
    n_states = 2 * n + 1
    require_dense("widenarrow", n_states, w)
    s = np.arange(n_states)
    wide = (s % 2 == 0) & (s < 2 * n)
    mask = np.zeros((n_states, w), dtype=np.bool_)
    mask[:, 0] = True
    mask[wide] = True
    P = np.zeros((n_states, w, n_states))
    P[s, :, (s + 1) % n_states] = 1.0
    first, others = (high, low) if odd == "one-high" else (low, high)
    mean = np.full((n_states, w), others)
    mean[wide, 0] = first
    mean[~wide, 0] = narrow
    std = np.full(n_states, noise)
    mean[-1], std[-1] = 0.0, 0.0
    return TabularMDP(P=P, reward_mean=mean, reward_std=std, mask=mask)
