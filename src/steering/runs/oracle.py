"""The oracle: the optimal policy of the true MDP, which regret is measured against; and what a random policy earns.

It is solved once for an environment, whoever runs in it: a `World` is kept as long as the environment that it belongs
to, so that all agents of a comparison and all batches of a sweep share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from steering import mdp as planners
from steering._types import Floats, Ints
from steering.envs import Environment
from steering.mdp import TabularMDP
from steering.mdp.simulator import EnvironmentStreams, Simulator, Tables, tables_of


@dataclass(frozen=True)
class Oracle:
    """The optimal policy of the true MDP and what it is worth, with layers (1 or H)."""

    policy: Ints
    V: Floats
    Q: Floats
    expected: Floats
    """Expected reward of each step, (T,)."""
    random_total: float
    """Expected total reward of the policy that takes every allowed action equally often, over T steps."""


class World:
    """What all runs in an MDP share: tables of the simulator, and the oracle."""

    def __init__(self, mdp: TabularMDP, discount: float, horizon: int | None) -> None:
        self.mdp = mdp
        self.discount = discount
        self.horizon = horizon
        self._oracle: Oracle | None = None

    @cached_property
    def tables(self) -> Tables:
        """What compiled simulation reads."""
        return tables_of(self.mdp)

    @cached_property
    def _solution(self) -> tuple[Ints, Floats, Floats]:
        if self.horizon is None:
            solution = planners.policy_iteration(self.mdp, self.discount)
            return solution.policy[None], solution.V[None], solution.Q[None]
        finite = planners.backward_induction(self.mdp, self.horizon, self.discount)
        return finite.policy, finite.V, finite.Q

    def oracle(self, steps: int) -> Oracle:
        """The oracle, with its expected reward in each of some steps."""
        if self._oracle is None or self._oracle.expected.size != steps:
            policy = self._solution[0] if self.horizon is not None else self._solution[0][0]
            uniform = self.mdp.allowed / self.mdp.allowed.sum(axis=1, keepdims=True)
            random_total = float(self._expected(uniform, steps).sum())
            self._oracle = Oracle(*self._solution, self._expected(policy, steps), random_total)
        return self._oracle

    def _expected(self, policy: Ints | Floats, steps: int) -> Floats:
        """Expected reward of a policy in each of some steps, exact."""
        if self.horizon is None:
            return planners.expected_reward_curve(self.mdp, policy, steps)
        occupancy = planners.occupancy_finite(self.mdp, policy, self.horizon)
        return np.resize(np.einsum("hsa,sa->h", occupancy, self.mdp.rewards), steps)

    def oracle_rewards(self, steps: int, streams: EnvironmentStreams) -> Floats:
        """Rewards of the oracle under given noise."""
        policy = self._solution[0]
        simulator = Simulator(self.mdp, self.tables, steps, streams)
        while simulator.time < steps:
            simulator.begin_episode()
            left = steps - simulator.time
            simulator.follow(policy, left if self.horizon is None else min(self.horizon, left))
        return simulator.rewards


_WORLDS: WeakKeyDictionary[Environment, World] = WeakKeyDictionary()


def world_of(environment: Environment) -> World:
    """The world of an environment that has a table; the same for equal environments while one of them is in use."""
    world = _WORLDS.get(environment)
    if world is None:
        world = _WORLDS[environment] = World(environment.table, environment.discount, environment.horizon)
    return world
