"""What both forms of knowledge share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from steering._compiled.planning import tie_tolerance
from steering._types import Bools, Floats, Ints
from steering.agents import Problem
from steering.beliefs import Belief

FORECAST_DRAWS = 400


class Knowledge(ABC):
    """A belief at one moment, with the policy that is best by it.

    Attributes
    ----------
    belief, problem
        What it is about.
    r, V, Q, policy
        Mean rewards (S, A), values (S,) and (S, A) and policy (S,) that are best in the posterior mean model.
    """

    belief: Belief
    problem: Problem
    r: Floats
    V: Floats
    Q: Floats
    policy: Ints

    def best(self, state: int, allowed: Bools) -> int:
        """The best of some actions; that of the policy where others are no better."""
        values, follows = np.where(allowed, self.Q[state], -np.inf), int(self.policy[state])
        scale = max(float(np.abs(self.V).max()), float(np.abs(self.r).max()))
        near = values[follows] >= values.max() - tie_tolerance(self.problem.discount) * scale
        return follows if near else int(values.argmax())

    def within(self, risk: tuple[float, float]) -> Bools:
        """Pairs (S, A) that the problem allows and whose reward is below a floor with a low enough probability."""
        floor, most = risk
        return np.asarray(self.problem.mask & (self.below_everywhere(floor) <= most))

    def keep_within(self, allowed: Bools) -> None:
        """Follow allowed pairs (S, A) only, from now on; a state without any keeps what the problem allows.

        Q is then the value of any first action, with what is allowed afterwards.
        """
        self._solve(np.where(allowed.any(axis=1, keepdims=True), allowed, self.problem.mask))

    @abstractmethod
    def _solve(self, mask: Bools) -> None:
        """Set V, Q and policy."""

    @abstractmethod
    def spread(self, state: int) -> Floats:
        """Standard deviation of Q(state, a) for every action, to first order."""

    @abstractmethod
    def spread_everywhere(self) -> Floats | None:
        """The same for all states, (S, A); None where that is too much work."""

    @abstractmethod
    def below(self, state: int, floor: float) -> Floats:
        """Probability that the next reward of each action is below a floor, (A,)."""

    @abstractmethod
    def below_everywhere(self, floor: float) -> Floats:
        """The same for all states, (S, A)."""

    @abstractmethod
    def information(self, state: int) -> Floats:
        """Mutual information (nats) of each action's row and its next outcome."""

    @abstractmethod
    def novelty(self, state: int) -> Floats:
        """Probability that the next outcome of each action was never seen."""

    @abstractmethod
    def table(
        self, states: list[Any], actions: list[Any], level: float, only_seen: bool, state: int | None = None
    ) -> pd.DataFrame:
        """One row for each (state, action, next state): visits, probability and mean reward with intervals."""

    @abstractmethod
    def forecast(self, policy: Ints, state: int, steps: int, level: float, rng: np.random.Generator) -> pd.DataFrame:
        """Expected reward of each step and their sum under a policy, with intervals over posterior draws."""


def belief_table(
    names: tuple[list[Any], list[Any]],
    places: tuple[Ints, Ints, Ints],
    counts: Floats,
    alpha: tuple[Floats, Floats],
    reward: tuple[Floats, Floats, Floats, Floats],
    level: float,
) -> pd.DataFrame:
    """The table of `Knowledge.table`.

    Parameters
    ----------
    names
        Of states and actions.
    places, counts
        State, action and next state of each row, and how often it was seen.
    alpha
        Dirichlet parameter of each row's outcome, and the sum of those of its pair.
    reward
        (mu, lambda, alpha, beta) of each row's Normal-Gamma posterior.
    level
        Probability of the intervals.
    """
    states, actions = (np.array([*values, None], dtype=object)[:-1] for values in names)
    s, a, y = places
    own, total = alpha
    mean, lam, shape, rate = reward
    tails = (0.5 - level / 2, 0.5 + level / 2)
    low, high = (special.betaincinv(own, np.maximum(total - own, 1e-300), tail) for tail in tails)
    half = special.stdtrit(2.0 * shape, tails[1]) * np.sqrt(rate / (shape * lam))
    return pd.DataFrame(
        {
            "state": states[s],
            "action": actions[a],
            "next_state": states[y],
            "visits": counts.astype(np.int64),
            "probability": own / total,
            "probability_low": low,
            "probability_high": high,
            "reward": mean,
            "reward_low": mean - half,
            "reward_high": mean + half,
        }
    )


def with_intervals(curves: Floats, level: float) -> pd.DataFrame:
    """Mean and interval of each step and of the sum so far, over curves (draws, steps)."""
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
