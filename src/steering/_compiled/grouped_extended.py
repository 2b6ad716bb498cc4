r"""Compiled extended value iteration (UCRL2) on rows whose unlisted outcomes are alike.

For values V in descending `order` the best plausible row (`steering._compiled.optimism`) is found from the heads of a
row and one walk along the gaps between them: all unlisted states of a gap have the same bounds, so they are filled, or
emptied, a whole gap at a time, and only the last one in part. The best row is then again of a form that costs by what
is listed,

    q'V = low sum(V) + full (sum of the best `cut` values) + part V_order[cut] + first V_order[0] + sum coef V_head,

with prefix sums of the sorted values kept once for all rows. Between two improvements rows and order stay, and sweeps
along the policy evaluate them (modified policy iteration).
"""

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.grouped_optimism import TIE
from steering._compiled.grouped_planning import ROUNDING, SWEEPS
from steering._compiled.planning import canonical_policy
from steering._compiled.sparse_planning import CYCLE, ENOUGH, _jump
from steering._compiled.steps import half_way


@jit
def row_space(rows):
    """Room for the best rows: low, full, part and first (4, rows), cut, and coefficients of the heads."""
    R = rows[4].shape[0]
    most = max(1, rows[1].max())
    return np.zeros((4, R)), np.zeros(R, np.int64), np.empty(rows[3].shape[0]), np.empty(most, np.int64)


@jit
def _by_rank(low, k, heads, rank, sorted_):
    """Places of the heads of a row, the best first."""
    for j in range(k):
        i = j
        while i > 0 and rank[heads[sorted_[i - 1]]] > rank[heads[low + j]]:
            sorted_[i] = sorted_[i - 1]
            i -= 1
        sorted_[i] = low + j


@jit
def _box(rows, row, n_states, spread, least, rank, best):
    """The best row with |q_y - p_y| <= spread sqrt(p_y (1 - p_y)) + least."""
    start, length, heads, excess, base = rows
    numbers, cut, coef, sorted_ = best
    low, k, u = start[row], length[row], base[row]
    _by_rank(low, k, heads, rank, sorted_)
    width = spread * np.sqrt(u * (1.0 - u)) + least
    lower = max(0.0, u - width)
    full = min(1.0, u + width) - lower
    left = 1.0 - (n_states - k) * lower
    for i in range(low, low + k):
        p = u + excess[i]
        coef[i] = max(0.0, p - (spread * np.sqrt(max(p * (1.0 - p), 0.0)) + least))
        left -= coef[i]
    part = 0.0
    end = n_states
    at = 0
    for j in range(k + 1):
        stop = rank[heads[sorted_[j]]] if j < k else n_states
        gap = stop - at
        if left <= gap * full:
            whole = min(gap, int(max(left, 0.0) / full)) if full > 0.0 else 0
            end = at + whole
            part = max(left - whole * full, 0.0) if whole < gap else 0.0
            break
        left -= gap * full
        if j < k:
            i = sorted_[j]
            p = u + excess[i]
            most = min(1.0, p + spread * np.sqrt(max(p * (1.0 - p), 0.0)) + least)
            given = min(left, most - coef[i])
            coef[i] += given
            left -= given
            at = stop + 1
            if left <= 0.0:
                end = at
                break
    for i in range(low, low + k):
        coef[i] -= lower + (full if rank[heads[i]] < end else 0.0)
    numbers[0, row], numbers[1, row], numbers[2, row], numbers[3, row] = lower, full, part, 0.0
    cut[row] = end


@jit
def _l1(rows, row, n_states, radius, order, rank, best):
    """The best row within an L1 distance: mass moves from the worst states to the best one."""
    start, length, heads, excess, base = rows
    numbers, cut, coef, sorted_ = best
    low, k, u = start[row], length[row], base[row]
    _by_rank(low, k, heads, rank, sorted_)
    surplus = (n_states - k) * u - 1.0
    for i in range(low, low + k):
        coef[i] = u + excess[i]
        surplus += coef[i]
    listed = k > 0 and rank[heads[sorted_[0]]] == 0
    p = coef[sorted_[0]] if listed else u
    gain = min(1.0, p + 0.5 * radius) - p
    surplus += gain
    if listed:
        coef[sorted_[0]] += gain
    part = 0.0
    end = n_states
    for j in range(k - 1, -2, -1):
        stop = rank[heads[sorted_[j]]] if j >= 0 else 0
        if surplus <= 1e-15:
            break
        gap = max(end - stop - 1, 0)  # unlisted states between this head, or the best state, and what was emptied
        if u > 0.0 and surplus <= gap * u:
            whole = min(gap, int(surplus / u))
            end -= whole
            if whole < gap:
                end -= 1
                part = max(u - (surplus - whole * u), 0.0)
            surplus = 0.0
            break
        surplus -= gap * u
        end -= gap
        if j >= 0 and stop > 0:
            taken = min(coef[sorted_[j]], surplus)
            coef[sorted_[j]] -= taken
            surplus -= taken
            end = stop
    for i in range(low, low + k):
        coef[i] -= u if rank[heads[i]] < end else 0.0
    numbers[0, row], numbers[1, row], numbers[2, row] = 0.0, u, part
    numbers[3, row] = 0.0 if listed else gain
    cut[row] = end


