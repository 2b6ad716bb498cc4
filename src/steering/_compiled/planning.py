r"""Compiled planning in finite MDPs: policy iteration, backward induction, propagation of values.

Notation: ``P[s, a, s']`` transition probabilities (C-contiguous), ``r[s, a]`` expected rewards, ``mask[s,
a]`` allowed actions, discount :math:`0 \le \gamma < 1`. Entries of disallowed actions are never used; their Q
value is minus infinity.

**Policy evaluation** solves :math:`(I - \gamma P_\pi) V = r_\pi` directly. The matrix is strictly diagonally
dominant by rows, so elimination without pivoting is stable (the growth factor is at most 2); up to `SMALL`
states it is written out here, because one LAPACK call costs more than the whole solution; beyond that LAPACK
wins.

**Policy iteration** is Howard's rule: evaluate, then take a better action in every state. *Stopping rule*: an
action replaces the incumbent only if its value is larger by more than :math:`\tau = \max(10^{-12}, 16 u / (1
- \gamma)) \cdot \max_s(|V_s|, |r_\pi(s)|)`, with :math:`u = 2^{-52}`. Rounding errors of V stay below that,
so a policy is never left for one that is not better, values increase strictly, no policy comes back, and the
iteration ends after finitely many rounds in exact and in floating-point arithmetic. On return every state
holds the lowest-numbered action within :math:`\tau` of the best.
"""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit
from steering._types import Bools, Floats, Ints

SMALL = 32
"""Up to this number of states systems are solved by elimination written here, beyond it by LAPACK."""

TIE_TOLERANCE = 1e-12
"""Two action values closer than this, relative to the largest value, count as equal."""


@jit
def tie_tolerance(discount: float) -> float:
    r"""Relative tolerance of a tie, :math:`\max(10^{-12}, 16 u / (1 - \gamma))`."""
    return max(TIE_TOLERANCE, 16.0 * 2.220446049250313e-16 / (1.0 - discount))


@jit
def copy_values(values: Floats, out: Floats) -> None:
    """Write values (n,) to out; ``out[:] = values`` takes two seconds to compile, for a sentence about shapes."""
    for i in range(values.shape[0]):
        out[i] = values[i]


@jit
def linear_solve(A: Floats, b: Floats) -> Floats:
    """Solve A x = b for a general square matrix; A and b are left as they are.

    Elimination with partial pivoting for at most `SMALL` unknowns, LAPACK beyond. A singular matrix gives
    entries that are not finite in the first case and an error in the second.
    """
    n = b.shape[0]
    if n > SMALL:
        solution: Floats = np.linalg.solve(A, b)  # type: ignore[assignment]
        return solution
    M = A.copy()
    x = b.copy()
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n):
                M[k, j], M[pivot, j] = M[pivot, j], M[k, j]
            x[k], x[pivot] = x[pivot], x[k]
        _eliminate(M, x, k, n)
    _substitute(M, x, n)
    return x


@jit
def _eliminate(M: Floats, x: Floats, k: int, n: int) -> None:
    inverse = 1.0 / M[k, k]
    for i in range(k + 1, n):
        factor = M[i, k] * inverse
        if factor != 0.0:  # rows of chains are sparse: most factors are zero
            for j in range(k + 1, n):
                M[i, j] -= factor * M[k, j]
            x[i] -= factor * x[k]


@jit
def _substitute(M: Floats, x: Floats, n: int) -> None:
    for k in range(n - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, n):
            total -= M[k, j] * x[j]
        x[k] = total / M[k, k]


@jit
def _solve_policy(P: Floats, policy: Ints, discount: float, M: Floats, x: Floats) -> None:
    """Overwrite x by the solution of (I - discount P_pi) y = x; M is (S, S) scratch space."""
    S = x.shape[0]
    for s in range(S):
        a = policy[s]
        for t in range(S):
            M[s, t] = -discount * P[s, a, t]
        M[s, s] += 1.0
    if S > SMALL:
        copy_values(np.linalg.solve(M, x), x)  # type: ignore[arg-type]
        return
    for k in range(S):
        _eliminate(M, x, k, S)
    _substitute(M, x, S)


