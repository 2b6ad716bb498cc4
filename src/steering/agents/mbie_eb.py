"""MBIE-EB (Strehl and Littman 2008): the empirical model with a bonus beta / sqrt(n) on every reward.

    Q(s, a) = rhat + beta / sqrt(n) + g phat V,     Vmax where (s, a) was never tried,
    beta = Vmax sqrt(ln(2 S A t / delta) / 2)

times `scale`. The paper has the number m of visits that count in place of t, the steps so far, and no cap; Q is capped
at Vmax here, which is never below the truth. The paper is discounted; in an episode Vmax is that of the steps left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._types import Floats
from steering.agents.optimism import ConfidentAgent, ConfidentOptions


@dataclass(frozen=True)
class MBIEEBOptions(ConfidentOptions):
    """MBIE-EB has the options of optimistic agents and no others."""


class MBIEEB(ConfidentAgent):
    """At each plan: the empirical model with exploration bonuses."""

    name = "mbie_eb"
    group = "optimism"
    options: MBIEEBOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the empirical model with bonuses."""
        super().plan(state, step)
        P, r, known = self.model()
        self.solve_with_bonus(P, r, self.bonus(), np.zeros_like(r), known)

    def bonus(self) -> Floats:
        """beta / sqrt(n), shape (layers, S, A)."""
        beta = self.options.scale * self.spans[:-1, None, None] * np.sqrt(self.log_term(2.0) / 2.0)
        bonus: Floats = beta / np.sqrt(self.visits)
        return bonus
