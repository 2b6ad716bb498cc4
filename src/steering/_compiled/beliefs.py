"""Compiled conjugate updates and model summaries.

Cells are (s, a, s'). For every cell: ``counts`` n, ``average`` and ``scatter`` of its rewards (mean and sum of
squared deviations); and the posterior parameters ``alpha = eta + n`` (Dirichlet), ``mu, shape, rate`` (Normal-Gamma;
its fourth parameter is lambda_0 + n and is never stored). ``prior`` is (mu_0, lambda_0, alpha_0, beta_0).
"""

import math

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.special import digamma

EVIDENCE_LIMIT = 8.0
"""Rewards that a cell counts as, at most, when the noise of all is judged. A cell without any noise would otherwise
outweigh every other as it is visited: its evidence grows without bound as the unit shrinks."""

PROMISE = 0.6
"""Spread of rewards never seen, relative to the best mean reward seen."""
CERTAIN = 4.0
"""Standard errors by which a mean reward lies above the common one, to count as a scale of rewards."""
PATIENCE_PAIRS = 60.0
"""Pairs tried that weigh as much as the given spread, where rewards turn out smaller than expected."""
SPREAD_STEP = 1.1
"""Spreads move in steps of this factor."""


@jit
def normal_gamma_cell(prior, n, average, scatter):
    """Posterior (mu, shape, rate) of a cell from its sufficient statistics."""
    mu0, lambda0, alpha0, beta0 = prior
    weight = lambda0 + n
    mu = (lambda0 * mu0 + n * average) / weight
    rate = beta0 + 0.5 * scatter + 0.5 * lambda0 * n * (average - mu0) ** 2 / weight
    return mu, alpha0 + 0.5 * n, rate


@jit
def first_invalid(data, n_states, n_actions):
    """Position of the first transition outside the table or with a reward that is not finite; -1 if there is none."""
    states, actions, rewards, successors = data
    for t in range(states.shape[0]):
        inside = 0 <= states[t] < n_states and 0 <= actions[t] < n_actions and 0 <= successors[t] < n_states
        if not (inside and math.isfinite(rewards[t])):
            return t
    return -1


@jit
def prior_in_unit(base, unit):
    """The base prior with the noise of rewards measured in `unit` c: beta_0 c^2 and lambda_0 min(c^2, 1).

    Where c is below 1 the spread of mean rewards, beta / (lambda (alpha - 1)), stays as it is; where it is above 1 the
    spread grows with the noise, so that the prior is never worth more observations than it was given as.
    """
    square = unit * unit
    return base[0], base[1] * min(square, 1.0), base[2], base[3] * square


