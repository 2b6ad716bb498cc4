r"""Values to rounding on grouped rows: policy iteration by linear systems, up to a thousand states or so.

The chain of a policy is P = E + b 1', with E the excess at the outcomes listed and b the probability of every other
one, so that with A = I - discount E

    V = x + discount (1'V) y,     x = A^-1 c,  y = A^-1 b,     1'V = 1'x / (1 - discount 1'y),

one sparse factorisation for both; where rows list many outcomes, or are related, the system is dense. Sweeps are no
match where values are compared that differ little: their error shrinks by the discount at each.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from steering._compiled import grouped_planning
from steering._types import Bools, Floats, Ints
from steering.beliefs import GroupedRows

SYSTEM = 1024
"""States of a system that is solved at once: 8 MB and 20 ms if it is dense."""
SHORT = 4
"""Outcomes listed in a row on average up to which the system is sparse: on grids; random rows fill a factorisation."""
START_SWEEPS = 20
"""Improvements by sweeps, at most."""
LONG = 32
"""Outcomes listed in a row on average from which on sweeps cost more than systems."""
START = 1e-2
"""Relative accuracy of the values by sweeps whose policy is the second one."""


def chain_values(P: GroupedRows, local: Floats, policy: Ints, discount: float) -> Floats:
    """Values (S,) of a policy with rewards by row (S A,)."""
    start, length, heads, excess, base = P.arrays[:5]
    S, A, _ = P.shape
    rows = np.arange(S) * A + policy
    many = length[rows].astype(np.int64)
    if P.related or many.sum() > SHORT * S:
        V = np.empty(S)
        grouped_planning.chain_values(P.arrays, local, discount, policy, A, V)
        return V
    offsets = np.concatenate([[0], np.cumsum(many)])
    places = np.arange(offsets[-1]) + np.repeat(start[rows] - offsets[:-1], many)
    E = sparse.csr_array((excess[places], heads[places], offsets), shape=(S, S))
    factors = splu(sparse.csc_array(sparse.eye_array(S, format="csr") - discount * E))
    x, y = factors.solve(np.stack([local[rows], base[rows]], axis=1)).T
    total = x.sum() / (1.0 - discount * y.sum())
    values: Floats = x + discount * total * y
    return values


def policy_iteration(
    P: GroupedRows, local: Floats, mask: Bools, discount: float, policy: Ints, max_iterations: int
) -> tuple[Floats, Floats]:
    """Make a policy (S,) optimal by Howard's rule, in place; V and Q."""
    Q = np.empty(mask.shape)
    policy[:] = np.where(mask[np.arange(policy.size), policy], policy, mask.argmax(axis=1))
    for made in range(max_iterations):
        V = chain_values(P, local, policy, discount)
        if grouped_planning.howard(P.arrays, local, mask, discount, V, policy, Q):
            break
        # A policy of another model needs many rounds; on rows that are not long, rough sweeps are cheaper than those.
        if made == 0 and P.arrays[1].mean() <= LONG:
            grouped_planning.solve(P.arrays, local, mask, discount, V.copy(), policy, START, START_SWEEPS)
    return V, Q
