r"""VAPOR (Tarbouriech et al. 2023): where the optimal policy is likely to be, as one convex program.

    max over occupancies l of  sum_h,s,a l (rbar + sigma sqrt(-2 ln l)),     policy = l / sum_a l

sigma^2 = scale^2 (sigma_r^2 + span^2) / n is the variance of what a pair is worth. The sum bounds E max Q: a pair
that is rarely optimal (small l) is believed to be sqrt(-2 ln l) standard deviations better when it is. The start is
the state of the plan. The dual has no constraints and a closed form,

    min over V of  V(start) + sum c(x),     x = rbar + g P V' - V,
    c(x) = max over l in [0, 1] of  l x + sigma l sqrt(-2 ln l)

where the best l is exp(-u^2 / 2) with u = (sqrt(y^2 + 4) - y) / 2, y = x / sigma: the gradient is the flow that is
out of balance. It is solved by L-BFGS from the last plan's V, up to `iterations` rounds: the budget of the agent. In
the discounted setting l is the occupancy times 1 - g, with start weight 1 - g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steering._checks import in_range
from steering._types import Floats
from steering.agents.large_optimism import arrive, expect
from steering.agents.optimism import ToldOptions
from steering.agents.soft_policy import SoftPolicyAgent
from steering.beliefs import Rows


@dataclass(frozen=True)
class VAPOROptions(ToldOptions):
    """Options of VAPOR.

    Attributes
    ----------
    sigma
        Standard deviation of single rewards.
    iterations
        Rounds of the convex solver in a plan.
    """

    sigma: float = 1.0
    iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("scale", self.scale, 0.0, open_low=True)
        in_range("sigma", self.sigma, 0.0)
        in_range("iterations", self.iterations, 1)


class VAPOR(SoftPolicyAgent):
    """At each plan: the occupancy that solves the program, and its policy."""

    name = "vapor"
    group = "information"
    options: VAPOROptions

    def _reset(self) -> None:
        super()._reset()
        p = self.problem
        self._V: Floats = np.broadcast_to(self.caps[: p.layers, None], (p.layers, p.n_states)).copy()

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the dual and act by the occupancy."""
        from scipy.optimize import minimize  # a tenth of a second that no other agent needs

        super().plan(state, step)
        P, r = self.belief.mean_model()
        after = self.spans[1:, None, None]
        sigma = self.options.scale * np.sqrt((self.options.sigma**2 + after**2) / self.visits)
        sigma = np.maximum(sigma, 1e-9 * max(1.0, float(np.abs(r).max())))
        unit = max(float(np.abs(self.caps[0])), float(np.abs(r).max()), 1e-300)

        def dual(flat: Floats) -> tuple[float, Floats]:
            value, gradient, _ = self.dual(P, r, sigma, unit * flat.reshape(self._V.shape), state)
            return value / unit, gradient.ravel()

        options: Any = {"maxiter": self.options.iterations, "ftol": 1e-12, "gtol": 1e-8}
        found = minimize(dual, self._V.ravel() / unit, jac=True, method="L-BFGS-B", options=options)
        self._V = unit * np.asarray(found.x).reshape(self._V.shape)
        self.set_logits(self.dual(P, r, sigma, self._V, state)[2])

    def dual(self, P: Rows, r: Floats, sigma: Floats, V: Floats, state: int) -> tuple[float, Floats, Floats]:
        """Value and gradient (layers, S) of the dual at V, and ln of the occupancies (layers, S, A)."""
        p = self.problem
        following = V if p.horizon is None else np.vstack([V[1:], np.zeros((1, p.n_states))])
        x = r + p.discount * expect(P, following) - V[..., None]
        y = x / sigma
        sum_ = np.hypot(y, 2.0) + np.abs(y)
        u = np.where(y > 0, 2.0 / sum_, 0.5 * sum_)  # two forms of one root, so that nothing cancels
        log = -0.5 * u * u
        flow = np.where(p.mask, np.exp(log), 0.0)
        weight = 1.0 - p.discount if p.horizon is None else 1.0
        value = weight * V[0, state] + float((flow * (x + sigma * u)).sum())
        gradient = -flow.sum(axis=2)
        gradient[0, state] += weight
        arriving = p.discount * arrive(P, flow)
        if p.horizon is None:
            gradient += arriving
        else:
            gradient[1:] += arriving[:-1]
        return value, gradient, log
