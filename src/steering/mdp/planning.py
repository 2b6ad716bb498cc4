r"""Optimal policies of discounted MDPs, with certified accuracy.

The optimal values solve :math:`V^* = L V^*`, where :math:`(L V)(s) = \max_a Q_V(s, a)` over the allowed
actions and :math:`Q_V(s, a) = r(s, a) + \gamma \sum_t P(t|s, a) V(t)`.

**Certificate** (MacQueen 1966; Puterman 1994, theorem 6.6.3). Take any V and a policy :math:`\pi`; let
:math:`h = \max_s (L V - V)(s)` and :math:`l = \min_s (L_\pi V - V)(s)`, where :math:`L_\pi` is L with the
actions of :math:`\pi`. From :math:`L V \le V + h` follows :math:`L^2 V \le L V + \gamma h`, and so on;
summing, :math:`V^* = \lim L^k V \le V + h / (1 - \gamma)`. In the same way :math:`V_\pi \ge V + l / (1 -
\gamma)`. Since :math:`V_\pi \le V^*`,

.. math:: V + \frac{l}{1 - \gamma} \;\le\; V_\pi \;\le\; V^* \;\le\; V + \frac{h}{1 - \gamma},

so :math:`\|V - V^*\|` is at most :math:`\max(|l|, |h|) / (1 - \gamma)` and :math:`\pi` loses at most
:math:`(h - l) / (1 - \gamma)` in any state. Starting the sums one step later gives the same with V replaced
by L V and :math:`1 / (1 - \gamma)` by :math:`\gamma / (1 - \gamma)`: the bounds of value iteration, whose
width is the span of L V - V, so that a constant error costs no iterations.

`Solution.error_bound` is the larger of both bounds and includes (i) rows of P that sum to 1 only within 1e-9,
by taking the worse of :math:`\gamma (1 \pm 10^{-9})` for :math:`\gamma`, and (ii) rounding: a computed
:math:`Q_V` is off by at most :math:`(S + 4) u (\max|r| + \max|V|)`, u = 2^-53, which adds twice that over
:math:`1 - \gamma`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from steering._checks import choice, number, whole
from steering._compiled import planning as kernels
from steering._compiled import value_iteration as sweeping
from steering._types import Floats, Ints
from steering.errors import InvalidOption
from steering.mdp import _rows, sparse_planning
from steering.mdp._arrays import ROW_SUM_TOLERANCE, unlocked
from steering.mdp._checks import checked_actions, checked_discount, checked_mdp, checked_rewards, checked_values
from steering.mdp.tabular import TabularMDP

UNLIMITED = 2**62
POLICY_ITERATION_CAP = 10_000
START_SWEEPS = 12
SMALLEST_EPSILON = 1e-300

Ties = Literal["lowest", "random"]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a planner found.

    Attributes
    ----------
    policy
        Action of every state, shape (S,).
    V, Q
        Values (S,) and action values (S, A); Q is minus infinity where an action is not allowed.
    iterations
        Rounds that were made.
    converged
        Whether the planner stopped by its own rule (and not at the cap or at the limit of rounding).
    error_bound
        A true bound on max |V - V*| and on how much the policy loses in any state (module docstring).
    """

    policy: Ints
    V: Floats
    Q: Floats
    iterations: int
    converged: bool
    error_bound: float


