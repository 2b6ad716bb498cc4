"""Uncertainty Bellman equation (UBE; O'Donoghue, Osband, Munos and Mnih 2017).

Local uncertainty: the variance of the mean reward plus (R_max / (1 - discount))^2 sum_y Var P_y / E P_y. Under a
Dirichlet posterior Var P_y / E P_y = (1 - m_y) / (alpha_0 + 1), so the sum is (S - 1) / (alpha_0 + 1): no draw needed.
In the episodic setting 1 / (1 - discount) is replaced by the number of steps that remain in the worst case, H.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._checks import in_range
from steering._types import Floats
from steering.agents.gaussian_values import GaussianValueAgent, GaussianValueOptions


@dataclass(frozen=True)
class UBEOptions(GaussianValueOptions):
    """Options of UBE."""

    zeta: float = 0.1
    """Scale of the noise (0.1)."""
    r_max: float = 1.0
    """Bound on the absolute mean reward."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("r_max", self.r_max, 0.0, open_low=True)


class UBE(GaussianValueAgent):
    """Normal belief about Q whose variance is an upper bound from the uncertainty Bellman equation."""

    name = "ube"
    group = "posterior sampling"
    options: UBEOptions

    def _q_max_squared(self) -> float:
        horizon = self.problem.horizon
        reach = 1.0 / (1.0 - self.problem.discount) if horizon is None else float(horizon)
        return (self.options.r_max * reach) ** 2

    def exact_uncertainty(self, values: Floats) -> Floats:
        """Reward variance plus Q_max^2 (S - 1) / (alpha_0 + 1)."""
        spread, noise = self.dirichlet_moments(np.zeros_like(values))
        strength = self.belief.totals + self.problem.n_states * self.belief.eta
        uncertainty: Floats = spread + noise + self._q_max_squared() * (self.problem.n_states - 1) / (strength + 1)
        return uncertainty

    def sampled_uncertainty(self, rows: Floats, values: Floats) -> Floats:
        """The same with means and variances over drawn tables."""
        mean = rows.mean(axis=0)
        variance = rows.var(axis=0)
        noise = (mean * self.reward_mean_variance()).sum(axis=-1)
        spread = (rows * self.reward_means()).sum(axis=-1).var(axis=0)
        ratio = np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0).sum(axis=-1)
        uncertainty: Floats = noise + spread + self._q_max_squared() * ratio
        return uncertainty
