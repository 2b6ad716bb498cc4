"""What agents that are optimistic share: what they are told, the model they plan in, and plans with bonuses.

Told: the range of rewards, the failure probability delta, and a scale of everything that makes the agent optimistic
(1 is the constant of the paper; the constants of proofs are large, 0.1 is often practical). From the range of rewards
follow bounds on values: V <= r_max (1 + g + g^2 + ...) over the steps that are left.

The model is the empirical one (frequencies and averages; a pair that was never tried is unknown and worth the bound),
or the posterior mean of the belief, which brings what the belief brings: learned concentration and reward scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steering._checks import choose, in_range
from steering._compiled import optimism as kernels
from steering._types import Bools, Floats
from steering.agents.base import ModelBasedAgent, ModelBasedOptions, Problem
from steering.agents.large_optimism import DOWNWARD_SWEEPS, OptimisticSolver, blank, empirical_rows
from steering.beliefs import Belief, GroupedRows, Rows, SparseBelief
from steering.beliefs.normal_gamma import checked_prior
from steering.errors import InvalidOption


@dataclass(frozen=True)
class ToldOptions(ModelBasedOptions):
    """Options of agents that are told the range of rewards.

    Attributes
    ----------
    r_min, r_max
        Smallest and largest mean reward.
    scale
        Factor of what makes the agent optimistic; 1 is the paper's constant.
    """

    r_min: float = 0.0
    r_max: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("scale", self.scale, 0.0)
        check_range(self.r_min, self.r_max)


@dataclass(frozen=True)
class OptimisticOptions(ToldOptions):
    """Options of agents that are told the range of rewards and choose the model that they plan in.

    Attributes
    ----------
    model
        "empirical": frequencies and averages, as the papers; "posterior": the mean of the belief.
    """

    model: str = "empirical"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("model", self.model, ("empirical", "posterior"))


@dataclass(frozen=True)
class DeltaOptions(ToldOptions):
    """Options of agents whose bounds hold with a stated probability.

    Attributes
    ----------
    delta
        Probability with which the bounds may fail.
    """

    delta: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("delta", self.delta, 0.0, 1.0, open_low=True)


@dataclass(frozen=True)
class ConfidentOptions(OptimisticOptions, DeltaOptions):
    """Options of agents that choose their model and whose bounds hold with a stated probability."""


class OptimisticAgent(ModelBasedAgent):
    """Base of optimistic agents.

    Attributes
    ----------
    caps
        Largest value from each step on, shape (layers + 1,).
    spans
        Largest value less smallest value from each step on, shape (layers + 1,).
    """

    options: ToldOptions
    caps: Floats
    spans: Floats

    _solver: OptimisticSolver

    def _reset(self) -> None:
        super()._reset()
        self._solver = OptimisticSolver(self.problem)
        left = steps_left(self.problem)
        self.caps = self.options.r_max * left
        self.spans = (self.options.r_max - self.options.r_min) * left

    def hopes(self, fraction: float) -> Floats:
        """A part of the range of values from each step on, (layers + 1,): Vmin + fraction (Vmax - Vmin)."""
        return self.caps - (1.0 - fraction) * self.spans

    @property
    def visits(self) -> Floats:
        """Visits n of every pair, at least 1, shape (S, A)."""
        return np.maximum(self.belief.totals, 1.0)

    def model(self) -> tuple[Rows, Floats, Bools]:
        """P (S, A, S), r (S, A) and which pairs are known, (S, A)."""
        if getattr(self.options, "model", "posterior") == "posterior":
            return *self.belief.mean_model(), np.ones(self.problem.mask.shape, dtype=np.bool_)
        return *empirical_model(self.belief), self.belief.totals > 0

    def solve_with_bonus(self, P: Rows, r: Floats, bonus: Floats, factor: Floats, known: Bools) -> Floats:
        """Plan by Q = min(cap, r + bonus + factor sqrt(Var_P V) + g P V), cap where not known; Q (layers, S, A).

        r and bonus are (layers, S, A) or broadcast to it, factor is (S, A).
        """
        p = self.problem
        shape = (p.layers, p.n_states, p.n_actions)
        r, bonus = (np.array(np.broadcast_to(x, shape)) for x in (r, bonus))
        if isinstance(P, GroupedRows):
            local = np.where(known, r + bonus, self.caps[: p.layers, None, None])
            factor = np.where(known, factor, 0.0)
            return self._solver.with_bonus(blank(P, known), local, factor, self.caps, self.policy)
        if p.horizon is None and not factor.any():
            cap, self.policy = float(self.caps[0]), self.policy.copy()
            _, Q = kernels.capped_iteration(
                P, r[0] + bonus[0], known, p.mask, p.discount, cap, self.policy[0], 10 * p.max_iterations
            )
            return np.asarray(Q)[None]
        if p.horizon is None:
            cap = float(self.caps[0])
            _, Q, policy = kernels.bonus_iteration(
                *(P, r[0], bonus[0], factor, known, p.mask, p.discount, cap),
                *(self._solver.tolerance(cap), DOWNWARD_SWEEPS),
            )
            self.policy = policy[None]
            return np.asarray(Q)[None]
        _, Q, self.policy = kernels.bonus_induction(P, r, bonus, factor, known, p.mask, p.discount, self.caps)
        return np.asarray(Q)

    def solve_layers(self, P: Rows, r: Floats) -> Floats:
        """Plan an episode with rewards (H, S, A) of their own in every step, without a cap; returns Q."""
        S, A = r.shape[1:]
        everywhere, nothing = np.ones((S, A), dtype=np.bool_), np.zeros((S, A))
        bonus, caps = np.zeros_like(r), np.full(len(self.caps), np.inf)
        p = self.problem
        if isinstance(P, GroupedRows):
            return self._solver.with_bonus(P, r, nothing, caps, self.policy)
        _, Q, self.policy = kernels.bonus_induction(P, r, bonus, nothing, everywhere, p.mask, p.discount, caps)
        return np.asarray(Q)


class ConfidentAgent(OptimisticAgent):
    """Base of optimistic agents whose bounds hold with a stated probability."""

    options: ConfidentOptions

    def log_term(self, factor: float) -> float:
        """ln(factor S A t / delta), t the steps so far (at least 1)."""
        pairs = self.problem.n_states * self.problem.n_actions
        return math.log(factor * pairs * max(1.0, float(self.belief.totals.sum())) / self.options.delta)


def steps_left(problem: Problem) -> Floats:
    """Discounted number of steps that are left from each step on: 1 / (1 - g), or sum of g^k; shape (layers + 1,)."""
    if problem.horizon is None:
        return np.full(2, 1.0 / (1.0 - problem.discount))
    powers = problem.discount ** np.arange(problem.horizon)
    return np.append(np.cumsum(powers)[::-1], 0.0)


def reach(problem: Problem) -> float:
    """Effective horizon: H, or 1 / (1 - g)."""
    return float(problem.horizon or 1.0 / (1.0 - problem.discount))


def empirical_model(belief: Belief) -> tuple[Rows, Floats]:
    """Frequencies (S, A, S) and average rewards (S, A); uniform and 0 where nothing was seen."""
    if isinstance(belief, SparseBelief):
        return empirical_rows(belief)
    n = np.maximum(belief.totals, 1.0)
    P = belief.counts / n[..., None]
    P[belief.totals == 0] = 1.0 / P.shape[-1]
    r = np.einsum("say,say->sa", belief.counts, belief.average) / n
    return P, r


def row_spread(belief: Belief) -> Floats:
    """sqrt(sum_y Var P_y) of every Dirichlet row, shape (S, A)."""
    if isinstance(belief, SparseBelief):
        return np.sqrt(np.maximum(belief.row_variance(), 0.0))
    strength = belief.totals + belief.counts.shape[-1] * belief.eta
    # Divided by a power of two, which is exact: the squares of a very weak or strong prior are no numbers otherwise.
    _, exponent = np.frexp(strength)
    rows, total = np.ldexp(belief.alpha, -exponent[..., None]), np.ldexp(strength, -exponent)
    squares = np.einsum("say,say->sa", rows, rows) / total**2
    spread: Floats = np.sqrt(np.maximum(1.0 - squares, 0.0) / (strength + 1.0))
    return spread


def reward_spread(belief: Belief) -> Floats:
    """sqrt(sum_y E[P_y] Var(mean reward_y)), shape (S, A)."""
    if isinstance(belief, SparseBelief):
        return np.sqrt(belief.local_moments(np.zeros(belief.n_states), 0.0)[1])
    variance = belief.rate / ((belief.prior[1] + belief.counts) * (belief.shape - 1.0))
    strength = belief.totals + belief.counts.shape[-1] * belief.eta
    spread: Floats = np.sqrt(np.einsum("say,say->sa", belief.alpha, variance) / strength)
    return spread


def check_range(r_min: float, r_max: float) -> None:
    """Refuse a range of rewards that is empty or not finite."""
    if not (math.isfinite(r_min) and math.isfinite(r_max) and r_min < r_max):
        raise InvalidOption(f"r_min is {r_min} and r_max is {r_max}; give finite numbers, the second larger.")


def need_variance(normal_gamma: tuple[float, float, float, float]) -> None:
    """Refuse a prior under which a mean reward has no variance."""
    if checked_prior(normal_gamma)[2] <= 1:
        raise InvalidOption(
            f"normal_gamma has alpha = {normal_gamma[2]}; the variance of a mean reward needs alpha above 1."
        )
