"""What agents with a random policy share: act by a softmax of logits, the same in a compiled loop and step by step.

argmax_a (logits_a + G_a) with independent standard Gumbel noise G is a draw from softmax(logits).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from steering._compiled import simulate
from steering._types import Floats
from steering.agents.optimism import OptimisticAgent
from steering.mdp.simulator import Noise, Simulator, Transitions


class SoftPolicyAgent(OptimisticAgent):
    """Acts by `logits` (layers, S, A), which `plan` sets; `policy` is the most likely action."""

    logits: Floats

    def _reset(self) -> None:
        super()._reset()
        self._uniforms = Noise(self.acting_rng, "uniform")

    def set_logits(self, logits: Floats) -> None:
        """Act by these from now on; entries of actions that are not allowed do not matter."""
        self.logits = np.where(self.problem.mask, logits, 0.0)
        self.policy = np.where(self.problem.mask, logits, -np.inf).argmax(axis=-1)

    def act(self, state: int, step: int = 0) -> int:
        """Draw an action."""
        noise = gumbel(self._uniforms.take(self.problem.n_actions))
        ones = np.ones(self.problem.n_actions)
        return int(simulate.noisy_argmax(self.logits[step, state], ones, self.problem.mask[state], noise))

    def follow(self, simulator: Simulator, steps: int, step: int) -> Transitions:
        """Draw actions in a compiled loop that stops when a plan is due."""
        A = self.problem.n_actions
        noise = gumbel(self._uniforms.take(steps * A)).reshape(steps, A)
        ones, memory = np.ones_like(self.logits), self.schedule.memory
        loop = partial(
            simulate.follow_noisy_values,
            *(simulator.tables, self.logits, ones, self.problem.mask, noise, step, memory),
        )
        seen = simulator.advance(loop, steps)
        self._uniforms.give_back((steps - seen[0].size) * A)
        return seen


def gumbel(uniforms: Floats) -> Floats:
    """Standard Gumbel noise from uniforms in [0, 1)."""
    noise: Floats = -np.log(-np.log1p(-uniforms) + 1e-300)
    return noise
