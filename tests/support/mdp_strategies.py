"""Random MDPs for the planning tests: masked, with sparse rows and, often, tied actions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from steering.mdp import TabularMDP

DISCOUNTS = st.one_of(st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.999]), st.floats(0.0, 0.999))


TOYMAKER = TabularMDP(
    P=[[[0.5, 0.5], [0.8, 0.2]], [[0.4, 0.6], [0.7, 0.3]]],
    reward_mean=[[[9, 3], [4, 4]], [[3, -7], [1, -19]]],
)
"""Howard's toymaker (1960, chapters 2 and 4): no advertising or advertising, no research or research."""


def random_mdp(S: int, A: int, seed: int, *, density: float = 0.4, whole_rewards: bool = False) -> TabularMDP:
    """An MDP with about `density` of the transitions present, some actions not allowed, a random start."""
    rng = np.random.default_rng(seed)
    present = rng.random((S, A, S)) < density
    present[np.arange(S)[:, None], np.arange(A), rng.integers(S, size=(S, A))] = True
    P = rng.exponential(size=(S, A, S)) * present
    P /= P.sum(axis=2, keepdims=True)
    r = rng.integers(-1, 2, (S, A, S)).astype(float) if whole_rewards else rng.normal(size=(S, A, S))
    mask = rng.random((S, A)) < 0.7
    mask[np.arange(S), rng.integers(A, size=S)] = True
    return TabularMDP(P=P, reward_mean=r, mask=mask, start=rng.dirichlet(np.ones(S)))


@st.composite
def mdps(draw: st.DrawFn, max_states: int = 12, max_actions: int = 4) -> TabularMDP:
    return random_mdp(
        draw(st.integers(1, max_states)),
        draw(st.integers(1, max_actions)),
        draw(st.integers(0, 2**32 - 1)),
        density=draw(st.sampled_from([0.0, 0.3, 1.0])),
        whole_rewards=draw(st.booleans()),
    )


def random_policy(mdp: TabularMDP, seed: int) -> np.ndarray:
    """Random allowed action probabilities, shape (S, A)."""
    weights = np.random.default_rng(seed).exponential(size=mdp.allowed.shape) * mdp.allowed
    return weights / weights.sum(axis=1, keepdims=True)


def random_actions(mdp: TabularMDP, seed: int) -> np.ndarray:
    """Random allowed actions, shape (S,)."""
    return random_policy(mdp, seed).argmax(axis=1)


def deterministic_policies(mdp: TabularMDP) -> list[tuple[int, ...]]:
    """Every deterministic stationary policy."""
    return list(product(*(np.flatnonzero(row).tolist() for row in mdp.allowed)))


def exact_value(mdp: TabularMDP, policy: tuple[int, ...], discount: float) -> list[Fraction]:
    """Value of a policy in rational arithmetic (the floats of the MDP taken as exact)."""
    S, gamma = mdp.n_states, Fraction(discount)
    rows = [
        [Fraction(int(s == t)) - gamma * Fraction(float(mdp.P[s, a, t])) for t in range(S)]
        + [Fraction(float(mdp.rewards[s, a]))]
        for s, a in enumerate(policy)
    ]
    for k in range(S):
        pivot = next(i for i in range(k, S) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(S):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[S] for row in rows]


def exact_optimum(mdp: TabularMDP, discount: float) -> list[Fraction]:
    """Optimal values in rational arithmetic, by enumerating all policies."""
    values = [exact_value(mdp, policy, discount) for policy in deterministic_policies(mdp)]
    return [max(column) for column in zip(*values, strict=True)]
