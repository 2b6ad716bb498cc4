r"""Compiled planning on sparse rows: orders, sweeps, and value iteration with its relatives.

Rows are (offsets, successors, probabilities) of `steering.mdp.sparse`, row s A + a. Two kinds of sweep:

* *ordered* (Gauss-Seidel): states are updated one after the other, those near the largest rewards first (breadth first
  against the transitions). What pays is carried to every state in one sweep, however long the way, and what is left
  shrinks by as much as transitions lead against the order. A transition of a state to itself is solved for, not waited
  for.
* *level* (Jacobi): all states at once, then moved to the middle of the bounds, which takes away an error that is
  the same in all states; best where chains mix fast, as in random MDPs.

Both converge to the same values; the depth of the breadth-first search (`sparse_orders`) says which suits an MDP. What
either leaves shrinks by one factor in the end, the slowest mode, so every few sweeps along a policy a jump takes it
away.
"""

from __future__ import annotations

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.planning import copy_values
from steering._compiled.value_iteration import geometric_bounds

CYCLE = 8
"""Sweeps along a policy between two extrapolations."""

ENOUGH = 0.1
"""Evaluation of a policy stops when it has brought the change down to this part of what improvement made."""


@jit
def backup(rows, r, mask, discount, V, Q, out, policy):
    """One level sweep over all actions: Q from V, out = max Q, greedy policy; returns the extremes of out - V."""
    offsets, successors, p = rows
    S, A = r.shape
    low, high = np.inf, -np.inf
    for s in range(S):
        best = -np.inf
        chosen = 0
        for a in range(A):
            q = -np.inf
            if mask[s, a]:
                expected = 0.0
                for k in range(offsets[s * A + a], offsets[s * A + a + 1]):
                    expected += p[k] * V[successors[k]]
                q = r[s, a] + discount * expected
                if q > best:
                    best = q
                    chosen = a
            Q[s, a] = q
        out[s] = best
        policy[s] = chosen
        low = min(low, best - V[s])
        high = max(high, best - V[s])
    return low, high


@jit
def ordered_improvement(rows, r, mask, discount, V, order, policy):
    """One ordered sweep over all actions, in place, with the greedy policy; returns the largest change."""
    offsets, successors, p = rows
    S, A = r.shape
    change = 0.0
    for i in range(S):
        s = order[i]
        best = -np.inf
        chosen = 0
        for a in range(A):
            if mask[s, a]:
                expected = 0.0
                own = 0.0
                for k in range(offsets[s * A + a], offsets[s * A + a + 1]):
                    if successors[k] == s:
                        own = p[k]
                    else:
                        expected += p[k] * V[successors[k]]
                q = (r[s, a] + discount * expected) / (1.0 - discount * own)
                if q > best:
                    best = q
                    chosen = a
        change = max(change, abs(best - V[s]))
        V[s] = best
        policy[s] = chosen
    return change


@jit
def ordered_chain(rows, r, discount, order, rank, policy):
    """The chain of a policy with states numbered by their rank, as x = c + M x with a zero diagonal.

    Sweeps along a policy are most of the work: here they read memory from one end to the other, and the values of
    neighbours are close together.
    """
    offsets, successors, p = rows
    S, A = r.shape
    start = np.zeros(S + 1, np.int64)
    for i in range(S):
        row = order[i] * A + policy[order[i]]
        start[i + 1] = start[i] + offsets[row + 1] - offsets[row]
    columns = np.empty(start[S], np.int32)
    values = np.empty(start[S])
    c = np.empty(S)
    n = 0
    for i in range(S):
        s = order[i]
        row = s * A + policy[s]
        own = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            if successors[k] == s:
                own = p[k]
        scale = 1.0 / (1.0 - discount * own)
        start[i] = n
        for k in range(offsets[row], offsets[row + 1]):
            if successors[k] != s:
                columns[n] = rank[successors[k]]
                values[n] = discount * scale * p[k]
                n += 1
        c[i] = scale * r[s, policy[s]]
    start[S] = n
    return start, columns, values, c


