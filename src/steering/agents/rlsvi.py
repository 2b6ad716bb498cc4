"""RLSVI (Osband, Van Roy and Wen 2016): plan with noise on every reward, as large as it is unsure.

    noise=russo     Q(s, a) = [sum of rewards + n phat V] / (n + 1) + w,     w ~ N(0, beta / (n + 1)),
                    beta = scale^2 S H^3 ln(2 H S A k) / 2                             (the constants of Russo 2019)
    noise=simple    Q(s, a) = rhat + g phat V + w,     w ~ N(0, (scale (1 / sqrt(n) + Vmax / n))^2)

with k the number of plans, H the (effective) horizon and rewards in units of r_max - r_min. The noise is drawn once
for every plan, for each step of an episode on its own. It is centred at 0: public code has it centred at rhat, which
is then counted twice. In the discounted setting one draw holds for the whole stationary plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steering._checks import choose
from steering._types import Floats
from steering.agents.large_optimism import scaled
from steering.agents.optimism import OptimisticAgent, OptimisticOptions, reach


@dataclass(frozen=True)
class RLSVIOptions(OptimisticOptions):
    """Options of RLSVI.

    Attributes
    ----------
    noise
        "russo" (constants of the regret bound) or "simple".
    """

    noise: str = "russo"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("noise", self.noise, ("russo", "simple"))


class RLSVI(OptimisticAgent):
    """At each plan: the model with noisy rewards."""

    name = "rlsvi"
    group = "posterior sampling"
    options: RLSVIOptions

    def _reset(self) -> None:
        super()._reset()
        self._plans = 0

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Draw the noise and solve."""
        super().plan(state, step)
        self._plans += 1
        P, r, _ = self.model()
        if self.options.noise == "russo":
            shrink = self.belief.totals / (self.belief.totals + 1.0)
            P, r = scaled(P, shrink), r * shrink
        p = self.problem
        noise = self.planning_rng.standard_normal((p.layers, p.n_states, p.n_actions)) * self.noise_scale()
        if p.horizon is None:
            self.solve(P, r + noise[0])
        else:
            self.solve_layers(P, r + noise)

    def noise_scale(self) -> Floats:
        """Standard deviation of the noise, broadcast to (layers, S, A)."""
        o, unit = self.options, self.options.r_max - self.options.r_min
        if o.noise == "simple":
            n = self.visits
            scale: Floats = o.scale * (unit / np.sqrt(n) + self.spans[:-1, None, None] / n)
            return scale
        S, A = self.belief.totals.shape
        H = reach(self.problem)
        beta = 0.5 * S * H**3 * math.log(2.0 * H * S * A * self._plans)
        std: Floats = o.scale * unit * np.sqrt(beta / (self.belief.totals + 1.0))
        return std
