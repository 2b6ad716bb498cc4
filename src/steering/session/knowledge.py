"""What the belief of a session says: values with their spread, what is known of each action, risks, forecasts.

**Best known** is the optimal policy pi of the posterior mean model, with values V and Q. **Spread of Q(s, a)**: an
error in one row changes Q by what is lost there, weighted by how often (discounted) the row is used. To first order,
with rows x independent under the posterior,

    Var Q(s, a) = sum_x w(x)^2 nu(x),     w(x) = [x = (s, a)] + gamma P(.|s, a)' (I - gamma P_pi)^{-1} at x = (., pi),
    nu(x) = Var( sum_y P_y (mu_y + gamma V_y) ) = Var_P(sum_y P_y (m_y + gamma V_y)) + sum_y E[P_y^2] Var(mu_y),

all in closed form. **Risk**: the next reward of (s, a) is a mixture, over next states, of Student t predictives.
**Information**: mutual information of the row and its next outcome, sum_y m_y (psi(alpha_y + 1) - psi(alpha_0 + 1) -
log m_y). **Novelty**: probability that the next outcome is one that was never seen from (s, a).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from steering._compiled import planning
from steering._types import Bools, Floats, Ints
from steering.agents import Problem
from steering.beliefs import Belief, ModelBelief, SparseBelief
from steering.beliefs.dirichlet import draw_rows

FORECAST_DRAWS = 400
DRAWS_AT_ONCE = 2_000_000
"""Numbers of drawn rows that are held at once, about."""


class Knowledge:
    """A belief at one moment, with the policy that is best by it.

    Parameters
    ----------
    belief
        A copy that nobody else uses; its learned priors are brought up to date here.
    problem
        Sizes, allowed actions and discount.
    """

    def __init__(self, belief: Belief, problem: Problem) -> None:
        belief.refresh()
        if isinstance(belief, SparseBelief):
            belief = belief.to_dense()
        assert isinstance(belief, ModelBelief)
        self.belief, self.problem = belief, problem
        self.P, self.r = belief.mean_model()
        policy: Ints = np.zeros(problem.n_states, dtype=np.int64)
        self.V, self.Q, _, _ = planning.policy_iteration(
            self.P, self.r, problem.mask, problem.discount, policy, problem.max_iterations
        )
        self.policy = policy
        self._local: Floats | None = None

    def mean_variance(self) -> Floats:
        """Posterior variance of every mean reward, (S, A, S)."""
        b = self.belief
        with np.errstate(divide="ignore"):
            variance = b.rate / ((b.prior[1] + b.counts) * np.maximum(b.shape - 1.0, 0.0))
        return np.asarray(variance)

    def local_variance(self) -> Floats:
        """nu(s, a), see the module's docstring."""
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

    def below(self, state: int, floor: float) -> Floats:
        """Probability that the next reward of each action is below a floor."""
        b = self.belief
        lam = b.prior[1] + b.counts[state]
        scale = np.sqrt(b.rate[state] * (lam + 1.0) / (b.shape[state] * lam))
        chances = special.stdtr(2.0 * b.shape[state], (floor - b.mu[state]) / scale)
        return np.asarray((self.P[state] * chances).sum(axis=-1))

    def information(self, state: int) -> Floats:
        """Mutual information (nats) of each action's row and its next outcome."""
        alpha = self.belief.alpha[state]
        total = alpha.sum(axis=-1, keepdims=True)
        terms = special.digamma(alpha + 1.0) - special.digamma(total + 1.0) - np.log(alpha / total)
        return np.asarray(np.maximum((alpha / total * terms).sum(axis=-1), 0.0))

    def novelty(self, state: int) -> Floats:
        """Probability that the next outcome of each action was never seen."""
        return np.asarray(np.where(self.belief.counts[state] == 0, self.P[state], 0.0).sum(axis=-1))

    def best(self, state: int, allowed: Bools) -> int:
        """The best of some actions."""
        return int(np.where(allowed, self.Q[state], -np.inf).argmax())

    def policy_within(self, allowed: Bools) -> Ints:
        """The best policy that uses allowed actions only; a state without any keeps what the problem allows."""
        mask = np.where(allowed.any(axis=1, keepdims=True), allowed, self.problem.mask)
        policy = self.policy.copy()
        planning.policy_iteration(
            self.P, self.r, mask, self.problem.discount, policy, self.problem.max_iterations
        )  # fmt: skip
        return policy

    def table(self, states: list[Any], actions: list[Any], level: float, only_seen: bool) -> pd.DataFrame:
        """One row for each (state, action, next state): visits, probability and mean reward with intervals."""
        b = self.belief
        keep = np.broadcast_to(self.problem.mask[:, :, None], b.counts.shape) | (b.counts > 0)
        s, a, y = np.nonzero(keep & (b.counts > 0) if only_seen else keep)
        alpha, total = b.alpha[s, a, y], b.alpha.sum(axis=-1)[s, a]
        tails = (0.5 - level / 2, 0.5 + level / 2)
        low, high = (special.betaincinv(alpha, np.maximum(total - alpha, 1e-300), tail) for tail in tails)
        lam, shape = b.prior[1] + b.counts[s, a, y], b.shape[s, a, y]
        half = special.stdtrit(2.0 * shape, tails[1]) * np.sqrt(b.rate[s, a, y] / (shape * lam))
        mean = b.mu[s, a, y]
        return pd.DataFrame(
            {
                "state": np.array(states, dtype=object)[s],
                "action": np.array(actions, dtype=object)[a],
                "next_state": np.array(states, dtype=object)[y],
                "visits": b.counts[s, a, y].astype(np.int64),
                "probability": self.P[s, a, y],
                "probability_low": low,
                "probability_high": high,
                "reward": mean,
                "reward_low": mean - half,
                "reward_high": mean + half,
            }
        )

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
        return _with_intervals(np.concatenate(curves), level)


def _with_intervals(curves: Floats, level: float) -> pd.DataFrame:
    tails = [0.5 - level / 2, 0.5 + level / 2]
    totals = curves.cumsum(axis=1)
    low, high = np.quantile(curves, tails, axis=0)
    total_low, total_high = np.quantile(totals, tails, axis=0)
    return pd.DataFrame(
        {
            "step": np.arange(1, curves.shape[1] + 1),
            "reward": curves.mean(axis=0),
            "reward_low": low,
            "reward_high": high,
            "total": totals.mean(axis=0),
            "total_low": total_low,
            "total_high": total_high,
        }
    )


def expected_gain(gap: float, spread: float) -> float:
    """E max(X, 0) of X ~ Normal(-gap, spread^2): what would be gained if the truth were known."""
    if not spread > 0:
        return max(-gap, 0.0)
    z = -gap / spread
    return float(spread * (z * special.ndtr(z) + math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)))
