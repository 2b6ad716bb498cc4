"""Compiled planning with a soft maximum (K-learning) on rows whose unlisted outcomes are alike.

The equations are those of `steering._compiled.soft_planning`; ``rows`` as in `steering._compiled.grouped_planning`.
"""

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.grouped_optimism import expected
from steering._compiled.grouped_planning import ROUNDING, SWEEPS
from steering._compiled.sparse_planning import CYCLE, ENOUGH, _jump


@jit
def _soft_state(rows, r, mask, discount, tau, s, V, total, K):
    """K of a state, and tau ln sum exp(K / tau), which is returned."""
    A = K.shape[0]
    top = -np.inf
    for a in range(A):
        K[a] = -np.inf
        if mask[s, a]:
            row = s * A + a
            K[a] = r[row] + discount * expected(rows, row, V, total)
            top = max(top, K[a])
    share = 0.0
    for a in range(A):
        if mask[s, a]:
            share += np.exp((K[a] - top) / tau)
    return top + tau * np.log(share)


@jit
def _improve(rows, r, mask, discount, tau, V, K, shares, local):
    """One sweep, in place, with the softmax policy and its reward with entropy; returns the largest change."""
    S, A = mask.shape
    total = V.sum()
    change = 0.0
    for s in range(S):
        value = _soft_state(rows, r, mask, discount, tau, s, V, total, K[s])
        local[s] = 0.0
        for a in range(A):
            shares[s, a] = 0.0
            if mask[s, a]:
                log_share = (K[s, a] - value) / tau
                shares[s, a] = np.exp(log_share)
                local[s] += shares[s, a] * (r[s * A + a] - tau * log_share)
        change = max(change, abs(value - V[s]))
        total += value - V[s]
        V[s] = value
    return change


@jit
def _evaluate(rows, discount, V, shares, local):
    """One sweep along the softmax policy, in place; returns the largest change."""
    S, A = shares.shape
    total = V.sum()
    change = 0.0
    for s in range(S):
        value = local[s]
        for a in range(A):
            if shares[s, a] > 0.0:
                value += discount * shares[s, a] * expected(rows, s * A + a, V, total)
        change = max(change, abs(value - V[s]))
        total += value - V[s]
        V[s] = value
    return change


@jit
def soft_iteration(rows, r, mask, discount, tau, V, accuracy, max_rounds):
    """K = r + discount P V with V = tau ln sum_a exp(K / tau), from V on (overwritten); returns K.

    Modified policy iteration: sweeps with the soft maximum, in between sweeps along the softmax policy with its entropy
    as a reward. The stopping rule is that of `steering._compiled.grouped_planning.solve`.
    """
    S, A = mask.shape
    K, shares, local = np.empty((S, A)), np.empty((S, A)), np.empty(S)
    scratch = np.empty((2, S))
    before = np.inf
    extrapolate = True
    for _ in range(max_rounds):
        change = _improve(rows, r, mask, discount, tau, V, K, shares, local)
        goal = max(accuracy * (1.0 - discount), ROUNDING) * np.abs(V).max()
        if change <= goal:
            break
        if change > before:  # plain sweeps always converge
            extrapolate = False
        before = change
        first = 0.0
        for made in range(SWEEPS):
            place = made % CYCLE - (CYCLE - 2)
            if extrapolate and place >= 0:
                scratch[place, :] = V
            moved = _evaluate(rows, discount, V, shares, local)
            if made == 0:
                first = moved
            if moved <= max(ENOUGH * first, 0.5 * goal):
                break
            if extrapolate and place == 1:
                _jump(V, scratch)
    total = V.sum()
    for s in range(S):
        _soft_state(rows, r, mask, discount, tau, s, V, total, K[s])
    return K


@jit
def soft_induction(rows, r, mask, discount, tau):
    """The same over an episode with rewards (H, rows); returns K (H, S, A)."""
    H, (S, A) = r.shape[0], mask.shape
    V, W = np.zeros(S), np.empty(S)
    K = np.empty((H, S, A))
    for h in range(H - 1, -1, -1):
        total = V.sum()
        for s in range(S):
            W[s] = _soft_state(rows, r[h], mask, discount, tau, s, V, total, K[h, s])
        V[:] = W
    return K
