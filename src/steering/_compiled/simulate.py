"""Compiled simulation of a finite MDP.

A simulator is six arrays: ``offsets, successors, cumulative`` hold the support of every row P(.|s, a) one after the
other (row s * A + a), ``reward_mean, reward_std`` are the (S, A, S) tables. All randomness comes in as arrays: one
uniform for every transition and one standard normal for every reward, so that a trajectory does not depend on how
it is cut into calls.
"""

import numpy as np

from steering._compiled._jit import jit


@jit
def compress(P):
    """Rows of P as (offsets, successors, cumulative), positive entries only."""
    S, A, _ = P.shape
    offsets = np.zeros(S * A + 1, np.int64)
    for s in range(S):
        for a in range(A):
            n = 0
            for y in range(S):
                if P[s, a, y] > 0.0:
                    n += 1
            offsets[s * A + a + 1] = offsets[s * A + a] + n
    successors = np.empty(offsets[-1], np.int32)
    cumulative = np.empty(offsets[-1], np.float64)
    k = 0
    for s in range(S):
        for a in range(A):
            total = 0.0
            for y in range(S):
                if P[s, a, y] > 0.0:
                    total += P[s, a, y]
                    successors[k] = y
                    cumulative[k] = total
                    k += 1
    return offsets, successors, cumulative


@jit
def step(simulator, s, a, u, z):
    """One move from (s, a): the next state and its reward, by inversion of the row's distribution function."""
    offsets, successors, cumulative, reward_mean, reward_std = simulator
    row = s * reward_mean.shape[1] + a
    low = offsets[row]
    high = offsets[row + 1] - 1
    while high - low > 8:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    while low < high and cumulative[low] <= u:
        low += 1
    y = successors[low]
    return y, reward_mean[s, a, y] + reward_std[s, a, y] * z


@jit
def follow_policy(simulator, policy, s, noise, states, actions, rewards, successors):
    """Follow a table policy (layers, S) for len(states) steps; one layer means stationary. Returns the last state."""
    u, z = noise
    layers = policy.shape[0]
    for t in range(states.shape[0]):
        a = policy[t if layers > 1 else 0, s]
        y, r = step(simulator, s, a, u[t], z[t])
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
    return s


@jit
def noisy_argmax(mean, scale, mask, noise):
    """The allowed action with the largest mean[a] + scale[a] * noise[a]."""
    best = -1
    top = -np.inf
    for a in range(mean.shape[0]):
        if mask[a]:
            value = mean[a] + scale[a] * noise[a]
            if best < 0 or value > top:
                top = value
                best = a
    return best


@jit
def follow_noisy_values(simulator, mean, scale, mask, s, noise, dither, states, actions, rewards, successors):
    """Act by a fresh normal draw of the values at every step (UBE, moment matching); tables are (layers, S, A)."""
    u, z = noise
    layers = mean.shape[0]
    for t in range(states.shape[0]):
        h = t if layers > 1 else 0
        a = noisy_argmax(mean[h, s], scale[h, s], mask[s], dither[t])
        y, r = step(simulator, s, a, u[t], z[t])
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
    return s
