r"""Planners of discounted MDPs on sparse rows; the mathematics is that of `steering.mdp.planning`.

*Policy iteration* begins with the policy that modified policy iteration finds, solves for its values by ordered sweeps
until nothing but rounding changes (a sparse factorisation where they do not settle: sweeps win by far on grids and on
random MDPs, where a factorisation fills in), and improves it by Howard's rule with the stopping rule of the dense
planner. Bounds on rounding use the longest row in place of S.
"""

from __future__ import annotations

import numpy as np

from steering._compiled import planning as kernels
from steering._compiled import sparse_blocks as blocks
from steering._compiled import sparse_orders
from steering._compiled import sparse_planning as sweeping
from steering._types import Floats, Ints
from steering.mdp import _rows
from steering.mdp._arrays import ROW_SUM_TOLERANCE
from steering.mdp.tabular import TabularMDP

Found = tuple[Ints, Floats, Floats, int, bool]

FAR = 2**14
"""States beyond which an MDP for ordered sweeps is renumbered, so that they read memory in order, by blocks."""

BLOCK = 1024
"""States of a block at least."""

MOST_BLOCKS = 2048
"""Blocks at most, because the work to choose among them may grow with their square."""

START_TOLERANCE = 1e-6
"""Relative accuracy of the values whose policy is the first one of policy iteration."""


def modified_policy_iteration(
    mdp: TabularMDP,
    gamma: float,
    r: Floats,
    *,
    epsilon: float,
    relative: float,
    sweeps: int,
    cap: int,
    V: Floats | None,
) -> tuple[Ints, Floats, Floats, int, float, float]:
    """Policy, V, Q, iterations, bound and the bound that was to be reached."""
    order, deep = _rows.order_of(mdp, r)
    first = np.zeros(mdp.n_states) if V is None else np.array(V)
    rows, mask, longest = _rows.rows_of(mdp), mdp.mask, _rows.longest_row(mdp)
    if deep and mdp.n_states > FAR:
        rows, r, mask, first = sparse_orders.renumbered(rows, order, mdp.n_actions), r[order], mask[order], first[order]
        size = max(BLOCK, -(-mdp.n_states // MOST_BLOCKS))
        V, Q, policy, iterations, bound = blocks.blocked_policy_iteration(
            rows, r, mask, gamma, first, size, epsilon, relative, sweeps, cap, ROW_SUM_TOLERANCE, longest
        )
        back = np.empty_like(order)
        back[order] = np.arange(mdp.n_states, dtype=order.dtype)
        V, Q, policy = V[back], Q[back], policy[back]
    else:
        V, Q, policy, iterations, bound = sweeping.modified_policy_iteration(
            rows, r, mask, gamma, first, order, deep, epsilon, relative, sweeps, cap, ROW_SUM_TOLERANCE, longest
        )
    assert V is not None
    return policy, V, Q, int(iterations), float(bound), max(epsilon, relative * float(np.abs(V).max()))


def policy_iteration(mdp: TabularMDP, gamma: float, r: Floats, policy: Ints | None, cap: int) -> Found:
    """Howard's policy iteration; policy, V, Q, rounds and whether the last one changed nothing."""
    here = np.arange(mdp.n_states)
    guess = None
    if policy is None:
        policy, guess, *_ = modified_policy_iteration(
            mdp, gamma, r, epsilon=0.0, relative=START_TOLERANCE, sweeps=30, cap=200, V=None
        )
    rows, W = _rows.rows_of(mdp), np.empty(mdp.n_states)
    Q = np.empty(r.shape)
    greedy = np.empty(mdp.n_states, dtype=np.int64)
    tie = kernels.tie_tolerance(gamma)
    iterations = 0
    while True:
        iterations += 1
        rewards = r[here, policy]
        V = _rows.solve(_rows.chain_matrix(mdp, policy), rewards, gamma, guess=guess)
        guess = V
        sweeping.backup(rows, r, mdp.mask, gamma, V, Q, W, greedy)
        tolerance = tie * max(float(np.abs(V).max()), float(np.abs(rewards).max()))
        better = Q[here, policy] + tolerance < W
        policy = np.where(better, greedy, policy)
        if not better.any() or iterations >= cap:
            kernels.canonical_policy(Q, policy, tolerance)
            return policy, V, Q, iterations, not bool(better.any())