@jit
def ordered_evaluation(chain, x):
    """One ordered sweep of x = c + M x, in place; returns the largest change."""
    start, columns, values, c = chain
    change = 0.0
    for i in range(x.shape[0]):
        fresh = c[i]
        for k in range(start[i], start[i + 1]):
            fresh += values[k] * x[columns[k]]
        change = max(change, abs(fresh - x[i]))
        x[i] = fresh
    return change


@jit
def empty_chain(rows, n_states, n_actions):
    """Room for the chain of any policy, x = c + M x: (start, end, columns, values, c), by longest rows."""
    offsets = rows[0]
    start = np.empty(n_states, np.int64)
    n = 0
    for s in range(n_states):
        start[s] = n
        longest = 0
        for row in range(s * n_actions, (s + 1) * n_actions):
            longest = max(longest, offsets[row + 1] - offsets[row])
        n += longest
    return start, np.empty(n_states, np.int64), np.empty(n, np.int32), np.empty(n), np.empty(n_states)


@jit
def packing_evaluation(rows, r, discount, V, out, policy, chain):
    """One level sweep along a policy, whose rows are copied into the chain; returns the extremes of out - V.

    The next sweeps read them there, from one end to the other: half the time or less where the MDP is large.
    """
    offsets, successors, p = rows
    start, end, columns, values, c = chain
    S, A = r.shape
    low, high = np.inf, -np.inf
    for s in range(S):
        row = s * A + policy[s]
        expected = 0.0
        n = start[s]
        for k in range(offsets[row], offsets[row + 1]):
            columns[n] = successors[k]
            values[n] = p[k]
            n += 1
            expected += p[k] * V[successors[k]]
        end[s] = n
        c[s] = r[s, policy[s]]
        q = c[s] + discount * expected
        low = min(low, q - V[s])
        high = max(high, q - V[s])
        out[s] = q
    return low, high


@jit
def level_evaluation(chain, discount, V, out):
    """One level sweep along the policy of a chain; returns the extremes of out - V."""
    start, end, columns, values, c = chain
    low, high = np.inf, -np.inf
    for s in range(V.shape[0]):
        expected = 0.0
        for k in range(start[s], end[s]):
            expected += values[k] * V[columns[k]]
        q = c[s] + discount * expected
        low = min(low, q - V[s])
        high = max(high, q - V[s])
        out[s] = q
    return low, high


@jit
def row_rounding(longest, scale, discount):
    """What rounding in a backup of values of size `scale` can add to a certified bound; rows of `longest` entries."""
    return 2.0 * (longest + 4) * 1.1102230246251565e-16 * scale / (1.0 - discount)


