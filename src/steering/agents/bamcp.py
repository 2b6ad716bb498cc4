"""BAMCP (Guez, Silver and Dayan 2012): tree search in the Bayes-adaptive MDP, one posterior draw a simulation.

The Bayes-adaptive MDP has the belief in its state, and its optimal policy explores as much as pays within the
horizon. At every step `simulations` trajectories of up to `depth` steps are played from the present state under
models drawn from the posterior; at the nodes of a tree of histories actions are chosen by UCT,

    argmax_a Q(node, a) + exploration (value range) sqrt(ln N(node) / N(node, a)),

beyond it by the optimal policy of the mean model, with probability `epsilon` at random. Then the best action at the
root is taken. Rewards are those of the posterior mean: the search knows that rows are unsure and learns about them,
not about rewards. The cost is simulations x depth moves a step; it is a budget that you choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steering._checks import in_range
from steering._compiled import bamcp as kernels
from steering._types import Floats
from steering.agents.base import Agent
from steering.agents.optimism import OptimisticAgent, ToldOptions
from steering.beliefs import SparseBelief
from steering.mdp.simulator import Simulator

_NOTHING = SparseBelief(1, 1)
NO_TABLE = np.empty((0, 0, 0))
NO_SUPPORT = (_NOTHING.pool, np.empty(0), 1, 1.0, _NOTHING.prior)
"""What the search is given in the place of the form that a belief does not have."""


@dataclass(frozen=True)
class BAMCPOptions(ToldOptions):
    """Options of BAMCP.

    Attributes
    ----------
    simulations
        Trajectories in a search, one search a step.
    depth
        Steps of a trajectory, at most; in an episode never beyond its end.
    exploration
        Constant of UCT, in units of the range of values.
    epsilon
        Probability of a random action beyond the tree.
    """

    simulations: int = 50
    depth: int = 20
    exploration: float = 0.5
    epsilon: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("simulations", self.simulations, 1)
        in_range("depth", self.depth, 1)
        in_range("exploration", self.exploration, 0.0)
        in_range("epsilon", self.epsilon, 0.0, 1.0)


class BAMCP(OptimisticAgent):
    """Searches at every step; `policy` is that of the mean model, which ends the simulations."""

    name = "bamcp"
    group = "Bayes-adaptive"
    options: BAMCPOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Solve the mean model for the policy of the rollouts."""
        super().plan(state, step)
        self.solve(*self.belief.mean_model())

    def search(self, state: int, step: int = 0) -> tuple[Floats, Floats]:
        """Values and visits of the actions after a search from `state`, each (A,)."""
        o, p = self.options, self.problem
        depth = o.depth if p.horizon is None else min(o.depth, p.horizon - step)
        settings = (o.simulations, o.scale * o.exploration * (o.r_max - o.r_min), float(o.epsilon))
        b = self.belief
        if isinstance(b, SparseBelief):
            tables, support = (NO_TABLE, NO_TABLE), (b.pool, b.totals.ravel(), b.n_states, b.eta, b.prior)
        else:
            tables, support = (b.alpha, b.mu), NO_SUPPORT
        return kernels.search(  # type: ignore[no-any-return]
            *(tables, support, p.mask, self.policy, p.discount, step, depth, state, settings), self.acting_rng
        )

    def act(self, state: int, step: int = 0) -> int:
        """Search, and take the action with the largest value."""
        values, counts = self.search(state, step)
        tried = self.problem.mask[state] & (counts > 0)
        return int(np.where(tried, values, -np.inf).argmax())

    def interact(self, simulator: Simulator, steps: int, step: int = 0) -> None:
        """One step after the other: every one of them needs a search."""
        Agent.interact(self, simulator, steps, step)
