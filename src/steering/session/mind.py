"""The agent of a session: what it has learned, the plan in force, and the action that it chooses.

Two agents are kept. The *learner* sees everything that happened, in order, and never plans. For a plan it is copied;
the copy (the *planner*) plans, and from then on sees what happens as well, so that it can say when it wants another.
Actions are chosen by a copy of the planner. Random streams are set before each plan and each action:

    plan number p        SeedSequence(seed, spawn_key=(PLAN, p)),
    suggestion number k  SeedSequence(seed, spawn_key=(ACT, k)).

So a suggestion is a function of the seed, of what was learned before its plan, of p and of k. All of them can be read
from the journal, and opening a session makes one plan at most, however many were made before.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from steering._checks import number
from steering._types import Bools, Floats, Ints
from steering.agents import Agent, ModelBasedAgent, Problem, make_agent
from steering.agents.large import ACCURACY
from steering.beliefs import Belief
from steering.errors import InvalidOption, SteeringError
from steering.session.state import Plan, State

PLAN, ACT, LOOK = 0, 1, 2
Transitions = tuple[Ints, Ints, Floats, Ints]


def generator(seed: int, purpose: int, number: int) -> np.random.Generator:
    """The random stream of one plan, one action or one look at the belief."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(purpose, number))))


class Mind:
    """The agent side of a session; `State` is the other.

    Parameters
    ----------
    agent
        Text for `make_agent`.
    discount, seed, replan_every
        Settings of the session; no plan is older than `replan_every` steps.
    """

    def __init__(self, agent: str, discount: float, seed: int, replan_every: int) -> None:
        self.agent, self.seed, self.replan_every = agent, seed, replan_every
        self.discount = checked_discount(discount)
        self._learner: Agent | None = None
        self._seen = 0
        self._structure = -1
        self._planner: Agent | None = None
        self._made: Plan | None = None

    # Learning --------------------------------------------------------------------------------------------------------

    def learner(self, state: State, rows: int | None = None) -> Agent:
        """The agent that has seen all rows, or the first of them, and has never planned. Not to be changed."""
        wanted = len(state.order) if rows is None else rows
        if self._learner is None or self._structure != state.structure or self._seen > wanted:
            self._learner = self._started(state)
            self._seen, self._structure = 0, state.structure
            self._planner = self._made = None
        if wanted > self._seen:
            new = transitions(state, self._seen, wanted)
            observe_many(self._learner, new)
            if self._planner is not None:
                observe_each(self._planner, new)
            self._seen = wanted
        return self._learner

    def _started(self, state: State) -> Agent:
        agent = make_agent(self.agent)
        if isinstance(agent, ModelBasedAgent):
            agent.plan_accuracy = ACCURACY  # a step of a real process is worth more than a few milliseconds
        agent.start(self.problem(state), generator(self.seed, LOOK, 0), generator(self.seed, LOOK, 1))
        return agent

    def belief(self, state: State, rows: int | None = None) -> Belief | None:
        """A copy of what the agent believes after all rows, or the first of them; None if it keeps no belief."""
        learner = self.learner(state, rows)
        if not isinstance(learner, ModelBasedAgent):
            return None
        if learner.belief.totals.sum() == self._seen:
            return copy.deepcopy(learner.belief)
        planned = _copied(learner)  # agents that select what they learn from do so when they plan
        planned.plan(0, 0)
        assert isinstance(planned, ModelBasedAgent)
        return planned.belief

    def problem(self, state: State) -> Problem:
        """What the agent is told about the process."""
        S, A = state.mask.shape
        return Problem(S, A, state.mask, self.discount)

    # Deciding --------------------------------------------------------------------------------------------------------

    def decide(self, state: State, here: int, allowed: Bools) -> tuple[int, bool]:
        """The action for the next suggestion, and whether a new plan was made for it."""
        planner, fresh = self._in_force(state, here)
        ask = len(state.asks) + 1
        action = self._act(planner, here, ask)
        if not allowed[action]:
            # The same plan with the same random numbers, as if the state never allowed anything else.
            mask = state.mask.copy()
            mask[here] = allowed
            number = self._made.number if self._made is not None else 1
            other = _copied(self.learner(state))
            other.restrict(mask)
            self._make_plan(other, number, here)
            action = self._act(other, here, ask)
        return action, fresh

    def _in_force(self, state: State, here: int) -> tuple[Agent, bool]:
        """The planner for the next suggestion, and whether it has just planned."""
        plan = state.plan
        if plan is not None and plan.structure == state.structure and not state.episode_began:
            if self._made != plan or self._planner is None:
                self._planner = self._made = None
                learner = self.learner(state, plan.rows)
                self._planner, self._made = _copied(learner), plan
                self._make_plan(self._planner, plan.number, plan.state)
            self.learner(state)
            young = len(state.order) - plan.rows < self.replan_every
            if young and self._planner is not None and self._planner.plans and not self._planner.wants_plan():
                return self._planner, False
        self._planner = None
        learner = self.learner(state)
        planner = _copied(learner)
        made = Plan(1 if plan is None else plan.number + 1, len(state.order), here, state.structure)
        self._make_plan(planner, made.number, here)
        self._planner, self._made = planner, made
        return planner, True

    def _make_plan(self, agent: Agent, number: int, here: int) -> None:
        reseed(agent.planning_rng, generator(self.seed, PLAN, number))
        agent.plan(here, 0)

    def _act(self, planner: Agent, here: int, ask: int) -> int:
        pure = type(planner).act is ModelBasedAgent.act  # a look into a table
        agent = planner if pure else _copied(planner)
        if not pure:
            reseed(agent.acting_rng, generator(self.seed, ACT, ask))
        return agent.checked(here, agent.act(here, 0))


def reseed(rng: np.random.Generator, other: np.random.Generator) -> None:
    """Put a generator into the state of another; whoever holds it sees the change."""
    rng.bit_generator.state = other.bit_generator.state


def transitions(state: State, first: int, last: int) -> Transitions:
    """What is learned, from one place of the order to another: states, actions, rewards, next states."""
    rows = state.rows.array[state.order.array["row"][first:last]]
    columns: Any = (np.ascontiguousarray(rows[name], dtype=np.int64) for name in ("state", "action", "to"))
    states, actions, to = columns
    return states, actions, np.ascontiguousarray(rows["reward"]), to


def observe_many(agent: Agent, new: Transitions) -> None:
    """Let an agent see transitions; the same as one by one, to the bit."""
    if isinstance(agent, ModelBasedAgent) and type(agent).observe is ModelBasedAgent.observe:
        agent.learn(new)
        agent.schedule.saw_many(new[0], new[1], new[3])
    else:
        observe_each(agent, new)


def observe_each(agent: Agent, new: Transitions) -> None:
    """Let an agent see transitions one by one."""
    for s, a, r, y in zip(*(column.tolist() for column in new), strict=True):
        agent.observe(s, a, r, y, 0)


def _copied(agent: Agent) -> Agent:
    try:
        return copy.deepcopy(agent)
    except Exception as error:
        raise SteeringError(
            f"agent '{agent.name}' cannot be copied ({type(error).__name__}: {error}), which a session needs; keep "
            "arrays and numbers in it, no open files or locks."
        ) from error


def checked_discount(given: float) -> float:
    """A discount that a session can have, or the sentence that says which ones it can."""
    discount = number("discount", given, least=0.0)
    if discount >= 1.0:
        raise InvalidOption(f"discount is {discount:g}; it must be below 1 (0.95 looks about 20 steps ahead).")
    return discount
