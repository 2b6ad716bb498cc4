"""Plans of the optimistic and the soft agents in worlds whose belief is kept by support.

The formulas are those of the tables; here they are computed on rows in which all unseen outcomes are alike
(`steering._compiled.grouped_optimism`, `grouped_extended` and `grouped_soft`). Plans that are solved by iteration start
from the values of the last one.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from steering import _memory
from steering._compiled import grouped_extended, grouped_soft
from steering._compiled import grouped_optimism as kernels
from steering._types import Bools, Floats, Ints
from steering.agents.large import RowSolver
from steering.beliefs import GroupedRows, Rows, SparseBelief
from steering.beliefs.support import PLACE_BYTES

TOLERANCE = 1e-6
DOWNWARD_SWEEPS = 5000
"""Sweeps of value iteration from the bound downwards: where they end before the limit, the plan is more optimistic."""


class OptimisticSolver(RowSolver):
    """`RowSolver` with caps, bonuses, plausible sets, quantiles and soft maxima."""

    def with_bonus(self, P: GroupedRows, local: Floats, factor: Floats, caps: Floats, policy: Ints) -> Floats:
        """Plan by Q = min(cap, local + factor sqrt(Var_P V) + g P V), the policy in place; Q (layers, S, A).

        local is (layers, S, A), factor (S, A).
        """
        p, flat, weights = self.problem, _flat(local), factor.ravel()
        if p.horizon is not None:
            Q, policy[:] = kernels.bonus_induction(P.arrays, flat, weights, p.mask, p.discount, caps)
            return np.asarray(Q)
        cap = float(caps[0])
        if factor.any():
            Q, policy[0] = kernels.bonus_iteration(
                *(P.arrays, flat[0], weights, p.mask, p.discount, cap, self.tolerance(cap), DOWNWARD_SWEEPS)
            )
        else:
            Q = kernels.capped_iteration(
                *(P.arrays, flat[0], p.mask, p.discount, cap, self.V, policy[0], self.accuracy, 10 * p.max_iterations)
            )
        return np.asarray(Q)[None]

    def extended(self, P: GroupedRows, r: Floats, widths: Floats, l1: bool, policy: Ints, epsilon: float) -> None:
        """Plan in the best plausible model, the policy in place; for the average reward if epsilon is above 0.

        widths are those of `steering._compiled.grouped_extended.extended_backup`.
        """
        p, local = self.problem, np.ascontiguousarray(r).ravel()
        task = (P.arrays, local, widths, l1, p.mask)
        if p.horizon is not None:
            _, policy[:] = grouped_extended.extended_induction(*task, p.horizon, p.discount)
        elif epsilon > 0:
            policy[0] = grouped_extended.extended_average(*task, epsilon, DOWNWARD_SWEEPS)
        else:
            grouped_extended.extended_iteration(
                *task, p.discount, self.V, policy[0], self.accuracy, 10 * p.max_iterations
            )

    def soft(self, P: GroupedRows, r: Floats, tau: float) -> Floats:
        """K (layers, S, A) with the soft maximum of temperature tau; r is (layers, S, A)."""
        p, flat = self.problem, _flat(r)
        if p.horizon is not None:
            return np.asarray(grouped_soft.soft_induction(P.arrays, flat, p.mask, p.discount, tau))
        K = grouped_soft.soft_iteration(
            P.arrays, flat[0], p.mask, p.discount, tau, self.V, self.accuracy, 10 * p.max_iterations
        )
        return np.asarray(K)[None]

    def quantile(self, drawn: DrawnRows, r: Floats, rank: int, caps: Floats, policy: Ints) -> Floats:
        """Plan by a quantile over drawn rows and rewards r (B, S, A), the policy in place; Q (layers, S, A)."""
        p, B = self.problem, len(r)
        rewards = np.ascontiguousarray(np.moveaxis(r, 0, -1)).ravel()
        if p.horizon is not None:
            Q, policy[:] = kernels.quantile_induction(
                drawn.arrays, rewards, drawn.share, rank, B, p.mask, p.discount, caps
            )
            return np.asarray(Q)
        cap = float(caps[0])
        local = rewards + p.discount * cap * drawn.share
        if rank == B - 1:
            Q, policy[0] = kernels.maximum_iteration(
                *(drawn.arrays, local, B, p.mask, p.discount, cap, self.V, self.accuracy, 10 * p.max_iterations)
            )
        else:
            Q, policy[0] = kernels.quantile_iteration(
                *(drawn.arrays, local, rank, B, p.mask, p.discount, cap, self.tolerance(cap), DOWNWARD_SWEEPS)
            )
        return np.asarray(Q)[None]

    def tolerance(self, cap: float) -> float:
        """Change of a sweep that ends value iteration from the cap."""
        return TOLERANCE * (1.0 - self.problem.discount) * max(abs(cap), 1e-300)


class DrawnRows:
    """B posterior draws of every row, with a pseudo-state: draw b of row i is row i B + b.

    Parameters
    ----------
    belief, rng, samples
        What is drawn from, with what, and B.
    prior_mass
        Dirichlet parameter of the pseudo-state.
    eta_mass
        Whether every next state has the concentration of the belief on top of its counts.

    Attributes
    ----------
    arrays
        The rows, see `GroupedRows`.
    share
        Probability of the pseudo-state.
    """

    def __init__(
        self, belief: SparseBelief, rng: np.random.Generator, samples: int, prior_mass: float, eta_mass: bool
    ) -> None:
        if eta_mass:
            self._draw_all(belief, rng, samples, prior_mass)
            return
        _require(belief, samples, belief.seen + belief.totals.size)
        outcomes, weights, first = kernels.ordered_weights(belief.pool, belief.totals.ravel(), float(prior_mass))
        # The same random numbers, in the same order, as a table of gammas takes: those of no mass take none.
        gammas = rng.standard_gamma(np.broadcast_to(weights, (samples, weights.size)))
        self.arrays, self.share = kernels.normalised_draws(outcomes, first, gammas)

    def _draw_all(self, belief: SparseBelief, rng: np.random.Generator, samples: int, prior_mass: float) -> None:
        """A row with the pseudo-state is (w, (1 - w) P), w ~ Beta(prior_mass, n + S eta) and P ~ Dirichlet(eta + n)."""
        strength = belief.totals.ravel() + belief.n_states * belief.eta
        share = rng.beta(prior_mass, strength, size=(samples, strength.size))
        parts = []
        for b in range(samples):
            rows = belief.draw_model(rng)[0].arrays
            places = int((rows[0] + rows[1]).max())
            if b == 0:
                _require(belief, samples, places)
            rows = (rows[0], rows[1], rows[2][:places].copy(), rows[3][:places].copy(), rows[4])
            kernels.scale_rows(rows, 1.0 - share[b])
            parts.append(rows)
        before = np.cumsum([0, *(rows[2].size for rows in parts[:-1])])
        start = np.stack([rows[0] + offset for rows, offset in zip(parts, before, strict=True)], axis=1).ravel()
        length, base = (np.stack([rows[i] for rows in parts], axis=1).ravel() for i in (1, 4))
        heads, excess = (np.concatenate([rows[i] for rows in parts]) for i in (2, 3))
        self.arrays = (start, length, heads, excess, base)
        self.share = share.T.ravel()


def _require(belief: SparseBelief, samples: int, places: int) -> None:
    _memory.require(
        2.0 * PLACE_BYTES * samples * places,
        f"{samples} posterior draws of {belief.n_states} states and {belief.n_actions} actions",
        "use fewer samples, eta_mass=false, concentration=learned or a smaller eta",
    )


def empirical_rows(belief: SparseBelief) -> tuple[GroupedRows, Floats]:
    """Frequencies and average rewards (S, A); uniform and 0 where nothing was seen."""
    excess, base, r = kernels.empirical_rows(belief.pool, belief.totals.ravel(), belief.n_states)
    start, length, _, heads, *_ = belief.pool
    rows = GroupedRows(belief.n_states, belief.n_actions, (start, length, heads, excess, base))
    return rows, r.reshape(belief.totals.shape)


AnyRows = TypeVar("AnyRows", Floats, GroupedRows, Rows)


def scaled(P: AnyRows, factor: Floats) -> AnyRows:
    """Rows times a factor (S, A); grouped ones in place."""
    if isinstance(P, GroupedRows):
        kernels.scale_rows(P.arrays, factor.ravel())
        return P
    return P * factor[..., None]


def blank(P: AnyRows, known: Bools) -> AnyRows:
    """Rows that are empty where a pair is not known."""
    if known.all():
        return P
    return scaled(P, np.where(known, 1.0, 0.0))


def expect(P: Rows, V: Floats) -> Floats:
    """sum_y P_y V_y of every pair for V (layers, S), shape (layers, S, A)."""
    if isinstance(P, GroupedRows):
        S, A, _ = P.shape
        out = np.empty((len(V), S * A))
        kernels.expectations(P.arrays, np.ascontiguousarray(V), out)
        return out.reshape(-1, S, A)
    mean: Floats = np.einsum("say,hy->hsa", P, V)
    return mean


def arrive(P: Rows, flow: Floats) -> Floats:
    """sum_s,a flow P_y of every next state for flows (layers, S, A), shape (layers, S)."""
    if isinstance(P, GroupedRows):
        out = np.empty(flow.shape[:2])
        kernels.arrivals(P.arrays, _flat(flow), out)
        return out
    arriving: Floats = np.einsum("say,hsa->hy", P, flow)
    return arriving


def _flat(table: Floats) -> Floats:
    """A table (layers, S, A) by rows, (layers, S A)."""
    return np.ascontiguousarray(table).reshape(len(table), -1)
