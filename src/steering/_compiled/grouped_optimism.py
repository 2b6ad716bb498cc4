"""Compiled planning with bonuses and with drawn models on rows whose unlisted outcomes are alike.

What `steering._compiled.optimism` and `steering._compiled.soft_planning` do in tables, by the same formulas and in the
same sweeps, at the price of what is listed; ``rows`` as in `steering._compiled.grouped_planning`. A pair that is worth
a bound whatever follows has an empty row: base 0, excess 0, the bound as its reward.
"""

import numpy as np

from steering._compiled import grouped_planning as planning
from steering._compiled._jit import jit
from steering._compiled.planning import canonical_policy
from steering._compiled.steps import assign, lower

TIE = 1e-12
"""Relative tolerance of a tie, as with tables."""


@jit
def empirical_rows(pool, totals, n_states):
    """Frequencies as (excess, base), and average rewards; uniform and 0 where nothing was seen."""
    start, length, _, heads, n, average, _ = pool
    excess = np.empty(heads.shape[0])
    base = np.zeros(totals.shape[0])
    r = np.zeros(totals.shape[0])
    for row in range(totals.shape[0]):
        if totals[row] == 0.0:
            base[row] = 1.0 / n_states
        for i in range(start[row], start[row] + length[row]):
            excess[i] = n[i] / totals[row]
            r[row] += n[i] * average[i]
        r[row] /= max(totals[row], 1.0)
    return excess, base, r


@jit
def scale_rows(rows, factor):
    """Multiply every row by a factor of its own, in place."""
    start, length, _, excess, base = rows
    for row in range(base.shape[0]):
        base[row] *= factor[row]
        for i in range(start[row], start[row] + length[row]):
            excess[i] *= factor[row]


@jit
def expected(rows, row, V, total):
    """sum_y P_y V_y of one row; `total` is the sum of V."""
    start, length, heads, excess, base = rows
    mean = base[row] * total
    for i in range(start[row], start[row] + length[row]):
        mean += excess[i] * V[heads[i]]
    return mean


@jit
def expectations(rows, V, out):
    """sum_y P_y V_y of all rows, for each of the values V (layers, S), into out (layers, rows)."""
    for h in range(V.shape[0]):
        total = V[h].sum()
        for row in range(out.shape[1]):
            out[h, row] = expected(rows, row, V[h], total)


@jit
def arrivals(rows, flow, out):
    """sum over rows of flow P_y, for each of the flows (layers, rows), into out (layers, S)."""
    start, length, heads, excess, base = rows
    for h in range(flow.shape[0]):
        everywhere = 0.0
        for row in range(flow.shape[1]):
            everywhere += flow[h, row] * base[row]
        out[h, :] = everywhere
        for row in range(flow.shape[1]):
            for i in range(start[row], start[row] + length[row]):
                out[h, heads[i]] += flow[h, row] * excess[i]


@jit
def _bonus_backup(rows, local, factor, mask, discount, cap, V, Q):
    """Q = min(cap, local + factor sqrt(Var_P V) + discount P V)."""
    start, length, heads, excess, base = rows
    S, A = mask.shape
    total = V.sum()
    center = total / S
    around = 0.0
    for y in range(S):
        around += (V[y] - center) ** 2
    for s in range(S):
        for a in range(A):
            Q[s, a] = -np.inf
            if not mask[s, a]:
                continue
            row = s * A + a
            mean = expected(rows, row, V, total)
            spread = 0.0
            if factor[row] > 0.0:
                spread = base[row] * (around + S * (center - mean) ** 2)
                for i in range(start[row], start[row] + length[row]):
                    spread += excess[i] * (V[heads[i]] - mean) ** 2
            Q[s, a] = min(cap, local[row] + factor[row] * np.sqrt(spread) + discount * mean)


@jit
def bonus_iteration(rows, local, factor, mask, discount, cap, tolerance, max_sweeps):
    """The largest V <= cap with V = max_a Q, downwards from cap; returns Q and the policy."""
    S, A = mask.shape
    V = np.full(S, cap)
    Q = np.empty((S, A))
    policy = np.zeros(S, dtype=np.int64)
    for _ in range(max_sweeps):
        _bonus_backup(rows, local, factor, mask, discount, cap, V, Q)
        if lower(Q, V) <= tolerance:
            break
    canonical_policy(Q, policy, TIE * max(1e-300, np.abs(V).max()))
    return Q, policy


@jit
def bonus_induction(rows, local, factor, mask, discount, caps):
    """Backward induction with rewards and bonuses (H, rows) and caps; Q (H, S, A) and the policy."""
    H, (S, A) = local.shape[0], mask.shape
    V = np.zeros(S)
    Q = np.empty((H, S, A))
    policy = np.zeros((H, S), dtype=np.int64)
    for h in range(H - 1, -1, -1):
        _bonus_backup(rows, local[h], factor, mask, discount, caps[h], V, Q[h])
        for s in range(S):
            V[s] = Q[h, s].max()
        canonical_policy(Q[h], policy[h], TIE * max(1e-300, np.abs(V).max()))
    return Q, policy


