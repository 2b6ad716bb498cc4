"""Compiled conjugate updates and model summaries.

Cells are (s, a, s'). For every cell: ``counts`` n, ``average`` and ``scatter`` of its rewards (mean and sum of
squared deviations); and the posterior parameters ``alpha = eta + n`` (Dirichlet), ``mu, shape, rate`` (Normal-Gamma;
its fourth parameter is lambda_0 + n and is never stored). ``prior`` is (mu_0, lambda_0, alpha_0, beta_0).
"""

import math

from steering._compiled._jit import inlined, jit
from steering._compiled.special import digamma


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


@inlined
def evened(n, visits, kinds, even):
    """What an outcome that came n > 0 times counts as: visits (n + b) / (visits + k b), k = `kinds` and b = `even`.

    k outcomes are known of the row; what they count as adds up to its visits, as the counts do.
    """
    if even > 0.0 and kinds > 1.0:
        return visits * (n + even) / (visits + kinds * even)
    return n


@inlined
def judge_evenness(n, visits, kinds, evens, evidence):
    """Add what an outcome that came n > 0 times before says of how even outcomes are.

    Every grid value b gains the log of the probability (n + b) / (visits + k b) that it gave to the outcome among the
    k = `kinds` known ones. A row of which one outcome is known says nothing.
    """
    if kinds > 1.0:
        for g in range(evens.shape[0]):
            evidence[g] += math.log((n + evens[g]) / (visits + kinds * evens[g]))


@jit
def observe(prior, data, statistics, posterior, concentrations, evenness):
    """Add transitions one after the other: to the statistics, the posterior, and the evidence for what is learned.

    `concentrations` is (grid, evidence): every grid value eta gains the log of its predictive probability
    (eta + n_y) / (S eta + n). The marginal likelihood of a Dirichlet-multinomial is the product of its predictives,
    so the evidence is exact at the price of one logarithm a sample and grid point. An empty grid costs nothing.
    `evenness` is the like for `judge_evenness`.
    """
    states, actions, rewards, successors = data
    counts, totals, kinds, average, scatter = statistics
    alpha, mu, shape, rate = posterior
    etas, eta_evidence = concentrations
    evens, even_evidence = evenness
    S = counts.shape[2]
    for t in range(states.shape[0]):
        s, a, y, r = states[t], actions[t], successors[t], rewards[t]
        n = counts[s, a, y]
        for g in range(etas.shape[0]):
            eta_evidence[g] += math.log((etas[g] + n) / (S * etas[g] + totals[s, a]))
        if n > 0.0:
            judge_evenness(n, totals[s, a], kinds[s, a], evens, even_evidence)
        else:
            kinds[s, a] += 1.0
        n += 1.0
        counts[s, a, y] = n
        totals[s, a] += 1.0
        step = r - average[s, a, y]
        average[s, a, y] += step / n
        scatter[s, a, y] += step * (r - average[s, a, y])
        alpha[s, a, y] += 1.0
        mu[s, a, y], shape[s, a, y], rate[s, a, y] = normal_gamma_cell(prior, n, average[s, a, y], scatter[s, a, y])


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
def smoothed_model(counts, totals, kinds, eta, even, mu, pooled, P, r):
    """Model of the data: P = (n_y + e) / (n + S e) with e = min(eta, 1 / S), and r = sum of P mu.

    That is the posterior mean, with a prior that is worth one observation of the row at most, and with the counts n_y
    `evened`. With `pooled` an outcome never seen of a row that was tried is expected to pay what the row is expected to
    pay by those seen: sum of n mu / n.
    """
    S, A, _ = counts.shape
    e = min(eta, 1.0 / S)
    for s in range(S):
        for a in range(A):
            reward = 0.0
            unseen = 0.0
            paid = 0.0
            for y in range(S):
                n = counts[s, a, y]
                if n > 0.0:
                    n = evened(n, totals[s, a], kinds[s, a], even)
                p = (n + e) / (totals[s, a] + S * e)
                P[s, a, y] = p
                if pooled and n == 0.0:
                    unseen += p
                else:
                    reward += p * mu[s, a, y]
                    paid += n * mu[s, a, y]
            if unseen > 0.0:
                reward += unseen * (paid / totals[s, a] if totals[s, a] > 0.0 else mu[s, a, 0])
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
