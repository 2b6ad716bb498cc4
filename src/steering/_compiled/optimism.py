"""Compiled planning with optimism: extended value iteration, bonuses with a cap, optimistic Q-learning.

Optimistic models. For values V and a set of plausible rows, the row with the largest p'V is found by moving mass to the
best states: `order` lists the states from the best to the worst.

Layers: tables for an episode have a leading axis H; `caps` (H + 1,) bounds the value from each step on.
"""

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.model_free import best_value
from steering._compiled.planning import _eliminate, _substitute, canonical_policy, copy_values
from steering._compiled.simulate import step
from steering._compiled.steps import half_way, lower

SMALL = 32


@jit
def optimistic_l1(p, radius, order, out):
    """The row within L1 distance `radius` of p that favours the first states of `order` (Jaksch et al. 2010)."""
    S = p.shape[0]
    for y in range(S):
        out[y] = p[y]
    best = order[0]
    out[best] = min(1.0, p[best] + 0.5 * radius)
    surplus = -1.0
    for y in range(S):
        surplus += out[y]
    k = S - 1
    while surplus > 1e-15 and k > 0:
        y = order[k]
        taken = min(out[y], surplus)
        out[y] -= taken
        surplus -= taken
        k -= 1


@jit
def optimistic_box(p, width, order, out):
    """The row with |q_y - p_y| <= width_y that favours the first states of `order` (as UCRL2B)."""
    S = p.shape[0]
    left = 1.0
    for y in range(S):
        out[y] = max(0.0, p[y] - width[y])
        left -= out[y]
    for k in range(S):
        y = order[k]
        given = min(left, min(1.0, p[y] + width[y]) - out[y])
        out[y] += given
        left -= given
        if left <= 0.0:
            break


@jit
def _extended_backup(P, r, width, l1, mask, discount, V, Q, rows, policy):
    """Q = r + discount max over plausible rows of q'V; policy greedy with the lowest action; its rows in `rows`."""
    S, A = r.shape
    order = np.argsort(-V, kind="mergesort")
    row = np.empty(S)
    for s in range(S):
        best = -1
        for a in range(A):
            if not mask[s, a]:
                Q[s, a] = -np.inf
                continue
            if l1:
                optimistic_l1(P[s, a], width[s, a, 0], order, row)
            else:
                optimistic_box(P[s, a], width[s, a], order, row)
            expected = 0.0
            for y in range(S):
                expected += row[y] * V[y]
            Q[s, a] = r[s, a] + discount * expected
            if best < 0 or Q[s, a] > Q[s, best]:
                best = a
                for y in range(S):
                    rows[s, y] = row[y]
        policy[s] = best


@jit
def evaluate_rows(rows, r, policy, discount, V):
    """V of the chain `rows` (S, S), into V."""
    S = V.shape[0]
    M = -discount * rows
    for s in range(S):
        M[s, s] += 1.0
        V[s] = r[s, policy[s]]
    if S > SMALL:
        copy_values(np.linalg.solve(M, V), V)
        return
    for k in range(S):
        _eliminate(M, V, k, S)
    _substitute(M, V, S)


@jit
def extended_iteration(P, r, width, l1, mask, discount, policy, max_rounds):
    """Policy iteration in the extended MDP, whose actions are pairs of an action and a plausible row.

    It is an MDP with finitely many rows that matter (the vertices), so it ends with the exact optimum, as extended
    value iteration does in the limit. Returns V, Q; the policy is changed in place.
    """
    S, A = r.shape
    V = np.zeros(S)
    W = np.empty(S)
    Q = np.empty((S, A))
    rows = np.empty((S, S))
    for _ in range(max_rounds):
        _extended_backup(P, r, width, l1, mask, discount, V, Q, rows, policy)
        evaluate_rows(rows, r, policy, discount, W)
        change, scale = 0.0, 0.0
        for s in range(S):
            change = max(change, abs(W[s] - V[s]))
            scale = max(scale, abs(W[s]))
            V[s] = W[s]
        if change <= 1e-12 * scale / (1.0 - discount):
            break
    canonical_policy(Q, policy, 1e-12 * max(1e-300, np.abs(V).max()))
    return V, Q


