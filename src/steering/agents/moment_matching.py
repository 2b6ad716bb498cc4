"""Moment matching across the Bellman equation (Markou and Rasmussen 2019).

The law of total variance gives the epistemic variance of Q under the greedy policy: local term

    nu(s, a) = Var( sum_y P_y (mu_y + discount V_y) ) + sum_y E[P_y] Var(mean reward_y),

where the first part collects the variance of the reward, of the next value, and twice their covariance; it is
(E f^2 - (E f)^2) / (alpha_0 + 1) with f = mu + discount V under the mean row. It is propagated with discount^2.

The last sum is an upper bound: rows and rewards are independent, so Var( sum_y P_y mean_y ) itself has E[P_y^2] in the
place of E[P_y]; the uncertainty Bellman equation bounds in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._types import Floats
from steering.agents.gaussian_values import GaussianValueAgent, GaussianValueOptions


@dataclass(frozen=True)
class MomentMatchingOptions(GaussianValueOptions):
    """Options of moment matching."""

    divide_by_discount: bool = False
    """Divide the standard deviation by the discount, as the public code does and its write-up does not."""


class MomentMatching(GaussianValueAgent):
    """Normal belief about Q whose first two moments satisfy the Bellman equation."""

    name = "mm"
    group = "posterior sampling"
    options: MomentMatchingOptions

    def exact_uncertainty(self, values: Floats) -> Floats:
        """Closed-form variance of the one-step target."""
        spread, noise = self.dirichlet_moments(values)
        return spread + noise

    def sampled_uncertainty(self, rows: Floats, values: Floats) -> Floats:
        """The same with means and variances over drawn tables."""
        noise = (rows.mean(axis=0) * self.reward_mean_variance()).sum(axis=-1)
        target = (rows * (self.reward_means() + self.problem.discount * values)).sum(axis=-1)
        uncertainty: Floats = noise + np.var(target, axis=0)
        return uncertainty

    def noise_scale(self, std: Floats) -> Floats:
        """Divide by the discount if the option says so."""
        if self.options.divide_by_discount and self.problem.discount > 0:
            return std / self.problem.discount
        return std
