"""Compiled simulation of a finite MDP.

A simulator is five arrays and a number: ``offsets, successors, cumulative`` hold the support of every row P(.|s, a)
one after the other (row s * A + a), ``mean, std`` the rewards of those transitions, and the number is A. A dense and a
sparse table of one MDP give the same simulator, hence the same runs. All randomness comes in as arrays: one uniform for
every transition and one standard normal for every reward, so that a trajectory does not depend on how it is cut into
calls.

A memory decides when to stop before the last step: ``visits, limits, seen, clock``. ``visits`` (S, A) counts, and a
plan is due when a pair reaches its ``limits``, when an outcome comes that is not among those ``seen`` (a hash table of
the numbers of cells (s, a, s'), so that it grows with what was seen and not with S), or when time is up: ``clock`` is
(steps since the last plan, the most there may be, whether a plan is due, number of outcomes seen). An empty ``seen`` is
not looked at; with empty ``visits`` nothing is, and all steps are made.
"""

import numpy as np

from steering._compiled._jit import jit

SPREAD = -7046029254386353131  # 2^64 / golden ratio, as a signed number: neighbours go far apart


@jit
def cumulative_rows(offsets, probabilities):
    """Running sums of the probabilities of every row, one row after the other."""
    cumulative = np.empty(probabilities.shape[0], np.float64)
    for row in range(offsets.shape[0] - 1):
        total = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            total += probabilities[k]
            cumulative[k] = total
    return cumulative


@jit
def step(simulator, s, a, u, z):
    """One move from (s, a): the next state and its reward, by inversion of the row's distribution function."""
    offsets, successors, cumulative, mean, std, n_actions = simulator
    row = s * n_actions + a
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
    return successors[low], mean[low] + std[low] * z


@jit
def find(seen, key):
    """Place of a number in a hash table whose size is a power of two: where it is, or the free place (-1) for it."""
    h = key * SPREAD  # wraps
    last = seen.shape[0] - 1
    place = (h ^ (h >> 32)) & last
    while seen[place] != key and seen[place] != -1:
        place = (place + 1) & last
    return place


@jit
def rehash(old, new):
    """Put the numbers of one hash table into a larger one."""
    for key in old:
        if key != -1:
            new[find(new, key)] = key


@jit
def note(memory, s, a, y):
    """Take one transition into the memory; whether a plan is due, by this transition or by an earlier one."""
    visits, limits, seen, clock = memory
    if visits.shape[0] == 0:
        return False
    visits[s, a] += 1
    clock[0] += 1
    if visits[s, a] >= limits[s, a] or clock[0] >= clock[1]:
        clock[2] = 1
    if seen.shape[0] > 0:
        key = (s * visits.shape[1] + a) * visits.shape[0] + y
        place = find(seen, key)
        if seen[place] == -1:
            seen[place] = key
            clock[3] += 1
            clock[2] = 1
    return clock[2] == 1


@jit
def follow_policy(simulator, policy, first, memory, s, noise, states, actions, rewards, successors):
    """Follow a table policy (layers, S) for len(states) steps or until a plan is due.

    One layer means stationary; else the first step is that of layer `first`. Returns the number of steps made and the
    last state.
    """
    u, z = noise
    layers = policy.shape[0]
    for t in range(states.shape[0]):
        a = policy[first + t if layers > 1 else 0, s]
        y, r = step(simulator, s, a, u[t], z[t])
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
        if note(memory, states[t], a, y):
            return t + 1, s
    return states.shape[0], s


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
def follow_noisy_values(
    simulator, mean, scale, mask, dither, first, memory, s, noise, states, actions, rewards, successors
):
    """Act by a fresh normal draw of the values at every step (UBE, moment matching); tables are (layers, S, A).

    Otherwise as `follow_policy`.
    """
    u, z = noise
    layers = mean.shape[0]
    for t in range(states.shape[0]):
        h = first + t if layers > 1 else 0
        a = noisy_argmax(mean[h, s], scale[h, s], mask[s], dither[t])
        y, r = step(simulator, s, a, u[t], z[t])
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
        if note(memory, states[t], a, y):
            return t + 1, s
    return states.shape[0], s
