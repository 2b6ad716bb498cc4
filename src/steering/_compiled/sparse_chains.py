"""Compiled functions of a Markov chain in sparse rows: linear systems, stationary distribution, expected curve.

Systems are x = c + discount M x with M >= 0, the matrix of a chain or its transpose, solved by Gauss-Seidel sweeps in a
given order with a jump along the slowest mode every few sweeps (`steering._compiled.sparse_planning`).
"""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.planning import copy_values
from steering._compiled.sparse_planning import CYCLE, _jump

SETTLED = 4.44e-16
"""Changes to come that add up to no more than this, relative to the largest entry, end the iteration."""

NOTHING = 1e-30
"""Probability of a state that is not worth following; numbers that underflow would be slow besides."""

FLAT = 1e-13
"""Total variation that is left when a curve counts as flat; its error is this times the largest reward."""

NOISE = 3.6e-15
"""A change of at most this size that does not shrink any more is rounding."""


@jit
def sweep(rows, c, discount, x, order):
    """One Gauss-Seidel sweep of x = c + discount M x, in place; returns the largest change."""
    offsets, columns, values = rows
    change = 0.0
    for i in range(order.shape[0]):
        s = order[i]
        total = 0.0
        own = 0.0
        for k in range(offsets[s], offsets[s + 1]):
            if columns[k] == s:
                own = values[k]
            else:
                total += values[k] * x[columns[k]]
        fresh = (c[s] + discount * total) / (1.0 - discount * own)
        change = max(change, abs(fresh - x[s]))
        x[s] = fresh
    return change


@jit
def _settled(change, before, size):
    """Whether the sum of all changes to come is below rounding, or rounding is all that is left.

    Over a cycle of sweeps the change went from `before` to `change`, by a factor rho a sweep: what is to come is
    change rho / (1 - rho).
    """
    if change == 0.0:
        return True
    if not np.isfinite(before):
        return False
    if change >= before:
        return change <= NOISE * size
    rho = (change / before) ** (1.0 / CYCLE)
    return change * rho <= SETTLED * size * (1.0 - rho)


@jit
def solve_by_sweeps(rows, c, discount, x, order, max_sweeps):
    """Iterate `sweep` from x (overwritten) until nothing changes; returns whether it came to that."""
    scratch = np.empty((2, x.shape[0]))
    before = np.inf
    for made in range(max_sweeps):
        place = made % CYCLE - (CYCLE - 2)
        if place >= 0:
            copy_values(x, scratch[place])
        change = sweep(rows, c, discount, x, order)
        if place == 1 or change == 0.0:
            if _settled(change, before, np.abs(x).max()):
                return True
            before = change
            _jump(x, scratch)
    return False


@jit
def stationary_by_sweeps(rows, x, order, max_sweeps):
    """Stationary distribution x = M x of an irreducible chain, M its transposed rows; normalised after each sweep."""
    zero = np.zeros(x.shape[0])
    scratch = np.empty((2, x.shape[0]))
    before = np.inf
    for made in range(max_sweeps):
        place = made % CYCLE - (CYCLE - 2)
        if place >= 0:
            copy_values(x, scratch[place])
        change = sweep(rows, zero, 1.0, x, order)
        x /= x.sum()
        if place == 1 or change == 0.0:
            if _settled(change, before, x.max()):
                return True
            before = change
            _jump(x, scratch)
            copy_values(np.maximum(x, 0.0), x)
            x /= x.sum()
    return False


@jit
def expected_curve(rows, r, mu, steps):
    """Expected reward mu P^t r of a chain at each of the first steps; mu is overwritten.

    Weights below `NOTHING` are not passed on. Once all changes to come add up to less than `FLAT`, the curve is flat.
    """
    offsets, columns, values = rows
    S = mu.shape[0]
    curve = np.empty(steps)
    after = np.empty(S)
    before = np.inf
    for t in range(steps):
        total = 0.0
        for s in range(S):
            total += mu[s] * r[s]
            after[s] = 0.0
        curve[t] = total
        for s in range(S):
            weight = mu[s]
            if weight > NOTHING:
                for k in range(offsets[s], offsets[s + 1]):
                    after[columns[k]] += weight * values[k]
        if t % 64 == 63:
            moved = 0.0
            for s in range(S):
                moved += abs(after[s] - mu[s])
            rho = (moved / before) ** (1.0 / 64)
            if moved <= FLAT * (1.0 - rho) or (moved >= before and moved <= FLAT):
                curve[t + 1 :] = total
                break
            before = moved
        mu, after = after, mu
    return curve


@jit
def backward_induction(rows, r, mask, horizon, discount, tie):
    """Optimal values over a finite horizon on sparse rows (see `steering._compiled.planning.backward_induction`)."""
    offsets, successors, p = rows
    S, A = r.shape
    V = np.zeros((horizon + 1, S))
    Q = np.empty((horizon, S, A))
    policy = np.zeros((horizon, S), dtype=np.int64)
    scale = 0.0
    for h in range(horizon - 1, -1, -1):
        for s in range(S):
            best = -np.inf
            for a in range(A):
                Q[h, s, a] = -np.inf
                if mask[s, a]:
                    expected = 0.0
                    for k in range(offsets[s * A + a], offsets[s * A + a + 1]):
                        expected += p[k] * V[h + 1, successors[k]]
                    Q[h, s, a] = r[s, a] + discount * expected
                best = max(best, Q[h, s, a])
            V[h, s] = best
            scale = max(scale, abs(best))
        for s in range(S):
            for a in range(A):
                if Q[h, s, a] >= V[h, s] - tie * scale:
                    policy[h, s] = a
                    break
    return V, Q, policy
