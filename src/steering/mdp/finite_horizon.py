r"""Planning and evaluation over a finite horizon H.

Backward induction: :math:`V_H = 0`, :math:`Q_h(s, a) = r(s, a) + \gamma \sum_t P(t|s, a) V_{h+1}(t)` and
:math:`V_h(s) = \max_a Q_h(s, a)` over the allowed actions (or the action of a given policy). H sweeps, no
stopping rule, and the discount may be 1.

A policy is stationary, action numbers (S,) or probabilities (S, A), or depends on time, action numbers (H, S)
or probabilities (H, S, A). Action numbers are told from probabilities by their type: whole numbers or floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steering import _memory
from steering._checks import whole
from steering._compiled import planning as kernels
from steering._compiled import sparse_chains
from steering._types import Floats, Ints
from steering.errors import InvalidOption
from steering.mdp import _rows
from steering.mdp._arrays import unlocked
from steering.mdp._checks import (
    checked_actions,
    checked_discount,
    checked_policy,
    checked_probabilities,
    checked_rewards,
    checked_start,
    is_deterministic,
    policy_array,
)
from steering.mdp.evaluation import chain_step, spread
from steering.mdp.tabular import TabularMDP


@dataclass(frozen=True, eq=False)
class FiniteSolution:
    """Optimal policy (H, S), values V (H + 1, S) and action values Q (H, S, A) over a finite horizon."""

    policy: Ints
    V: Floats
    Q: Floats


def backward_induction(
    mdp: TabularMDP, horizon: int, discount: float = 1.0, *, rewards: ArrayLike | None = None
) -> FiniteSolution:
    """Optimal values and policy over `horizon` steps; ties go to the lowest action.

    Examples
    --------
    >>> mdp = TabularMDP(P=[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], reward_mean=[[0, 0], [1, 0]])
    >>> backward_induction(mdp, 3).V[:, 0]
    array([2., 1., 0., 0.])
    """
    steps = whole("horizon", horizon, 1)
    gamma, r = checked_discount(discount, finite_horizon=True), checked_rewards(mdp, rewards)
    S, A = mdp.allowed.shape
    _memory.require(8.0 * steps * S * (A + 2), f"values over {steps} steps of {S} states", "use a shorter horizon")
    if _rows.by_rows(mdp):
        rows = _rows.rows_of(mdp)
        V, Q, policy = sparse_chains.backward_induction(rows, r, mdp.mask, steps, gamma, kernels.TIE_TOLERANCE)
    else:
        V, Q, policy = kernels.backward_induction(unlocked(mdp.P), r, np.array(mdp.allowed), steps, gamma)
    return FiniteSolution(policy, V, Q)


def evaluate_finite(
    mdp: TabularMDP,
    policy: ArrayLike,
    horizon: int,
    discount: float = 1.0,
    *,
    rewards: ArrayLike | None = None,
) -> Floats:
    """Values V_h(s) of a policy over a finite horizon, shape (H + 1, S) with V_H = 0."""
    pi = _by_time(mdp, policy, horizon)
    gamma, r = checked_discount(discount, finite_horizon=True), checked_rewards(mdp, rewards)
    V = np.zeros((len(pi) + 1, mdp.n_states))
    for h in range(len(pi) - 1, -1, -1):
        if h == len(pi) - 1 or pi[h] is not pi[h + 1]:
            P_pi, r_pi = chain_step(mdp, pi[h], r)
        V[h] = r_pi + gamma * (P_pi @ V[h + 1])
    return V


def occupancy_finite(mdp: TabularMDP, policy: ArrayLike, horizon: int, start: ArrayLike | int | None = None) -> Floats:
    """Probabilities Pr(s_h = s, a_h = a) at every step h, shape (H, S, A); each step sums to 1."""
    S, A = mdp.allowed.shape
    steps = whole("horizon", horizon, 1)
    _memory.require(8.0 * steps * S * A, f"an occupancy of {steps} steps and {S} states", "use a shorter horizon")
    pi = _by_time(mdp, policy, horizon)
    table = np.empty((len(pi), S, A))
    visits = checked_start(mdp, start)
    for h in range(len(pi)):
        table[h] = spread(mdp, pi[h], visits)
        if h == 0 or pi[h] is not pi[h - 1]:
            P_pi, _ = chain_step(mdp, pi[h], mdp.rewards)
        visits = visits @ P_pi
    return table


def _by_time(mdp: TabularMDP, policy: ArrayLike, horizon: int) -> list[Floats | Ints]:
    """Checked policy of every step; a stationary one is the same object H times."""
    H = whole("horizon", horizon, 1)
    array = policy_array(policy)
    if is_deterministic(array) and array.ndim == 2:
        steps: list[Floats | Ints] = list(checked_actions(mdp, array))
    elif array.ndim == 3:
        if array.shape[1:] != mdp.allowed.shape:
            raise InvalidOption(f"policy has shape {array.shape}; it must be (H, S, A) = {(H, *mdp.allowed.shape)}.")
        steps = list(checked_probabilities(mdp, array))
    else:
        return [checked_policy(mdp, array)] * H
    if len(steps) != H:
        raise InvalidOption(f"policy has {len(steps)} steps; it must have as many as the horizon, {H}.")
    return steps
