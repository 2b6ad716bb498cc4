"""Compiled beliefs by support: statistics of the outcomes that were seen, and of no others.

Row s A + a keeps its outcomes one after the other in a pool with some room behind them; a row that outgrows its room
moves to the end of the pool and gets twice as much. A pool is ``start, length, room`` (one number a row) and
``successors, n, average, scatter`` (one a place). Outcomes never seen all have the prior's parameters, so whatever is a
sum over outcomes is a sum over those seen plus (S - k) times one term.

Beside the pool: ``totals`` of the rows; ``links`` (head, next, origin), for every state the rows that were seen to lead
to it, as linked lists; ``marks`` (flag, rows), the rows that changed since somebody last asked; ``state``, numbers: see
the constants below.
"""

import math

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.beliefs import evened, judge_evenness, normal_gamma_cell
from steering._compiled.reward_scale import (
    noise_evidence,
    prior_in_unit,
    promise,
    tried_twice,
    wide_spread,
    with_spread,
    within_promise,
    within_row,
)

USED = 0
"""Places of the pool in use, room included."""
CELLS = 1
"""Outcomes seen."""
SAMPLES = 2
"""Transitions seen."""
CHANGED = 3
"""Rows that changed."""
JUDGED = 4
"""Transitions that had been seen when the unit of the noise was chosen; -1 if it never was."""
NUMBERS = 5

LAG_FREE = 256
"""Up to so many outcomes the unit of the noise is chosen anew at each `refresh`."""
LAG = 64
"""Beyond that it is chosen anew once there is one new reward for so many outcomes."""


@jit
def find(pool, row, y):
    """Place of an outcome of a row; -1 if it was never seen."""
    start, length, _, successors = pool[:4]
    for i in range(start[row], start[row] + length[row]):
        if successors[i] == y:
            return i
    return -1


@jit
def _new_place(pool, links, state, row, y, n_actions):
    """Append an outcome to a row; -1 if the pool is full."""
    start, length, room, successors, n, average, scatter = pool
    head, following, origin = links
    if length[row] == room[row]:
        more = max(2, 2 * room[row])
        low, old = state[USED], start[row]
        if low + more > successors.shape[0]:
            return -1
        for i in range(length[row]):
            successors[low + i] = successors[old + i]
            n[low + i] = n[old + i]
            average[low + i] = average[old + i]
            scatter[low + i] = scatter[old + i]
        start[row] = low
        room[row] = more
        state[USED] = low + more
    place = start[row] + length[row]
    length[row] += 1
    successors[place] = y
    n[place] = 0.0
    average[place] = 0.0
    scatter[place] = 0.0
    edge = state[CELLS]
    following[edge] = head[y]
    origin[edge] = row // n_actions
    head[y] = edge
    state[CELLS] = edge + 1
    return place


@jit
def mark(marks, state, row):
    """Note that a row changed."""
    flag, rows = marks
    if not flag[row]:
        flag[row] = True
        rows[state[CHANGED]] = row
        state[CHANGED] += 1


@jit
def observe(data, first, n_states, n_actions, pool, totals, links, marks, state, concentrations, evenness, lam, sums):
    """Add transitions from number `first` on, in their order; returns how many are in, fewer where the pool is full.

    `concentrations` and `evenness` as in `steering._compiled.beliefs.observe`. `sums` (weights, weighted averages) are
    those of `common_mean` for lambda = `lam`, kept up to date.
    """
    states, actions, rewards, successors = data
    _, _, _, _, counts, average, scatter = pool
    etas, evidence = concentrations
    evens, even_evidence = evenness
    for t in range(first, states.shape[0]):
        row, y, r = states[t] * n_actions + actions[t], successors[t], rewards[t]
        i = find(pool, row, y)
        if i < 0:
            i = _new_place(pool, links, state, row, y, n_actions)
            if i < 0:
                return t
        n = counts[i]
        for g in range(etas.shape[0]):
            evidence[g] += math.log((etas[g] + n) / (n_states * etas[g] + totals[row]))
        if n > 0.0:
            judge_evenness(n, totals[row], float(pool[1][row]), evens, even_evidence)
        share = n / (n + lam)
        sums[0] -= share
        sums[1] -= share * average[i]
        n += 1.0
        counts[i] = n
        totals[row] += 1.0
        step = r - average[i]
        average[i] += step / n
        scatter[i] += step * (r - average[i])
        share = n / (n + lam)
        sums[0] += share
        sums[1] += share * average[i]
        state[SAMPLES] += 1
        mark(marks, state, row)
    return states.shape[0]


