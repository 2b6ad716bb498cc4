"""Posterior sampling (PSRL; Osband, Russo and Van Roy 2013): plan in one model drawn from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

from steering.agents.base import ModelBasedAgent, ModelBasedOptions


@dataclass(frozen=True)
class PSRLOptions(ModelBasedOptions):
    """PSRL has the options of the belief and no others."""


class PSRL(ModelBasedAgent):
    """At each plan: draw P and r from the posterior, follow the optimal policy of the draw."""

    name = "psrl"
    group = "posterior sampling"

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Draw a model and solve it."""
        super().plan(state, step)
        self.solve(*self.belief.draw_model(self.planning_rng))
