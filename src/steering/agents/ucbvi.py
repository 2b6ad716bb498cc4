"""UCBVI (Azar, Osband and Munos 2017): value iteration in the empirical model with a bonus for what is unsure.

    Q(s, a) = min(Vmax, rhat + b(s, a) + g phat V),     Vmax where (s, a) was never tried

With n visits, L = ln(5 S A t / delta), H the (effective) horizon and N(y) the visits of state y:

    bound=bernstein    b = sqrt(8 L Var_phat(V) / n) + 14 Vmax L / (3 n)
                           + sqrt(8 sum_y phat_y min(100^2 S^2 H^2 A L^2 / N(y), Vmax^2) / n)      (Bernstein-Freedman)
    bound=hoeffding    b = 7 Vmax L / sqrt(n)                                                      (Chernoff-Hoeffding)
    bound=simplified   b = sqrt(Var_phat(V) / n) + Vmax / n                                        (as it is often used)

each times `scale`. The paper knows the rewards; their average is used here, and the range of r + V in place of that of
V (Vmax here is that range). Var_phat(V) is the variance of V(y) under phat. The paper is episodic; in the discounted
setting Q is the largest fixed point, reached from Vmax downwards, which plays the part of the minimum over past plans.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._checks import choose
from steering._types import Floats
from steering.agents.large_optimism import expect
from steering.agents.optimism import ConfidentAgent, ConfidentOptions, reach
from steering.beliefs import Rows


@dataclass(frozen=True)
class UCBVIOptions(ConfidentOptions):
    """Options of UCBVI.

    Attributes
    ----------
    bound
        "bernstein" or "hoeffding", with the constants of the paper, or "simplified".
    """

    bound: str = "bernstein"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("bound", self.bound, ("bernstein", "hoeffding", "simplified"))


class UCBVI(ConfidentAgent):
    """At each plan: value iteration with bonuses."""

    name = "ucbvi"
    group = "optimism"
    options: UCBVIOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the empirical model with bonuses."""
        super().plan(state, step)
        P, r, known = self.model()
        self.solve_with_bonus(P, r, *self.bonus(P), known)

    def bonus(self, P: Rows) -> tuple[Floats, Floats]:
        """The part that does not depend on V, (layers, S, A), and the factor of sqrt(Var V), (S, A)."""
        n, span = self.visits, self.spans[:-1, None, None]
        c, log = self.options.scale, self.log_term(5.0)
        if self.options.bound == "hoeffding":
            return c * 7.0 * span * log / np.sqrt(n), np.zeros_like(n)
        if self.options.bound == "simplified":
            return c * span / n, c / np.sqrt(n)
        S, A = n.shape
        here = np.maximum(self.belief.totals.sum(axis=1), 1.0)
        unit = self.options.r_max - self.options.r_min
        unsure = (100.0 * S * reach(self.problem) * log * unit) ** 2 * A / here
        expected = np.minimum(unsure, span**2) if unit > 0 else 0.0 * span  # (layers, 1, S)
        correction = np.sqrt(8.0 * expect(P, expected[:, 0]) / n)
        return c * (14.0 * span * log / (3.0 * n) + correction), c * np.sqrt(8.0 * log / n)