@jit
def _backup(P: Floats, local: Floats, factor: float, V: Floats, out: Floats) -> None:
    """Write local(s, a) + factor * sum_t P(t|s, a) V(t) to out, shape (S, A), for all actions."""
    S, A = local.shape
    if S > SMALL:
        expected = np.dot(P.reshape(S * A, S), V)
        for s in range(S):
            for a in range(A):
                out[s, a] = local[s, a] + factor * expected[s * A + a]
        return
    whole = S - S % 4
    for s in range(S):
        for a in range(A):
            # Four sums side by side: a single one would wait for every addition to end.
            e0, e1, e2, e3 = 0.0, 0.0, 0.0, 0.0
            for t in range(0, whole, 4):
                e0 += P[s, a, t] * V[t]
                e1 += P[s, a, t + 1] * V[t + 1]
                e2 += P[s, a, t + 2] * V[t + 2]
                e3 += P[s, a, t + 3] * V[t + 3]
            for t in range(whole, S):
                e0 += P[s, a, t] * V[t]
            out[s, a] = local[s, a] + factor * ((e0 + e1) + (e2 + e3))


@jit
def _forbid(mask: Bools, Q: Floats) -> None:
    S, A = Q.shape
    for s in range(S):
        for a in range(A):
            if not mask[s, a]:
                Q[s, a] = -np.inf


@jit
def canonical_policy(Q: Floats, policy: Ints, tolerance: float) -> None:
    """Set the policy to the lowest-numbered action within `tolerance` of the best one, in place."""
    S, A = Q.shape
    for s in range(S):
        best = -np.inf
        for a in range(A):
            best = max(best, Q[s, a])
        for a in range(A):
            if Q[s, a] >= best - tolerance:
                policy[s] = a
                break


@jit
def random_ties(Q: Floats, policy: Ints, uniforms: Floats, tolerance: float) -> None:
    """Set the policy to a uniformly random action among those within `tolerance` of the best one, in place.

    `uniforms` holds one number in [0, 1) for each state, shape (S,).
    """
    S, A = Q.shape
    for s in range(S):
        best = -np.inf
        for a in range(A):
            best = max(best, Q[s, a])
        count = 0
        for a in range(A):
            if Q[s, a] >= best - tolerance:
                count += 1
        chosen = min(int(uniforms[s] * count), count - 1)
        for a in range(A):
            if Q[s, a] >= best - tolerance:
                if chosen == 0:
                    policy[s] = a
                    break
                chosen -= 1


@jit
def _allow(mask: Bools, policy: Ints) -> None:
    """Replace disallowed actions of a policy by the lowest allowed one, in place."""
    S, A = mask.shape
    for s in range(S):
        if not mask[s, policy[s]]:
            for a in range(A):
                if mask[s, a]:
                    policy[s] = a
                    break


@jit
def policy_iteration(
    P: Floats, r: Floats, mask: Bools, discount: float, policy: Ints, max_iterations: int
) -> tuple[Floats, Floats, int, bool]:
    """Howard's policy iteration from a given policy (module docstring: stopping rule).

    Parameters
    ----------
    P, r, mask, discount
        The MDP; P of shape (S, A, S) C-contiguous.
    policy
        Shape (S,), int64: the policy to start from; overwritten by the policy reached.
    max_iterations
        Largest number of rounds (one evaluation and one improvement each); at least one is made.

    Returns
    -------
    V, Q
        Values (S,) of the last policy that was evaluated, and the action values (S, A) that follow from them.
    iterations, converged
        Rounds made, and whether the last one changed nothing.
    """
    S, A = r.shape
    V = np.empty(S)
    Q = np.empty((S, A))
    M = np.empty((S, S))
    _allow(mask, policy)
    iterations = 0
    while True:
        iterations += 1
        scale = 0.0
        for s in range(S):
            V[s] = r[s, policy[s]]
            scale = max(scale, abs(V[s]))
        _solve_policy(P, policy, discount, M, V)
        for s in range(S):
            scale = max(scale, abs(V[s]))
        _backup(P, r, discount, V, Q)
        _forbid(mask, Q)
        tolerance = tie_tolerance(discount) * scale
        changed = False
        for s in range(S):
            best = policy[s]
            for a in range(A):
                if Q[s, a] > Q[s, best]:
                    best = a
            if Q[s, best] > Q[s, policy[s]] + tolerance:
                policy[s] = best
                changed = True
        if not changed or iterations >= max_iterations:
            canonical_policy(Q, policy, tolerance)
            return V, Q, iterations, not changed


