"""What every agent is: options, then plan, act, observe.

A run calls `start` once, then again and again `plan` (every `replan_every` steps, or at each start of an episode)
followed by steps of `act` and `observe`. `interact` does such steps at once on a compiled simulator and must give the
same numbers, to the bit. An agent sees the sizes of the MDP, the allowed actions, the discount and the horizon;
never its probabilities or rewards.

Tables have a leading axis of layers: one in the continuing setting, H in the episodic one, where layer h belongs to
step h of an episode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steering._checks import choose
from steering._compiled import planning
from steering._types import Bools, Floats, Ints
from steering.beliefs import ModelBelief
from steering.beliefs.dirichlet import checked_concentration
from steering.beliefs.normal_gamma import PAPER_PRIOR, checked_prior
from steering.errors import NotAvailable
from steering.mdp.simulator import Simulator

POSTERIOR_DRAWS = 32


@dataclass(frozen=True)
class Problem:
    """All that an agent is told about the environment."""

    n_states: int
    n_actions: int
    mask: Bools
    discount: float
    horizon: int | None = None
    max_iterations: int = 1000

    @property
    def layers(self) -> int:
        """Number of layers of a table: 1 when continuing, H when episodic."""
        return self.horizon or 1


class Agent(ABC):
    """Base of all agents; see the module's docstring for the order of calls.

    Attributes
    ----------
    policy
        The greedy policy in force, shape (layers, S).
    """

    name: ClassVar[str]
    plans: ClassVar[bool] = True
    """Whether `plan` does anything; agents that learn at every step say False."""

    policy: Ints

    def __init__(self, options: Any) -> None:
        self.options = options

    def start(self, problem: Problem, planning_rng: np.random.Generator, acting_rng: np.random.Generator) -> None:
        """Forget everything and get ready for a new run."""
        self.problem = problem
        self.planning_rng = planning_rng
        self.acting_rng = acting_rng
        self.policy = np.zeros((problem.layers, problem.n_states), dtype=np.int64)
        self._reset()

    @abstractmethod
    def _reset(self) -> None:
        """Set up the agent's own state for `self.problem`."""

    @abstractmethod
    def plan(self, state: int = 0) -> None:
        """Choose the policy for the steps that follow, the first of them from `state`."""

    @abstractmethod
    def act(self, state: int, step: int = 0) -> int:
        """Choose an action; `step` is the step within the episode (0 in the continuing setting)."""

    @abstractmethod
    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """Learn from one transition."""

    @abstractmethod
    def interact(self, simulator: Simulator, steps: int) -> None:
        """Do `act` and `observe` for some steps on a compiled simulator."""

    @abstractmethod
    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the agent's belief about the optimal Q, each (layers, S, A).

        Disallowed actions hold NaN. `rng` is used by agents whose belief is known through draws only; it is not
        the agent's own, so looking does not change the run.
        """

    def diagnose(self, rng: np.random.Generator) -> dict[str, Any]:
        """What the last plan rests on, for agents that can say; `rng` is not the agent's own."""
        raise NotAvailable(f"agent '{self.name}' has no diagnostics; record them for 'steering'.")


@dataclass(frozen=True)
class ModelBasedOptions:
    """Options that every model-based agent has.

    Attributes
    ----------
    eta
        Dirichlet concentration of every next state (the paper's 1).
    normal_gamma
        Prior (mu, lambda, alpha, beta) of every reward (the paper's 0, 4, 3, 3).
    concentration
        "fixed", or "learned": eta follows the evidence of all rows, as far from the given one as it must.
    reward_scale
        "fixed", or "learned": the noise of rewards and their common mean follow what was seen.
    """

    eta: float = 1.0
    normal_gamma: tuple[float, float, float, float] = PAPER_PRIOR
    concentration: str = "fixed"
    reward_scale: str = "fixed"

    def __post_init__(self) -> None:
        checked_concentration(self.eta)
        checked_prior(self.normal_gamma)
        choose("concentration", self.concentration, ("fixed", "learned"))
        choose("reward_scale", self.reward_scale, ("fixed", "learned"))


class ModelBasedAgent(Agent):
    """An agent that keeps a `ModelBelief` and acts by a table policy between two plans."""

    options: ModelBasedOptions
    belief: ModelBelief

    def _reset(self) -> None:
        o = self.options
        self.belief = ModelBelief(
            self.problem.n_states,
            self.problem.n_actions,
            eta=o.eta,
            normal_gamma=o.normal_gamma,
            concentration=o.concentration,
            reward_scale=o.reward_scale,
        )

    def act(self, state: int, step: int = 0) -> int:
        """Look the action up in the policy."""
        return int(self.policy[step, state])

    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """Update the belief."""
        self.belief.observe(state, action, reward, next_state)

    def interact(self, simulator: Simulator, steps: int) -> None:
        """Follow the policy, then update the belief with what was seen."""
        self.belief.observe_many(simulator.follow(self.policy, steps))

    def solve(self, P: Floats, r: Floats) -> tuple[Floats, Floats]:
        """Make `policy` optimal for a model, warm-started from the last one; returns V and Q with their layers.

        V has the layers 1..H (the values of the successors of a step) in the episodic setting.
        """
        problem = self.problem
        if problem.horizon is None:
            V, Q, _, _ = planning.policy_iteration(
                P, r, problem.mask, problem.discount, self.policy[0], problem.max_iterations
            )
            return V[None], Q[None]
        V, Q, self.policy = planning.backward_induction(P, r, problem.mask, problem.horizon, problem.discount)
        return V[1:], Q

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Q of the optimal policies of posterior draws: mean and standard deviation over `POSTERIOR_DRAWS` of them."""
        kept = self.policy.copy()
        draws = np.array([self.solve(*self.belief.draw_model(rng))[1] for _ in range(POSTERIOR_DRAWS)])
        self.policy = kept
        draws[:, :, ~self.problem.mask] = np.nan
        mean: Floats = draws.mean(axis=0)
        std: Floats = draws.std(axis=0, ddof=1)
        return mean, std
