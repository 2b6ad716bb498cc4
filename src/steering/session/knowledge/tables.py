"""Knowledge in tables of all outcomes, (S, A, S)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from steering._compiled import planning
from steering._types import Bools, Floats, Ints
from steering.agents import Problem
from steering.beliefs import ModelBelief
from steering.beliefs.dirichlet import draw_rows
from steering.session.knowledge.base import FORECAST_DRAWS, Knowledge, belief_table, with_intervals

DRAWS_AT_ONCE = 2_000_000
"""Numbers of drawn rows that are held at once, about."""


class DenseKnowledge(Knowledge):
    """A dense belief at one moment; see `steering.session.knowledge`."""

    belief: ModelBelief

    def __init__(self, belief: ModelBelief, problem: Problem) -> None:
        self.belief, self.problem = belief, problem
        self.P, self.r = belief.mean_model()
        self._solve(problem.mask)

    def _solve(self, mask: Bools) -> None:
        p = self.problem
        policy: Ints = np.zeros(p.n_states, dtype=np.int64)
        self.V, Q, _, _ = planning.policy_iteration(self.P, self.r, mask, p.discount, policy, p.max_iterations)
        if mask is not p.mask:
            Q = np.where(p.mask, self.r + p.discount * self.P @ self.V, -np.inf)
        self.Q, self.policy = Q, policy
        self._local: Floats | None = None

    def mean_variance(self) -> Floats:
        """Posterior variance of every mean reward, (S, A, S)."""
        b = self.belief
        with np.errstate(divide="ignore"):
            variance = b.rate / ((b.prior[1] + b.counts) * np.maximum(b.shape - 1.0, 0.0))
        return np.asarray(variance)

    def local_variance(self) -> Floats:
        """nu(s, a), see `steering.session.knowledge`."""
        if self._local is None:
            total = self.belief.alpha.sum(axis=-1, keepdims=True)
            value = self.belief.mu + self.problem.discount * self.V
            centred = value - (self.P * value).sum(axis=-1, keepdims=True)
            spread = (self.P * centred**2).sum(axis=-1) / (total[..., 0] + 1.0)
            squares = self.P**2 + self.P * (1.0 - self.P) / (total + 1.0)
            self._local = spread + (squares * self.mean_variance()).sum(axis=-1)
        return self._local

    def spread(self, state: int) -> Floats:
        """Standard deviation of Q(state, a) for every action, to first order."""
        p, S = self.problem, self.problem.n_states
        here = np.arange(S)
        inverse = np.eye(S) - p.discount * self.P[here, self.policy]
        weights = np.linalg.solve(inverse.T, p.discount * self.P[state].T).T
        local = self.local_variance()
        along = local[here, self.policy]
        variance = (weights**2 * along).sum(axis=1) + local[state]
        best = self.policy[state]
        variance[best] += 2.0 * weights[best, state] * local[state, best]
        return np.asarray(np.sqrt(variance))

    def spread_everywhere(self) -> Floats | None:
        """Standard deviation of every Q, (S, A)."""
        p, S = self.problem, self.problem.n_states
        here = np.arange(S)
        onward = np.linalg.inv(np.eye(S) - p.discount * self.P[here, self.policy])
        weights = p.discount * self.P @ onward
        local = self.local_variance()
        along = local[here, self.policy]
        variance = weights**2 @ along + local
        variance[here, self.policy] += 2.0 * weights[here, self.policy, here] * along
        return np.asarray(np.sqrt(variance))

    def below(self, state: int, floor: float) -> Floats:
        """Probability that the next reward of each action is below a floor."""
        b = self.belief
        lam = b.prior[1] + b.counts[state]
        scale = np.sqrt(b.rate[state] * (lam + 1.0) / (b.shape[state] * lam))
        chances = special.stdtr(2.0 * b.shape[state], (floor - b.mu[state]) / scale)
        return np.asarray((self.P[state] * chances).sum(axis=-1))

    def below_everywhere(self, floor: float) -> Floats:
        """The same for all states, (S, A)."""
        return np.array([self.below(s, floor) for s in range(self.problem.n_states)])

    def information(self, state: int) -> Floats:
        """Mutual information (nats) of each action's row and its next outcome."""
        alpha = self.belief.alpha[state]
        total = alpha.sum(axis=-1, keepdims=True)
        terms = special.digamma(alpha + 1.0) - special.digamma(total + 1.0) - np.log(alpha / total)
        return np.asarray(np.maximum((alpha / total * terms).sum(axis=-1), 0.0))

    def novelty(self, state: int) -> Floats:
        """Probability that the next outcome of each action was never seen."""
        return np.asarray(np.where(self.belief.counts[state] == 0, self.P[state], 0.0).sum(axis=-1))

    def table(
        self, states: list[Any], actions: list[Any], level: float, only_seen: bool, state: int | None = None
    ) -> pd.DataFrame:
        """One row for each (state, action, next state): visits, probability and mean reward with intervals."""
        b = self.belief
        listed = (self.problem.mask | (b.totals > 0))[:, :, None]
        keep: Bools = b.counts > 0 if only_seen else np.broadcast_to(listed, b.counts.shape)
        if state is not None:
            keep = keep & (np.arange(len(states)) == state)[:, None, None]
        s, a, y = np.nonzero(keep)
        at = s, a, y
        alpha = b.alpha[at], b.alpha.sum(axis=-1)[s, a]
        reward = b.mu[at], b.prior[1] + b.counts[at], b.shape[at], b.rate[at]
        return belief_table((states, actions), at, b.counts[at], alpha, reward, level)

    def forecast(self, policy: Ints, state: int, steps: int, level: float, rng: np.random.Generator) -> pd.DataFrame:
        """Expected reward of each step and their sum under a policy, with intervals over posterior draws."""
        b, S = self.belief, self.problem.n_states
        here = np.arange(S)
        alpha, mu, counts = b.alpha[here, policy], b.mu[here, policy], b.counts[here, policy]
        rate, shape = b.rate[here, policy], b.shape[here, policy]
        at_once = max(1, min(FORECAST_DRAWS, DRAWS_AT_ONCE // (S * S)))
        curves = []
        for first in range(0, FORECAST_DRAWS, at_once):
            n = min(at_once, FORECAST_DRAWS - first)
            rows = draw_rows(np.broadcast_to(alpha, (n, S, S)), rng, smallest=b.eta)
            tau = rng.standard_gamma(np.broadcast_to(shape, (n, S, S))) / rate
            means = mu + rng.standard_normal((n, S, S)) / np.sqrt((b.prior[1] + counts) * tau)
            rewards = (rows * means).sum(axis=-1)
            place = np.zeros((n, S))
            place[:, state] = 1.0
            out = np.empty((n, steps))
            for t in range(steps):
                out[:, t] = (place * rewards).sum(axis=1)
                place = np.matmul(place[:, None, :], rows)[:, 0]
            curves.append(out)
        return with_intervals(np.concatenate(curves), level)
