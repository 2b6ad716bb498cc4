"""Compiled posterior draws of a whole model from a belief by support.

The k outcomes of a row that were seen get a Gamma(eta + n) each, the m = S - k others together one Gamma(m eta). That
mass is split exactly, the largest parts first: of a symmetric Dirichlet in size-biased order the next part is a share
Beta(1 + eta, (left - 1) eta) of what is left, at an outcome drawn uniformly from those not yet drawn. It goes on until
less than `REST` of the row's mass is left, which is spread evenly over the outcomes that remain. So a row costs about
m eta log(1 / REST) draws and not S, and each outcome with a part of its own draws its mean reward; the rest has the
prior's mean. With eta above `LARGE` every outcome has a part, and the sum of their rewards is drawn at once.
"""

import math

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.beliefs import normal_gamma_cell

REST = 1e-6
"""Mass of a row that is not split any further."""
FEW = 4
"""Up to this shape a whole-numbered gamma is drawn as a sum of exponentials."""
LARGE = 0.05
"""Concentration from which on all outcomes of a row are drawn."""


@jit
def log_gamma_draw(rng, alpha):
    """Logarithm of a Gamma(alpha) draw, safe for tiny alpha."""
    if alpha >= LARGE:
        return math.log(max(rng.standard_gamma(alpha), 1e-300))
    return math.log(max(rng.standard_gamma(alpha + 1.0), 1e-300)) - rng.standard_exponential() / alpha


@jit
def _mean_reward(rng, lam, mu, shape, rate):
    precision = max(rng.standard_gamma(shape), 1e-300)
    return mu + rng.standard_normal() * math.sqrt(rate / (lam * precision))


@jit
def draw_rows(rng, pool, totals, n_states, eta, prior, first, out, used):
    """Draw rows from `first` on into `out` (start, length, successors, excess, base, r) until its places are used up.

    Returns the next row to draw and the places in use.
    """
    start, length, _, successors, n, average, scatter = pool
    to, many, heads, excess, base, r = out
    R = totals.shape[0]
    stamp = np.full(n_states, -1, np.int64)
    logs = np.empty(n_states + 1)
    for row in range(first, R):
        k = length[row]
        if used + n_states > heads.shape[0]:
            return row, used
        unseen = n_states - k
        low = start[row]
        top = -np.inf
        for j in range(k):
            logs[j] = log_gamma_draw(rng, n[low + j] + eta)
            top = max(top, logs[j])
        if unseen > 0:
            logs[k] = log_gamma_draw(rng, unseen * eta)
            top = max(top, logs[k])
        whole = 0.0
        for j in range(k + (unseen > 0)):
            logs[j] = math.exp(logs[j] - top)
            whole += logs[j]
        to[row] = used
        reward = 0.0
        for j in range(k):
            i = low + j
            p = logs[j] / whole
            mu, shape, rate = normal_gamma_cell(prior, n[i], average[i], scatter[i])
            reward += p * _mean_reward(rng, prior[1] + n[i], mu, shape, rate)
            heads[used + j] = successors[i]
            excess[used + j] = p
            stamp[successors[i]] = row
        used += k
        mass = logs[k] / whole if unseen > 0 else 0.0
        if eta >= LARGE and unseen > 0:
            used, more = _split_all(rng, row, mass, n_states, eta, prior, stamp, logs, heads, excess, used)
            mass, unseen = 0.0, 0
        else:
            used, more, mass, unseen = _split(rng, row, mass, unseen, n_states, eta, prior, stamp, heads, excess, used)
        u = mass / unseen if unseen > 0 else 0.0
        base[row] = u
        r[row] = reward + more + mass * prior[0]
        many[row] = used - to[row]
        for i in range(to[row], used):
            excess[i] -= u
    return R, used


@jit
def _split(rng, row, mass, unseen, n_states, eta, prior, stamp, heads, excess, used):
    """The largest parts of the mass of unseen outcomes first, until `REST` is left."""
    reward = 0.0
    while unseen > 0 and mass > REST:
        share = 1.0
        if unseen > 1:
            # Beta(1 + eta, b) with b = (unseen - 1) eta, from two gammas
            one = rng.standard_gamma(1.0 + eta)
            other = math.exp(log_gamma_draw(rng, (unseen - 1) * eta))
            share = one / (one + other)
        y = int(rng.random() * n_states)
        while stamp[y] == row:
            y = int(rng.random() * n_states)
        stamp[y] = row
        part = mass * share
        reward += part * _mean_reward(rng, prior[1], prior[0], prior[2], prior[3])
        heads[used] = y
        excess[used] = part
        used += 1
        unseen -= 1
        mass = max(mass - part, 0.0)
    return used, reward, mass, unseen


@jit
def _split_all(rng, row, mass, n_states, eta, prior, stamp, scratch, heads, excess, used):
    """A part for every unseen outcome; their mean rewards are drawn as one sum.

    A mean reward is normal given its precision tau ~ Gamma(alpha), so that given all precisions sum_y p_y mu_y is
    normal as well, with variance sum_y p_y^2 beta / (lambda tau_y): one normal for the row, not one for each outcome.
    """
    mean, lam, shape, rate = prior
    first = used
    for y in range(n_states):
        if stamp[y] != row:
            heads[used] = y
            used += 1
    parts, precisions = excess[first:used], scratch[: used - first]
    _fill_gammas(rng, eta, parts)
    _fill_gammas(rng, shape, precisions)
    whole = parts.sum()
    if whole <= 0.0:  # all parts are too small for a number
        parts[0], whole = 1.0, 1.0
    spread = 0.0
    for i in range(used - first):
        parts[i] *= mass / whole
        spread += parts[i] * parts[i] / max(precisions[i], 1e-300)
    return used, mass * mean + rng.standard_normal() * math.sqrt(spread * rate / lam)


@jit
def _fill_gammas(rng, shape, out):
    """Independent Gamma(shape) draws; small whole numbers as sums of exponentials, which is cheaper."""
    if shape == int(shape) and shape <= FEW:
        for i in range(out.shape[0]):
            out[i] = rng.standard_exponential()
        for _ in range(1, int(shape)):
            for i in range(out.shape[0]):
                out[i] += rng.standard_exponential()
    else:
        for i in range(out.shape[0]):
            out[i] = rng.standard_gamma(shape)
