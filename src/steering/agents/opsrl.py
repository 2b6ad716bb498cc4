"""OPSRL and Bayes-UCBVI (Tiapkin et al. 2022): optimism from a few posterior draws, or from a posterior quantile.

    Q(s, a) = quantile over b = 1..B of  r_b + g P_b V,     P_b ~ Dirichlet(prior_mass on a pseudo-state, counts)

The pseudo-state is worth Vmax (or less: Vmin + hope (Vmax - Vmin)), so that what was never tried is worth that, and
every row keeps a little of it: that is the whole prior. `quantile=1` is the maximum of B = 8 draws (OPSRL); Bayes-UCBVI
takes a quantile of the posterior instead, here the same quantile of B draws (`quantile=0.9,samples=64`, say; the paper
too computes it from draws). Rewards are known in the paper; here r_b is drawn from the normal with mean and variance of
the posterior.
`eta_mass=true` adds the concentration eta (fixed or learned) of the belief to every next state.

The paper draws anew for every step of an episode; here one set of draws holds for a whole plan, in both settings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steering._checks import in_range
from steering._compiled import soft_planning as kernels
from steering._types import Floats
from steering.agents.large_optimism import DOWNWARD_SWEEPS, DrawnRows
from steering.agents.optimism import OptimisticAgent, ToldOptions, need_variance, reward_spread
from steering.beliefs import SparseBelief


@dataclass(frozen=True)
class OPSRLOptions(ToldOptions):
    """Options of OPSRL.

    Attributes
    ----------
    samples
        Number of posterior draws B.
    quantile
        Which quantile of the draws; 1 is their maximum.
    prior_mass
        Mass of the pseudo-state.
    eta_mass
        Whether every next state has the concentration of the belief as well.
    hope
        What the pseudo-state is worth, as a part of the range of values; 1 is Vmax, as the paper.
    """

    samples: int = 8
    quantile: float = 1.0
    prior_mass: float = 1.0
    eta_mass: bool = False
    hope: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("samples", self.samples, 1)
        in_range("quantile", self.quantile, 0.0, 1.0)
        in_range("hope", self.hope, 0.0, 1.0)
        in_range("prior_mass", self.prior_mass, 0.0, open_low=True)
        need_variance(self.normal_gamma)


class OPSRL(OptimisticAgent):
    """At each plan: B draws of all rows, values by their quantile."""

    name = "opsrl"
    group = "posterior sampling"
    options: OPSRLOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Draw and solve."""
        super().plan(state, step)
        p, o, rank, hopes = self.problem, self.options, self.rank, self.hopes(self.options.hope)
        if isinstance(self.belief, SparseBelief):
            drawn = DrawnRows(self.belief, self.planning_rng, o.samples, o.prior_mass, o.eta_mass)
            self._solver.quantile(drawn, self.draw_rewards(), rank, hopes, self.policy)
            return
        rows, rewards = self.draw_rows(), self.draw_rewards()
        if p.horizon is None and rank == o.samples - 1:
            rounds = 10 * p.max_iterations
            _, _, policy = kernels.maximum_iteration(rows, rewards, p.mask, p.discount, float(hopes[0]), rounds)
            self.policy = policy[None]
        elif p.horizon is None:
            cap = float(hopes[0])
            tolerance = self._solver.tolerance(cap)
            _, _, policy = kernels.quantile_iteration(
                rows, rewards, rank, p.mask, p.discount, cap, tolerance, DOWNWARD_SWEEPS
            )
            self.policy = policy[None]
        else:
            _, _, self.policy = kernels.quantile_induction(rows, rewards, rank, p.mask, p.discount, hopes)

    @property
    def rank(self) -> int:
        """Position of the quantile among the sorted draws, from 0."""
        return max(math.ceil(self.options.quantile * self.options.samples) - 1, 0)

    def draw_rows(self) -> Floats:
        """B draws of every row; the last column is the pseudo-state's, shape (B, S, A, S + 1)."""
        S, A, _ = self.belief.counts.shape
        alpha = np.full((S, A, S + 1), float(self.options.prior_mass))
        alpha[..., :S] = self.belief.alpha if self.options.eta_mass else self.belief.counts
        draws: Floats = self.planning_rng.standard_gamma(np.broadcast_to(alpha, (self.options.samples, *alpha.shape)))
        # A tiny prior mass alone can underflow to 0 together; then the row is the pseudo-state's.
        total = draws.sum(axis=-1, keepdims=True)
        draws[..., S:] += np.where(total > 0, 0.0, 1.0)
        draws /= np.where(total > 0, total, 1.0)
        return draws

    def draw_rewards(self) -> Floats:
        """B draws of every mean reward, shape (B, S, A)."""
        _, mean = self.belief.mean_model()
        noise = self.planning_rng.standard_normal((self.options.samples, *mean.shape))
        draws: Floats = mean + self.options.scale * reward_spread(self.belief) * noise
        return draws
