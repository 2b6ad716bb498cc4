"""EUBRL (Ma and Lee 2026): reward and epistemic uncertainty in one, weighted by how unsure the agent still is.

In the posterior mean model the agent plans with the reward

    (1 - p) rbar + p E,     p = E / (the largest E so far),
    E(s, a) = c (sqrt(sum_y Var P_y) + sqrt(sum_y Pbar_y Var r_y)),

where the variances are those of the Dirichlet row and of the Normal-Gamma mean rewards, both closed forms. Where a pair
is as unsure as any ever was, only uncertainty counts; what is known counts by its reward alone. So no range of rewards
has to be told, but c should be of the size of what a pair can be worth: the published runs choose it, and the priors,
anew for every environment and size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._checks import in_range
from steering._types import Floats
from steering.agents.base import ModelBasedAgent, ModelBasedOptions
from steering.agents.optimism import need_variance, reward_spread, row_spread


@dataclass(frozen=True)
class EUBRLOptions(ModelBasedOptions):
    """Options of EUBRL.

    Attributes
    ----------
    scale
        c, the size of the epistemic reward.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("scale", self.scale, 0.0)
        need_variance(self.normal_gamma)


class EUBRL(ModelBasedAgent):
    """At each plan: the mean model with the epistemic reward mixed in."""

    name = "eubrl"
    group = "information"
    options: EUBRLOptions

    def _reset(self) -> None:
        super()._reset()
        self._largest = 0.0

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the mean model with the mixed reward."""
        super().plan(state, step)
        P, r = self.belief.mean_model()
        unsure = self.uncertainty()
        self._largest = max(self._largest, float(unsure[self.problem.mask].max()))
        p = np.minimum(unsure / self._largest, 1.0) if self._largest > 0 else np.zeros_like(unsure)
        self.solve(P, (1.0 - p) * r + p * unsure)

    def uncertainty(self) -> Floats:
        """Epistemic uncertainty E of every pair, shape (S, A)."""
        unsure: Floats = self.options.scale * (row_spread(self.belief) + reward_spread(self.belief))
        return unsure
