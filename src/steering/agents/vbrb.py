"""VBRB, variance-based reward bonuses (Sorg, Singh and Lewis 2010): posterior standard deviations as bonuses.

    r(s, a) = rbar + b_R sqrt(sum_y Pbar_y Var r_y) + b_P sqrt(sum_y Var P_y),
    b_R = scale / sqrt(delta),     b_P = scale g sqrt(S) Vmax / (2 sqrt(delta))

The constants follow from Chebyshev's inequality: with probability 1 - delta the mean reward is within 1 / sqrt(delta)
standard deviations, and |P - Pbar|_2^2 <= sum Var P_y / delta, so that (P - Pbar)'V, with V centred in its range, is at
most |P - Pbar|_2 sqrt(S) Vmax / 2. (The paper has S in place of sqrt(S) / 2.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from steering._types import Floats
from steering.agents.optimism import DeltaOptions, OptimisticAgent, need_variance, reward_spread, row_spread


@dataclass(frozen=True)
class VBRBOptions(DeltaOptions):
    """VBRB has the options of agents that are told the range of rewards and delta, and no others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        need_variance(self.normal_gamma)


class VBRB(OptimisticAgent):
    """At each plan: the mean model with bonuses from posterior variances."""

    name = "vbrb"
    group = "Bayes-adaptive"
    options: VBRBOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the mean model with bonuses."""
        super().plan(state, step)
        P, r = self.belief.mean_model()
        self.solve(P, r + self.bonus())

    def bonus(self) -> Floats:
        """Weighted standard deviations, shape (S, A)."""
        p, deviations = self.problem, self.options.scale / math.sqrt(self.options.delta)
        rows = p.discount * math.sqrt(p.n_states) * float(self.spans[1]) / 2.0
        bonus: Floats = deviations * (reward_spread(self.belief) + rows * row_spread(self.belief))
        return bonus