@jit
def extended_induction(P, r, width, l1, mask, horizon, discount):
    """Backward induction with the best plausible row in every step; returns V (H + 1, S), Q and the policy."""
    S, A = r.shape
    V = np.zeros((horizon + 1, S))
    Q = np.empty((horizon, S, A))
    policy = np.zeros((horizon, S), dtype=np.int64)
    rows = np.empty((S, S))
    for h in range(horizon - 1, -1, -1):
        _extended_backup(P, r, width, l1, mask, discount, V[h + 1], Q[h], rows, policy[h])
        scale = 1e-300
        for s in range(S):
            V[h, s] = Q[h, s, policy[h, s]]
            scale = max(scale, abs(V[h, s]))
        canonical_policy(Q[h], policy[h], 1e-12 * scale)
    return V, Q, policy


@jit
def extended_average(P, r, width, l1, mask, epsilon, max_sweeps):
    """Undiscounted extended value iteration until the span of its step is below epsilon (UCRL2); the policy (S,).

    Half of the mass stays where it is in every sweep, so that periodic models converge too; that changes neither the
    gain nor the policy.
    """
    S, A = r.shape
    V = np.zeros(S)
    Q = np.empty((S, A))
    rows = np.empty((S, S))
    policy = np.zeros(S, dtype=np.int64)
    for _ in range(max_sweeps):
        _extended_backup(P, r, width, l1, mask, 1.0, V, Q, rows, policy)
        if half_way(Q, policy, V) < epsilon:
            break
    return policy


@jit
def _bonus_backup(P, r, bonus, factor, known, mask, discount, cap, V, Q):
    """Q = min(cap, r + bonus + factor sqrt(Var_P V) + discount P V); cap where a pair is not known."""
    S, A = r.shape
    for s in range(S):
        for a in range(A):
            if not mask[s, a]:
                Q[s, a] = -np.inf
            elif not known[s, a]:
                Q[s, a] = cap
            else:
                mean = 0.0
                for y in range(S):
                    mean += P[s, a, y] * V[y]
                spread = 0.0
                if factor[s, a] > 0.0:
                    for y in range(S):
                        spread += P[s, a, y] * (V[y] - mean) ** 2
                Q[s, a] = min(cap, r[s, a] + bonus[s, a] + factor[s, a] * np.sqrt(spread) + discount * mean)


@jit
def bonus_iteration(P, r, bonus, factor, known, mask, discount, cap, tolerance, max_sweeps):
    """The largest V <= cap with V = max_a Q, by value iteration downwards from cap; returns V, Q and the policy.

    Values never rise (V <- min(V, max Q)), so it converges also where the bonus, which depends on V, is not monotone.
    """
    S, A = r.shape
    V = np.full(S, cap)
    Q = np.empty((S, A))
    policy = np.zeros(S, dtype=np.int64)
    for _ in range(max_sweeps):
        _bonus_backup(P, r, bonus, factor, known, mask, discount, cap, V, Q)
        if lower(Q, V) <= tolerance:
            break
    canonical_policy(Q, policy, 1e-12 * max(1e-300, np.abs(V).max()))
    return V, Q, policy


@jit
def _capped_value(P, r, known, discount, cap, policy, clipped, rows, local, V):
    """V = min(cap, r_pi + discount P_pi V), by policy iteration over where the cap holds (it starts from `clipped`)."""
    S = V.shape[0]
    nothing = np.zeros(S, dtype=np.int64)
    for _ in range(2 * S + 2):
        for s in range(S):
            a = policy[s]
            free = known[s, a] and not clipped[s]
            local[s, 0] = r[s, a] if free else cap
            for y in range(S):
                rows[s, y] = P[s, a, y] if free else 0.0
        evaluate_rows(rows, local, nothing, discount, V)
        changed = False
        for s in range(S):
            a = policy[s]
            if known[s, a]:
                value = r[s, a]
                for y in range(S):
                    value += discount * P[s, a, y] * V[y]
                above = value > cap + 1e-12 * abs(cap) if not clipped[s] else value >= cap - 1e-12 * abs(cap)
                if above != clipped[s]:
                    clipped[s] = above
                    changed = True
        if not changed:
            break


