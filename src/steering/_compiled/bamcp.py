"""Compiled tree search in the Bayes-adaptive MDP (see `steering.agents.bamcp`).

A simulation that draws a model from the posterior and follows it visits trajectories with the same probabilities as a
Polya urn does: the next state y of (s, a) has probability proportional to alpha_y + how often y came in this
simulation. So no model is drawn; counts of the simulation are added on the way and taken away at its end.
"""

import numpy as np

from steering._compiled._jit import jit


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
def search(alpha, mu, mask, policy, discount, first, depth, state, options, rng):
    """Values (A,) and visits (A,) of the actions at the root after a number of simulations.

    Parameters
    ----------
    alpha, mu
        Dirichlet parameters and mean rewards, (S, A, S); alpha is changed on the way and restored.
    policy, first
        Rollout policy (layers, S) and the layer of the first step.
    depth
        Steps of a simulation.
    options
        (simulations, exploration, epsilon).
    """
    simulations, exploration, epsilon = options
    A = alpha.shape[1]
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
            y = _urn(alpha[s, a], rng.random())
            path[t, 0], path[t, 1], path[t, 2], path[t, 3] = node, a, s, y
            gains[t] = mu[s, a, y]
            alpha[s, a, y] += 1.0
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
            alpha[path[t, 2], a, path[t, 3]] -= 1.0
            if node >= 0:
                counts[node, a] += 1.0
                values[node, a] += (total - values[node, a]) / counts[node, a]
    return values[0], counts[0]
