"""Compiled value iteration and its relatives, with bounds that hold (mathematics: `steering.mdp.planning`)."""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.planning import canonical_policy, optimality_backup
from steering._types import Bools, Floats, Ints


@jit
def greedy_start(P: Floats, r: Floats, mask: Bools, discount: float, max_sweeps: int) -> Ints:
    """Greedy policy (S,) after value-iteration sweeps from V = 0, until two in a row agree or `max_sweeps`.

    A good first policy for `policy_iteration`: a sweep costs S^2 A, the linear system that it may save S^3 /
    3.
    """
    S, A = r.shape
    V = np.zeros(S)
    W = np.empty(S)
    Q = np.empty((S, A))
    policy = np.full(S, -1, dtype=np.int64)
    before = policy.copy()
    for _ in range(max_sweeps):
        optimality_backup(P, r, mask, discount, V, Q, W)
        V, W = W, V
        canonical_policy(Q, policy, 0.0)
        moved = False  # written out: `np.array_equal` alone takes two seconds to compile
        for s in range(S):
            moved = moved or policy[s] != before[s]
            before[s] = policy[s]
        if not moved:
            break
    return policy


@jit
def geometric_bounds(low: float, high: float, discount: float, slack: float, first: int) -> tuple[float, float]:
    """Sums over k >= first (0 or 1) of (discount rho)^k low and high, worst rho in [1 - slack, 1 + slack].

    Returns
    -------
    up, down
        Upper bound of the sum for `high`, lower bound of the sum for `low`.
    """
    loose = discount * (1.0 + slack)
    tight = discount * (1.0 - slack)
    large = (loose if first == 1 else 1.0) / (1.0 - loose)
    small = (tight if first == 1 else 1.0) / (1.0 - tight)
    up = high * (large if high > 0.0 else small)
    down = low * (large if low < 0.0 else small)
    return up, down


@jit
def rounding_bound(S: int, scale: float, discount: float) -> float:
    """What rounding in one backup of values of size `scale` can add to a certified bound."""
    return 2.0 * (S + 4) * 1.1102230246251565e-16 * scale / (1.0 - discount)


@jit
def modified_policy_iteration(
    P: Floats,
    r: Floats,
    mask: Bools,
    discount: float,
    epsilon: float,
    relative: float,
    sweeps: int,
    max_iterations: int,
    slack: float,
    V: Floats,
) -> tuple[Floats, Floats, Ints, int, float]:
    """Value iteration with `sweeps` evaluations of the greedy policy after each improvement; certified.

    With l <= L V - V <= h, V* and the value of the greedy policy both lie in L V + [down, up], where
    down = l discount / (1 - discount) and up likewise (`geometric_bounds` with `slack`). Stops when up - down
    plus the bound on rounding is at most max(epsilon, relative max|V|), or when rounding keeps up - down from
    shrinking any further: each sweep adds at most that bound, so what is left of the span settles below twice the bound
    over 1 - discount. V is where to start (overwritten).

    Returns
    -------
    V, Q, policy, iterations, bound
        V = L V + (up + down) / 2; Q shifted alike; the greedy policy; rounds; up - down plus rounding.
    """
    S, A = r.shape
    W = np.empty(S)
    Q = np.empty((S, A))
    policy = np.zeros(S, dtype=np.int64)
    largest = np.abs(r).max()
    before = np.inf
    iterations = 0
    while True:
        iterations += 1
        rounding = rounding_bound(S, largest + np.abs(V).max(), discount)
        low, high = optimality_backup(P, r, mask, discount, V, Q, W)
        up, down = geometric_bounds(low, high, discount, slack, 1)
        canonical_policy(Q, policy, 0.0)
        # Moving V to the middle of the bounds changes no span; it keeps L V - V, and what slack adds, small.
        middle = 0.5 * (up + down)
        for s in range(S):
            V[s] = W[s] + middle
        width = up - down
        # Exact sweeps shrink the span every time; once rounding can matter, a width that does not shrink is noise.
        stuck = width <= 2.0 * rounding / (1.0 - discount) and width >= before
        before = width
        goal = max(epsilon, relative * np.abs(V).max())
        if width + rounding <= goal or stuck or iterations >= max_iterations:
            for s in range(S):
                for a in range(A):
                    Q[s, a] += middle
            return V, Q, policy, iterations, width + rounding
        for _ in range(sweeps):
            for s in range(S):
                a = policy[s]
                W[s] = r[s, a] + discount * np.dot(P[s, a], V)
            V, W = W, V