@jit
def capped_iteration(P, r, known, mask, discount, cap, policy, max_rounds):
    """The exact V = min(cap, max_a r + discount P V), cap where a pair is not known; returns V and Q, policy in place.

    A game in which one side chooses actions and the other where to cap: policy iteration for the first, with the
    answer of the second solved in every round (Hoffman and Karp 1966).
    """
    S, A = r.shape
    V = np.full(S, cap)
    Q = np.empty((S, A))
    rows = np.empty((S, S))
    local = np.empty((S, 1))
    clipped = np.zeros(S, dtype=np.bool_)
    nothing = np.zeros((S, A))
    _bonus_backup(P, r, nothing, nothing, known, mask, discount, cap, V, Q)
    for s in range(S):
        policy[s] = np.argmax(Q[s])
    for _ in range(max_rounds):
        _capped_value(P, r, known, discount, cap, policy, clipped, rows, local, V)
        _bonus_backup(P, r, nothing, nothing, known, mask, discount, cap, V, Q)
        scale = 1e-300
        for s in range(S):
            scale = max(scale, abs(V[s]))
        tolerance = 1e-12 * scale / (1.0 - discount)
        changed = False
        for s in range(S):
            best = np.argmax(Q[s])
            if Q[s, best] > Q[s, policy[s]] + tolerance:
                policy[s] = best
                changed = True
        if not changed:
            break
    canonical_policy(Q, policy, 1e-12 * max(1e-300, np.abs(V).max()))
    return V, Q


@jit
def bonus_induction(P, r, bonus, factor, known, mask, discount, caps):
    """Backward induction with bonuses and caps; r and bonus (H, S, A), factor (S, A); V (H + 1, S), Q, policy."""
    H, S, A = r.shape
    V = np.zeros((H + 1, S))
    Q = np.empty((H, S, A))
    policy = np.zeros((H, S), dtype=np.int64)
    for h in range(H - 1, -1, -1):
        _bonus_backup(P, r[h], bonus[h], factor, known, mask, discount, caps[h], V[h + 1], Q[h])
        scale = 1e-300
        for s in range(S):
            V[h, s] = Q[h, s].max()
            scale = max(scale, abs(V[h, s]))
        canonical_policy(Q[h], policy[h], 1e-12 * scale)
    return V, Q, policy


@jit
def greedy_action(values, mask):
    """The allowed action with the largest value, the lowest one on ties."""
    best = -1
    for a in range(values.shape[0]):
        if mask[a] and (best < 0 or values[a] > values[best]):
            best = a
    return best


@jit
def optimistic_q_update(Q, bound, visits, mask, options, h, s, a, r, y):
    """One step of optimistic Q-learning: Q towards r + bonus + discount V', `bound` the least Q so far (at most cap).

    options = (discount, H, scale, logarithm): bonus = scale sqrt(H (logarithm + 2 ln(n + 1)) / n), see `ucb_q`.
    """
    discount, reach, scale, logarithm = options
    layers = Q.shape[0]
    visits[h, s, a] += 1.0
    n = visits[h, s, a]
    rate = (reach + 1.0) / (reach + n)
    bonus = scale * np.sqrt(reach * (logarithm + 2.0 * np.log(n + 1.0)) / n)
    value = 0.0
    if layers == 1:
        value = best_value(bound[0, y], mask[y]) if discount > 0.0 else 0.0
    elif h + 1 < layers:
        value = best_value(bound[h + 1, y], mask[y])
    Q[h, s, a] += rate * (r + bonus + discount * value - Q[h, s, a])
    bound[h, s, a] = min(bound[h, s, a], Q[h, s, a])


@jit
def optimistic_q(simulator, Q, bound, visits, mask, options, first, s, noise, states, actions, rewards, successors):
    """Optimistic Q-learning for len(states) steps from layer `first`; returns them and the last state."""
    u, z = noise
    for t in range(states.shape[0]):
        h = first + t if Q.shape[0] > 1 else 0
        a = greedy_action(bound[h, s], mask[s])
        y, r = step(simulator, s, a, u[t], z[t])
        optimistic_q_update(Q, bound, visits, mask, options, h, s, a, r, y)
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
    return states.shape[0], s