@jit
def capped_iteration(rows, local, mask, discount, cap, V, policy, accuracy, max_iterations):
    """V = min(cap, max_a local + discount P V) from V on (overwritten, as the policy); returns Q."""
    planning.solve(rows, local, mask, discount, V, policy, accuracy, max_iterations, cap)
    Q = np.empty(mask.shape)
    planning.q_table(rows, local, mask, discount, V, Q)
    for s in range(Q.shape[0]):
        for a in range(Q.shape[1]):
            Q[s, a] = min(cap, Q[s, a])
    canonical_policy(Q, policy, TIE * max(1e-300, np.abs(V).max()))
    return Q


@jit
def ordered_weights(pool, totals, prior_mass):
    """Dirichlet parameters of all rows, one after the other: counts by ascending outcome, then the pseudo-state's.

    Returns the outcomes (-1 for the pseudo-state), the parameters and where the rows begin.
    """
    start, length, _, heads, n, _, _ = pool
    R = totals.shape[0]
    first = np.empty(R + 1, np.int64)
    first[0] = 0
    for row in range(R):
        first[row + 1] = first[row] + length[row] + 1
    outcomes = np.empty(first[R], np.int32)
    weights = np.empty(first[R])
    for row in range(R):
        low, k = start[row], length[row]
        order = np.argsort(heads[low : low + k])
        for j in range(k):
            outcomes[first[row] + j] = heads[low + order[j]]
            weights[first[row] + j] = n[low + order[j]]
        outcomes[first[row] + k] = -1
        weights[first[row] + k] = prior_mass
    return outcomes, weights, first


@jit
def normalised_draws(outcomes, first, gammas):
    """Rows of B draws from gammas (B, parameters), draw b of row i as row i B + b; and the pseudo-state's share."""
    B, R = gammas.shape[0], first.shape[0] - 1
    rows = B * R
    places = B * (first[R] - R)
    start, length = np.empty(rows, np.int64), np.empty(rows, np.int32)
    heads, excess = np.empty(places, np.int32), np.empty(places)
    share = np.empty(rows)
    used = 0
    for row in range(R):
        k = first[row + 1] - first[row] - 1
        for b in range(B):
            at = row * B + b
            start[at], length[at] = used, k
            draw = gammas[b, first[row] : first[row + 1]]
            total = draw.sum()
            # A tiny prior mass alone can underflow to 0; then the row is the pseudo-state's.
            share[at] = draw[k] / total if total > 0.0 else 1.0
            for j in range(k):
                heads[used] = outcomes[first[row] + j]
                excess[used] = draw[j] / total if total > 0.0 else 0.0
                used += 1
    return (start, length, heads, excess, np.zeros(rows)), share


@jit
def _quantile_backup(rows, local, rank, mask, discount, V, Q, values):
    """Q(s, a) = the `rank`-th smallest (from 0) over draws b of local_b + discount P_b V."""
    S, A = mask.shape
    B = values.shape[0]
    total = V.sum()
    for s in range(S):
        for a in range(A):
            Q[s, a] = -np.inf
            if not mask[s, a]:
                continue
            for b in range(B):
                row = (s * A + a) * B + b
                values[b] = local[row] + discount * expected(rows, row, V, total)
            Q[s, a] = values.max() if rank == B - 1 else np.sort(values)[rank]


@jit
def quantile_iteration(rows, local, rank, draws, mask, discount, cap, tolerance, max_sweeps):
    """Value iteration from the cap with a quantile over drawn rows; returns Q and the policy."""
    S, A = mask.shape
    V = np.full(S, cap)
    Q = np.empty((S, A))
    values = np.empty(draws)
    policy = np.zeros(S, dtype=np.int64)
    for _ in range(max_sweeps):
        _quantile_backup(rows, local, rank, mask, discount, V, Q, values)
        if assign(Q, V) <= tolerance:
            break
    canonical_policy(Q, policy, TIE * max(1e-300, abs(cap), np.abs(V).max()))
    return Q, policy


@jit
def quantile_induction(rows, r, share, rank, draws, mask, discount, caps):
    """The same over an episode; caps (H + 1,) are the values of the pseudo-state, which has a share of every row."""
    H, (S, A) = caps.shape[0] - 1, mask.shape
    V = np.zeros(S)
    Q = np.empty((H, S, A))
    values = np.empty(draws)
    policy = np.zeros((H, S), dtype=np.int64)
    for h in range(H - 1, -1, -1):
        local = r + discount * caps[h + 1] * share
        _quantile_backup(rows, local, rank, mask, discount, V, Q[h], values)
        for s in range(S):
            V[s] = Q[h, s].max()
        canonical_policy(Q[h], policy[h], TIE * max(1e-300, np.abs(V).max()))
    return Q, policy


@jit
def maximum_iteration(rows, local, draws, mask, discount, cap, V, accuracy, max_iterations):
    """As `quantile_iteration` for the maximum, from V on (overwritten): an MDP whose actions are pairs of both."""
    S, A = mask.shape
    pairs = np.repeat(mask, draws).reshape(S, A * draws)
    chosen = np.zeros(S, dtype=np.int64)
    policy = np.zeros(S, dtype=np.int64)
    every = np.empty((S, A * draws))
    planning.solve(rows, local, pairs, discount, V, chosen, accuracy, max_iterations)
    planning.q_table(rows, local, pairs, discount, V, every)
    Q = np.full((S, A), -np.inf)
    for s in range(S):
        for i in range(A * draws):
            Q[s, i // draws] = max(Q[s, i // draws], every[s, i])
    canonical_policy(Q, policy, TIE * max(1e-300, abs(cap), np.abs(V).max()))
    return Q, policy
