"""Compiled information and moments of the rows of a belief by support (`steering._compiled.sparse_beliefs`).

The same closed forms as in `steering._compiled.beliefs`; outcomes never seen are one group.
"""

import math

from steering._compiled._jit import jit
from steering._compiled.beliefs import normal_gamma_cell
from steering._compiled.special import digamma

NOTHING, BARKER, BARKER_EMPIRICAL, VARIANCE, GAIN = range(5)
"""Kinds of information of a row."""


@jit
def row_variance(pool, totals, row, n_states, eta):
    """Sum over s' of Var P(s'|s, a)."""
    start, length, _, _, n, _, _ = pool
    total = totals[row] + n_states * eta
    squares = (n_states - length[row]) * eta * eta
    for i in range(start[row], start[row] + length[row]):
        squares += (n[i] + eta) ** 2
    return (1.0 - squares / (total * total)) / (total + 1.0)


@jit
def row_gain(pool, totals, row, n_states, eta, unseen):
    """Mutual information between a row and its next outcome; `unseen` is psi(eta + 1) - log eta."""
    start, length, _, _, n, _, _ = pool
    total = totals[row] + n_states * eta
    gain = (n_states - length[row]) * eta * unseen
    for i in range(start[row], start[row] + length[row]):
        x = n[i] + eta
        gain += x * (digamma(x + 1.0) - math.log(x))
    return max(gain / total - digamma(total + 1.0) + math.log(total), 0.0)


@jit
def all_rows(kind, pool, totals, n_states, eta, out):
    """`row_variance` or `row_gain` of all rows."""
    unseen = digamma(eta + 1.0) - math.log(eta)
    for row in range(totals.shape[0]):
        if kind == VARIANCE:
            out[row] = row_variance(pool, totals, row, n_states, eta)
        else:
            out[row] = row_gain(pool, totals, row, n_states, eta, unseen)


@jit
def deviations(values):
    """Average of values, and the sums of their deviations from it (0 but for rounding) and of the squares of those."""
    middle = values.sum() / values.shape[0]
    first, second = 0.0, 0.0
    for y in range(values.shape[0]):
        first += values[y] - middle
        second += (values[y] - middle) ** 2
    return middle, first, second


@jit
def row_moments(pool, totals, row, n_states, eta, prior, values, discount, sums):
    """Var(sum P (mu + discount V)) and sum E[P] Var(mean reward) of one row, under the posterior mean row.

    Values are taken relative to their average, so that what is left of the group of unseen outcomes after those seen
    are taken away has small rounding errors; `sums` is `deviations` of the values.
    """
    middle, one, two = sums
    start, length, _, successors, n, average, scatter = pool
    mu0, lam, alpha, beta = prior
    total = totals[row] + n_states * eta
    u = eta / total
    unseen = n_states - length[row]
    centre, reward = 0.0, unseen * u * beta / (lam * (alpha - 1.0))
    low, high = start[row], start[row] + length[row]
    for i in range(low, high):
        v = values[successors[i]] - middle
        one -= v
        two -= v * v
        mu, shape, rate = normal_gamma_cell(prior, n[i], average[i], scatter[i])
        p = (n[i] + eta) / total
        centre += p * (mu + discount * v)
        reward += p * rate / ((lam + n[i]) * (shape - 1.0))
    centre += u * (unseen * mu0 + discount * one)
    gap = mu0 - centre
    squares = u * (discount * discount * max(two, 0.0) + 2.0 * discount * gap * one + unseen * gap * gap)
    for i in range(low, high):
        mu = normal_gamma_cell(prior, n[i], average[i], scatter[i])[0]
        squares += (n[i] + eta) / total * (mu + discount * (values[successors[i]] - middle) - centre) ** 2
    return max(squares, 0.0) / (total + 1.0), reward


@jit
def local_moments(pool, totals, n_states, eta, prior, values, discount, spread, noise):
    """`row_moments` of all rows; as `steering._compiled.beliefs.local_moments`, under the posterior mean rows."""
    sums = deviations(values)
    for row in range(totals.shape[0]):
        spread[row], noise[row] = row_moments(pool, totals, row, n_states, eta, prior, values, discount, sums)
