"""An agent of your own: plan in the mean model with a bonus for pairs that were rarely tried.

On the command line, in this folder: steering run deepsea:8 --agent count_bonus:bonus=0.2 --import own_agent

policy = argmax of the MDP with rewards r(s, a) + bonus / sqrt(1 + n(s, a))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import steering
from steering.agents import ModelBasedAgent, ModelBasedOptions, in_range


@dataclass(frozen=True)
class CountBonusOptions(ModelBasedOptions):
    """Options of the belief, and one more."""

    bonus: float = 0.5
    """Reward of trying a pair for the first time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("bonus", self.bonus, 0.0)


@steering.register_agent("count_bonus")
class CountBonus(ModelBasedAgent):
    """The belief, acting and observing are inherited; only the plan is new."""

    options: CountBonusOptions

    def plan(self, state: int = 0, step: int = 0) -> None:
        super().plan(state, step)
        P, r = self.belief.mean_model()
        self.solve(P, r + self.options.bonus / np.sqrt(1.0 + self.belief.totals))


def main() -> None:
    for agent in ("count_bonus:concentration=learned", "psrl:concentration=learned"):
        results = steering.run("deepsea:8", agent, steps=2000, seeds=5)
        print(f"{results.agent:40s} {results.regret(normalised=True).mean():.3f}")


if __name__ == "__main__":
    main()
