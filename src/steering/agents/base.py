"""What an agent is: `act` and `observe`. Everything else has a default.

A run calls `start` once, then again and again `plan` followed by steps of `act` and `observe`. The next plan comes when
`wants_plan` says so, and at the latest after the environment's `replan_every` steps or at the start of an episode.
`interact` does such steps at once on a compiled simulator and must give the same numbers, to the bit. An agent sees
the sizes of the MDP, the allowed actions, the discount and the horizon; never its probabilities or rewards.

Tables have a leading axis of layers: one in the continuing setting, H in the episodic one, where layer h belongs to
step h of an episode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from steering import _html, _memory
from steering._checks import choose, moderate_options
from steering._compiled import planning
from steering._types import Bools, Floats, Ints
from steering.agents.large import RepairedPlan, RowBonus, RowSolver
from steering.agents.schedule import SCHEDULES, Schedule
from steering.beliefs import FORMS, Belief, GroupedRows, Rows, SparseBelief, make_belief
from steering.beliefs.dirichlet import checked_concentration
from steering.beliefs.model import WORTH_ASKING, require_dense
from steering.beliefs.normal_gamma import PAPER_PRIOR, checked_prior
from steering.errors import InvalidOption, NotAvailable
from steering.mdp.simulator import Simulator, Transitions

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


LAYERED = 4
"""Tables (H, S, A) that an agent has at once in the episodic setting."""


def _require_layers(problem: Problem) -> None:
    """Refuse tables of every step of an episode that do not fit into memory."""
    needed = 8.0 * LAYERED * problem.layers * problem.n_states * problem.n_actions
    if needed > WORTH_ASKING:
        what = f"planning over {problem.layers} steps of {problem.n_states} states and {problem.n_actions} actions"
        _memory.require(needed, what, "use a shorter horizon, or the continuing setting (horizon=none)")


class Agent(ABC):
    """Base of all agents; see the module's docstring for the order of calls.

    Attributes
    ----------
    problem, planning_rng, acting_rng
        What `start` was given: the problem, and random generators for plans and for single actions.
    policy
        The greedy policy in force, shape (layers, S), of agents that have one; value gaps are recorded from it.

    Examples
    --------
    >>> class Uniform(Agent):
    ...     def act(self, state, step=0):
    ...         return self.acting_rng.choice(np.flatnonzero(self.problem.mask[state]))
    ...
    ...     def observe(self, state, action, reward, next_state, step=0):
    ...         pass
    >>> Uniform().plans
    False
    """

    name: ClassVar[str]
    """The class's name in small letters, unless the class has one of its own."""

    plans: ClassVar[bool] = False
    """Whether `plan` decides anything: a class that has a `plan` says True unless it says otherwise."""

    group: ClassVar[str] = "others"
    """Under which heading `steering agents` lists it."""

    policy: Ints | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "plan" in vars(cls) and "plans" not in vars(cls):
            cls.plans = True
        if "name" not in vars(cls):
            cls.name = cls.__name__.lower()

    def __init__(self, options: Any = None) -> None:
        self.options = options

    def __repr__(self) -> str:
        from steering.agents.registry import describe_agent

        return f"Agent: {describe_agent(self)}" if hasattr(self, "options") else f"Agent: {self.name}"

    def _repr_html_(self) -> str:
        from steering.agents.registry import options_of

        return _html.table(repr(self), options_of(self) if hasattr(self, "options") else {})

    def start(self, problem: Problem, planning_rng: np.random.Generator, acting_rng: np.random.Generator) -> None:
        """Forget everything and get ready for a new run."""
        self.problem = problem
        self.planning_rng = planning_rng
        self.acting_rng = acting_rng
        self.policy = None
        _require_layers(problem)
        self._reset()

    def _reset(self) -> None:  # noqa: B027 - a default, as that of `plan`
        """Set up the agent's own state for `self.problem`; nothing unless an agent has some."""

    def plan(self, state: int = 0, step: int = 0) -> None:  # noqa: B027
        """Choose what to do in the steps that follow, the first from `state` at step `step` of an episode."""

    def wants_plan(self) -> bool:
        """Whether to plan before the next step, earlier than the environment asks; looked at after each `observe`."""
        return False

    def keeps_plan(self) -> bool:
        """Whether the plan in force goes on when the environment asks for one; looked at before each `plan`."""
        return False

    @abstractmethod
    def act(self, state: int, step: int = 0) -> int:
        """Choose an action; `step` is the step within the episode (0 in the continuing setting)."""

    @abstractmethod
    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """Learn from one transition."""

    def interact(self, simulator: Simulator, steps: int, step: int = 0) -> None:
        """Do `act` and `observe` for `steps` steps on a simulator, or until `wants_plan`; the first is step `step`."""
        episodic = self.problem.horizon is not None
        for t in range(steps):
            layer = step + t if episodic else 0
            state = simulator.state
            action = self.checked(state, self.act(state, layer))
            successor, reward = simulator.step(action)
            self.observe(state, action, reward, successor, layer)
            if self.wants_plan():
                return

    def restrict(self, mask: Bools) -> None:
        """Allow only the actions of a table (S, A) from now on, in plans that are made from here."""
        self.problem = replace(self.problem, mask=mask)

    def checked(self, state: int, action: Any) -> int:
        """An action that `act` gave, refused where the problem does not allow it."""
        mask = self.problem.mask
        try:
            number = int(action)
            if number == action and 0 <= number < mask.shape[1] and mask[state, number]:
                return number
        except (TypeError, ValueError):
            pass
        raise InvalidOption(
            f"agent '{self.name}' chose action {action!r} in state {state}; allowed there: "
            f"{', '.join(map(str, np.flatnonzero(mask[state])))}."
        )

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the agent's belief about the optimal Q, each (layers, S, A).

        Disallowed actions hold NaN. `rng` is used by agents whose belief is known through draws only; it is not
        the agent's own, so looking does not change the run.
        """
        raise NotAvailable(f"agent '{self.name}' has no belief about Q, so q_posterior cannot be recorded.")

    def diagnose(self, rng: np.random.Generator) -> dict[str, Any]:
        """What the last plan rests on, for agents that can say; `rng` is not the agent's own."""
        raise NotAvailable(f"agent '{self.name}' has no diagnostics; record them for 'steering'.")


