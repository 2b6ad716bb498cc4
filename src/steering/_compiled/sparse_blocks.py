r"""Compiled planning on large sparse rows: ordered sweeps over those blocks of states where something is left to do.

The states are numbered in the order of the sweeps (`steering._compiled.sparse_orders.renumbered`) and cut into blocks.
A block reads values of blocks in a range that is found once. Let m(c) be the sum of the largest changes of block c so
far; what its range has moved since block b was last swept,

.. math:: \sum_{c \in range(b)} m(c) - \text{the same sum then},

bounds how far the values of b can be from their backup (a backup is a contraction). A sweep leaves out the blocks where
that is at most a *level*, which comes down by a factor from round to round: blocks where much is wrong are swept until
they are as good as the others. The larger a grid, the fewer of its blocks are swept in a round. Where every block reads
every other one, all are swept and nothing is lost.

What is left out is a matter of speed alone: the bound that is returned comes from a backup of all states.
"""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.sparse_planning import ENOUGH, backup, empty_chain, row_rounding
from steering._compiled.value_iteration import geometric_bounds

PATIENCE = 8
"""Rounds without a smaller change than ever before, after which fewer evaluations are made."""


@jit
def ranges(rows, n_states, n_actions, size):
    """First and last + 1 block that each block of `size` states reads, itself included."""
    offsets, successors, _ = rows
    n = (n_states + size - 1) // size
    first, end = np.empty(n, np.int64), np.empty(n, np.int64)
    for b in range(n):
        low, high = b * size, b * size
        for k in range(offsets[b * size * n_actions], offsets[min(n_states, (b + 1) * size) * n_actions]):
            low = min(low, successors[k])
            high = max(high, successors[k])
        first[b] = low // size
        end[b] = high // size + 1
    return first, end


@jit
def _improve(rows, r, mask, discount, V, policy, chain, first, end):
    """Sweep some states over all actions, in place; a new action of a state enters the chain. The largest change."""
    offsets, successors, p = rows
    start, stop, columns, values, c = chain
    A = r.shape[1]
    change = 0.0
    for s in range(first, end):
        best, chosen, stay = -np.inf, 0, 0.0
        for a in range(A):
            if mask[s, a]:
                expected, own = 0.0, 0.0
                for k in range(offsets[s * A + a], offsets[s * A + a + 1]):
                    if successors[k] == s:
                        own = p[k]
                    else:
                        expected += p[k] * V[successors[k]]
                q = (r[s, a] + discount * expected) / (1.0 - discount * own)
                if q > best:
                    best, chosen, stay = q, a, own
        change = max(change, abs(best - V[s]))
        V[s] = best
        if chosen != policy[s]:
            policy[s] = chosen
            scale = 1.0 / (1.0 - discount * stay)
            n = start[s]
            for k in range(offsets[s * A + chosen], offsets[s * A + chosen + 1]):
                if successors[k] != s:
                    columns[n] = successors[k]
                    values[n] = discount * scale * p[k]
                    n += 1
            stop[s] = n
            c[s] = scale * r[s, chosen]
    return change


@jit
def _evaluate(chain, x, first, end):
    """Sweep some states along the chain, in place; the largest change."""
    start, stop, columns, values, c = chain
    change = 0.0
    for s in range(first, end):
        fresh = c[s]
        for k in range(start[s], stop[s]):
            fresh += values[k] * x[columns[k]]
        change = max(change, abs(fresh - x[s]))
        x[s] = fresh
    return change


@jit
def _total(moved, first, end):
    total = 0.0
    for b in range(first, end):
        total += moved[b]
    return total


@jit
def blocked_policy_iteration(
    rows, r, mask, discount, V, size, epsilon, relative, sweeps, max_iterations, slack, longest
):
    """Modified policy iteration by blocks of `size` states, which are numbered in the order of the sweeps; certified.

    Arguments and results are those of `steering._compiled.sparse_planning.modified_policy_iteration`. Evaluations in
    part of the states need not converge from every start (Williams & Baird 1993), so `PATIENCE` rounds without progress
    halve their number: what is left in the end is value iteration, which does.
    """
    S, A = r.shape
    first, end = ranges(rows, S, A, size)
    n = first.shape[0]
    chain = empty_chain(rows, S, A)
    policy = np.full(S, -1, np.int64)
    moved = np.zeros(n)
    improved, swept = np.full(n, -np.inf), np.full(n, -np.inf)
    largest = np.abs(r).max()
    level, least, width_before = 0.0, np.inf, np.inf
    iterations, waited = 0, 0
    while True:
        iterations += 1
        change = 0.0
        for b in range(n):
            total = _total(moved, first[b], end[b])
            if total - improved[b] > level:
                improved[b] = total
                swept[b] = total
                here = _improve(rows, r, mask, discount, V, policy, chain, b * size, min(S, (b + 1) * size))
                moved[b] += here
                change = max(change, here)
        scale = np.abs(V).max()
        goal = max(epsilon, relative * scale)
        tolerance = max(goal * (1.0 - discount), 1e-15 * scale)
        last = iterations >= max_iterations
        if last or (change <= tolerance and level <= tolerance):
            Q, W, greedy = np.empty((S, A)), np.empty(S), np.empty(S, np.int64)
            rounding = row_rounding(longest, largest + scale, discount)
            low, high = backup(rows, r, mask, discount, V, Q, W, greedy)
            up, down = geometric_bounds(low, high, discount, slack, 1)
            width = up - down
            stuck = width <= 2.0 * rounding / (1.0 - discount) and width >= width_before
            width_before = width
            shift = 0.5 * (up + down)
            if width + rounding <= goal or stuck or last:
                for s in range(S):
                    V[s] = W[s] + shift
                    for a in range(A):
                        Q[s, a] += shift
                return V, Q, greedy, iterations, width + rounding
            # As in ordered sweeps: only an error that is much the same everywhere is taken away.
            if width > 0.5 * max(abs(up), abs(down)):
                shift = 0.0
            for s in range(S):
                V[s] = W[s] + shift
            moved[:] = 0.0
            improved[:] = -np.inf
            swept[:] = -np.inf
        waited += 1
        if change < least:
            least, waited = change, 0
        elif waited == PATIENCE:
            sweeps, waited = sweeps // 2, 0
        level = max(ENOUGH * change, tolerance)
        for _ in range(sweeps):
            done = 0
            for b in range(n):
                total = _total(moved, first[b], end[b])
                if total - swept[b] > level:
                    swept[b] = total
                    moved[b] += _evaluate(chain, V, b * size, min(S, (b + 1) * size))
                    done += 1
            if done == 0:
                break
