"""What UBE and moment matching share: a normal belief about every Q value, and a fresh draw of it at each step.

Both plan in the posterior mean model, compute a local uncertainty nu(s, a) and propagate it under the greedy policy,

    u(s, a) = nu(s, a) + discount^2 sum_s' E[P(s'|s, a)] u(s', policy(s')),

then act by argmax_a Q(s, a) + zeta sqrt(u(s, a)) z_a with fresh standard normal z. The moments of the Dirichlet and
Normal-Gamma beliefs are closed forms; `moments="sampled"` estimates them from `samples` drawn models instead, as the
public implementation does.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np

from steering._checks import choose, in_range
from steering._compiled import simulate
from steering._types import Floats
from steering.agents.base import ModelBasedAgent, ModelBasedOptions
from steering.beliefs import ModelBelief
from steering.beliefs.dirichlet import draw_rows
from steering.beliefs.normal_gamma import checked_prior
from steering.errors import InvalidOption
from steering.mdp.simulator import Noise, Simulator, Transitions


@dataclass(frozen=True)
class GaussianValueOptions(ModelBasedOptions):
    """Options of agents that act on a normal belief about Q."""

    zeta: float = 1.0
    """Scale of the noise."""
    moments: str = "exact"
    """Of the beliefs: "exact" or "sampled"."""
    samples: int = 100
    """Number of drawn transition tables with moments="sampled"."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("zeta", self.zeta, 0.0)
        choose("moments", self.moments, ("exact", "sampled"))
        in_range("samples", self.samples, 2)
        if checked_prior(self.normal_gamma)[2] <= 1:
            raise InvalidOption(
                f"normal_gamma has alpha = {self.normal_gamma[2]}; the variance of a mean reward needs alpha above 1."
            )


class GaussianValueAgent(ModelBasedAgent):
    """Plan in the mean model, propagate the local uncertainty, act by noisy values."""

    options: GaussianValueOptions
    mean: Floats
    std: Floats

    def _reset(self) -> None:
        super()._reset()
        self._dither = Noise(self.acting_rng, "normal")

    @property
    def needs_tables(self) -> str:
        """Sampled moments do."""
        return "moments=sampled draws whole tables" if self.options.moments == "sampled" else ""

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Compute the mean and the standard deviation of Q, each (layers, S, A)."""
        super().plan(state, step)
        P, r = self.belief.mean_model()
        V, self.mean = self.solve(P, r)
        if self.options.moments == "sampled":
            assert isinstance(self.belief, ModelBelief)
            rows = draw_rows(
                np.broadcast_to(self.belief.alpha, (self.options.samples, *P.shape)),
                self.planning_rng,
                smallest=self.belief.eta,
            )
            P = rows.mean(axis=0)
            local = np.stack([self.sampled_uncertainty(rows, values) for values in V])
        else:
            local = np.stack([self.exact_uncertainty(values) for values in V])
        variance = self.propagate(P, local, self.problem.discount**2)
        self.std = self.noise_scale(np.sqrt(variance))

    @abstractmethod
    def exact_uncertainty(self, values: Floats) -> Floats:
        """Local uncertainty nu (S, A) in closed form; `values` (S,) are those of the next states."""

    @abstractmethod
    def sampled_uncertainty(self, rows: Floats, values: Floats) -> Floats:
        """The same from drawn tables `rows` of shape (samples, S, A, S)."""

    def noise_scale(self, std: Floats) -> Floats:
        """Standard deviation of Q from the root of the propagated variance."""
        return std

    def act(self, state: int, step: int = 0) -> int:
        """Draw the values of the state and take the best."""
        dither = self._dither.take(self.problem.n_actions)
        scale = self.options.zeta * self.std[step, state]
        return int(simulate.noisy_argmax(self.mean[step, state], scale, self.problem.mask[state], dither))

    def follow(self, simulator: Simulator, steps: int, step: int) -> Transitions:
        """Act by noisy values in a compiled loop that stops when a plan is due."""
        A = self.problem.n_actions
        dither = self._dither.take(steps * A).reshape(steps, A)
        scale, memory = self.options.zeta * self.std, self.schedule.watch(steps)
        loop = partial(
            simulate.follow_noisy_values,
            *(simulator.tables, self.mean, scale, self.problem.mask, dither, step, memory),
        )
        seen = simulator.advance(loop, steps)
        self._dither.give_back((steps - seen[0].size) * A)
        return seen

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the normal belief (before the factor zeta)."""
        mean, std = self.mean.copy(), self.std.copy()
        mean[:, ~self.problem.mask] = np.nan
        std[:, ~self.problem.mask] = np.nan
        return mean, std

    def dirichlet_moments(self, values: Floats) -> tuple[Floats, Floats]:
        """Var(sum P (mu + discount V)) and sum E[P] Var(mean reward), each (S, A)."""
        return self.belief.local_moments(values, self.problem.discount)

    def reward_mean_variance(self) -> Floats:
        """Posterior variance of every mean reward r(s, a, s')."""
        b = self.belief
        assert isinstance(b, ModelBelief)
        variance: Floats = b.rate / ((b.prior[1] + b.counts) * (b.shape - 1.0))
        return variance

    def reward_means(self) -> Floats:
        """Posterior mean of every mean reward r(s, a, s')."""
        assert isinstance(self.belief, ModelBelief)
        return self.belief.mu
