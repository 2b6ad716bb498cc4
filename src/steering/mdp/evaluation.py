r"""Values and occupancies of a given stationary policy, discounted.

With :math:`P_\pi(t|s) = \sum_a \pi(a|s) P(t|s, a)` and :math:`r_\pi(s) = \sum_a \pi(a|s) r(s, a)`, the values
solve :math:`(I - \gamma P_\pi) V = r_\pi` and the discounted visits from a start distribution :math:`\mu`
solve :math:`(I - \gamma P_\pi^T) d = \mu`; both directly, by LAPACK, so there is no stopping rule; on large sparse MDPs
by sweeps that end when they change nothing but rounding (`steering.mdp._rows`). A policy is either action numbers (S,)
or action probabilities (S, A).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steering._types import Floats, Ints
from steering.mdp import _rows
from steering.mdp._checks import (
    checked_discount,
    checked_policy,
    checked_rewards,
    checked_start,
    checked_values,
)
from steering.mdp.tabular import TabularMDP


def policy_chain(mdp: TabularMDP, policy: ArrayLike, *, rewards: ArrayLike | None = None) -> tuple[Any, Floats]:
    """Markov chain of a policy: transition matrix P_pi (S, S), scipy's if large and sparse, and rewards r_pi (S,)."""
    pi, r = checked_policy(mdp, policy), checked_rewards(mdp, rewards)
    return chain_step(mdp, pi, r)


def chain_step(mdp: TabularMDP, policy: Floats | Ints, r: Floats) -> tuple[Any, Floats]:
    """Do the work of `policy_chain` for a policy (S,) or (S, A) that has been checked."""
    if policy.ndim == 1:
        here = np.arange(mdp.n_states)
        return _rows.chain_matrix(mdp, policy) if _rows.by_rows(mdp) else mdp.P[here, policy], r[here, policy]
    rewards: Floats = np.einsum("sa,sa->s", policy, r)
    if _rows.by_rows(mdp):
        return _rows.chain_matrix(mdp, policy), rewards
    return np.einsum("sa,sat->st", policy, mdp.P), rewards


def evaluate(mdp: TabularMDP, policy: ArrayLike, discount: float, *, rewards: ArrayLike | None = None) -> Floats:
    """Discounted values V = (I - discount P_pi)^{-1} r_pi of a policy, shape (S,).

    Examples
    --------
    >>> mdp = TabularMDP(P=[[[0.0, 1.0]], [[1.0, 0.0]]], reward_mean=[[3.0], [0.0]])
    >>> evaluate(mdp, [0, 0], 0.5)
    array([4., 2.])
    """
    gamma = checked_discount(discount)
    P, r = policy_chain(mdp, policy, rewards=rewards)
    return _rows.solve(P, r, gamma) if _rows.by_rows(mdp) else _solve(np.eye(mdp.n_states) - gamma * P, r)


def action_values(mdp: TabularMDP, V: ArrayLike, discount: float, *, rewards: ArrayLike | None = None) -> Floats:
    """Q(s, a) = r(s, a) + discount sum_t P(t|s, a) V(t), shape (S, A); minus infinity where not allowed."""
    gamma, r = checked_discount(discount, finite_horizon=True), checked_rewards(mdp, rewards)
    values = checked_values(mdp, V)
    if _rows.by_rows(mdp):
        expected = (mdp.transitions.matrix @ values).reshape(r.shape)
    else:
        expected = mdp.P @ values
    Q: Floats = r + gamma * expected
    Q[~mdp.allowed] = -np.inf
    return Q


def occupancy(
    mdp: TabularMDP,
    policy: ArrayLike,
    discount: float,
    start: ArrayLike | int | None = None,
    *,
    normalised: bool = True,
) -> Floats:
    """Discounted occupancy of state-action pairs, shape (S, A).

    d(s, a) = sum over t of discount^t Pr(s_t = s, a_t = a), times (1 - discount) when `normalised`, so that
    it sums to 1. The discounted return from the start distribution is the sum of d r (not normalised).

    Parameters
    ----------
    start
        Distribution of the first state (S,) or the number of a state; that of the MDP by default.
    """
    gamma, pi = checked_discount(discount), checked_policy(mdp, policy)
    P, _ = chain_step(mdp, pi, mdp.rewards)
    first = checked_start(mdp, start)
    if _rows.by_rows(mdp):
        visits = _rows.solve(P.T, first, gamma)
    else:
        visits = _solve(np.eye(mdp.n_states) - gamma * P.T, first)
    if normalised:
        visits *= 1.0 - gamma
    return spread(mdp, pi, visits)


def _solve(A: Floats, b: Floats) -> Floats:
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def spread(mdp: TabularMDP, policy: Floats | Ints, visits: Floats) -> Floats:
    """Share state visits (S,) among the actions of a policy that has been checked, shape (S, A)."""
    if policy.ndim == 2:
        return visits[:, None] * policy
    table = np.zeros(mdp.allowed.shape)
    table[np.arange(mdp.n_states), policy] = visits
    return table
