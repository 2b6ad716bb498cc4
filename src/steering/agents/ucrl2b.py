"""UCRL2 (Jaksch, Ortner and Auer 2010) with Bernstein bounds (UCRL2B; Fruit, Lazaric and Pirotta 2020).

Plan in the best of all plausible models. With n visits of (s, a), t steps so far and l = ln(2 S A t / delta):

    bound=bernstein   |P_y - phat_y| <= sqrt(14 phat_y (1 - phat_y) l / n) + 49 l / (3 (n - 1))   for every next state
    bound=l1          |P - phat|_1   <= sqrt(14 S ln(2 A t / delta) / n)                          (UCRL2)
    rewards           r <= rhat + (r_max - r_min) sqrt(3.5 l / n), and at most r_max

The best model is found by extended value iteration: the actions of an extended MDP are pairs of an action and a
plausible row, and of these the best for given values moves as much mass as it may to the best states. Here it is solved
exactly, by policy iteration. Plans are made anew when the visits of a pair have doubled (`replan=doubling`).

UCRL2 is about the average reward. In the discounted setting the same plausible models are planned in with the discount
of the environment (as UCRL-gamma), `criterion=average` is the original; in the episodic one by backward induction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steering._checks import choose
from steering._compiled import optimism as kernels
from steering._types import Floats
from steering.agents.large_optimism import DOWNWARD_SWEEPS
from steering.agents.optimism import ConfidentAgent, ConfidentOptions
from steering.beliefs import GroupedRows


@dataclass(frozen=True)
class UCRL2BOptions(ConfidentOptions):
    """Options of UCRL2B.

    Attributes
    ----------
    bound
        "bernstein" (UCRL2B) or "l1" (UCRL2).
    criterion
        What the continuing setting plans for: "discounted", or "average" as the paper.
    replan
        "doubling", as the paper: only when the visits of a pair have doubled; or any other schedule.
    """

    bound: str = "bernstein"
    criterion: str = "discounted"
    replan: str = "doubling"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("bound", self.bound, ("bernstein", "l1"))
        choose("criterion", self.criterion, ("discounted", "average"))


class UCRL2B(ConfidentAgent):
    """At each plan: the optimal policy of the best plausible model."""

    name = "ucrl2b"
    group = "optimism"
    options: UCRL2BOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the extended MDP."""
        super().plan(state, step)
        p, l1 = self.problem, self.options.bound == "l1"
        P, r, _ = self.model()
        best = np.minimum(self.options.r_max, r + self.reward_width())
        epsilon = 0.0
        if self.options.criterion == "average":
            epsilon = (self.options.r_max - self.options.r_min) / math.sqrt(max(1.0, self.belief.totals.sum()))
        if isinstance(P, GroupedRows):
            self._solver.extended(P, best, self.widths(), l1, self.policy, epsilon)
            return
        width = self.row_width(P)
        if p.horizon is not None:
            _, _, self.policy = kernels.extended_induction(P, best, width, l1, p.mask, p.horizon, p.discount)
        elif epsilon > 0:
            self.policy = kernels.extended_average(P, best, width, l1, p.mask, epsilon, DOWNWARD_SWEEPS)[None]
        else:
            kernels.extended_iteration(P, best, width, l1, p.mask, p.discount, self.policy[0], p.max_iterations)

    def reward_width(self) -> Floats:
        """How much more than its average a reward may be, shape (S, A)."""
        o = self.options
        width: Floats = o.scale * (o.r_max - o.r_min) * np.sqrt(3.5 * self.log_term(2.0) / self.visits)
        return width

    def widths(self) -> Floats:
        """Of every pair, (2, S A): the width of an entry p is the first times sqrt(p (1 - p)), plus the second.

        With `bound=l1` both are the distance in which a row may be.
        """
        n = self.visits.ravel()
        if self.options.bound == "l1":
            S = self.problem.n_states
            log = max(self.log_term(2.0) - math.log(S), math.log(2.0))  # ln(2 A t / delta)
            return np.tile(self.options.scale * np.sqrt(14.0 * S * log / n), (2, 1))
        log = self.log_term(2.0)
        least = 49.0 * log / 3.0 / np.maximum(n - 1.0, 1.0)
        return self.options.scale * np.stack([np.sqrt(14.0 * log / n), least])

    def row_width(self, P: Floats) -> Floats:
        """How far rows may be from P: of every entry (S, A, S), or in L1 distance (S, A, 1)."""
        n = self.visits
        if self.options.bound == "l1":
            return np.asarray(self.widths()[0].reshape(*n.shape, 1))
        log = self.log_term(2.0)
        spread = np.sqrt(14.0 * log * P * (1.0 - P) / n[..., None])
        width: Floats = self.options.scale * (spread + (49.0 * log / 3.0 / np.maximum(n - 1.0, 1.0))[..., None])
        return width