@jit
def modified_policy_iteration(
    rows, r, mask, discount, V, order, deep, epsilon, relative, sweeps, max_iterations, slack, longest
):
    """Value iteration with at most `sweeps` evaluations of the greedy policy after each improvement; certified.

    Stops when the bound is at most max(epsilon, relative max|V|), when rounding keeps it from shrinking any further, or
    after `max_iterations` improvements. V is where to start (overwritten).

    Returns
    -------
    V, Q, policy, iterations, bound
        As in `steering._compiled.value_iteration.modified_policy_iteration`.
    """
    S, A = r.shape
    W = np.empty(S)
    Q = np.empty((S, A))
    scratch = np.empty((2, S if sweeps >= CYCLE else 0))
    chain = empty_chain(rows, 0 if deep or sweeps == 0 else S, A)  # of level sweeps
    policy = np.zeros(S, dtype=np.int64)
    rank = np.empty(S, dtype=np.int32)
    for i in range(S):
        rank[order[i]] = i
    largest = np.abs(r).max()
    extrapolate = True
    width_before, change_before = np.inf, np.inf
    iterations = 0
    while True:
        iterations += 1
        change = 0.0
        if deep:
            change = ordered_improvement(rows, r, mask, discount, V, order, policy)
        scale = np.abs(V).max()
        goal = max(epsilon, relative * scale)
        last = iterations >= max_iterations
        if not deep or last or change <= max(goal * (1.0 - discount), 1e-15 * scale):
            rounding = row_rounding(longest, largest + scale, discount)
            low, high = backup(rows, r, mask, discount, V, Q, W, policy)
            up, down = geometric_bounds(low, high, discount, slack, 1)
            width = up - down
            stuck = width <= 2.0 * rounding / (1.0 - discount) and width >= width_before
            width_before = width
            change = high - low if not deep else max(high, -low)
            shift = 0.5 * (up + down)
            if width + rounding <= goal or stuck or last:
                for s in range(S):
                    V[s] = W[s] + shift
                    for a in range(A):
                        Q[s, a] += shift
                return V, Q, policy, iterations, width + rounding
            # Ordered sweeps leave an error that is not the same everywhere; moving all states would add to it.
            if deep and width > 0.5 * max(abs(up), abs(down)):
                shift = 0.0
            for s in range(S):
                V[s] = W[s] + shift
        if change > change_before:  # plain sweeps always converge
            extrapolate = False
        change_before = change
        if deep and sweeps > 0:
            _ordered_evaluations(rows, r, discount, V, W, order, rank, policy, sweeps, extrapolate, scratch)
        else:
            _level_evaluations(rows, r, discount, V, W, policy, chain, sweeps, extrapolate, scratch)


@jit
def _ordered_evaluations(rows, r, discount, V, x, order, rank, policy, sweeps, extrapolate, scratch):
    """Ordered sweeps along a policy until little changes, with a jump along the slowest mode every `CYCLE` sweeps."""
    chain = ordered_chain(rows, r, discount, order, rank, policy)
    copy_values(V[order], x)
    first = 0.0
    for made in range(sweeps):
        place = made % CYCLE - (CYCLE - 2)  # 0 and 1 in the last two sweeps of a cycle
        keep = extrapolate and place >= 0
        if keep:
            copy_values(x, scratch[place])
        last = ordered_evaluation(chain, x)
        if made == 0:
            first = last
        if last <= ENOUGH * first:
            break
        if keep and place == 1:
            _jump(x, scratch)
    for i in range(order.shape[0]):
        V[order[i]] = x[i]


@jit
def _level_evaluations(rows, r, discount, V, W, policy, chain, sweeps, extrapolate, scratch):
    """Level sweeps along a policy, as `_ordered_evaluations`."""
    first = 0.0
    for made in range(sweeps):
        place = made % CYCLE - (CYCLE - 2)
        keep = extrapolate and place >= 0
        if keep:
            copy_values(V, scratch[place])
        if made == 0:
            low, high = packing_evaluation(rows, r, discount, V, W, policy, chain)
        else:
            low, high = level_evaluation(chain, discount, V, W)
        shift = 0.5 * (low + high) * discount / (1.0 - discount)
        for s in range(V.shape[0]):
            V[s] = W[s] + shift
        if made == 0:
            first = high - low
        if high - low <= ENOUGH * first:
            return
        if keep and place == 1:
            _jump(V, scratch)


@jit
def _jump(V, before):
    """Extrapolate V after changes d', d that shrink by one factor: V + d rho / (1 - rho), rho = d.d' / d'.d'.

    `before` holds the values before each of the last two sweeps (Aitken's method along the slowest mode).
    """
    S = V.shape[0]
    across, square = 0.0, 0.0
    for s in range(S):
        old = before[1, s] - before[0, s]
        across += (V[s] - before[1, s]) * old
        square += old * old
    if 0.0 < across < 0.99 * square:
        factor = across / (square - across)
        for s in range(S):
            V[s] += factor * (V[s] - before[1, s])
