r"""The discounted problem as a linear program: slow, independent of every other planner, hence their oracle.

.. math:: \min_V \sum_s V(s) \quad\text{subject to}\quad
          V(s) - \gamma \sum_t P(t|s, a) V(t) \ge r(s, a) \quad\text{for every allowed } (s, a).

Every feasible V is at least V* (apply :math:`V \ge L V` repeatedly), and V* is feasible, so V* is the only
optimum (Puterman 1994, section 6.9). HiGHS stops when no constraint is violated by more than 1e-10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from steering._compiled import planning as kernels
from steering._types import Floats
from steering.errors import NotAvailable
from steering.mdp._checks import checked_discount, checked_rewards
from steering.mdp.evaluation import action_values
from steering.mdp.planning import Solution, certified_bound
from steering.mdp.tabular import TabularMDP

FEASIBILITY = 1e-10


def linear_program(mdp: TabularMDP, discount: float, *, rewards: ArrayLike | None = None) -> Solution:
    """Solve a discounted MDP as a linear program (HiGHS).

    The program is scaled to rewards of size 1 and values (1 - discount) V, so that the tolerance of the
    solver means the same for every discount. V is the solver's own; the policy is greedy for it (lowest
    action first) and `error_bound` is certified as for every planner.
    """
    from scipy import optimize  # a tenth of a second that nothing else needs

    gamma, r = checked_discount(discount), checked_rewards(mdp, rewards)
    states, actions = np.nonzero(mdp.allowed)
    scale = max(float(np.abs(r).max()), np.finfo(np.float64).tiny)
    pairs = np.arange(states.size)
    here = sparse.csr_array((np.ones(states.size), (pairs, states)), (states.size, mdp.n_states))
    rows: Any = (here - gamma * mdp.transitions.matrix[states * mdp.n_actions + actions]) / (1.0 - gamma)
    answer = optimize.linprog(
        np.ones(mdp.n_states),
        A_ub=-rows,
        b_ub=-r[states, actions] / scale,
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY},
    )
    if answer.status != 0 or answer.x is None:
        raise NotAvailable(f"the linear program was not solved: {answer.message} Use policy_iteration.")
    V: Floats = answer.x * scale / (1.0 - gamma)
    Q = action_values(mdp, V, gamma, rewards=r)
    policy = np.zeros(mdp.n_states, dtype=np.int64)
    kernels.canonical_policy(Q, policy, 0.0)
    return Solution(policy, V, Q, int(answer.nit), True, certified_bound(r, gamma, V, Q, policy))
