"""Plans in worlds whose belief is kept by support: rows in which all unseen outcomes are alike.

`RowSolver` solves any such model, warm-started; `RepairedPlan` follows a belief, and after a few observations computes
again only what they changed (`steering._compiled.sparse_plans`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steering._compiled import grouped_planning, sparse_plans
from steering._compiled.planning import TIE_TOLERANCE
from steering._compiled.stein import barker_space
from steering._types import Floats, Ints
from steering.agents import systems
from steering.beliefs import GroupedRows, Rows, SparseBelief

if TYPE_CHECKING:
    from steering.agents.base import Problem

ACCURACY = 1e-6
"""Relative accuracy of the values of a model that is solved as a whole."""
REPAIR_ACCURACY = 1e-2
"""Relative accuracy of the values of a plan that is repaired: its error is at most this part of the largest value."""
LARGE = 1024
"""States above which a world is large: its plans are coarser, and sweeps of all its states are put off."""
LARGE_ACCURACY = 5e-2
"""As `REPAIR_ACCURACY`, in large worlds: else all that is learned moves values nearly everywhere."""
PASSES = 10
"""Times that a repair of a large world goes on with the states that feel the sum of all values; see `plan`."""
EVALUATION_ACCURACY = 1e-10
"""Relative accuracy of the values of a policy."""
MAX_SWEEPS = 100_000
FINE = 1e-9
"""Relative accuracy below which linear systems are solved instead of sweeps made, unless there are too many states."""


class RowSolver:
    """Solves models in grouped rows, from the values of the last one on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.accuracy = ACCURACY
        self.V: Floats = np.zeros(problem.n_states)
        self._u: Floats = np.zeros(problem.n_states)

    @property
    def _by_systems(self) -> bool:
        p = self.problem
        return p.horizon is None and self.accuracy < FINE and p.n_states <= systems.SYSTEM

    def solve(self, P: GroupedRows, r: Floats, policy: Ints, discount: float | None = None) -> tuple[Floats, Floats]:
        """Make a policy (layers, S) optimal, in place; V of the next states and Q, with their layers."""
        p, local = self.problem, np.ascontiguousarray(r).ravel()
        discount = p.discount if discount is None else discount
        if self._by_systems:
            V, Q = systems.policy_iteration(P, local, p.mask, discount, policy[0], p.max_iterations)
            return V[None], Q[None]
        if p.horizon is None:
            Q = np.empty((p.n_states, p.n_actions))
            grouped_planning.settle(
                *(P.arrays, local, p.mask, discount, self.V, policy[0], Q, self.accuracy, p.max_iterations)
            )
            return self.V.copy()[None], Q[None]
        V, Q, best = grouped_planning.backward_induction(P.arrays, local, p.mask, p.horizon, discount, TIE_TOLERANCE)
        policy[:] = best
        return V[1:], Q

    def evaluate(self, P: GroupedRows, r: Floats, policy: Ints, discount: float | None = None) -> Floats:
        """Values (layers, S) of a policy."""
        discount = self.problem.discount if discount is None else discount
        if self._by_systems:
            return systems.chain_values(P, np.ascontiguousarray(r).ravel(), policy[0], discount)[None]
        return self.propagate(P, np.broadcast_to(r, (policy.shape[0], *r.shape)), policy, discount)[0]

    def propagate(self, P: GroupedRows, local: Floats, policy: Ints, factor: float) -> tuple[Floats, Floats]:
        """Sum of a local quantity (layers, S, A) along a policy: by state (layers, S), and by pair."""
        p = self.problem
        flat = np.ascontiguousarray(local).reshape(policy.shape[0], -1)
        if p.horizon is None:
            table = np.empty((1, p.n_states, p.n_actions))
            grouped_planning.propagate(
                *(P.arrays, flat[0], p.mask, factor, self._u, policy[0], table[0], EVALUATION_ACCURACY, MAX_SWEEPS)
            )
            return self._u.copy()[None], table
        table = grouped_planning.propagate_finite(P.arrays, flat, policy, factor)
        return np.take_along_axis(table, policy[..., None], axis=-1)[..., 0], table


def expected(P: Rows, V: Floats) -> Floats:
    """Sum of P_y V_y, (S, A), of a table that is dense or grouped."""
    if not isinstance(P, GroupedRows):
        return np.asarray(P @ V)
    Q = np.empty(P.shape[:2])
    grouped_planning.q_table(P.arrays, np.zeros(Q.size), np.ones(Q.shape, np.bool_), 1.0, V, Q)
    return Q


