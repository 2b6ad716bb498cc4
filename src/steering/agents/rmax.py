"""R-MAX (Brafman and Tennenholtz 2002): what was tried fewer than m times is worth Vmax.

    Q(s, a) = rhat + g phat V  where (s, a) has at least m visits,     Vmin + scale (Vmax - Vmin)  elsewhere

The known part is the empirical model. m is what it has to be told; its proof asks for millions, practice for a few.
With `scale` below 1 the unknown is worth less than all that could be, and what is known to be good is not left for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._checks import in_range
from steering.agents.large_optimism import blank
from steering.agents.optimism import OptimisticAgent, OptimisticOptions


@dataclass(frozen=True)
class RMaxOptions(OptimisticOptions):
    """Options of R-MAX.

    Attributes
    ----------
    m
        Visits after which a pair is known.
    """

    m: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("m", self.m, 1)


class RMax(OptimisticAgent):
    """At each plan: the empirical model of what is known, the bound elsewhere."""

    name = "rmax"
    group = "optimism"
    options: RMaxOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the model with the unknown pairs at their bound."""
        super().plan(state, step)
        P, r, _ = self.model()
        known, nothing = self.belief.totals >= self.options.m, np.zeros_like(r)
        hopes = self.hopes(self.options.scale)[: self.problem.layers, None, None]
        self.solve_with_bonus(blank(P, known), np.where(known, r, hopes), nothing, nothing, np.ones_like(known))
