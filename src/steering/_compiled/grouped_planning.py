r"""Compiled planning on rows whose unlisted outcomes all have the same probability.

``rows`` is (start, length, heads, excess, base): row s A + a leads to every state with probability base, and to each of
its heads with the excess on top, so that

    sum_y P_y V_y = base sum(V) + sum over heads of excess V,

at the price of the heads and not of S. Rows of a state that are related (`steering._compiled.related`) have two more
arrays, (..., weight, factor): row s A + a then also leads to where all rows of the state lead, with

    weight (sum over rows of the state of factor excess)

on top. Sweeps are Gauss-Seidel, in place, with the sum kept up to date; a transition of a state to itself is solved
for. *Stopping rule*: a sweep over all actions that moves no value by more than accuracy (1 - discount) max|V| ends the
iteration; the residual of the Bellman equation is then no larger, and the error of the values at most accuracy max|V|.
"""

import numpy as np

from steering._compiled._jit import inlined, jit
from steering._compiled.planning import canonical_policy, copy_values, linear_solve, tie_tolerance
from steering._compiled.sparse_planning import CYCLE, ENOUGH, _jump

SWEEPS = 30
"""Evaluations of a policy between two improvements, at most."""
ROUNDING = 2e-15
"""No value is asked to settle better than this, relative to the largest."""
GROUPED = 5
"""Arrays of rows that are not related."""
NOTHING = (0.0, 0.0)


@inlined
def common(rows, n_actions, s, V):
    """What related rows of state s have in common: the way back to s itself, and what is expected elsewhere."""
    start, length, heads, excess, factor = rows[0], rows[1], rows[2], rows[3], rows[6]
    own, expected = 0.0, 0.0
    for row in range(s * n_actions, (s + 1) * n_actions):
        if length[row] == 0:
            continue
        back, there = 0.0, 0.0
        for i in range(start[row], start[row] + length[row]):
            if heads[i] == s:
                back += excess[i]
            else:
                there += excess[i] * V[heads[i]]
        own += factor[row] * back
        expected += factor[row] * there
    return own, expected


@inlined
def row_value(rows, local, discount, row, s, V, total, shared):
    """Value of one row at state s, the way back to s itself solved for; `shared` is `common` of related rows."""
    start, length, heads, excess, base = rows[0], rows[1], rows[2], rows[3], rows[4]
    u = base[row]
    own = u
    expected = u * (total - V[s])
    for i in range(start[row], start[row] + length[row]):
        y = heads[i]
        if y == s:
            own += excess[i]
        else:
            expected += excess[i] * V[y]
    if len(rows) > GROUPED:
        own += rows[5][row] * shared[0]
        expected += rows[5][row] * shared[1]
    return (local[row] + discount * expected) / (1.0 - discount * own)


@inlined
def state_values(rows, local, mask, discount, s, V, total, q):
    """`row_value` of all actions of a state, into q (A,); returns the best."""
    A = q.shape[0]
    best = -np.inf
    shared = NOTHING
    if len(rows) > GROUPED:
        shared = common(rows, A, s, V)
    for a in range(A):
        q[a] = row_value(rows, local, discount, s * A + a, s, V, total, shared) if mask[s, a] else -np.inf
        best = max(best, q[a])
    return best


@inlined
def lowest(q, least):
    """The lowest-numbered action worth at least `least`."""
    for a in range(q.shape[0]):
        if q[a] >= least:
            return a
    return 0


@jit
def improve(rows, local, mask, discount, V, policy, order, q, cap):
    """One sweep over all actions, in place, with the greedy policy; returns the largest change."""
    total = V.sum()
    change = 0.0
    for i in range(order.shape[0]):
        s = order[i]
        best = min(state_values(rows, local, mask, discount, s, V, total, q), cap)
        policy[s] = lowest(q, best)
        change = max(change, abs(best - V[s]))
        total += best - V[s]
        V[s] = best
    return change