@dataclass(frozen=True)
class ModelBasedOptions:
    """Options that every model-based agent has."""

    eta: float = 1.0
    """Dirichlet concentration of every next state (the paper's 1)."""
    normal_gamma: tuple[float, float, float, float] = PAPER_PRIOR
    """Prior (mu, lambda, alpha, beta) of every reward (the paper's 0, 4, 3, 3)."""
    concentration: str = "fixed"
    """Of eta: "fixed", or "learned": it follows the evidence of all rows, as far from the given one as it must."""
    reward_scale: str = "fixed"
    """Of rewards: "fixed", "learned" (their noise and their common mean follow what was seen), or "open" (so does the
    spread of their means)."""
    replan: str = "every"
    """When to plan again: "every" (each `replan_every` steps of the environment, or each episode) or "learned" (also as
    soon as an outcome of a pair comes that was never seen, or its visits doubled since the last plan); without a
    horizon also "doubling" and "tsde" (only when visits doubled, with "tsde" also when a plan has lasted longer than
    the one before)."""
    belief: str = "auto"
    """Form of the belief: "dense" (tables of all outcomes), "sparse" (of outcomes seen, for large worlds) or "auto" (by
    size)."""

    def __post_init__(self) -> None:
        checked_concentration(self.eta)
        checked_prior(self.normal_gamma)
        moderate_options(self, "eta")
        choose("concentration", self.concentration, ("fixed", "learned"))
        choose("reward_scale", self.reward_scale, ("fixed", "learned", "open"))
        choose("replan", self.replan, tuple(SCHEDULES))
        choose("belief", self.belief, FORMS)


