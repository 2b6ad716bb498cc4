"""Optimistic Q-learning (UCB-H; Jin, Allen-Zhu, Bubeck and Jordan 2018): no model, a bonus on every update.

    Q(s, a) += a_n (r + b_n + g V(s') - Q(s, a)),     a_n = (H + 1) / (H + n),     V = max of the least Q so far

from Q = Vmax on, with n visits. In an episode (one Q for each step, the paper) b_n = scale Vmax sqrt(H i / n);
without a horizon (Wei et al. 2020; Dong et al. 2019) H = 1 / (1 - g), one Q, and b_n = 4 scale span sqrt(H i / n),
span = Vmax. i = ln(S A / delta) + 2 ln(n + 1), which holds at all times at once. The agent acts greedily on the least
Q so far. (Public code has a_n and 1 - a_n swapped.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from steering._checks import in_range, moderate_options
from steering._compiled import optimism as kernels
from steering._types import Floats, Ints
from steering.agents.base import Agent
from steering.agents.optimism import check_range, reach, steps_left
from steering.mdp.simulator import Simulator


@dataclass(frozen=True)
class UCBQOptions:
    """Options of optimistic Q-learning.

    Attributes
    ----------
    r_min, r_max
        Smallest and largest mean reward.
    delta
        Probability with which the bounds may fail.
    scale
        Factor of the bonus; 1 is the paper's constant.
    """

    r_min: float = 0.0
    r_max: float = 1.0
    delta: float = 0.05
    scale: float = 1.0

    def __post_init__(self) -> None:
        in_range("delta", self.delta, 0.0, 1.0, open_low=True)
        in_range("scale", self.scale, 0.0)
        check_range(self.r_min, self.r_max)
        moderate_options(self)


class UCBQ(Agent):
    """Q-learning with bonuses, greedy on the least Q so far."""

    name = "ucb_q"
    group = "model-free"
    plans = False
    options: UCBQOptions
    policy: Ints
    Q: Floats
    bound: Floats

    def _reset(self) -> None:
        o, p = self.options, self.problem
        shape = (p.layers, p.n_states, p.n_actions)
        left = steps_left(p)[: p.layers]
        self.Q = np.array(np.broadcast_to(o.r_max * left[:, None, None], shape))
        self.bound = self.Q.copy()
        self.visits: Floats = np.zeros(shape)
        self.policy = np.zeros(shape[:2], dtype=np.int64)
        size = (o.r_max - o.r_min) * float(left[0]) * o.scale * (4.0 if p.horizon is None else 1.0)
        # An episode of one step has one layer, as the continuing setting has, but nothing follows it.
        discount = 0.0 if p.horizon == 1 else float(p.discount)
        self._settings = (discount, reach(p), size, math.log(p.n_states * p.n_actions / o.delta))

    def plan(self, state: int = 0, step: int = 0) -> None:
        """Nothing to do but to state the greedy policy."""
        self.policy = np.where(self.problem.mask, self.bound, -np.inf).argmax(axis=-1)

    def act(self, state: int, step: int = 0) -> int:
        """The greedy action."""
        return int(kernels.greedy_action(self.bound[step, state], self.problem.mask[state]))

    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        """One update with its bonus."""
        tables = (self.Q, self.bound, self.visits, self.problem.mask, self._settings)
        kernels.optimistic_q_update(*tables, step, state, action, reward, next_state)

    def interact(self, simulator: Simulator, steps: int, step: int = 0) -> None:
        """The compiled loop of `act` and `observe`."""
        tables = (self.Q, self.bound, self.visits, self.problem.mask, self._settings)
        simulator.advance(partial(kernels.optimistic_q, simulator.tables, *tables, step), steps)

    def q_posterior(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The bound on Q, with no uncertainty."""
        mean = self.bound.copy()
        mean[:, ~self.problem.mask] = np.nan
        return mean, mean * 0.0