@jit
def evaluate_once(rows, local, discount, V, policy, n_actions, order, cap):
    """One sweep along a policy, in place; returns the largest change."""
    total = V.sum()
    change = 0.0
    for i in range(order.shape[0]):
        s = order[i]
        row = s * n_actions + policy[s]
        shared = NOTHING
        if len(rows) > GROUPED and rows[5][row] > 0.0:
            shared = common(rows, n_actions, s, V)
        value = min(row_value(rows, local, discount, row, s, V, total, shared), cap)
        change = max(change, abs(value - V[s]))
        total += value - V[s]
        V[s] = value
    return change


@jit
def _evaluations(rows, local, discount, V, policy, n_actions, order, sweeps, least, extrapolate, scratch, cap):
    """Sweeps along a policy until they change a tenth of what the first did, with a jump along the slowest mode."""
    first = 0.0
    for made in range(sweeps):
        place = made % CYCLE - (CYCLE - 2)
        if extrapolate and place >= 0:
            copy_values(V, scratch[place])
        change = evaluate_once(rows, local, discount, V, policy, n_actions, order, cap)
        if made == 0:
            first = change
        if change <= max(ENOUGH * first, least):
            return
        if extrapolate and place == 1:
            _jump(V, scratch)


@jit
def solve(rows, local, mask, discount, V, policy, accuracy, max_iterations, cap=np.inf):
    """Optimal values from V on (overwritten, as the policy); returns the number of improvements.

    Parameters
    ----------
    accuracy
        Relative accuracy of the values, see the module.
    max_iterations
        Improvements, at most.
    cap
        Values are at most that: V = min(cap, max_a ...).
    """
    A = mask.shape[1]
    q = np.empty(A)
    scratch = np.empty((2, V.shape[0]))
    order = np.arange(V.shape[0])
    before = np.inf
    extrapolate = True
    iterations = 0
    while True:
        iterations += 1
        change = improve(rows, local, mask, discount, V, policy, order, q, cap)
        goal = max(accuracy * (1.0 - discount), ROUNDING) * np.abs(V).max()
        if change <= goal or iterations >= max_iterations:
            return iterations
        if change > before:  # plain sweeps always converge
            extrapolate = False
        before = change
        if iterations == 1:
            order = np.argsort(-V)  # what pays is carried on from state to state within a sweep
        _evaluations(rows, local, discount, V, policy, A, order, SWEEPS, 0.5 * goal, extrapolate, scratch, cap)


@jit
def q_table(rows, local, mask, discount, V, Q):
    """Q (S, A) from V."""
    start, length, heads, excess, base = rows[0], rows[1], rows[2], rows[3], rows[4]
    S, A = mask.shape
    total = V.sum()
    for s in range(S):
        shared = NOTHING
        if len(rows) > GROUPED:
            shared = common(rows, A, s, V)
        for a in range(A):
            Q[s, a] = -np.inf
            if mask[s, a]:
                row = s * A + a
                expected = base[row] * total
                for i in range(start[row], start[row] + length[row]):
                    expected += excess[i] * V[heads[i]]
                if len(rows) > GROUPED:
                    expected += rows[5][row] * (shared[0] * V[s] + shared[1])
                Q[s, a] = local[row] + discount * expected


@jit
def settle(rows, local, mask, discount, V, policy, Q, accuracy, max_iterations):
    """`solve`, then Q and the lowest of the best actions, in place."""
    solve(rows, local, mask, discount, V, policy, accuracy, max_iterations)
    q_table(rows, local, mask, discount, V, Q)
    scale = max(np.abs(V).max(), np.abs(local).max())
    canonical_policy(Q, policy, tie_tolerance(discount) * scale)


