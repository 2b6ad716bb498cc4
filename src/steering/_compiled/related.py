"""Compiled rows of a model in which the actions of a state lead to like places.

In the model of the data a row with n visits gives the weight w = e / (n + e) to the prior, e = min(eta S, 1). With
*related* rows that weight goes to where the state's actions were seen to lead,

    m_s(y) = (1 / S + sum_b n_b(y) / (n_b + 1)) / (1 + G),    G = sum_b n_b / (n_b + 1),

instead of to all states alike: P + w (m_s - 1 / S). The counts n_b(y) are `evened`, as those of the model. Rows never
tried stay as they are, and so does a row tried once or twice (less than `SURE` times) that would lose by it: a bad
outcome, which may have been bad luck, is not made certain by the other actions.
"""

from steering._compiled._jit import inlined, jit
from steering._compiled.beliefs import evened

SURE = 3.0
"""Visits from which on a row is related to the others even if it loses by it."""
ROUNDING = 1e-9
"""A gain is a loss only beyond this part of the numbers it is the difference of."""


@inlined
def gain_of(reached, among, middle):
    """What the prior's weight gains: m_s V - mean of V, with `reached` sum_b n_b V / (n_b + 1) and `among` G.

    A loss by rounding is no loss.
    """
    centre = (reached + middle) / (1.0 + among)
    gain = centre - middle
    return 0.0 if abs(gain) <= ROUNDING * (abs(centre) + abs(middle)) else gain


@inlined
def prior_weight(visits, e, gain):
    """Weight w of the prior that goes to where the state's actions lead; 0 where it goes to all states alike."""
    if visits >= SURE or (visits > 0.0 and gain >= 0.0):
        return e / (visits + e)
    return 0.0


@jit
def _reached(counts, totals, kinds, even, s, values):
    """Sum_b n_b V / (n_b + 1) of a state, and G."""
    S, A, _ = counts.shape
    reached, among = 0.0, 0.0
    for a in range(A):
        if totals[s, a] > 0.0:
            total = 0.0
            for y in range(S):
                if counts[s, a, y] > 0.0:
                    total += evened(counts[s, a, y], totals[s, a], kinds[s, a], even) * values[y]
            reached += total / (totals[s, a] + 1.0)
            among += totals[s, a] / (totals[s, a] + 1.0)
    return reached, among


@jit
def related_rows(counts, totals, kinds, even, e, values, P, share, out):
    """The rows P of a model, related where `values` (S,) say so; into `out`. `share` (S,) is workspace."""
    S, A, _ = counts.shape
    middle = values.sum() / S
    for s in range(S):
        reached, among = _reached(counts, totals, kinds, even, s, values)
        gain = gain_of(reached, among, middle)
        for y in range(S):
            share[y] = 0.0
        for a in range(A):
            if totals[s, a] > 0.0:
                for y in range(S):
                    if counts[s, a, y] > 0.0:
                        n = evened(counts[s, a, y], totals[s, a], kinds[s, a], even)
                        share[y] += n / (totals[s, a] + 1.0)
        for a in range(A):
            w = prior_weight(totals[s, a], e, gain)
            for y in range(S):
                p = P[s, a, y]
                if w > 0.0:
                    p += w * ((share[y] + 1.0 / S) / (1.0 + among) - 1.0 / S)
                out[s, a, y] = p


@jit
def related_gains(counts, totals, kinds, even, e, values, out):
    """What related rows add to the expected values, w (m_s - 1 / S) V, for every pair."""
    S, A, _ = counts.shape
    middle = values.sum() / S
    for s in range(S):
        reached, among = _reached(counts, totals, kinds, even, s, values)
        gain = gain_of(reached, among, middle)
        for a in range(A):
            out[s, a] = prior_weight(totals[s, a], e, gain) * gain


@jit
def grouped_gains(pool, totals, n_actions, even, e, values, out):
    """`related_gains` of a belief by support; `totals` and `out` have one number a row."""
    start, length, _, heads, n, _, _ = pool
    S = values.shape[0]
    middle = values.sum() / S
    for s in range(S):
        reached, among = 0.0, 0.0
        for row in range(s * n_actions, (s + 1) * n_actions):
            if totals[row] > 0.0:
                total = 0.0
                for i in range(start[row], start[row] + length[row]):
                    total += evened(n[i], totals[row], float(length[row]), even) * values[heads[i]]
                reached += total / (totals[row] + 1.0)
                among += totals[row] / (totals[row] + 1.0)
        gain = gain_of(reached, among, middle)
        for row in range(s * n_actions, (s + 1) * n_actions):
            out[row] = prior_weight(totals[row], e, gain) * gain


@jit
def relate_states(n_actions, totals, e, values, pool, model):
    """`relate_state` of all states."""
    S = values.shape[0]
    middle = values.sum() / S
    for s in range(S):
        relate_state(s, n_actions, totals, e, values, middle, pool, model)


@jit
def relate_state(s, n_actions, totals, e, values, middle, pool, model):
    """Related rows of one state of a model by support.

    `model` is (excess, base, blended, weight, factor): P_y = blended of the row for every outcome, plus its excess,
    plus its weight times the sum of factor x excess of all rows of the state.
    """
    start, length, _, heads, _, _, _ = pool
    excess, base, blended, weight, factor = model
    reached, among = 0.0, 0.0
    for row in range(s * n_actions, (s + 1) * n_actions):
        factor[row] = 0.0
        if totals[row] > 0.0:
            # The excess is n_y / (n + e), and n_y / (n + 1) is wanted.
            factor[row] = (totals[row] + e) / (totals[row] + 1.0)
            total = 0.0
            for i in range(start[row], start[row] + length[row]):
                total += excess[i] * values[heads[i]]
            reached += factor[row] * total
            among += totals[row] / (totals[row] + 1.0)
    gain = gain_of(reached, among, middle)
    for row in range(s * n_actions, (s + 1) * n_actions):
        w = prior_weight(totals[row], e, gain)
        weight[row] = w / (1.0 + among)
        blended[row] = base[row] / (1.0 + among) if w > 0.0 else base[row]
