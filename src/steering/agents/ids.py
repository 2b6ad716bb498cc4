"""Information-directed sampling, regularised: maximise value plus information.

    policy = argmax E[V_pi] + info_weight * sum_t discount^t I(s_t, a_t)

is an ordinary MDP with reward r(s, a) + info_weight I(s, a). The information of a row is either

    variance:  sum_y Var P(y|s, a) = sum_y m_y (1 - m_y) / (alpha_0 + 1)        (the paper's Var-IDS), or
    gain:      sum_y m_y [psi(alpha_y + 1) - psi(alpha_0 + 1) - log m_y],

the exact mutual information between the row and its next outcome, m = alpha / alpha_0. Both are closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass

from steering._checks import choose, in_range
from steering._compiled.sparse_moments import GAIN, VARIANCE
from steering._types import Floats
from steering.agents.base import ModelBasedAgent, ModelBasedOptions
from steering.agents.large import RowBonus


@dataclass(frozen=True)
class IDSOptions(ModelBasedOptions):
    """Options of information-directed sampling."""

    information: str = "variance"
    """Of a row: "variance" (as the paper's comparison) or "gain" (exact mutual information)."""
    planning: str = "sampled"
    """Model of the plans: "sampled": one posterior draw, as the paper; "mean": the posterior mean."""
    info_weight: float = 0.5
    """Weight lambda of the information (the paper's 0.5)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("information", self.information, ("variance", "gain"))
        choose("planning", self.planning, ("sampled", "mean"))
        in_range("info_weight", self.info_weight, 0.0)


class IDS(ModelBasedAgent):
    """At each plan: add the information of every row to its reward and solve."""

    name = "ids"
    group = "information"
    options: IDSOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the mean or a drawn model with the information added to the rewards."""
        super().plan(state, step)
        belief, o = self.belief, self.options
        if o.planning == "mean":
            kind = VARIANCE if o.information == "variance" else GAIN
            if repaired := self.repair("mean", RowBonus(kind, info_weight=o.info_weight)):
                repaired.update(self.policy[0])
                return
            P, r = belief.mean_model()
        else:
            P, r = belief.draw_model(self.planning_rng)
        self.solve(P, r + o.info_weight * self.information())

    def information(self) -> Floats:
        """Information of every row, shape (S, A)."""
        return self.belief.row_variance() if self.options.information == "variance" else self.belief.row_information()
