"""What the belief of a session says: values with their spread, what is known of each action, risks, forecasts.

**Best known** is the optimal policy pi of the posterior mean model, with values V and Q. **Spread of Q(s, a)**: an
error in one row changes Q by what is lost there, weighted by how often (discounted) the row is used. To first order,
with rows x independent under the posterior,

    Var Q(s, a) = sum_x w(x)^2 nu(x),     w(x) = [x = (s, a)] + gamma P(.|s, a)' (I - gamma P_pi)^{-1} at x = (., pi),
    nu(x) = Var( sum_y P_y (mu_y + gamma V_y) ) = Var_P(sum_y P_y (m_y + gamma V_y)) + sum_y E[P_y^2] Var(mu_y),

all in closed form. **Risk**: the next reward of (s, a) is a mixture, over next states, of Student t predictives.
**Information**: mutual information of the row and its next outcome, sum_y m_y (psi(alpha_y + 1) - psi(alpha_0 + 1) -
log m_y). **Novelty**: probability that the next outcome is one that was never seen from (s, a).

There are two forms with the same closed forms: tables of all outcomes, and, for many states, outcomes that were seen
with the others as one group.
"""

from steering.agents import Problem
from steering.beliefs import Belief, ModelBelief, SparseBelief
from steering.session.knowledge.base import Knowledge, expected_gain
from steering.session.knowledge.support import SparseKnowledge
from steering.session.knowledge.tables import DenseKnowledge

DENSE_ENTRIES = 2**17
"""Entries S A S up to which a sparse belief is looked at as tables: exact, with the spread of all states at once."""

__all__ = ["DenseKnowledge", "Knowledge", "SparseKnowledge", "expected_gain", "knowledge_of"]


def knowledge_of(belief: Belief, problem: Problem, risk: tuple[float, float] | None = None) -> Knowledge:
    """What a belief says, and which policy is best within a limit on risk.

    Parameters
    ----------
    belief
        A copy that nobody else uses; its learned priors are brought up to date here.
    problem
        Sizes, allowed actions and discount.
    risk
        (floor, probability), as for a session.
    """
    belief.refresh()
    entries = problem.n_states * problem.n_actions * problem.n_states
    known: Knowledge
    if isinstance(belief, SparseBelief) and entries > DENSE_ENTRIES:
        known = SparseKnowledge(belief, problem)
    else:
        dense = belief.to_dense() if isinstance(belief, SparseBelief) else belief
        assert isinstance(dense, ModelBelief)
        known = DenseKnowledge(dense, problem)
    if risk is not None:
        known.keep_within(known.within(risk))
    return known
