"""Compiled planning with a soft maximum (K-learning) and with quantiles of drawn models (OPSRL)."""

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.optimism import evaluate_rows
from steering._compiled.planning import canonical_policy
from steering._compiled.steps import assign


@jit
def soft_iteration(P, r, mask, discount, tau, max_rounds):
    """K = r + discount P V with V(s) = tau ln sum_a exp(K(s, a) / tau), by policy iteration; returns V and K.

    The policy softmax(K / tau) is evaluated exactly with its entropy as a reward, which is Newton's method for V.
    """
    S, A = r.shape
    V = np.zeros(S)
    K = np.empty((S, A))
    rows = np.empty((S, S))
    local = np.empty((S, 1))
    nothing = np.zeros(S, dtype=np.int64)
    W = np.empty(S)
    for _ in range(max_rounds):
        _soft_backup(P, r, mask, discount, tau, V, K, W)
        for s in range(S):
            local[s, 0] = 0.0
            for y in range(S):
                rows[s, y] = 0.0
            for a in range(A):
                if mask[s, a]:
                    log_share = (K[s, a] - W[s]) / tau
                    share = np.exp(log_share)
                    local[s, 0] += share * (r[s, a] - tau * log_share)
                    for y in range(S):
                        rows[s, y] += share * P[s, a, y]
        evaluate_rows(rows, local, nothing, discount, W)
        change, scale = 0.0, 0.0
        for s in range(S):
            change = max(change, abs(W[s] - V[s]))
            scale = max(scale, abs(W[s]))
            V[s] = W[s]
        if change <= 1e-11 * scale:
            break
    _soft_backup(P, r, mask, discount, tau, V, K, W)
    return V, K


@jit
def _soft_backup(P, r, mask, discount, tau, V, K, out):
    """K = r + discount P V and out = tau ln sum exp(K / tau)."""
    S, A = r.shape
    for s in range(S):
        top = -np.inf
        for a in range(A):
            K[s, a] = -np.inf
            if mask[s, a]:
                expected = 0.0
                for y in range(S):
                    expected += P[s, a, y] * V[y]
                K[s, a] = r[s, a] + discount * expected
                top = max(top, K[s, a])
        total = 0.0
        for a in range(A):
            if mask[s, a]:
                total += np.exp((K[s, a] - top) / tau)
        out[s] = top + tau * np.log(total)


@jit
def soft_induction(P, r, mask, discount, tau):
    """The same over an episode with rewards (H, S, A); returns V (H + 1, S) and K (H, S, A)."""
    H, S, A = r.shape
    V = np.zeros((H + 1, S))
    K = np.empty((H, S, A))
    for h in range(H - 1, -1, -1):
        _soft_backup(P, r[h], mask, discount, tau, V[h + 1], K[h], V[h])
    return V, K


@jit
def _quantile_backup(draws, r, rank, mask, discount, V, Q, values):
    """Q(s, a) = the `rank`-th smallest (from 0) over draws b of r_b + discount P_b V; draws (B, S, A, S + 1)."""
    B, S, A, _ = draws.shape
    for s in range(S):
        for a in range(A):
            if not mask[s, a]:
                Q[s, a] = -np.inf
                continue
            for b in range(B):
                expected = 0.0
                for y in range(S + 1):
                    expected += draws[b, s, a, y] * V[y]
                values[b] = r[b, s, a] + discount * expected
            if rank == B - 1:
                Q[s, a] = values.max()
            else:
                Q[s, a] = np.sort(values)[rank]


@jit
def maximum_iteration(draws, r, mask, discount, cap, max_rounds):
    """As `quantile_iteration` for the maximum of the draws, exactly: policy iteration over pairs of action and draw."""
    B, S, A, _ = draws.shape
    V = np.full(S + 1, cap)
    W = np.empty(S)
    Q = np.empty((S, A))
    rows = np.empty((S, S))
    local = np.empty((S, 1))
    nothing = np.zeros(S, dtype=np.int64)
    policy = np.zeros(S, dtype=np.int64)
    for _ in range(max_rounds):
        for s in range(S):
            top, best, draw = -np.inf, 0, 0
            for a in range(A):
                Q[s, a] = -np.inf
                if not mask[s, a]:
                    continue
                for b in range(B):
                    value = r[b, s, a]
                    for y in range(S + 1):
                        value += discount * draws[b, s, a, y] * V[y]
                    Q[s, a] = max(Q[s, a], value)
                    if value > top:
                        top, best, draw = value, a, b
            for y in range(S):
                rows[s, y] = draws[draw, s, best, y]
            local[s, 0] = r[draw, s, best] + discount * draws[draw, s, best, S] * cap
        evaluate_rows(rows, local, nothing, discount, W)
        change, scale = 0.0, 0.0
        for s in range(S):
            change = max(change, abs(W[s] - V[s]))
            scale = max(scale, abs(W[s]))
            V[s] = W[s]
        if change <= 1e-11 * scale:
            break
    canonical_policy(Q, policy, 1e-12 * max(1e-300, np.abs(V).max()))
    return V, Q, policy


@jit
def quantile_iteration(draws, r, rank, mask, discount, cap, tolerance, max_sweeps):
    """Value iteration from the cap with a quantile over drawn models; the pseudo-state, last in V, is worth cap."""
    _, S, A, _ = draws.shape
    V = np.full(S + 1, cap)
    Q = np.empty((S, A))
    values = np.empty(draws.shape[0])
    policy = np.zeros(S, dtype=np.int64)
    for _ in range(max_sweeps):
        _quantile_backup(draws, r, rank, mask, discount, V, Q, values)
        if assign(Q, V) <= tolerance:
            break
    canonical_policy(Q, policy, 1e-12 * max(1e-300, np.abs(V).max()))
    return V, Q, policy


@jit
def quantile_induction(draws, r, rank, mask, discount, caps):
    """The same over an episode; caps (H + 1,) are the values of the pseudo-state."""
    H = caps.shape[0] - 1
    _, S, A, _ = draws.shape
    V = np.zeros((H + 1, S + 1))
    Q = np.empty((H, S, A))
    values = np.empty(draws.shape[0])
    policy = np.zeros((H, S), dtype=np.int64)
    V[H, S] = caps[H]
    for h in range(H - 1, -1, -1):
        _quantile_backup(draws, r, rank, mask, discount, V[h + 1], Q[h], values)
        scale = 1e-300
        for s in range(S):
            V[h, s] = Q[h, s].max()
            scale = max(scale, abs(V[h, s]))
        V[h, S] = caps[h]
        canonical_policy(Q[h], policy[h], 1e-12 * scale)
    return V, Q, policy
