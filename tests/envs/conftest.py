"""Small exact solvers for the tests of environments, independent of the package's planners."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from steering.mdp.tabular import TabularMDP


@pytest.fixture
def optimal() -> Callable[[TabularMDP, float], np.ndarray]:
    """Greedy policy after value iteration to 1e-12."""

    def solve(mdp: TabularMDP, discount: float) -> np.ndarray:
        V = np.zeros(mdp.n_states)
        while True:
            Q = np.where(mdp.mask, mdp.rewards + discount * mdp.P @ V, -np.inf)
            if np.abs(Q.max(axis=1) - V).max() < 1e-12:
                return Q.argmax(axis=1)
            V = Q.max(axis=1)

    return solve


@pytest.fixture
def best_return() -> Callable[[TabularMDP, int], float]:
    """Optimal undiscounted return of an episode of H steps, by backward induction."""

    def solve(mdp: TabularMDP, horizon: int) -> float:
        V = np.zeros(mdp.n_states)
        for _ in range(horizon):
            V = np.where(mdp.mask, mdp.rewards + mdp.P @ V, -np.inf).max(axis=1)
        return float(mdp.start @ V)

    return solve


@pytest.fixture
def gain() -> Callable[[TabularMDP, np.ndarray], float]:
    """Average reward of a deterministic policy from its stationary distribution (unique)."""

    def solve(mdp: TabularMDP, policy: np.ndarray) -> float:
        s = np.arange(mdp.n_states)
        P = mdp.P[s, policy]
        system = np.vstack([P.T - np.eye(len(s)), np.ones(len(s))])
        weights = np.linalg.lstsq(system, np.append(np.zeros(len(s)), 1.0), rcond=None)[0]
        return float(weights @ mdp.rewards[s, policy])

    return solve