@jit
def chain_values(rows, local, discount, policy, n_actions, V):
    """Values of a policy by one dense linear system, into V; exact up to rounding."""
    start, length, heads, excess, base = rows[0], rows[1], rows[2], rows[3], rows[4]
    S = V.shape[0]
    M = np.empty((S, S))
    c = np.empty(S)
    for s in range(S):
        row = s * n_actions + policy[s]
        for y in range(S):
            M[s, y] = -discount * base[row]
        for i in range(start[row], start[row] + length[row]):
            M[s, heads[i]] -= discount * excess[i]
        if len(rows) > GROUPED:
            for other in range(s * n_actions, (s + 1) * n_actions):
                share = discount * rows[5][row] * rows[6][other]
                for i in range(start[other], start[other] + length[other]):
                    M[s, heads[i]] -= share * excess[i]
        M[s, s] += 1.0
        c[s] = local[row]
    copy_values(linear_solve(M, c), V)


@jit
def howard(rows, local, mask, discount, V, policy, Q):
    """Q of the values of a policy, and Howard's improvement of it, in place; whether the policy stayed as it was.

    The rule is that of `steering._compiled.planning.policy_iteration`. A policy that stays becomes the one of the
    lowest actions among the best.
    """
    S, A = mask.shape
    q_table(rows, local, mask, discount, V, Q)
    scale = np.abs(V).max()
    for s in range(S):
        scale = max(scale, abs(local[s * A + policy[s]]))
    tolerance = tie_tolerance(discount) * scale
    stays = True
    for s in range(S):
        best = policy[s]
        for a in range(A):
            if Q[s, a] > Q[s, best]:
                best = a
        if Q[s, best] > Q[s, policy[s]] + tolerance:
            policy[s] = best
            stays = False
    if stays:
        canonical_policy(Q, policy, tolerance)
    return stays


@jit
def evaluate(rows, local, discount, V, policy, n_actions, accuracy, max_sweeps):
    """Values of a policy from V on (overwritten), to a relative accuracy."""
    scratch = np.empty((2, V.shape[0]))
    order = np.argsort(-V)
    before = np.inf
    extrapolate = True
    for made in range(max_sweeps):
        place = made % CYCLE - (CYCLE - 2)
        if place >= 0:
            copy_values(V, scratch[place])
        change = evaluate_once(rows, local, discount, V, policy, n_actions, order, np.inf)
        if change <= max(accuracy * (1.0 - discount), ROUNDING) * np.abs(V).max():
            return
        if place == 1:
            if change > before:  # plain sweeps always converge
                extrapolate = False
            before = change
            if extrapolate:
                _jump(V, scratch)


@jit
def propagate(rows, local, mask, discount, V, policy, Q, accuracy, max_sweeps):
    """Discounted sum of a local quantity along a policy, for every first action, into Q; V is where to start."""
    evaluate(rows, local, discount, V, policy, mask.shape[1], accuracy, max_sweeps)
    everything = np.ones(mask.shape, np.bool_)
    q_table(rows, local, everything, discount, V, Q)


@jit
def backward_induction(rows, local, mask, horizon, discount, tie):
    """Optimal values over a finite horizon (see `steering._compiled.planning.backward_induction`)."""
    S, A = mask.shape
    V = np.zeros((horizon + 1, S))
    Q = np.empty((horizon, S, A))
    policy = np.zeros((horizon, S), dtype=np.int64)
    scale = 0.0
    for h in range(horizon - 1, -1, -1):
        q_table(rows, local, mask, discount, V[h + 1], Q[h])
        for s in range(S):
            V[h, s] = Q[h, s].max()
            scale = max(scale, abs(V[h, s]))
        canonical_policy(Q[h], policy[h], tie * scale)
    return V, Q, policy


@jit
def propagate_finite(rows, local, policy, discount):
    """Sum of a local quantity (H, S A) along a policy (H, S), for every first action: a table (H, S, A)."""
    H, S = policy.shape
    A = local.shape[1] // S
    everything = np.ones((S, A), np.bool_)
    table = np.empty((H, S, A))
    u = np.zeros(S)
    for h in range(H - 1, -1, -1):
        q_table(rows, local[h], everything, discount, u, table[h])
        for s in range(S):
            u[s] = table[h, s, policy[h, s]]
    return table