def policy_iteration(
    mdp: TabularMDP,
    discount: float,
    *,
    policy: ArrayLike | None = None,
    max_iterations: int | None = None,
    ties: Ties = "lowest",
    rng: np.random.Generator | int | None = None,
    rewards: ArrayLike | None = None,
) -> Solution:
    """Howard's policy iteration, exact up to rounding.

    Parameters
    ----------
    mdp, discount
        The problem; 0 <= discount < 1.
    policy
        Policy to start from, shape (S,); by default the greedy policy after a few value-iteration sweeps,
        which saves most of the linear systems.
    max_iterations
        Cap on the rounds of evaluation and improvement; at the cap the policy reached is returned,
        `converged` False.
    ties
        ``"lowest"`` takes the lowest-numbered of equally good actions (equal up to 1e-12 of the largest
        value), ``"random"`` draws one of them, independently in every state.
    rng
        Generator or seed; needed for random ties only.
    rewards
        Expected rewards (S, A) to use instead of those of the MDP.

    Examples
    --------
    >>> mdp = TabularMDP(P=[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], reward_mean=[[0, 0], [1, 0]])
    >>> policy_iteration(mdp, 0.5).V
    array([1., 2.])
    """
    gamma, r = checked_discount(discount), checked_rewards(mdp, rewards)
    cap = POLICY_ITERATION_CAP if max_iterations is None else whole("max_iterations", max_iterations, 1)
    if ties not in ("lowest", "random"):
        raise InvalidOption(f"ties is {ties!r}; it must be 'lowest' or 'random'.")
    if ties == "random" and rng is None:
        raise InvalidOption("random ties need a source of random numbers; give rng a generator or a seed.")
    first = None if policy is None else _one_policy(mdp, policy)
    if _rows.by_rows(mdp):
        found, V, Q, iterations, converged = sparse_planning.policy_iteration(mdp, gamma, r, first, cap)
    else:
        P, mask = unlocked(mdp.P), np.array(mdp.allowed)
        found = sweeping.greedy_start(P, r, mask, gamma, START_SWEEPS) if first is None else first
        V, Q, iterations, converged = kernels.policy_iteration(P, r, mask, gamma, found, cap)
    if ties == "random":
        scale = max(np.abs(V).max(), np.abs(r[np.arange(mdp.n_states), found]).max())
        uniforms = np.random.default_rng(rng).random(mdp.n_states)
        kernels.random_ties(Q, found, uniforms, kernels.tie_tolerance(gamma) * scale)
    bound = certified_bound(r, gamma, V, Q, found, _row_length(mdp))
    return Solution(found, V, Q, iterations, bool(converged), bound)


def _one_policy(mdp: TabularMDP, policy: ArrayLike) -> Ints:
    found = checked_actions(mdp, policy)
    if found.shape != (mdp.n_states,):
        raise InvalidOption(f"policy has shape {found.shape}; it must be (S,) = {(mdp.n_states,)}.")
    return found


def _row_length(mdp: TabularMDP) -> int:
    return _rows.longest_row(mdp) if _rows.by_rows(mdp) else mdp.n_states


def value_iteration(
    mdp: TabularMDP,
    discount: float,
    *,
    epsilon: float = 1e-8,
    max_iterations: int | None = None,
    rewards: ArrayLike | None = None,
    V: ArrayLike | None = None,
    relative: float = 0.0,
) -> Solution:
    """Value iteration, V <- L V, stopped by the certified span bound; Gauss-Seidel on large sparse MDPs.

    Stops as soon as `error_bound` is at most epsilon. If rounding makes that impossible (epsilon close to
    1e-16 times the largest value over 1 - discount) it stops at the limit of rounding and `converged` is
    False; `error_bound` is true in any case. The span of L V - V shrinks by the discount or more at each
    sweep, so it always ends.
    """
    return modified_policy_iteration(
        mdp, discount, epsilon=epsilon, sweeps=0, max_iterations=max_iterations, rewards=rewards, V=V, relative=relative
    )


