"""Bayesian Q-learning (Dearden, Friedman and Russell 1998): a Normal-Gamma belief about the return of every action.

Actions are chosen by a draw of each action's mean return (Student-t). After a step the belief at (s, a) is updated with
the return r + discount R', where R' has the predictive Student-t distribution of the best next action: the posterior is
a mixture over R', replaced by the Normal-Gamma nearest to it in KL divergence, whose parameters follow from
E[tau], E[mu tau], E[mu^2 tau] and E[log tau]. Given R' these are closed forms, so one integral over R' is left; it is
computed by quadrature (relative error below 1e-6), or with `mixture="sampling"` by plain draws of all variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from steering._checks import choose, in_range, moderate_options
from steering._compiled import model_free as kernels
from steering._types import Floats
from steering.agents.base import Agent
from steering.beliefs.normal_gamma import PAPER_PRIOR, checked_prior
from steering.errors import InvalidOption
from steering.mdp.simulator import Simulator


@dataclass(frozen=True)
class BayesianQOptions:
    """Options of Bayesian Q-learning."""

    normal_gamma: tuple[float, float, float, float] = PAPER_PRIOR
    """Prior (mu, lambda, alpha, beta) of every return (the paper's 0, 4, 3, 3)."""
    mixture: str = "quadrature"
    """How its integral is computed: "quadrature" or "sampling"."""
    samples: int = 1000
    """Number of draws with mixture="sampling"."""

    def __post_init__(self) -> None:
        if checked_prior(self.normal_gamma)[2] <= 1:
            raise InvalidOption(
                f"normal_gamma has alpha = {self.normal_gamma[2]}; the variance of a mean return needs alpha above 1."
            )
        choose("mixture", self.mixture, ("quadrature", "sampling"))
        in_range("samples", self.samples, 2)
        moderate_options(self)


class BayesianQ(Agent):
    """One Normal-Gamma cell for every (s, a), updated by the mixture rule."""

    name = "bayesian_q"
    group = "model-free"
    plans = False
    options: BayesianQOptions
    table: Floats

    def _reset(self) -> None:
        p = self.problem
        self.table = np.empty((p.layers, p.n_states, p.n_actions, 4))
        self.table[:] = self.options.normal_gamma
        # An episode of one step has one layer, as the continuing setting has, but nothing follows it.
        self._discount = 0.0 if p.horizon == 1 else float(p.discount)
        self._draws = 0 if self.options.mixture == "quadrature" else int(self.options.samples)

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Nothing to do but to state the greedy policy."""
        self.policy = np.where(self.problem.mask, self.table[..., 0], -np.inf).argmax(axis=-1)

    def act(self, state: int, step: int = 0) -> int:
        """Draw the mean return of every action and take the best."""
        return int(kernels.sample_action(self.table[step, state], self.problem.mask[state], self.acting_rng))

    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """One mixture update."""
        kernels.bayesian_q_update(
            self.table,
            self.problem.mask,
            self._discount,
            self._draws,
            self.acting_rng,
            step,
            state,
            action,
            reward,
            next_state,
        )

    def interact(self, simulator: Simulator, steps: int, step: int = 0) -> None:
        """The compiled loop of `act` and `observe`."""
        settings = (self.problem.mask, self._discount, self._draws, self.acting_rng, step)
        simulator.advance(partial(kernels.bayesian_q, simulator.tables, self.table, *settings), steps)

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the mean return."""
        mu, lam, alpha, beta = np.moveaxis(self.table, -1, 0)
        mean, std = mu.copy(), np.sqrt(beta / (lam * (alpha - 1.0)))
        mean[:, ~self.problem.mask] = np.nan
        std[:, ~self.problem.mask] = np.nan
        return mean, std
