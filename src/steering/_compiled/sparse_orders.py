"""Compiled orders of states for sweeps on sparse rows: breadth first, and MDPs renumbered in such an order.

Rows are (offsets, successors, probabilities) of `steering.mdp.sparse`, row s A + a.
"""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit

DEEP = 24
"""Beyond this number of breadth-first layers ordered sweeps are tried first."""


@jit
def backward_order(rows, top, n_actions):
    """States breadth first against the transitions, from those with the largest `top`; and the number of layers."""
    offsets, successors, _ = rows
    S = top.shape[0]
    start = np.zeros(S + 1, np.int64)
    for k in range(successors.shape[0]):
        start[successors[k] + 1] += 1
    for s in range(S):
        start[s + 1] += start[s]
    place = start[:-1].copy()
    tails = np.empty(successors.shape[0], np.int32)
    for s in range(S):
        for k in range(offsets[s * n_actions], offsets[(s + 1) * n_actions]):
            y = successors[k]
            tails[place[y]] = s
            place[y] += 1
    return _breadth_first(start, tails, top)


@jit
def shallow(rows, top, n_actions):
    """Whether a few passes find that all states are within `DEEP` layers; False: not known without `backward_order`.

    A pass looks for states with a successor in the layers so far. It goes on while layers grow fast, as in random MDPs,
    where listing the transitions backwards would take longer than to solve them.
    """
    offsets, successors, _ = rows
    S = top.shape[0]
    layer = np.full(S, DEEP, np.uint8)
    best = top.max()
    found = 0
    for s in range(S):
        if top[s] == best:
            layer[s] = 0
            found += 1
    for depth in range(1, DEEP):
        before = found
        for s in range(S):
            if layer[s] == DEEP:
                for k in range(offsets[s * n_actions], offsets[(s + 1) * n_actions]):
                    if layer[successors[k]] < depth:
                        layer[s] = depth
                        found += 1
                        break
        if found == S:
            return True
        if found < 3 * before and 2 * found < S:
            return False
    return False


@jit
def forward_order(rows, weight):
    """States breadth first along the transitions of a chain (one row a state), from those with the largest weight."""
    return _breadth_first(rows[0], rows[1], weight)


@jit
def _breadth_first(start, heads, top):
    S = top.shape[0]
    best = top.max()
    order = np.empty(S, np.int32)
    seen = np.zeros(S, np.bool_)
    found = 0
    for s in range(S):
        if top[s] == best:
            order[found] = s
            seen[s] = True
            found += 1
    depth = 1
    layer = found
    unseen = 0
    i = 0
    while i < S:
        if i == found:  # the rest cannot be reached: begin again anywhere
            while seen[unseen]:
                unseen += 1
            order[found] = unseen
            seen[unseen] = True
            found += 1
            layer = found
        if i == layer:
            depth += 1
            layer = found
        y = order[i]
        i += 1
        for k in range(start[y], start[y + 1]):
            s = heads[k]
            if not seen[s]:
                seen[s] = True
                order[found] = s
                found += 1
    return order, depth


@jit
def renumbered(rows, order, n_actions):
    """Rows of the same MDP with its states numbered in an order; entries of a row stay in theirs."""
    offsets, successors, p = rows
    S, A = order.shape[0], n_actions
    rank = np.empty(S, np.int32)
    for i in range(S):
        rank[order[i]] = i
    start = np.empty(S * A + 1, np.int64)
    heads = np.empty(successors.shape[0], np.int32)
    weights = np.empty(p.shape[0])
    n = 0
    for i in range(S):
        for row in range(order[i] * A, (order[i] + 1) * A):
            start[i * A + row - order[i] * A] = n
            for k in range(offsets[row], offsets[row + 1]):
                heads[n] = rank[successors[k]]
                weights[n] = p[k]
                n += 1
    start[S * A] = n
    return start, heads, weights
