"""Compiled learning of the priors of rewards, from all cells together: noise, common mean, spread.

What is learned and why is in `steering.beliefs.base`; cells and priors are as in `steering._compiled.beliefs`.
"""

import math

import numpy as np

from steering._compiled._jit import inlined, jit
from steering._compiled.beliefs import normal_gamma_cell, refresh_rewards

EVIDENCE_LIMIT = 8.0
"""Rewards that a cell counts as, at most, when the noise of all is judged. A cell without any noise would otherwise
outweigh every other as it is visited: its evidence grows without bound as the unit shrinks."""

PROMISE = 0.6
"""Spread of rewards never seen, relative to what the best mean reward seen has above the others."""
CERTAIN = 4.0
"""Standard errors by which a mean reward lies above the common one, to count as a scale of rewards."""
PATIENCE_PAIRS = 60.0
"""Pairs tried that weigh as much as the given spread, where rewards turn out smaller than expected."""
SPREAD_STEP = 1.1
"""Spreads move in steps of this factor."""
WITHIN_PULL = 8.0
"""Outcomes, beyond the first of their rows, that weigh as much as the promise where rewards within rows are judged."""


@jit
def prior_in_unit(base, unit):
    """The base prior with the noise of rewards measured in `unit` c: beta_0 c^2 and lambda_0 min(c^2, 1).

    Where c is below 1 the spread of mean rewards, beta / (lambda (alpha - 1)), stays as it is; where it is above 1 the
    spread grows with the noise, so that the prior is never worth more observations than it was given as.
    """
    square = unit * unit
    return base[0], base[1] * min(square, 1.0), base[2], base[3] * square


@jit
def spread_of(prior):
    """Standard deviation of a mean reward, sqrt(beta / (lambda (alpha - 1)))."""
    return math.sqrt(prior[3] / (prior[1] * (prior[2] - 1.0)))


@jit
def seen_cells(counts, average, scatter):
    """(n, average, scatter) of the cells that were seen, as the columns of a (3, cells) array."""
    S, A, _ = counts.shape
    number = 0
    for s in range(S):
        for a in range(A):
            for y in range(S):
                number += counts[s, a, y] > 0.0
    cells = np.empty((3, number))
    i = 0
    for s in range(S):
        for a in range(A):
            for y in range(S):
                if counts[s, a, y] > 0.0:
                    cells[0, i] = counts[s, a, y]
                    cells[1, i] = average[s, a, y]
                    cells[2, i] = scatter[s, a, y]
                    i += 1
    return cells


@jit
def common_mean(lam, start, strength, cells):
    """Best linear estimate of the mean that all cells share, `start` being worth `strength` cells.

    A cell's average lies about the common mean with variance s^2 (1 + lambda / n), s the spread of mean rewards, so
    that it has the weight n / (n + lambda).
    """
    weight = strength
    total = strength * start
    for i in range(cells.shape[1]):
        share = cells[0, i] / (cells[0, i] + lam)
        weight += share
        total += share * cells[1, i]
    return total / weight


@jit
def noise_evidence(base, units, cells, spread, out):
    """Log evidence of every unit c of the noise, up to a constant; writes into `out`.

    Mean rewards have a standard deviation of `spread` at least (0: that of the prior): rewards far from each other are
    no noise, if each comes again as it was.

    Of the marginal likelihood of a cell only beta^alpha_0 lambda^(1/2) / (beta_n^alpha_n lambda_n^(1/2)) depends on c.
    The prior's mean is that of the cells themselves, weighted as in `common_mean`: rewards that are all alike have no
    noise, however far they are from what was expected. A cell counts as `EVIDENCE_LIMIT` rewards at most.

    Cells that count as equally many rewards have the same shape, so that the logarithm is taken of products of rates.
    """
    classes = int(EVIDENCE_LIMIT) + 1
    sizes = np.zeros(classes)
    for i in range(cells.shape[1]):
        sizes[int(min(cells[0, i], EVIDENCE_LIMIT))] += 1.0
    products = np.ones(classes)
    for g in range(units.shape[0]):
        prior = prior_in_unit(base, units[g])
        _, lam, alpha, beta = with_spread(prior, spread) if spread > 0.0 else prior
        prior = (common_mean(lam, 0.0, 0.0, cells), lam, alpha, beta)
        total = cells.shape[1] * (alpha * math.log(beta) + 0.5 * math.log(lam))
        for i in range(cells.shape[1]):
            n = min(cells[0, i], EVIDENCE_LIMIT)
            _, shape, rate = normal_gamma_cell(prior, n, cells[1, i], cells[2, i] * n / cells[0, i])
            k = int(n)
            if 1e-150 < products[k] < 1e150 and 1e-150 < rate < 1e150:
                products[k] *= rate
            else:
                total -= shape * (math.log(products[k]) + math.log(rate))
                products[k] = 1.0
        for k in range(1, classes):
            if sizes[k] > 0.0:
                total -= (alpha + 0.5 * k) * math.log(products[k]) + 0.5 * sizes[k] * math.log(lam + k)
                products[k] = 1.0
        out[g] = total


