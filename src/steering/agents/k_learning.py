"""K-learning (O'Donoghue 2021): a risk-seeking value, larger where rewards and rows are unsure, and a softmax of it.

    K(s, a) = rbar + (sigma^2 + span^2) / (2 tau n) + g sum_y Pbar_y V(y),     V(s) = tau ln sum_a exp(K(s, a) / tau)

and actions are drawn from softmax(K / tau). K bounds tau ln E exp(Q* / tau), hence E Q*: with a variance sigma^2 of
single rewards and span^2 for the next value (that of a Dirichlet row with mass n is at most span^2 / (4 (n + 1)), so
the paper's constant is on the safe side). `span` is the range of the value that follows. tau falls with the number k
of episodes (H steps, H the effective horizon),

    tau = scale sqrt((sigma^2 + span^2) S A (1 + ln k) / (4 k H ln A)),

which balances tau k H ln A, the price of the softmax, and the sum of the bonuses, (sigma^2 + span^2) S A (1 + ln k) /
(2 tau). `temperature` sets it by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steering._checks import in_range
from steering._compiled import soft_planning as kernels
from steering._types import Floats
from steering.agents.optimism import ToldOptions, reach
from steering.agents.soft_policy import SoftPolicyAgent
from steering.beliefs import GroupedRows

COLDEST = 1e-100
"""Temperature, and factor of its schedule, at least: rewards are divided by it twice."""


@dataclass(frozen=True)
class KLearningOptions(ToldOptions):
    """Options of K-learning.

    Attributes
    ----------
    sigma
        Standard deviation of single rewards.
    temperature
        tau; 0 means the schedule of the paper, times `scale`.
    """

    sigma: float = 1.0
    temperature: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("scale", self.scale, COLDEST)
        in_range("sigma", self.sigma, 0.0)
        in_range("temperature", self.temperature, COLDEST if self.temperature else 0.0)


class KLearning(SoftPolicyAgent):
    """At each plan: K for the temperature of the moment."""

    name = "k_learning"
    group = "information"
    options: KLearningOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve for K and act by its softmax."""
        super().plan(state, step)
        p = self.problem
        P, r = self.belief.mean_model()
        tau = self.temperature()
        reward = r + self.variance() / (2.0 * tau)
        if isinstance(P, GroupedRows):
            self.set_logits(self._solver.soft(P, reward, tau) / tau)
        elif p.horizon is None:
            _, K = kernels.soft_iteration(P, reward[0], p.mask, p.discount, tau, 10 * p.max_iterations)
            self.set_logits(np.asarray(K)[None] / tau)
        else:
            _, K = kernels.soft_induction(P, reward, p.mask, p.discount, tau)
            self.set_logits(np.asarray(K) / tau)

    def variance(self) -> Floats:
        """(sigma^2 + span^2) / n, shape (layers, S, A)."""
        after = self.spans[-1 if self.problem.horizon is None else slice(1, None)]
        after = np.reshape(self.problem.discount * after, (-1, 1, 1))
        variance: Floats = (self.options.sigma**2 + after**2) / self.visits
        return variance

    def temperature(self) -> float:
        """tau of the moment."""
        if self.options.temperature > 0:
            return self.options.temperature
        S, A = self.belief.totals.shape
        H = reach(self.problem)
        k = max(1.0, float(self.belief.totals.sum()) / H)
        size = self.options.sigma**2 + float(self.spans[0]) ** 2
        return self.options.scale * math.sqrt(size * S * A * (1.0 + math.log(k)) / (4.0 * k * H * math.log(max(A, 2))))
