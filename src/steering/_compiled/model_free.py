"""Compiled learning loops of the model-free agents: act, move, learn, once for every step.

Tables have a leading axis of layers: one layer in the continuing setting, one for each step of an episode in the
episodic setting (then the last layer bootstraps from nothing).
"""

import math

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.simulate import step
from steering._compiled.special import inverse_log_minus_digamma, log_minus_digamma

# Gauss-Legendre nodes and weights of one panel.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


@jit
def best_value(values, mask):
    """Largest value among the allowed actions."""
    top = -np.inf
    for a in range(values.shape[0]):
        if mask[a] and values[a] > top:
            top = values[a]
    return top


@jit
def epsilon_greedy(values, mask, epsilon, uniforms):
    """With probability epsilon any allowed action, else a best one; ties at random. Uses three uniforms."""
    explore = uniforms[0] < epsilon
    top = best_value(values, mask)
    n = 0
    for a in range(values.shape[0]):
        if mask[a] and (explore or values[a] == top):
            n += 1
    pick = int(uniforms[1 if explore else 2] * n)
    for a in range(values.shape[0]):
        if mask[a] and (explore or values[a] == top):
            if pick == 0:
                return a
            pick -= 1
    return -1


@jit
def q_update(Q, mask, rate, discount, h, s, a, r, y):
    """Q(h, s, a) moves by rate * (r + discount max Q(next, s') - Q(h, s, a))."""
    layers = Q.shape[0]
    target = r
    if layers == 1:
        target += discount * best_value(Q[0, y], mask[y])
    elif h + 1 < layers:
        target += discount * best_value(Q[h + 1, y], mask[y])
    Q[h, s, a] += rate * (target - Q[h, s, a])


@jit
def q_learning(simulator, Q, mask, options, clock, uniforms, first, s, noise, states, actions, rewards, successors):
    """Q-learning with epsilon-greedy actions for len(states) steps from layer `first`; returns them and the last state.

    options = (rate, discount, epsilon, timescale): epsilon is multiplied by exp(-t / timescale).
    """
    rate, discount, epsilon, timescale = options
    u, z = noise
    for t in range(states.shape[0]):
        h = first + t if Q.shape[0] > 1 else 0
        a = epsilon_greedy(Q[h, s], mask[s], epsilon * math.exp(-(clock + t) / timescale), uniforms[t])
        y, r = step(simulator, s, a, u[t], z[t])
        q_update(Q, mask, rate, discount, h, s, a, r, y)
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
    return states.shape[0], s


@jit
def mixture_moments(centre, scale, dof, half_width, base):
    """Moments of the precision when the target D = centre + scale * t is a Student-t variable.

    With b(D) = base * (1 + (D / half_width)^2) returns E[1/b], and under weights proportional to 1/b the mean and
    variance of D, and E[log b]. The integrals are sums of 8-point Gauss rules on panels of the t axis that are
    halved until the pole of 1/b (where D = +-i half_width) lies at least 1.5 half-panels away and the density, whose
    logarithm bends like (dof + 1) / (dof + t^2), varies little. The tails left out hold less than 1e-13 of the
    probability, because 1/b may have its peak far out in one of them. Weights are normalised by their own sum, so
    constants of the density are not needed. The error is below 1e-6 (relative, of the mean in standard deviations)
    for |centre| up to 20 scales, and below 1e-4 beyond.
    """
    pole_real = -centre / scale
    pole_imag = half_width / scale
    reach = min(math.sqrt(dof * math.expm1(65.0 / dof)), 1e8)
    smoothness = min(1.0, 5.0 / (dof + 1.0))
    left = np.empty(400)
    right = np.empty(400)
    left[0] = -reach
    right[0] = reach
    open_panels = 1
    mass = inverse = first = second = logarithm = 0.0
    while open_panels > 0:
        open_panels -= 1
        low = left[open_panels]
        high = right[open_panels]
        middle = 0.5 * (low + high)
        half = 0.5 * (high - low)
        near = min(smoothness * (middle * middle + dof), (middle - pole_real) ** 2 + pole_imag * pole_imag)
        if 2.25 * half * half > near and half > 1e-12 * (1.0 + abs(middle)) and open_panels < 398:
            left[open_panels] = low
            right[open_panels] = middle
            left[open_panels + 1] = middle
            right[open_panels + 1] = high
            open_panels += 2
            continue
        for k in range(NODES.shape[0]):
            t = middle + half * NODES[k]
            weight = half * WEIGHTS[k] * math.exp(-0.5 * (dof + 1.0) * math.log1p(t * t / dof))
            d = centre + scale * t
            growth = 1.0 + (d / half_width) ** 2
            tilted = weight / growth
            mass += weight
            inverse += tilted
            first += tilted * d
            second += tilted * d * d
            logarithm += weight * math.log(growth)
    mean = first / inverse
    variance = max(second / inverse - mean * mean, 0.0)
    return inverse / (mass * base), mean, variance, math.log(base) + logarithm / mass


