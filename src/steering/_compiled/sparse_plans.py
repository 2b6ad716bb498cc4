"""Compiled plans that are repaired: after a few observations only what they changed is computed again.

Rows that were seen since the last plan get their model, reward and bonus anew; their states are put into a queue. A
state taken from it is backed up; if its value has moved by more than a third of the tolerance since it was last passed
on, the states seen to lead to it are queued. What acts on all rows at once (the sum of all values, through the mass of
unseen outcomes; the common mean of rewards) is passed on when it has moved by a third of the tolerance: then, as after
a change of concentration, noise unit or noise, all rows are swept (`steering._compiled.grouped_planning.solve`). In
large worlds such a sweep is dear, and most rows, once tried, hardly feel the sum of all values: there the states that
do are queued instead, and the repair goes on (`_feel`), a few times before all rows are swept. With it, what is passed
on counts from a fourth of the tolerance, not a third, and all rows are swept when the largest value has fallen.

*Residual*: after a plan no state's Bellman equation is off by more than accuracy (1 - discount) max|V|, so that the
values are those of the optimal policy up to accuracy max|V|.

With related rows (`steering._compiled.related`) a row that was seen changes the model of all rows of its state. Whether
rows tried once or twice would lose rests on the values at their state's last change, or at the last sweep of all rows.

A bonus is a function of a row's statistics: `bonus` is the one place to change for another one. The spread of a row's
mean value rests on the values of the last plan; where all rows are swept it is computed again with the new ones, and
the plan made once more (`ROUNDS`). Rows that were not seen keep it till then, in large worlds perhaps till new noise.
"""

import math

import numpy as np

from steering._compiled import grouped_planning as planning
from steering._compiled._jit import inlined, jit
from steering._compiled.planning import copy_values, tie_tolerance
from steering._compiled.related import relate_state
from steering._compiled.reward_scale import worth
from steering._compiled.sparse_beliefs import CHANGED, row_terms
from steering._compiled.sparse_moments import (
    BARKER,
    BARKER_EMPIRICAL,
    GAIN,
    VARIANCE,
    deviations,
    row_gain,
    row_moments,
    row_variance,
)
from steering._compiled.special import digamma
from steering._compiled.stein import barker_row

PATIENCE = 1
"""Backups of a repair, in sweeps; beyond that a solution from all states is cheaper."""

ETA, MU, LAM, BETA, SCALE, TOTAL, PROMISE, WITHIN, GROWN, EVEN = range(10)
"""Numbers that a plan rests on: concentration, prior of rewards, largest value, sum of values, worth of the unseen in
rows never tried and in others, how far it has grown, and how even outcomes are."""
RESTS = 10
YES = np.bool_(True)
FALLEN = 0.9
"""Part of the largest value at the last sweep that it must have kept, where repairs go on."""
PLAIN = 2
"""Arrays of a model whose rows are not related."""
ROUNDS = 2
"""Rounds of plan and bonus, where the bonus is about values."""


@inlined
def bonus(weights, D, known, new, z, mass, visits):
    """What is added to the expected reward of a row.

    `weights` is (info_weight, novelty, reward_noise, value_weight, promise of a row never tried, and of one that was,
    how far they have grown), D the information, known and new the posterior variances of the mean reward by rewards
    seen and never seen, z standard normal, `mass` the probability of outcomes never seen. With a promise above 0
    rewards never seen are alike.
    """
    fresh = math.sqrt(new)
    if weights[4] > 0.0:
        fresh = mass * worth(weights[4], weights[5], weights[6], visits)
    return weights[0] * D + weights[1] * fresh + weights[2] * math.sqrt(known) * z


@jit
def information(kind, pool, totals, row, n_states, eta, diagonal, space):
    """Information of one row; see `steering._compiled.sparse_moments` for the kinds."""
    start, length, _, _, n, _, _ = pool
    if kind in (BARKER, BARKER_EMPIRICAL):
        low = start[row]
        return barker_row(n[low : low + length[row]], n_states, eta, diagonal, kind == BARKER_EMPIRICAL, space)
    if kind == VARIANCE:
        return row_variance(pool, totals, row, n_states, eta)
    if kind == GAIN:
        return row_gain(pool, totals, row, n_states, eta, digamma(eta + 1.0) - math.log(eta))
    return 0.0


@jit
def information_rows(kind, pool, totals, n_states, eta, diagonal, space, known, out):
    """Information of all rows whose visits are not those in `known`, which is brought up to date, as is `out`."""
    empty = -1
    for row in range(totals.shape[0]):
        if totals[row] != known[row]:
            known[row] = totals[row]
            if totals[row] == 0.0 and empty >= 0:
                out[row] = out[empty]
                continue
            out[row] = information(kind, pool, totals, row, n_states, eta, diagonal, space)
            if totals[row] == 0.0:
                empty = row