def modified_policy_iteration(
    mdp: TabularMDP,
    discount: float,
    *,
    epsilon: float = 1e-8,
    sweeps: int = 20,
    max_iterations: int | None = None,
    rewards: ArrayLike | None = None,
    V: ArrayLike | None = None,
    relative: float = 0.0,
) -> Solution:
    """Value iteration with `sweeps` evaluations of the greedy policy after each improvement.

    (Puterman & Shin 1978.) A sweep looks at one action a state, an improvement at all of them. Same certified
    stopping rule as `value_iteration`, where `relative` stops also when the bound is at most that part of
    max |V|. It converges from any first V (0 by default): adding a constant to V changes no greedy policy and no
    span, and with a constant that makes L V >= V the values increase monotonically to V*. On large sparse MDPs
    `sweeps` is the largest number of evaluations, which end earlier when little changes any more.
    """
    gamma, r = checked_discount(discount), checked_rewards(mdp, rewards)
    goal = number("epsilon", epsilon, above=0.0)
    share = number("relative", relative, least=0.0)
    n = whole("sweeps", sweeps, 0)
    cap = UNLIMITED if max_iterations is None else whole("max_iterations", max_iterations, 1)
    first = None if V is None else checked_values(mdp, V)
    if _rows.by_rows(mdp):
        policy, values, Q, iterations, bound, goal = sparse_planning.modified_policy_iteration(
            mdp, gamma, r, epsilon=goal, relative=share, sweeps=n, cap=cap, V=first
        )
    else:
        start = np.zeros(mdp.n_states) if first is None else first
        values, Q, policy, iterations, bound = sweeping.modified_policy_iteration(
            unlocked(mdp.P), r, np.array(mdp.allowed), gamma, goal, share, n, cap, ROW_SUM_TOLERANCE, start
        )
        goal = max(goal, share * float(np.abs(values).max()))
    return Solution(policy, values, Q, iterations, bool(bound <= goal), float(bound))


METHODS = ("auto", "mpi", "vi", "pi", "lp")


def solve(
    mdp: TabularMDP,
    discount: float,
    method: str = "auto",
    *,
    relative: float = 1e-8,
    rewards: ArrayLike | None = None,
    V: ArrayLike | None = None,
    policy: ArrayLike | None = None,
) -> Solution:
    """Solve a discounted MDP with the method that suits it.

    Parameters
    ----------
    method
        ``"auto"``: policy iteration (exact) for dense and small MDPs, modified policy iteration for large sparse
        ones. ``"mpi"``, ``"vi"``, ``"pi"`` and ``"lp"`` ask for modified policy iteration, value iteration, policy
        iteration and the linear program.
    relative
        Largest error of V and largest loss of the policy, as a part of max |V|, where the method has a choice.
    rewards
        Expected rewards (S, A) to use instead of those of the MDP.
    V, policy
        A solution of a similar problem to start from (values for ``"mpi"`` and ``"vi"``, a policy for ``"pi"``).

    Examples
    --------
    >>> mdp = TabularMDP.from_transitions([0, 0, 1], [0, 1, 0], [0, 1, 0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    >>> solution = solve(mdp, 0.5)
    >>> solution.V.round(6).tolist(), solution.policy.tolist()
    ([0.666667, 1.333333], [1, 0])
    """
    checked_mdp(mdp, "solve(env.mdp, env.discount)")
    chosen = choice("method", method, METHODS)
    if chosen == "auto":
        chosen = "mpi" if _rows.by_rows(mdp) else "pi"
    if chosen == "pi":
        return policy_iteration(mdp, discount, policy=policy, rewards=rewards)
    if chosen == "lp":
        from steering.mdp.lp import linear_program

        return linear_program(mdp, discount, rewards=rewards)
    planner = value_iteration if chosen == "vi" else modified_policy_iteration
    return planner(mdp, discount, epsilon=SMALLEST_EPSILON, relative=relative, rewards=rewards, V=V)


def certified_bound(
    r: Floats, discount: float, V: Floats, Q: Floats, policy: Ints, row_length: int | None = None
) -> float:
    """Bound of the module docstring for values V, their action values Q and a policy; rows of at most that length."""
    high = float((Q.max(axis=1) - V).max())
    low = float((Q[np.arange(V.size), policy] - V).min())
    up, down = sweeping.geometric_bounds(low, high, discount, ROW_SUM_TOLERANCE, 0)
    rounding = sweeping.rounding_bound(row_length or V.size, float(np.abs(r).max() + np.abs(V).max()), discount)
    return float(max(up, -down, up - down) + rounding)