@jit
def match_normal_gamma(cell, inverse_rate, mean, variance, log_rate):
    """The Normal-Gamma nearest in KL divergence to the mixture with the given moments (see mixture_moments).

    Nearest among those with a shape above 1, where the variance of the mean return exists.
    """
    mu, lam, alpha = cell[0], cell[1], cell[2]
    shape = alpha + 0.5
    precision = shape * inverse_rate
    new_mu = mu + mean / (lam + 1.0)
    new_lam = 1.0 / (1.0 / (lam + 1.0) + precision * variance / (lam + 1.0) ** 2)
    # log E[tau] - E[log tau], written so that neither part cancels
    gap = log_minus_digamma(shape) + max(math.log(inverse_rate) + log_rate, 0.0)
    new_alpha = max(1.0 + 1e-6, inverse_log_minus_digamma(gap))
    cell[0] = new_mu
    cell[1] = new_lam
    cell[2] = new_alpha
    cell[3] = new_alpha / precision


@jit
def greedy_cell(table, mask):
    """The allowed action with the largest posterior mean return; the lowest one on ties."""
    best = -1
    for a in range(table.shape[0]):
        if mask[a] and (best < 0 or table[a, 0] > table[best, 0]):
            best = a
    return best


@jit
def point_update(cell, target):
    """Ordinary Normal-Gamma update of a cell (mu, lambda, alpha, beta) with one known return."""
    mu, lam = cell[0], cell[1]
    cell[0] = (lam * mu + target) / (lam + 1.0)
    cell[1] = lam + 1.0
    cell[2] += 0.5
    cell[3] += 0.5 * lam * (target - mu) ** 2 / (lam + 1.0)


@jit
def bayesian_q_update(table, mask, discount, draws, rng, h, s, a, r, y):
    """Mixture update of the return belief at (h, s, a); by quadrature when draws = 0, else by that many samples.

    The target r + discount * R' has R' distributed as the predictive Student-t of the best next action.
    """
    layers = table.shape[0]
    cell = table[h, s, a]
    if layers > 1 and h + 1 == layers:
        point_update(cell, r)
        return
    after = table[h + 1 if layers > 1 else 0, y]
    best = after[greedy_cell(after, mask[y])]
    mu, lam, alpha, beta = cell[0], cell[1], cell[2], cell[3]
    scale = discount * math.sqrt(best[3] * (best[1] + 1.0) / (best[2] * best[1]))
    centre = r + discount * best[0] - mu
    if scale <= 1e-12 * (abs(centre) + math.sqrt(beta)):
        point_update(cell, mu + centre)
        return
    half_width = math.sqrt(2.0 * (lam + 1.0) * beta / lam)
    if draws == 0:
        inverse, mean, variance, log_rate = mixture_moments(centre, scale, 2.0 * best[2], half_width, beta)
        match_normal_gamma(cell, inverse, mean, variance, log_rate)
        return
    precision = product = square = logarithm = 0.0
    for _ in range(draws):
        target = centre + scale * rng.standard_normal() / math.sqrt(rng.standard_gamma(best[2]) / best[2])
        rate = beta * (1.0 + (target / half_width) ** 2)
        tau = rng.standard_gamma(alpha + 0.5) / rate
        offset = target / (lam + 1.0) + rng.standard_normal() / math.sqrt((lam + 1.0) * tau)
        precision += tau / draws
        product += offset * tau / draws
        square += offset * offset * tau / draws
        logarithm += math.log(tau) / draws
    shift = product / precision
    new_alpha = max(1.0 + 1e-6, inverse_log_minus_digamma(max(math.log(precision) - logarithm, 1e-12)))
    cell[0] = mu + shift
    cell[1] = 1.0 / (1e-12 + max(square - precision * shift * shift, 0.0))
    cell[2] = new_alpha
    cell[3] = new_alpha / precision


@jit
def sample_action(table, mask, rng):
    """Thompson choice: a Student-t draw of every allowed action's mean return."""
    best = -1
    top = -np.inf
    for a in range(table.shape[0]):
        if mask[a]:
            mu, lam, alpha, beta = table[a, 0], table[a, 1], table[a, 2], table[a, 3]
            t = rng.standard_normal() / math.sqrt(rng.standard_gamma(alpha) / alpha)
            value = mu + t * math.sqrt(beta / (lam * alpha))
            if best < 0 or value > top:
                top = value
                best = a
    return best


@jit
def bayesian_q(simulator, table, mask, discount, draws, rng, first, s, noise, states, actions, rewards, successors):
    """Bayesian Q-learning for len(states) steps; table is (layers, S, A, 4). Otherwise as `q_learning`."""
    u, z = noise
    for t in range(states.shape[0]):
        h = first + t if table.shape[0] > 1 else 0
        a = sample_action(table[h, s], mask[s], rng)
        y, r = step(simulator, s, a, u[t], z[t])
        bayesian_q_update(table, mask, discount, draws, rng, h, s, a, r, y)
        states[t] = s
        actions[t] = a
        rewards[t] = r
        successors[t] = y
        s = y
    return states.shape[0], s
