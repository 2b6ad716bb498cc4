"""Which states of an MDP can be reached from which, for certain or at all, and how fast (see `steering.mdp.hardness`).

Questions about reaching for certain are fixed points on the graph of the MDP: the largest set X in which some action of
every state keeps the next state within X is where a policy can stay for ever.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

from steering._types import Bools, Floats
from steering.mdp.long_run import closed_classes
from steering.mdp.tabular import TabularMDP

MAX_ROUNDS = 10_000


def graph_of(mdp: TabularMDP) -> Bools:
    """Whether some action may lead from one state to another, shape (S, S)."""
    edges: Bools = np.asarray((mdp.P > 0.0).any(axis=1), dtype=np.bool_)
    return edges


def communication_class(mdp: TabularMDP) -> str:
    """Say whether an MDP is ergodic, communicating, weakly communicating or multichain."""
    classes = closed_classes(graph_of(mdp))
    if len(classes) == 1 and len(classes[0]) == mdp.n_states:
        others = ~np.eye(mdp.n_states, dtype=bool)
        avoidable = any(_can_stay(mdp, others[target]).any() for target in range(mdp.n_states))
        return "communicating" if avoidable else "ergodic"
    outside = np.ones(mdp.n_states, dtype=bool)
    outside[classes[0]] = False
    return "weakly communicating" if len(classes) == 1 and not _can_stay(mdp, outside).any() else "multichain"


def diameter(mdp: TabularMDP) -> float:
    """Largest expected number of steps between two states on the best way; infinite unless communicating, 0 for one."""
    steps = csgraph.shortest_path(graph_of(mdp), unweighted=True)
    if not np.isfinite(steps).all():
        return np.inf
    return max(float(shortest_times(mdp, target, steps[:, target]).max()) for target in range(mdp.n_states))


def shortest_times(mdp: TabularMDP, target: int, steps: Floats) -> Floats:
    """Expected steps to a target on the best way from every state, shape (S,).

    Policy iteration for h = 1 + min_a P h, h(target) = 0. It starts from a policy that moves closer on the graph with
    positive probability (`steps`: distances there), which reaches the target for certain; improving such a policy
    gives another.
    """
    S, A = mdp.allowed.shape
    others = np.delete(np.arange(S), target)
    if not others.size:
        return np.zeros(S)
    closer = np.array([[(steps[mdp.P[s, a] > 0] < steps[s]).any() for a in range(A)] for s in range(S)])
    policy = (closer & mdp.allowed).argmax(axis=1)
    h = np.zeros(S)
    for _ in range(MAX_ROUNDS):
        inner = mdp.P[others, policy[others]][:, others]
        h[others] = np.linalg.solve(np.eye(S - 1) - inner, np.ones(S - 1))
        times = np.where(mdp.allowed, 1.0 + mdp.P @ h, np.inf)
        better = times.min(axis=1) < times[np.arange(S), policy] - 1e-10 * h.max()
        better[target] = False
        if not better.any():
            break
        policy = np.where(better, times.argmin(axis=1), policy)
    return h


def _can_stay(mdp: TabularMDP, states: Bools) -> Bools:
    """States of a set from which some policy never leaves the set."""
    inside = states.copy()
    while inside.any():
        leaves = (mdp.P[:, :, ~inside] > 0.0).any(axis=2)
        stays = inside & (mdp.allowed & ~leaves).any(axis=1)
        if (stays == inside).all():
            break
        inside = stays
    return inside