@jit
def _local(row, belief, prior, choice, model, tables, fresh, space, about):
    """Model, information and local reward of one row; the information is kept unless the row is `fresh`.

    `about` is (values, discount, `deviations` of the values, limit), for the spread of the row's mean value.
    """
    pool, totals = belief[0], belief[1]
    n_states, e, eta, kind, diagonal, weights, pooled, even = choice
    local, D, z = tables
    r, known, new = row_terms(pool, totals, row, n_states, e, even, pooled, prior, (model[0], model[1]))
    if fresh:
        D[row] = information(kind, pool, totals, row, n_states, eta, diagonal, space)
    mass = (n_states - pool[1][row]) * model[1][row]
    local[row] = r + bonus(weights, D[row], known, new, z[row], mass, totals[row])
    if weights[3] > 0.0:
        V, discount, sums, limit = about
        spread = row_moments(pool, totals, row, n_states, eta, prior, V, discount, sums)[0]
        local[row] += weights[3] * min(math.sqrt(spread), limit)


@jit
def _all_rows(belief, prior, choice, model, tables, fresh, space, about):
    """`_local` of all rows; those never visited are all alike."""
    pool, totals = belief[0], belief[1]
    local, D, _ = tables
    empty = -1
    for row in range(totals.shape[0]):
        if pool[1][row] == 0 and empty >= 0:
            model[1][row] = model[1][empty]
            D[row] = D[empty]
            local[row] = local[empty]
        else:
            _local(row, belief, prior, choice, model, tables, fresh, space, about)
            if pool[1][row] == 0:
                empty = row
    n_states = about[0].shape[0]
    _relate(0, n_states, totals.shape[0] // n_states, belief, choice, model, about)


@jit
def _relate(first, end, n_actions, belief, choice, model, about):
    """Related rows of some states, where rows are related."""
    if len(model) > PLAIN:
        for s in range(first, end):
            relate_state(s, n_actions, belief[1], choice[0] * choice[1], about[0], about[2][0], belief[0], model)


@inlined
def _push(s, queue, queued, tail):
    if not queued[s]:
        queued[s] = True
        queue[tail] = s
        return (tail + 1) % queue.shape[0]
    return tail


@jit
def _back_up(s, tail, total, rows, local, mask, discount, values, links, work, third, tie, q):
    """Back up one state and pass on what has become of it; the new tail of the queue and the sum of all values."""
    V, sent, policy, sums = values
    head_of, following, origin = links
    best = planning.state_values(rows, local, mask, discount, s, V, total, q)
    total += best - V[s]
    sums[s] = total
    V[s] = best
    policy[s] = planning.lowest(q, best - tie)
    if abs(best - sent[s]) > third:
        sent[s] = best
        edge = head_of[s]
        while edge >= 0:
            tail = _push(np.int64(origin[edge]), work[0], work[1], tail)
            edge = following[edge]
    return tail, total


@jit
def _repair(tail, rows, local, mask, discount, values, links, work, third, tie):
    """Empty the queue; returns the sum of all values and whether the queue is empty."""
    V = values[0]
    queue, queued = work
    q = np.empty(mask.shape[1])
    total = V.sum()
    head = 0
    for _ in range(PATIENCE * V.shape[0]):
        if head == tail:
            return total, True
        s = np.int64(queue[head])
        head = (head + 1) % queue.shape[0]
        queued[s] = False
        tail, total = _back_up(s, tail, total, rows, local, mask, discount, values, links, work, third, tie, q)
    queued[:] = False
    return total, False


@jit
def _solve(rows, local, mask, discount, values, rests, accuracy, cap, tie):
    """Sweep all states until nothing changes; the number of improvements."""
    V, sent, policy, sums = values
    q = np.empty(mask.shape[1])
    made = planning.solve(rows, local, mask, discount, V, policy, accuracy / 3.0, cap)
    scale = max(np.abs(V).max(), np.abs(local).max())
    total = V.sum()
    for s in range(V.shape[0]):  # the lowest of the best actions, as everywhere
        best = planning.state_values(rows, local, mask, discount, s, V, total, q)
        policy[s] = planning.lowest(q, best - tie * scale)
    copy_values(V, sent)
    sums[:] = total
    rests[SCALE], rests[TOTAL] = scale, total
    return made


@jit
def _feel(total, rows, mask, discount, sums, work, third):
    """Queue the states whose Bellman equations the sum of all values moves by more than `third`; the new tail.

    It is compared with the sum at each state's last backup. A row feels it by the probability of an unlisted outcome,
    which is 1 / S at most.
    """
    base = rows[4]
    S, A = mask.shape
    tail = np.int64(0)
    if discount * max(total - sums.min(), sums.max() - total) <= third * S:
        return tail
    for s in range(S):
        moved = discount * abs(total - sums[s])
        for a in range(A):
            if mask[s, a] and base[s * A + a] * moved > third:
                tail = _push(s, work[0], work[1], tail)
                break
    return tail


@jit
def _reaches(numbers, size):
    """Whether any number is as large, whatever its sign; seldom all are looked at."""
    for x in numbers:  # noqa: SIM110 - generators are not compiled
        if abs(x) >= size:
            return True
    return False


@jit
def _repair_on(tail, rows, local, mask, discount, values, links, work, third, tie, scale, passes):
    """Repair, and go on with the states that feel the sum of all values; whether nothing is left to be done."""
    for _ in range(passes):
        total, done = _repair(tail, rows, local, mask, discount, values, links, work, third, tie)
        if not done:
            return False
        tail = _feel(total, rows, mask, discount, values[3], work, third)
        if tail == 0:
            # The tolerance is a part of the largest value as it was: it must not have fallen.
            return _reaches(values[0], FALLEN * scale) or _reaches(local, FALLEN * scale)
    work[1][:] = False
    return False


@jit
def _renew(belief, prior, choice, model, tables, space, rests, renew, about):
    """All rows again; the information too where it changed, of the rows seen since the last plan or of all."""
    if choice[2] != rests[ETA]:
        space[3][:] = 0
    if not renew:
        for i in range(belief[4][CHANGED]):
            _local(belief[3][1][i], belief, prior, choice, model, tables, YES, space, about)
    _all_rows(belief, prior, choice, model, tables, renew, space, about)
    rests[ETA], rests[MU], rests[LAM], rests[BETA] = choice[2], prior[0], prior[1], prior[3]
    rests[PROMISE], rests[WITHIN], rests[GROWN], rests[EVEN] = choice[5][4], choice[5][5], choice[5][6], choice[7]


@jit
def rows_of(pool, model):
    """Rows as `steering._compiled.grouped_planning` reads them."""
    if len(model) > PLAIN:
        return pool[0], pool[1], pool[3], model[0], model[2], model[3], model[4]
    return pool[0], pool[1], pool[3], model[0], model[1]


@jit
def plan(
    belief, prior, choice, model, tables, mask, discount, values, work, space, rests, accuracy, anew, cap, limit, passes
):
    """Bring a plan up to date with a belief; returns the number of sweeps of a solution from all states, 0 if repaired.

    Parameters
    ----------
    belief
        (pool, totals, links, marks, state) of a belief by support.
    prior
        Of rewards.
    choice
        (S, e, eta, kind, diagonal, weights, pooled, even): concentration of the model and of the belief, information,
        bonus, whether outcomes never seen are expected to pay what those seen do, how even outcomes are.
    model
        (excess, base), the rows of the model; with related rows (excess, base, blended, weight, factor).
    tables
        (local, D, z), one number a row: reward with bonus, information, noise.
    values
        (V, sent, policy, sums): values, what was passed on of them, the policy, and the sum of all values at the last
        backup of each state.
    work, space
        Queue of the states with its flags; workspace of the information.
    rests
        What the last plan rests on; see the constants.
    accuracy
        Relative accuracy of the values.
    anew
        Whether the local rewards of all rows are to be computed again, because the noise changed.
    cap
        Improvements of one solution, at most.
    limit
        Of the spread of a row's mean value.
    passes
        Repairs in a row, at most, each with the states that feel the sum of all values, before all are swept; 0: one,
        and all states are swept where the sum has moved.
    """
    pool, _, links, marks, state = belief
    local = tables[0]
    A = mask.shape[1]
    rows = rows_of(pool, model)
    third = max(accuracy * (1.0 - discount), planning.ROUNDING) * rests[SCALE] * (FALLEN / 4.0 if passes else 1.0 / 3.0)
    other = anew or choice[2] != rests[ETA] or prior[1] != rests[LAM] or prior[3] != rests[BETA]
    other = other or choice[5][4] != rests[PROMISE] or choice[5][5] != rests[WITHIN] or choice[5][6] != rests[GROWN]
    other = other or choice[7] != rests[EVEN]
    about = (values[0], discount, deviations(values[0]), limit)
    moved = not abs(prior[0] - rests[MU]) <= third
    if other or moved:
        _renew(belief, prior, choice, model, tables, space, rests, choice[2] != rests[ETA], about)
    tail = np.int64(0)  # a literal would have the functions it is handed to compiled once more
    for i in range(state[CHANGED]):
        row = marks[1][i]
        marks[0][row] = False
        if not (other or moved):
            _local(row, belief, prior, choice, model, tables, YES, space, about)
            _relate(row // A, row // A + 1, A, belief, choice, model, about)
            tail = _push(row // A, work[0], work[1], tail)
    state[CHANGED] = 0
    tie = tie_tolerance(discount)
    if not (other or moved):
        ties, scale = tie * rests[SCALE], rests[SCALE]
        if passes:
            if _repair_on(tail, rows, local, mask, discount, values, links, work, third, ties, scale, passes):
                return 0
        else:
            total, done = _repair(tail, rows, local, mask, discount, values, links, work, third, ties)
            if done and abs(total - rests[TOTAL]) <= third * mask.shape[0]:
                return 0
    made = _solve(rows, local, mask, discount, values, rests, accuracy, cap, tie)
    if choice[5][3] > 0.0:
        for _ in range(ROUNDS - 1):
            about = (values[0], discount, deviations(values[0]), limit)
            _all_rows(belief, prior, choice, model, tables, not YES, space, about)
            made += _solve(rows, local, mask, discount, values, rests, accuracy, cap, tie)
    return made
