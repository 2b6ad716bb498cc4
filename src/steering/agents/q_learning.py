"""Q-learning with epsilon-greedy actions (Watkins and Dayan 1992): the undirected baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from steering._checks import in_range, moderate_options
from steering._compiled import model_free as kernels
from steering._types import Floats
from steering.agents.base import Agent
from steering.errors import InvalidOption
from steering.mdp.simulator import Simulator


@dataclass(frozen=True)
class QLearningOptions:
    """Options of Q-learning."""

    learning_rate: float = 0.1
    """Step size of the update (0.1)."""
    epsilon: float = 0.5
    """Probability of a random action (0.5)."""
    timescale: float = float("inf")
    """epsilon decays as exp(-t / timescale); infinite (no decay) by default."""
    initial: float = 0.0
    """Initial value of every Q."""

    def __post_init__(self) -> None:
        in_range("learning_rate", self.learning_rate, 0.0, 1.0, open_low=True)
        in_range("epsilon", self.epsilon, 0.0, 1.0)
        if not self.timescale > 0:
            raise InvalidOption(f"timescale is {self.timescale}; it must be a positive number of steps, or inf.")
        if not np.isfinite(self.initial):
            raise InvalidOption(f"initial is {self.initial}; it must be a finite number.")
        moderate_options(self)


class QLearning(Agent):
    """Q(s, a) moves towards r + discount max Q(s', .) after every step."""

    name = "q_learning"
    group = "model-free"
    plans = False
    options: QLearningOptions
    Q: Floats

    def _reset(self) -> None:
        p = self.problem
        self.Q = np.full((p.layers, p.n_states, p.n_actions), float(self.options.initial))
        self.clock = 0
        o = self.options
        # An episode of one step has one layer, as the continuing setting has, but nothing follows it.
        discount = 0.0 if p.horizon == 1 else float(p.discount)
        self._settings = (float(o.learning_rate), discount, float(o.epsilon), float(o.timescale))

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Nothing to do but to state the greedy policy."""
        self.policy = np.where(self.problem.mask, self.Q, -np.inf).argmax(axis=-1)

    def act(self, state: int, step: int = 0) -> int:
        """Epsilon-greedy, ties at random."""
        rate = self.options.epsilon * math.exp(-self.clock / self.options.timescale)
        uniforms = self.acting_rng.random(3)
        return int(kernels.epsilon_greedy(self.Q[step, state], self.problem.mask[state], rate, uniforms))

    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """One temporal-difference update."""
        rate, discount = self._settings[:2]
        kernels.q_update(self.Q, self.problem.mask, rate, discount, step, state, action, reward, next_state)
        self.clock += 1

    def interact(self, simulator: Simulator, steps: int, step: int = 0) -> None:
        """The compiled loop of `act` and `observe`."""
        uniforms = self.acting_rng.random((steps, 3))
        settings = (self.problem.mask, self._settings, self.clock, uniforms, step)
        simulator.advance(partial(kernels.q_learning, simulator.tables, self.Q, *settings), steps)
        self.clock += steps

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The current Q, with no uncertainty."""
        mean = self.Q.copy()
        mean[:, ~self.problem.mask] = np.nan
        return mean, mean * 0.0