@jit
def on_grid(value, start, factor):
    """The member of start factor^k, k whole, that is nearest to a value: what rests on it need not move every time."""
    steps = math.log(value / start) / math.log(factor)
    if not abs(steps) < 7000.0:  # beyond what a number can hold, or none at all
        return value if steps > 0.0 else start
    return start * factor ** round(steps)


@jit
def wide_spread(given, cells):
    """The spread of mean rewards as seen, sqrt(sum of squared averages / (cells + 1)), if above the given; else 0."""
    sigma = spread_of(given)
    squares = 0.0
    for i in range(cells.shape[1]):
        squares += cells[1, i] * cells[1, i]
    tau = math.sqrt(squares / (cells.shape[1] + 1.0))
    return on_grid(tau, sigma, SPREAD_STEP) if tau > sigma else 0.0


@jit
def with_spread(prior, tau):
    """The prior with a spread of mean rewards of at least tau.

    lambda falls to beta / (tau^2 (alpha - 1)), if that is less: a reward far from all that was expected is then
    believed.
    """
    mu0, lam, alpha, beta = prior
    return mu0, min(lam, beta / (tau * tau * (alpha - 1.0))), alpha, beta


@jit
def middle(prior, best, cells):
    """Mean of the averages, with weights n / (n + lambda) and without the given mean; the least are raised.

    No average counts as further below the common mean than the `best` is above: of a disaster of size D among n cells
    about 2 D / n^2 is left.
    """
    low = 2.0 * prior[0] - best
    weight = 0.0
    total = 0.0
    for i in range(cells.shape[1]):
        share = cells[0, i] / (cells[0, i] + prior[1])
        weight += share
        total += share * max(cells[1, i], low)
    return total / weight


@jit
def promise(given, prior, cells, tried):
    """What a reward never seen may be worth above the common mean: the spread that an agent looks for.

    It is `PROMISE` times what the best mean seen has above the `middle` of all, where that is more than the given
    spread sigma_0. Where it is less, and some mean is above the common one beyond doubt (`CERTAIN` standard errors), it
    goes from sigma_0 to `PROMISE` times what the best has above the common mean mu_0, if that is less, as more pairs
    have been tried: w = tried / (tried + `PATIENCE_PAIRS`), sigma_0^(1 - w) min(`PROMISE` (best - mu_0), sigma_0)^w.
    """
    sigma = spread_of(given)
    best = -math.inf
    sure = -math.inf
    for i in range(cells.shape[1]):
        mu, shape, rate = normal_gamma_cell(prior, cells[0, i], cells[1, i], cells[2, i])
        error = math.sqrt(rate / ((prior[1] + cells[0, i]) * (shape - 1.0)))
        best = max(best, mu)
        sure = max(sure, mu - CERTAIN * error)
    if best > prior[0]:
        hoped = PROMISE * (best - middle(prior, best, cells))
        if hoped > sigma:
            return on_grid(hoped, sigma, SPREAD_STEP)
    if sure <= prior[0]:
        return sigma
    w = tried / (tried + PATIENCE_PAIRS)
    return on_grid(min(PROMISE * (best - prior[0]), sigma) ** w * sigma ** (1.0 - w), sigma, SPREAD_STEP)