@jit
def observe(prior, data, statistics, posterior, concentrations):
    """Add transitions one after the other: to the statistics, the posterior, and the evidence for the concentration.

    `concentrations` is (grid, evidence): every grid value eta gains the log of its predictive probability
    (eta + n_y) / (S eta + n). The marginal likelihood of a Dirichlet-multinomial is the product of its predictives,
    so the evidence is exact at the price of one logarithm a sample and grid point. An empty grid costs nothing.
    """
    states, actions, rewards, successors = data
    counts, totals, average, scatter = statistics
    alpha, mu, shape, rate = posterior
    etas, eta_evidence = concentrations
    S = counts.shape[2]
    for t in range(states.shape[0]):
        s, a, y, r = states[t], actions[t], successors[t], rewards[t]
        n = counts[s, a, y]
        for g in range(etas.shape[0]):
            eta_evidence[g] += math.log((etas[g] + n) / (S * etas[g] + totals[s, a]))
        n += 1.0
        counts[s, a, y] = n
        totals[s, a] += 1.0
        step = r - average[s, a, y]
        average[s, a, y] += step / n
        scatter[s, a, y] += step * (r - average[s, a, y])
        alpha[s, a, y] += 1.0
        mu[s, a, y], shape[s, a, y], rate[s, a, y] = normal_gamma_cell(prior, n, average[s, a, y], scatter[s, a, y])


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
def noise_evidence(base, units, cells, out):
    """Log evidence of every unit c of the noise, up to a constant; writes into `out`.

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
        _, lam, alpha, beta = prior_in_unit(base, units[g])
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
def refresh_rewards(prior, counts, average, scatter, mu, shape, rate):
    """Recompute the reward posterior of every cell, after the prior itself changed."""
    S, A, _ = counts.shape
    for s in range(S):
        for a in range(A):
            for y in range(S):
                cell = normal_gamma_cell(prior, counts[s, a, y], average[s, a, y], scatter[s, a, y])
                mu[s, a, y], shape[s, a, y], rate[s, a, y] = cell


@jit
def on_grid(value, start, factor):
    """The member of start factor^k, k whole, that is nearest to a value: what rests on it need not move every time."""
    steps = math.log(value / start) / math.log(factor)
    if not abs(steps) < 7000.0:  # beyond what a number can hold, or none at all
        return value if steps > 0.0 else start
    return start * factor ** round(steps)


@jit
def widened(given, prior, cells):
    """The prior with a spread of mean rewards that has grown with what was seen; never below the given one.

    tau^2 = max(sigma_0^2, sum of squared averages / (cells + 1)); lambda falls to beta / (tau^2 (alpha - 1)), if that
    is less: a reward far from all that was expected is then believed.
    """
    mu0, lam, alpha, beta = prior
    sigma = math.sqrt(given[3] / (given[1] * (given[2] - 1.0)))
    squares = 0.0
    for i in range(cells.shape[1]):
        squares += cells[1, i] * cells[1, i]
    tau = math.sqrt(squares / (cells.shape[1] + 1.0))
    if tau <= sigma:
        return prior
    tau = on_grid(tau, sigma, SPREAD_STEP)
    return mu0, min(lam, beta / (tau * tau * (alpha - 1.0))), alpha, beta


@jit
def promise(given, prior, cells, tried):
    """What a reward never seen may be worth above the common mean: the spread that an agent looks for.

    It is `PROMISE` times the best mean seen, where that is more than the given spread sigma_0. Where it is less, and
    some mean is above the common one beyond doubt (`CERTAIN` standard errors), it goes from sigma_0 to there as more
    pairs have been tried: w = tried / (tried + `PATIENCE_PAIRS`), sigma_0^(1 - w) (`PROMISE` best)^w.
    """
    sigma = math.sqrt(given[3] / (given[1] * (given[2] - 1.0)))
    best = 0.0
    sure = 0.0
    for i in range(cells.shape[1]):
        mu, shape, rate = normal_gamma_cell(prior, cells[0, i], cells[1, i], cells[2, i])
        error = math.sqrt(rate / ((prior[1] + cells[0, i]) * (shape - 1.0)))
        best = max(best, mu - prior[0])
        sure = max(sure, mu - prior[0] - CERTAIN * error)
    if PROMISE * best > sigma:
        return on_grid(PROMISE * best, sigma, SPREAD_STEP)
    if sure <= 0.0:
        return sigma
    w = tried / (tried + PATIENCE_PAIRS)
    return on_grid((PROMISE * best) ** w * sigma ** (1.0 - w), sigma, SPREAD_STEP)


@jit
def learn_rewards(given, units, pulls, mean_pull, statistics, evidence, posterior, totals, spread):
    """Choose the unit of the noise and the common mean, and make the reward posterior with them.

    `statistics` is (counts, average, scatter) and `posterior` (mu, shape, rate), written to. A `spread` of mean rewards
    above 0 is learned as well. Returns the unit, 0 where nothing was seen yet, the prior and the spread. One function,
    because it runs before every plan and calls have a price.
    """
    counts, average, scatter = statistics
    mu, shape, rate = posterior
    cells = seen_cells(counts, average, scatter)
    if cells.shape[1] == 0:
        return 0.0, given, spread
    noise_evidence(given, units, cells, evidence)
    best = 0
    for g in range(units.shape[0]):
        evidence[g] -= pulls[g]
        if evidence[g] > evidence[best]:
            best = g
    start, lam, alpha, beta = prior_in_unit(given, units[best])
    prior = (common_mean(lam, start, mean_pull, cells), lam, alpha, beta)
    if spread > 0.0:
        prior = widened(given, prior, cells)
        spread = promise(given, prior, cells, tried_twice(totals))
    refresh_rewards(prior, counts, average, scatter, mu, shape, rate)
    return units[best], prior, spread


@jit
def tried_twice(totals):
    """Number of pairs visited at least twice."""
    tried = 0
    for visits in totals.flat:
        tried += visits >= 2.0
    return tried


@jit
def nearest_plausible(evidence, distance, slack):
    """Index of the least distance among those whose evidence is at most `slack` below the best."""
    limit = evidence.max() - slack
    found = -1
    for i in range(evidence.shape[0]):
        if evidence[i] >= limit and (found < 0 or distance[i] < distance[found]):
            found = i
    return found


@jit
def mean_model(alpha, mu, P, r):
    """Posterior mean model: P = alpha / sum(alpha) and r(s, a) = sum of P mu. Writes into P and r."""
    S, A, _ = alpha.shape
    for s in range(S):
        for a in range(A):
            total = 0.0
            for y in range(S):
                total += alpha[s, a, y]
            reward = 0.0
            for y in range(S):
                p = alpha[s, a, y] / total
                P[s, a, y] = p
                reward += p * mu[s, a, y]
            r[s, a] = reward


@jit
def smoothed_model(counts, totals, eta, mu, P, r):
    """Model of the data: P = (n_y + e) / (n + S e) with e = min(eta, 1 / S), and r = sum of P mu.

    That is the posterior mean, with a prior that is worth one observation of the row at most.
    """
    S, A, _ = counts.shape
    e = min(eta, 1.0 / S)
    for s in range(S):
        for a in range(A):
            reward = 0.0
            for y in range(S):
                p = (counts[s, a, y] + e) / (totals[s, a] + S * e)
                P[s, a, y] = p
                reward += p * mu[s, a, y]
            r[s, a] = reward


@jit
def reward_spread(P, counts, rate, shape, lambda0, seen, new):
    """Standard deviation of r(s, a) = sum P mean reward, from outcomes seen and from outcomes never seen.

    Var = sum_y P_y^2 beta / (lambda (alpha - 1)), the mean rewards being independent.
    """
    S, A, _ = counts.shape
    for s in range(S):
        for a in range(A):
            known = 0.0
            unknown = 0.0
            for y in range(S):
                n = counts[s, a, y]
                variance = P[s, a, y] ** 2 * rate[s, a, y] / ((lambda0 + n) * (shape[s, a, y] - 1.0))
                if n > 0.0:
                    known += variance
                else:
                    unknown += variance
            seen[s, a] = math.sqrt(known)
            new[s, a] = math.sqrt(unknown)


@jit
def assemble_draw(gammas, precisions, normals, lambda0, counts, mu, rate, P, r):
    """Turn standard draws into a model: rows gammas / sum, mean rewards mu + z / sqrt(lambda tau), tau = g / beta."""
    S, A, _ = gammas.shape
    for s in range(S):
        for a in range(A):
            total = 0.0
            for y in range(S):
                total += gammas[s, a, y]
            if total <= 0.0:  # every gamma underflowed; see draw_rows, which avoids it for small eta
                gammas[s, a, 0] = 1.0
                total = 1.0
            reward = 0.0
            for y in range(S):
                p = gammas[s, a, y] / total
                P[s, a, y] = p
                if p > 0.0:
                    weight = lambda0 + counts[s, a, y]
                    spread = math.sqrt(rate[s, a, y] / (weight * precisions[s, a, y]))
                    reward += p * (mu[s, a, y] + spread * normals[s, a, y])
            r[s, a] = reward


@jit
def row_variance(alpha, out):
    """Sum over s' of Var P(s'|s, a) = sum m (1 - m) / (alpha_0 + 1) for every row."""
    S, A, _ = alpha.shape
    for s in range(S):
        for a in range(A):
            total = 0.0
            squares = 0.0
            for y in range(S):
                total += alpha[s, a, y]
                squares += alpha[s, a, y] * alpha[s, a, y]
            out[s, a] = (1.0 - squares / (total * total)) / (total + 1.0)


@jit
def row_information(alpha, eta, out):
    """Mutual information between P(.|s, a) and the next transition of that row.

    I = sum_y m_y [psi(alpha_y + 1) - psi(alpha_0 + 1) - log m_y], m = alpha / alpha_0. Cells that were never seen
    all have alpha = eta, so their term is computed once.
    """
    S, A, _ = alpha.shape
    unseen = digamma(eta + 1.0) - math.log(eta)
    for s in range(S):
        for a in range(A):
            total = 0.0
            gain = 0.0
            for y in range(S):
                x = alpha[s, a, y]
                total += x
                gain += x * (unseen if x == eta else digamma(x + 1.0) - math.log(x))
            gain = gain / total - digamma(total + 1.0) + math.log(total)
            out[s, a] = max(gain, 0.0)


@jit
def local_moments(alpha, counts, mu, rate, shape, lambda0, values, discount, P, spread, noise):
    """Pieces of the variance of r + discount * V(s') under the posterior, for every (s, a).

    spread = Var_P( sum_y P_y (mu_y + discount V_y) ) = (E f^2 - (E f)^2) / (alpha_0 + 1) under the mean row, and
    noise = sum_y E[P_y] Var(mean reward), Var = beta / (lambda (alpha - 1)).
    """
    S, A, _ = alpha.shape
    for s in range(S):
        for a in range(A):
            total = 0.0
            for y in range(S):
                total += alpha[s, a, y]
            centre = 0.0
            reward = 0.0
            for y in range(S):
                p = P[s, a, y]
                centre += p * (mu[s, a, y] + discount * values[y])
                reward += p * rate[s, a, y] / ((lambda0 + counts[s, a, y]) * (shape[s, a, y] - 1.0))
            scatter = 0.0
            for y in range(S):
                scatter += P[s, a, y] * (mu[s, a, y] + discount * values[y] - centre) ** 2
            spread[s, a] = scatter / (total + 1.0)
            noise[s, a] = reward


@jit
def value_spread(alpha, mu, values, discount, out):
    """Standard deviation of sum_y q_y f_y under the posterior, f = mu + discount V, q ~ Dirichlet(alpha).

    Var(q'f) = (E f^2 - (E f)^2) / (alpha_0 + 1) under the mean row: the posterior mean of the Stein discrepancy (q'f -
    m'f)^2 of the operator `gibbs` with the rank-one kernel f f'.
    """
    S, A, _ = alpha.shape
    for s in range(S):
        for a in range(A):
            total = 0.0
            centre = 0.0
            for y in range(S):
                total += alpha[s, a, y]
                centre += alpha[s, a, y] * (mu[s, a, y] + discount * values[y])
            centre /= total
            scatter = 0.0
            for y in range(S):
                scatter += alpha[s, a, y] * (mu[s, a, y] + discount * values[y] - centre) ** 2
            out[s, a] = math.sqrt(scatter / (total * (total + 1.0)))


@jit
def unseen_mass(counts, P, out):
    """Probability of the outcomes never seen, for every row of a model."""
    S, A, _ = counts.shape
    for s in range(S):
        for a in range(A):
            mass = 0.0
            for y in range(S):
                if counts[s, a, y] == 0.0:
                    mass += P[s, a, y]
            out[s, a] = mass