@jit
def cells_of(pool, cells):
    """(n, average, scatter) of all outcomes seen, as the columns of an array."""
    start, length, _, _, n, average, scatter = pool
    columns = np.empty((3, cells))
    j = 0
    for row in range(start.shape[0]):
        for i in range(start[row], start[row] + length[row]):
            columns[0, j] = n[i]
            columns[1, j] = average[i]
            columns[2, j] = scatter[i]
            j += 1
    return columns


@jit
def within_rows(given, prior, pool, promised):
    """`within_promise` of all rows of a pool."""
    start, length, _, _, n, average, _ = pool
    squares, more, reach = 0.0, 0.0, 0.0
    for row in range(start.shape[0]):
        if length[row] > 1:
            low = start[row]
            high = low + length[row]
            terms = within_row(n[low:high], average[low:high])
            squares += terms[0]
            more += terms[1]
            reach += terms[2]
    return within_promise(given, prior, promised, squares, more, reach)


@jit
def learn_rewards(given, unit, units, pulls, mean_pull, pool, state, sums, evidence, totals, spreads, width):
    """Choose the unit of the noise, if it is time to, and the common mean; returns both, the latter within the prior.

    The `spreads` of rewards never seen (in all, and within a row that was tried), where above 0, are learned as well,
    and so is lambda in force, `width`; all are returned.

    The formulas are those of `steering._compiled.reward_scale.learn_rewards`. The evidence for the unit costs a term
    for each outcome and unit, so that with many outcomes it is looked at after some new rewards only (`LAG`).
    """
    seen = state[CELLS]
    if seen == 0:
        return 0.0, given, spreads, width
    fresh = state[SAMPLES] - state[JUDGED]
    if state[JUDGED] < 0 or (fresh > 0 and fresh * LAG >= seen - LAG_FREE):
        state[JUDGED] = state[SAMPLES]
        cells = cells_of(pool, seen)
        tau = wide_spread(given, cells) if spreads[0] > 0.0 else 0.0
        noise_evidence(given, units, cells, tau, evidence)
        best = 0
        for g in range(units.shape[0]):
            evidence[g] -= pulls[g]
            if evidence[g] > evidence[best]:
                best = g
        unit = units[best]
        lam = prior_in_unit(given, unit)[1]
        sums[0] = 0.0
        sums[1] = 0.0
        for j in range(seen):
            share = cells[0, j] / (cells[0, j] + lam)
            sums[0] += share
            sums[1] += share * cells[1, j]
        width = lam
        if spreads[0] > 0.0:
            start, lam, alpha, beta = prior_in_unit(given, unit)
            prior = ((mean_pull * start + sums[1]) / (mean_pull + sums[0]), lam, alpha, beta)
            if tau > 0.0:
                prior = with_spread(prior, tau)
            width = prior[1]
            spread = promise(given, prior, cells, tried_twice(totals))
            spreads = (spread, within_rows(given, prior, pool, spread))
    start, _, alpha, beta = prior_in_unit(given, unit)
    mean = (mean_pull * start + sums[1]) / (mean_pull + sums[0])
    return unit, (mean, width, alpha, beta), spreads, width


@jit
def row_terms(pool, totals, row, n_states, e, even, pooled, prior, model):
    """Fill a row of the model P_y = (n_y + e) / (n + S e), n_y `evened`, and describe its mean reward.

    `model` is (excess, base): P_y = base of the row for every outcome, plus the excess at those seen. With `pooled` an
    outcome never seen of a row that was tried is expected to pay what the row is expected to pay by those seen.

    Returns
    -------
    r, known, new
        Expected reward, and its posterior variance by rewards seen and by rewards never seen:
        Var = sum_y P_y^2 beta / (lambda (alpha - 1)), the mean rewards being independent.
    """
    start, length, _, _, n, average, scatter = pool
    excess, base = model
    mu0, lam, alpha, beta = prior
    whole = totals[row] + n_states * e
    u = e / whole
    base[row] = u
    unseen = n_states - length[row]
    r = 0.0
    paid = 0.0
    known = 0.0
    for i in range(start[row], start[row] + length[row]):
        share = evened(n[i], totals[row], float(length[row]), even)
        p = (share + e) / whole
        excess[i] = share / whole
        mu, shape, rate = normal_gamma_cell(prior, n[i], average[i], scatter[i])
        r += p * mu
        paid += share * mu
        known += p * p * rate / ((lam + n[i]) * (shape - 1.0))
    r += unseen * u * (paid / totals[row] if pooled and totals[row] > 0.0 else mu0)
    return r, known, unseen * u * u * beta / (lam * (alpha - 1.0))


@jit
def fill_model(pool, totals, n_states, e, even, pooled, prior, model, r, known, new):
    """`row_terms` of all rows; r, known and new are written to."""
    for row in range(totals.shape[0]):
        r[row], known[row], new[row] = row_terms(pool, totals, row, n_states, e, even, pooled, prior, model)