@jit
def optimality_backup(
    P: Floats, r: Floats, mask: Bools, discount: float, V: Floats, Q: Floats, out: Floats
) -> tuple[float, float]:
    """One value-iteration sweep: Q from V, out(s) = max_a Q(s, a); returns the extremes of out - V."""
    S, A = r.shape
    _backup(P, r, discount, V, Q)
    _forbid(mask, Q)
    low, high = np.inf, -np.inf
    for s in range(S):
        best = -np.inf
        for a in range(A):
            best = max(best, Q[s, a])
        out[s] = best
        low = min(low, best - V[s])
        high = max(high, best - V[s])
    return low, high


@jit
def evaluate_policy(P: Floats, r: Floats, policy: Ints, discount: float) -> Floats:
    """Value V = (I - discount P_pi)^{-1} r_pi of a deterministic policy, shape (S,)."""
    S = r.shape[0]
    V = np.empty(S)
    for s in range(S):
        V[s] = r[s, policy[s]]
    _solve_policy(P, policy, discount, np.empty((S, S)), V)
    return V


@jit
def propagate(P: Floats, policy: Ints, local: Floats, discount_factor: float) -> Floats:
    """Discounted sum of a local quantity along a policy, for every first action.

    Solves u_pi = local_pi + f P_pi u_pi and returns local(s, a) + f sum_t P(t|s, a) u_pi(t), shape (S, A).
    With local = r and f the discount this is Q of the policy; with local variances and f = discount^2 it is
    the uncertainty Bellman equation.
    """
    u = evaluate_policy(P, local, policy, discount_factor)
    table = np.empty(local.shape)
    _backup(P, local, discount_factor, u, table)
    return table


@jit
def backward_induction(P: Floats, r: Floats, mask: Bools, horizon: int, discount: float) -> tuple[Floats, Floats, Ints]:
    """Optimal values over a finite horizon H, from V_H = 0 backwards.

    Q_h(s, a) = r(s, a) + discount sum_t P(t|s, a) V_{h+1}(t) and V_h(s) = max_a Q_h(s, a). Ties go to the
    lowest action within `TIE_TOLERANCE` of the best, relative to the largest value met so far.

    Returns
    -------
    V, Q, policy
        Shapes (H + 1, S), (H, S, A) and (H, S).
    """
    S, A = r.shape
    V = np.zeros((horizon + 1, S))
    Q = np.empty((horizon, S, A))
    policy = np.zeros((horizon, S), dtype=np.int64)
    scale = 0.0
    for h in range(horizon - 1, -1, -1):
        optimality_backup(P, r, mask, discount, V[h + 1], Q[h], V[h])
        for s in range(S):
            scale = max(scale, abs(V[h, s]))
        canonical_policy(Q[h], policy[h], TIE_TOLERANCE * scale)
    return V, Q, policy


@jit
def evaluate_finite(P: Floats, r: Floats, policy: Ints, discount: float) -> Floats:
    """Values (H + 1, S) of a time-dependent deterministic policy of shape (H, S), from V_H = 0 backwards."""
    H, S = policy.shape
    V = np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        for s in range(S):
            a = policy[h, s]
            expected = 0.0
            for t in range(S):
                expected += P[s, a, t] * V[h + 1, t]
            V[h, s] = r[s, a] + discount * expected
    return V


@jit
def propagate_finite(P: Floats, policy: Ints, local: Floats, discount_factor: float) -> Floats:
    """Sum of a local quantity (H, S, A) along a time-dependent policy (H, S), for every first action.

    With u_H = 0: U_h(s, a) = local_h(s, a) + f sum_t P(t|s, a) u_{h+1}(t), u_h(s) = U_h(s, policy_h(s)).

    Returns
    -------
    table
        U, shape (H, S, A).
    """
    H, S, A = local.shape
    table = np.empty((H, S, A))
    u = np.zeros(S)
    for h in range(H - 1, -1, -1):
        _backup(P, local[h], discount_factor, u, table[h])
        for s in range(S):
            u[s] = table[h, s, policy[h, s]]
    return table