class ModelBasedAgent(Agent):
    """An agent that keeps a `Belief` and acts by a table policy between two plans.

    A subclass has a `plan` that begins with ``super().plan(state, step)``. In large worlds the belief is sparse, and
    its models have `GroupedRows` in the place of a table P; `solve`, `values` and `propagate` take both.
    """

    options: ModelBasedOptions
    policy: Ints
    belief: Belief
    schedule: Schedule
    plan_accuracy: float | None = None
    """Relative accuracy of the values of plans in large worlds, where it is not that of `RepairedPlan`."""

    def _reset(self) -> None:
        o, p = self.options, self.problem
        self.policy = np.zeros((p.layers, p.n_states), dtype=np.int64)
        self.schedule = SCHEDULES[o.replan](p.n_states, p.n_actions)
        self._solver = RowSolver(p)
        self._repaired: RepairedPlan | None = None
        self.belief = make_belief(p.n_states, p.n_actions, self._belief_form(), **self._belief_options)

    @property
    def _belief_options(self) -> dict[str, Any]:
        """What the belief is told beside its size."""
        o = self.options
        return {
            "eta": o.eta,
            "normal_gamma": o.normal_gamma,
            "concentration": o.concentration,
            "reward_scale": o.reward_scale,
        }

    def restrict(self, mask: Bools) -> None:
        """As `Agent.restrict`; plans of large worlds are begun anew."""
        super().restrict(mask)
        self._solver.problem = self.problem
        self._repaired = None

    @property
    def needs_tables(self) -> str:
        """Why the agent needs dense tables of all outcomes, in words that follow "because"; empty if it does not."""
        return ""

    def _belief_form(self) -> str:
        p, form = self.problem, self.options.belief
        if not self.needs_tables or form == "dense":
            return form
        if form == "sparse":
            raise NotAvailable(
                f"agent '{self.name}' cannot have belief=sparse, because {self.needs_tables}; use belief=dense."
            )
        require_dense(p.n_states, p.n_actions, f"agent '{self.name}' needs dense tables, because {self.needs_tables}")
        return "dense"

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Tell the schedule, and move the learned priors to what the evidence says."""
        self.schedule.begin()
        self.belief.refresh()

    def wants_plan(self) -> bool:
        """Whether the schedule asks for a plan."""
        return self.schedule.due

    def keeps_plan(self) -> bool:
        """Whether the schedule keeps the plan; an episode begins with a plan under every schedule."""
        return self.problem.horizon is None and not self.schedule.regular and not self.schedule.due

    def act(self, state: int, step: int = 0) -> int:
        """Look the action up in the policy."""
        return int(self.policy[step, state])

    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """Learn from one transition."""
        self.learn(
            (np.array([state]), np.array([action]), np.array([reward], dtype=np.float64), np.array([next_state]))
        )
        self.schedule.saw(state, action, next_state)

    def interact(self, simulator: Simulator, steps: int, step: int = 0) -> None:
        """Act until a plan is due, then learn from what was seen."""
        self.learn(self.follow(simulator, steps, step))

    def follow(self, simulator: Simulator, steps: int, step: int) -> Transitions:
        """Act in a compiled loop that stops when a plan is due."""
        return simulator.follow(self.policy, steps, step, self.schedule.watch(steps))

    def learn(self, transitions: Transitions) -> None:
        """Update the belief."""
        self.belief.observe_many(transitions)

    def solve(self, P: Rows, r: Floats, discount: float | None = None) -> tuple[Floats, Floats]:
        """Make `policy` optimal for a model, warm-started from the last one; returns V and Q with their layers.

        V has the layers 1..H (the values of the successors of a step) in the episodic setting. The discount is the
        problem's unless another is given.
        """
        problem = self.problem
        gamma = problem.discount if discount is None else discount
        if isinstance(P, GroupedRows):
            return self._solver.solve(P, r, self.policy, gamma)
        if problem.horizon is None:
            V, Q, _, _ = planning.policy_iteration(P, r, problem.mask, gamma, self.policy[0], problem.max_iterations)
            return V[None], Q[None]
        V, Q, self.policy = planning.backward_induction(P, r, problem.mask, problem.horizon, gamma)
        return V[1:], Q

    def repair(self, model: str, bonus: RowBonus | None = None, discount: float | None = None) -> RepairedPlan | None:
        """The plan in the mean of a sparse belief, made once and kept; call its `update`. None where there is none.

        There is none with a dense belief, and in the episodic setting.
        """
        if self._repaired is None and isinstance(self.belief, SparseBelief) and self.problem.horizon is None:
            self._repaired = RepairedPlan(self.problem, self.belief, model, bonus or RowBonus(), discount)
            self._repaired.accuracy = self.plan_accuracy or self._repaired.accuracy
        return self._repaired

    def values(self, P: Rows, r: Floats, discount: float | None = None) -> Floats:
        """Values of `policy` in a model with rewards r, with their layers (1 or H, or H + 1)."""
        problem = self.problem
        gamma = problem.discount if discount is None else discount
        if isinstance(P, GroupedRows):
            return self._solver.evaluate(P, r, self.policy, gamma)
        if problem.horizon is None:
            return planning.evaluate_policy(P, r, self.policy[0], gamma)[None]
        return planning.evaluate_finite(P, r, self.policy, gamma)

    def propagate(self, P: Rows, local: Floats, factor: float) -> Floats:
        """Sum of a local quantity (layers, S, A) along `policy`, discounted by a factor, for every first action."""
        if isinstance(P, GroupedRows):
            return self._solver.propagate(P, local, self.policy, factor)[1]
        if self.problem.horizon is None:
            return planning.propagate(P, self.policy[0], local[0], factor)[None]
        return planning.propagate_finite(P, self.policy, local, factor)

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Q of the optimal policies of posterior draws: mean and standard deviation over `POSTERIOR_DRAWS` of them."""
        kept = self.policy.copy()
        draws = np.array([self.solve(*self.belief.draw_model(rng))[1] for _ in range(POSTERIOR_DRAWS)])
        self.policy = kept
        draws[:, :, ~self.problem.mask] = np.nan
        mean: Floats = draws.mean(axis=0)
        std: Floats = draws.std(axis=0, ddof=1)
        return mean, std