@inlined
def worth(promised, within, grown, visits):
    """What an outcome never seen of a pair is worth: the promise, and more for few visits where time has passed.

    Times sqrt(1 + g h / (1 + n)^2), h = min(1, 2 / (1 + n)), for n visits, `grown` g being `persistence` times the mean
    number of visits of a pair: a pair that failed twice or more is less likely to have failed by chance.
    """
    again = 1.0 + visits
    scale = math.sqrt(1.0 + grown * min(1.0, 2.0 / again) / (again * again))
    return scale * (within if visits > 0.0 else promised)


@jit
def worth_of_pairs(promised, within, grown, totals):
    """`worth` of all pairs."""
    out = np.empty(totals.shape)
    for s in range(totals.shape[0]):
        for a in range(totals.shape[1]):
            out[s, a] = worth(promised, within, grown, totals[s, a])
    return out


@jit
def within_row(n, average):
    """How far the rewards of a row's outcomes are apart, by numbers and averages of the outcomes (those with n > 0).

    Returns
    -------
    squares, more, reach
        Sum of n (average - row's average)^2; outcomes beyond the first; n - sum n^2 / n. The first has the expectation
        more noise^2 + reach tau^2, tau the spread of the outcomes' mean rewards.
    """
    total = 0.0
    mean = 0.0
    seen = 0
    for i in range(n.shape[0]):
        if n[i] > 0.0:
            seen += 1
            total += n[i]
            mean += n[i] * average[i]
    if seen < 2:
        return 0.0, 0.0, 0.0
    mean /= total
    squares = 0.0
    reach = total
    for i in range(n.shape[0]):
        if n[i] > 0.0:
            squares += n[i] * (average[i] - mean) ** 2
            reach -= n[i] * n[i] / total
    return squares, seen - 1.0, reach


@jit
def within_promise(given, prior, promised, squares, more, reach):
    """What an outcome never seen of a row that was tried may be worth above the row's mean; at most `promised`.

    tau^2 = (squares - more noise^2) / reach, from the sums of `within_row` over all rows, is the spread of rewards
    within rows. It has the weight more / (more + `WITHIN_PULL`), the promise has the rest.
    """
    if more <= 0.0 or reach <= 0.0:
        return promised
    noise = prior[3] / (prior[2] - 1.0)
    tau = math.sqrt(max(squares - more * noise, 0.0) / reach)
    w = more / (more + WITHIN_PULL)
    return on_grid(min(promised, w * tau + (1.0 - w) * promised), spread_of(given), SPREAD_STEP)


@jit
def tried_twice(totals):
    """Number of pairs visited at least twice."""
    tried = 0
    for visits in totals.flat:
        tried += visits >= 2.0
    return tried


@jit
def learn_rewards(given, units, pulls, mean_pull, statistics, evidence, posterior, totals, spread):
    """Choose the unit of the noise and the common mean, and make the reward posterior with them.

    `statistics` is (counts, average, scatter) and `posterior` (mu, shape, rate), written to. A `spread` of mean rewards
    above 0 is learned as well, and so is that within rows. Returns the unit, 0 where nothing was seen yet, the prior
    and both spreads. One function, because it runs before every plan and calls have a price.
    """
    counts, average, scatter = statistics
    mu, shape, rate = posterior
    cells = seen_cells(counts, average, scatter)
    if cells.shape[1] == 0:
        return 0.0, given, spread, spread
    tau = wide_spread(given, cells) if spread > 0.0 else 0.0
    noise_evidence(given, units, cells, tau, evidence)
    best = 0
    for g in range(units.shape[0]):
        evidence[g] -= pulls[g]
        if evidence[g] > evidence[best]:
            best = g
    start, lam, alpha, beta = prior_in_unit(given, units[best])
    prior = (common_mean(lam, start, mean_pull, cells), lam, alpha, beta)
    within = spread
    if spread > 0.0:
        if tau > 0.0:
            prior = with_spread(prior, tau)
        spread = promise(given, prior, cells, tried_twice(totals))
        squares, more, reach = 0.0, 0.0, 0.0
        for s in range(totals.shape[0]):
            for a in range(totals.shape[1]):
                if totals[s, a] > 1.0:
                    terms = within_row(counts[s, a], average[s, a])
                    squares += terms[0]
                    more += terms[1]
                    reach += terms[2]
        within = within_promise(given, prior, spread, squares, more, reach)
    refresh_rewards(prior, counts, average, scatter, mu, shape, rate)
    return units[best], prior, spread, within