@jit
def _value(rows, row, best, order, prefix, V):
    """q'V of a best row."""
    start, length, heads, _, _ = rows
    numbers, cut, coef, _ = best
    S = V.shape[0]
    value = numbers[0, row] * prefix[S] + numbers[1, row] * prefix[cut[row]] + numbers[3, row] * V[order[0]]
    if cut[row] < S:
        value += numbers[2, row] * V[order[cut[row]]]
    for i in range(start[row], start[row] + length[row]):
        value += coef[i] * V[heads[i]]
    return value


@jit
def _sums(order, V, prefix):
    prefix[0] = 0.0
    for k in range(V.shape[0]):
        prefix[k + 1] = prefix[k] + V[order[k]]


@jit
def extended_backup(rows, r, widths, l1, mask, discount, V, Q, policy, best):
    """Q = r + discount max over plausible rows of q'V, greedy with the lowest action; returns order and prefix sums.

    `widths` is (spread, least) of every row, or with `l1` its radius twice.
    """
    S, A = mask.shape
    order = np.argsort(-V, kind="mergesort")
    rank = np.empty(S, np.int64)
    for k in range(S):
        rank[order[k]] = k
    prefix = np.empty(S + 1)
    _sums(order, V, prefix)
    for s in range(S):
        policy[s] = -1
        for a in range(A):
            Q[s, a] = -np.inf
            if not mask[s, a]:
                continue
            row = s * A + a
            if l1:
                _l1(rows, row, S, widths[0, row], order, rank, best)
            else:
                _box(rows, row, S, widths[0, row], widths[1, row], rank, best)
            Q[s, a] = r[row] + discount * _value(rows, row, best, order, prefix, V)
            if policy[s] < 0 or Q[s, a] > Q[s, policy[s]]:
                policy[s] = a
    return order, prefix


@jit
def _evaluations(rows, r, discount, V, policy, n_actions, best, order, prefix, least, extrapolate, scratch):
    """Sweeps along a policy with its best rows until they change a tenth of what the first did."""
    first = 0.0
    W = np.empty_like(V)
    for made in range(SWEEPS):
        place = made % CYCLE - (CYCLE - 2)
        if extrapolate and place >= 0:
            scratch[place, :] = V
        _sums(order, V, prefix)
        change = 0.0
        for s in range(V.shape[0]):
            row = s * n_actions + policy[s]
            W[s] = r[row] + discount * _value(rows, row, best, order, prefix, V)
            change = max(change, abs(W[s] - V[s]))
        V[:] = W
        if made == 0:
            first = change
        if change <= max(ENOUGH * first, least):
            return
        if extrapolate and place == 1:
            _jump(V, scratch)


@jit
def extended_iteration(rows, r, widths, l1, mask, discount, V, policy, accuracy, max_rounds):
    """Modified policy iteration in the extended MDP, from V on (overwritten, as the policy); returns Q.

    It ends as `steering._compiled.grouped_planning.solve` does: when a sweep over all actions moves no value by more
    than accuracy (1 - discount) max|V|.
    """
    S, A = mask.shape
    Q = np.empty((S, A))
    best = row_space(rows)
    scratch = np.empty((2, S))
    before = np.inf
    extrapolate = True
    for _ in range(max_rounds):
        order, prefix = extended_backup(rows, r, widths, l1, mask, discount, V, Q, policy, best)
        change = 0.0
        for s in range(S):
            change = max(change, abs(Q[s, policy[s]] - V[s]))
            V[s] = Q[s, policy[s]]
        goal = max(accuracy * (1.0 - discount), ROUNDING) * np.abs(V).max()
        if change <= goal:
            break
        if change > before:  # plain sweeps always converge
            extrapolate = False
        before = change
        _evaluations(rows, r, discount, V, policy, A, best, order, prefix, 0.5 * goal, extrapolate, scratch)
    canonical_policy(Q, policy, TIE * max(1e-300, np.abs(V).max()))
    return Q


@jit
def extended_induction(rows, r, widths, l1, mask, horizon, discount):
    """Backward induction with the best plausible row in every step; returns Q and the policy."""
    S, A = mask.shape
    V = np.zeros(S)
    Q = np.empty((horizon, S, A))
    policy = np.zeros((horizon, S), dtype=np.int64)
    best = row_space(rows)
    for h in range(horizon - 1, -1, -1):
        extended_backup(rows, r, widths, l1, mask, discount, V, Q[h], policy[h], best)
        for s in range(S):
            V[s] = Q[h, s, policy[h, s]]
        canonical_policy(Q[h], policy[h], TIE * max(1e-300, np.abs(V).max()))
    return Q, policy


@jit
def extended_average(rows, r, widths, l1, mask, epsilon, max_sweeps):
    """Undiscounted extended value iteration until the span of its step is below epsilon, half lazy; the policy (S,)."""
    S, A = mask.shape
    V = np.zeros(S)
    Q = np.empty((S, A))
    policy = np.zeros(S, dtype=np.int64)
    best = row_space(rows)
    for _ in range(max_sweeps):
        extended_backup(rows, r, widths, l1, mask, 1.0, V, Q, policy, best)
        if half_way(Q, policy, V) < epsilon:
            break
    return policy
