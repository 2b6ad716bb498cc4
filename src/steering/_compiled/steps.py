"""Steps from Q to the next V that value iterations on dense and on grouped rows share; each tells how far V moved."""

import numpy as np

from steering._compiled._jit import jit


@jit
def assign(Q, V):
    """V = max_a Q (entries of V beyond the states of Q stay); the largest change."""
    change = 0.0
    for s in range(Q.shape[0]):
        best = Q[s].max()
        change = max(change, abs(V[s] - best))
        V[s] = best
    return change


@jit
def lower(Q, V):
    """V = min(V, max_a Q); the largest change."""
    change = 0.0
    for s in range(Q.shape[0]):
        best = Q[s].max()
        if best < V[s]:
            change = max(change, V[s] - best)
            V[s] = best
    return change


@jit
def half_way(Q, policy, V):
    """V moves half way to the Q of a policy, then down until its least entry is 0; the span of the move, doubled."""
    low, high = np.inf, -np.inf
    for s in range(Q.shape[0]):
        change = 0.5 * (Q[s, policy[s]] - V[s])
        low = min(low, change)
        high = max(high, change)
        V[s] += change
    V -= V.min()
    return 2.0 * (high - low)
