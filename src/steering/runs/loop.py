"""The loop of one run: plan, then act and observe until the next plan; in blocks or one step at a time.

Both loops plan at the same times and, under the same noise, give the same numbers to the bit.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from steering._types import Floats, Ints
from steering.agents import Agent
from steering.envs import Environment
from steering.errors import SteeringError
from steering.mdp.simulator import Simulator

LEARNING_BLOCK = 1024
"""Steps that an agent without plans makes at once; any value gives the same numbers."""


class Watcher(Protocol):
    """Somebody who looks at the agent after each plan, made at time `now` in `state`."""

    def look(self, agent: Agent, state: int, now: int) -> None:
        """Look, and change nothing."""


def simulate(agent: Agent, simulator: Simulator, environment: Environment, *watchers: Watcher) -> None:
    """Alternate plans and blocks of steps until the simulator is full; watchers look after each plan.

    A block ends where the agent wants a plan, or at the latest moment, of which `latest_plan` speaks.
    """
    while (now := simulator.time) < simulator.steps:
        step = step_of_episode(now, environment)
        if begins_episode(now, environment):
            simulator.begin_episode()
        if not agent.keeps_plan():
            agent.plan(simulator.state, step)
            for watcher in watchers:
                watcher.look(agent, simulator.state, now)
        latest = latest_plan(now, environment, regular=agent.plans or bool(watchers))
        agent.interact(simulator, min(latest, simulator.steps) - now, step)
        if simulator.time == now:
            raise SteeringError(f"agent '{agent.name}' made no step in `interact`; it must make at least one.")


def step_of_episode(now: int, environment: Environment) -> int:
    """Step of an episode at time `now`; 0 in the continuing setting."""
    return 0 if environment.horizon is None else now % environment.horizon


def begins_episode(now: int, environment: Environment) -> bool:
    """Whether the state is drawn from the start distribution at time `now`."""
    return now == 0 or (environment.horizon is not None and now % environment.horizon == 0)


def latest_plan(now: int, environment: Environment, *, regular: bool) -> int:
    """Time of the next plan after one at `now`, at the latest: the next episode, or `replan_every` steps later.

    An agent without plans is called less often, unless somebody looks at it at regular times.
    """
    if environment.horizon is not None:
        return now - now % environment.horizon + environment.horizon
    return now + (environment.replan_every if regular else LEARNING_BLOCK)


def step_by_step(agent: Agent, live: Any, environment: Environment, steps: int) -> tuple[Ints, Ints, Floats]:
    """Plan, act and observe for `steps` steps on anything with `reset()`, `step(action)` and `state` (see `LiveGym`).

    Returns the states, actions and rewards. With the same noise it gives the same numbers as `simulate`.
    """
    states, actions = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    rewards = np.zeros(steps)
    state = latest = 0
    for t in range(steps):
        step = step_of_episode(t, environment)
        if begins_episode(t, environment):
            state = live.reset()
        if t == latest or agent.wants_plan():
            if not agent.keeps_plan():
                agent.plan(state, step)
            latest = latest_plan(t, environment, regular=agent.plans)
        action = agent.checked(state, agent.act(state, step))
        successor, reward, restarted = live.step(action)
        states[t], actions[t], rewards[t] = state, action, reward
        agent.observe(state, action, float(reward), successor, step)
        # After a time limit of the environment the run goes on elsewhere; that jump is not a transition of the MDP.
        state = live.state if restarted else successor
    return states, actions, rewards
