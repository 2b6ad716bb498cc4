"""BEB, the Bayesian exploration bonus (Kolter and Ng 2009): the posterior mean model with beta / (1 + alpha_0).

    r(s, a) = rbar + beta / (1 + alpha_0),     beta = 2 H^2 (r_max - r_min) scale

with alpha_0 the mass of the Dirichlet row (prior and visits) and H the (effective) horizon. A bonus of order 1/n
follows the Bayes-optimal policy, not the optimal one: it may stop exploring too early, which is the point of the
paper. Rewards are known there; here they are the posterior mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from steering._types import Floats
from steering.agents.optimism import OptimisticAgent, ToldOptions, reach


@dataclass(frozen=True)
class BEBOptions(ToldOptions):
    """BEB has the options of agents that are told the range of rewards and no others."""


class BEB(OptimisticAgent):
    """At each plan: the mean model with the bonus."""

    name = "beb"
    group = "Bayes-adaptive"
    options: BEBOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the mean model with bonuses."""
        super().plan(state, step)
        P, r = self.belief.mean_model()
        self.solve(P, r + self.bonus())

    def bonus(self) -> Floats:
        """beta / (1 + alpha_0), shape (S, A)."""
        o = self.options
        beta = 2.0 * reach(self.problem) ** 2 * (o.r_max - o.r_min) * o.scale
        strength = self.belief.totals + self.problem.n_states * self.belief.eta
        bonus: Floats = beta / (1.0 + strength)
        return bonus