@dataclass(frozen=True)
class RowBonus:
    """What a repaired plan adds to the rewards; see `steering._compiled.sparse_plans.bonus`.

    Attributes
    ----------
    kind, diagonal
        Information of a row (`steering._compiled.sparse_moments`), and the diagonal of the Stein kernel.
    info_weight, novelty, reward_noise
        Weights of the information, and of the spread of mean rewards never seen and seen.
    alike
        Whether the rewards never seen of a row are all alike, or independent.
    value_weight
        Weight of the spread of the row's mean value.
    related
        Whether the rows of a state are related (`steering._compiled.related`).
    """

    kind: int = 0
    diagonal: float = 1.0
    info_weight: float = 0.0
    novelty: float = 0.0
    reward_noise: float = 0.0
    alike: bool = False
    value_weight: float = 0.0
    related: bool = False


class RepairedPlan:
    """A plan in the mean of a belief by support that is repaired after observations; continuing setting only.

    Parameters
    ----------
    problem, belief
        What is planned in.
    model
        "mean" or "data", see `Belief`.
    bonus
        What is added to the rewards.
    discount
        The problem's, unless another is given.
    """

    def __init__(
        self, problem: Problem, belief: SparseBelief, model: str, bonus: RowBonus, discount: float | None = None
    ) -> None:
        S, R = problem.n_states, problem.n_states * problem.n_actions
        self.problem, self.belief, self.model, self.bonus = problem, belief, model, bonus
        self.discount = problem.discount if discount is None else discount
        self.accuracy = LARGE_ACCURACY if S > LARGE else REPAIR_ACCURACY
        self.passes = PASSES if S > LARGE else 0
        self.V: Floats = np.zeros(S)
        self.local, self.D, self.noise = np.zeros(R), np.zeros(R), np.zeros(R)
        self.sweeps = 0
        self._base, self._excess = np.empty(R), np.empty(0)
        self._related = (np.empty(R), np.empty(R), np.empty(R)) if bonus.related else ()
        self._sent, self._sums = np.zeros(S), np.zeros(S)
        # A queue that is full must not look empty: one place more than there are states.
        self._work = (np.empty(S + 1, np.int32), np.zeros(S, np.bool_))
        self._space = barker_space(S)
        self._rests = np.full(sparse_plans.RESTS, np.nan)
        self._anew = True

    def draw_noise(self, rng: np.random.Generator) -> None:
        """New noise for all rewards."""
        rng.standard_normal(out=self.noise)
        self._anew = True

    def update(self, policy: Ints, grown: float = 0.0, limit: float = math.inf) -> None:
        """Bring the values and a policy (S,) up to date with the belief.

        Parameters
        ----------
        policy
            Changed in place.
        grown
            What promises have grown by.
        limit
            Most that the spread of a row's mean value counts as.
        """
        b, p, bonus = self.belief, self.problem, self.bonus
        places = b.pool[3].size
        if self._excess.size != places:
            self._excess = np.concatenate([self._excess, np.empty(places - self._excess.size)])
        weights = (
            *(float(bonus.info_weight), float(bonus.novelty), float(bonus.reward_noise), float(bonus.value_weight)),
            *((b.promise, b.row_promise, grown) if bonus.alike else (0.0, 0.0, 0.0)),
        )
        self.sweeps += sparse_plans.plan(
            (b.pool, b.totals.ravel(), b.links, b.marks, b.state),
            b.prior,
            (
                *(p.n_states, b.model_strength(self.model), b.eta, bonus.kind, bonus.diagonal, weights),
                *(b.pooled(self.model), b.model_evenness(self.model)),
            ),
            (self._excess, self._base, *self._related),
            (self.local, self.D, self.noise),
            *(p.mask, self.discount, (self.V, self._sent, policy, self._sums), self._work, self._space, self._rests),
            *(self.accuracy, self._anew, p.max_iterations, float(limit), self.passes),
        )
        self._anew = False

    def q_values(self) -> Floats:
        """Q (S, A) of the plan."""
        Q = np.empty(self.problem.mask.shape)
        rows = sparse_plans.rows_of(self.belief.pool, (self._excess, self._base, *self._related))
        grouped_planning.q_table(rows, self.local, self.problem.mask, self.discount, self.V, Q)
        return Q
