"""Compiled tree search in the Bayes-adaptive MDP (see `steering.agents.bamcp`).

A simulation that draws a model from the posterior and follows it visits trajectories with the same probabilities as a
Polya urn does: the next state y of (s, a) has probability proportional to alpha_y + how often y came in this
simulation. So no model is drawn; counts of the simulation are added on the way and taken away at its end. In the tables
of a dense belief they are added in place; with a belief by support they are looked up along the path, and the urn walks
over the outcomes that were seen and the gaps between them, in the same order, so that one uniform gives one outcome.
"""

import numpy as np

from steering._compiled._jit import jit
from steering._compiled.beliefs import normal_gamma_cell
from steering._compiled.sparse_beliefs import find


@jit
def _urn(alpha, u):
    """Index drawn with probability proportional to alpha, by a uniform u."""
    total = 0.0
    for y in range(alpha.shape[0]):
        total += alpha[y]
    goal = u * total
    last = 0
    for y in range(alpha.shape[0]):
        if alpha[y] > 0.0:
            goal -= alpha[y]
            last = y
            if goal < 0.0:
                break
    return last


@jit
def _add_outcome(outcomes, weights, k, y, weight):
    """Add weight to an outcome of a list in ascending order; returns the length of the list."""
    i = k
    while i > 0 and outcomes[i - 1] > y:
        i -= 1
    if i > 0 and outcomes[i - 1] == y:
        weights[i - 1] += weight
        return k
    for j in range(k, i, -1):
        outcomes[j] = outcomes[j - 1]
        weights[j] = weights[j - 1]
    outcomes[i] = y
    weights[i] = weight
    return k + 1


@jit
def _grouped_urn(belief, row, path, last, before, outcomes, weights, u):
    """As `_urn` of a row by support, with what came on the path so far: steps `last`, before[last] and so on."""
    pool, totals, n_states, eta, _ = belief
    start, length, _, heads, n, _, _ = pool
    k = 0
    total = totals[row] + n_states * eta
    for i in range(start[row], start[row] + length[row]):
        k = _add_outcome(outcomes, weights, k, heads[i], n[i])
    while last >= 0:
        k = _add_outcome(outcomes, weights, k, path[last, 3], 1.0)
        total += 1.0
        last = before[last]
    goal = u * total
    at = 0
    for j in range(k):
        y = outcomes[j]
        alike = (y - at) * eta  # outcomes never seen, from `at` to the next that was
        if goal < alike:
            return min(at + int(goal / eta), y - 1)
        goal -= alike + eta + weights[j]
        if goal < 0.0:
            return y
        at = y + 1
    return min(at + int(goal / eta), n_states - 1)


@jit
def _mean_reward(belief, row, y):
    """Posterior mean reward of an outcome of a belief by support."""
    pool, _, _, _, prior = belief
    i = find(pool, row, y)
    if i < 0:
        return prior[0]
    return normal_gamma_cell(prior, pool[4][i], pool[5][i], pool[6][i])[0]


@jit
def _choose(values, counts, mask, exploration):
    """UCT: an action that was not tried yet, else the best upper bound; the lowest one on ties."""
    total = 0.0
    for a in range(values.shape[0]):
        if mask[a]:
            if counts[a] == 0.0:
                return a
            total += counts[a]
    best, top = -1, -np.inf
    for a in range(values.shape[0]):
        if mask[a]:
            score = values[a] + exploration * np.sqrt(np.log(total) / counts[a])
            if best < 0 or score > top:
                best, top = a, score
    return best


@jit
def _rollout_action(mask, greedy, epsilon, rng):
    """The greedy action, or with probability epsilon any allowed one."""
    if rng.random() >= epsilon:
        return greedy
    n = 0
    for a in range(mask.shape[0]):
        if mask[a]:
            n += 1
    pick = int(rng.random() * n)
    for a in range(mask.shape[0]):
        if mask[a]:
            if pick == 0:
                return a
            pick -= 1
    return greedy


@jit
def search(tables, belief, mask, policy, discount, first, depth, state, options, rng):
    """Values (A,) and visits (A,) of the actions at the root after a number of simulations.

    Parameters
    ----------
    tables
        Dirichlet parameters and mean rewards, (S, A, S), of a dense belief; the former are changed on the way and
        restored. Of no entries if the belief is by support.
    belief
        (pool, totals, S, eta, prior of rewards) of a belief by support.
    policy, first
        Rollout policy (layers, S) and the layer of the first step.
    depth
        Steps of a simulation.
    options
        (simulations, exploration, epsilon).
    """
    simulations, exploration, epsilon = options
    alpha, mu = tables
    A, dense = mask.shape[1], alpha.shape[0] > 0
    latest = np.full(belief[1].shape[0], -1)  # step of the simulation that was the last one at a row
    before = np.empty(depth, np.int64)  # and the one before it
    outcomes = np.empty(depth + (0 if dense else belief[0][1].max()), np.int64)
    weights = np.empty(outcomes.shape[0])
    values = np.zeros((simulations + 1, A))
    counts = np.zeros((simulations + 1, A))
    first_edge = np.full((simulations + 1, A), -1)
    edge_state = np.empty(simulations + 1, np.int64)
    edge_node = np.empty(simulations + 1, np.int64)
    next_edge = np.empty(simulations + 1, np.int64)
    path = np.empty((depth, 4), np.int64)  # node (-1 in the rollout), action, state, next state
    gains = np.empty(depth)
    ranges = np.ones(depth)  # range of the values of the steps that are left, for rewards of range 1
    for t in range(depth - 2, -1, -1):
        ranges[t] = 1.0 + discount * ranges[t + 1]
    nodes, edges = 1, 0
    for _ in range(simulations):
        node, s = 0, state
        for t in range(depth):
            layer = first + t if policy.shape[0] > 1 else 0
            if node >= 0:
                a = _choose(values[node], counts[node], mask[s], exploration * ranges[t])
            else:
                a = _rollout_action(mask[s], policy[layer, s], epsilon, rng)
            if dense:
                y = _urn(alpha[s, a], rng.random())
                gains[t] = mu[s, a, y]
                alpha[s, a, y] += 1.0
            else:
                row = s * A + a
                y = _grouped_urn(belief, row, path, latest[row], before, outcomes, weights, rng.random())
                gains[t] = _mean_reward(belief, row, y)
                before[t], latest[row] = latest[row], t
            path[t, 0], path[t, 1], path[t, 2], path[t, 3] = node, a, s, y
            if node >= 0:
                edge = first_edge[node, a]
                while edge >= 0 and edge_state[edge] != y:
                    edge = next_edge[edge]
                if edge >= 0:
                    node = edge_node[edge]
                elif nodes <= simulations:
                    edge_state[edges], edge_node[edges], next_edge[edges] = y, nodes, first_edge[node, a]
                    first_edge[node, a] = edges
                    edges += 1
                    nodes += 1
                    node = -1
                else:
                    node = -1
            s = y
        total = 0.0
        for t in range(depth - 1, -1, -1):
            total = gains[t] + discount * total
            node, a = path[t, 0], path[t, 1]
            if dense:
                alpha[path[t, 2], a, path[t, 3]] -= 1.0
            else:
                latest[path[t, 2] * A + a] = -1
            if node >= 0:
                counts[node, a] += 1.0
                values[node, a] += (total - values[node, a]) / counts[node, a]
    return values[0], counts[0]
