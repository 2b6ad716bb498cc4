"""How much is run: the paper's settings, and the two sizes `--quick` and `--full`.

Both sizes use the paper's horizons (5000 steps; 10,000 for the prior beliefs): they differ in the number of seeds, of
MDPs and of episodes only, so quick figures are the full ones with wider bands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BASELINES = ("q_learning", "bayesian_q", "ube", "mm", "psrl", "ids")
"""The algorithms that the paper compares with; `ids` is its Var-IDS: variance, planned in one sampled model."""

MEAN_IDS = "ids:planning=mean"
"""A baseline that the paper does not have: the same IDS, planned in the posterior mean."""

LEARNED_IDS = "ids:planning=mean,concentration=learned,reward_scale=open,replan=learned"
"""The same with the learned priors of our default (concentration; noise, common mean and spread of rewards) and its
schedule."""

LEARNED_PSRL = "psrl:concentration=learned,reward_scale=open"
"""PSRL with those learned priors; it needs the episodes of its own schedule."""

EXACT_IDS = "ids:information=gain"
"""IDS with the exact mutual information, which a Dirichlet belief has in closed form."""

VARIANTS: Mapping[str, str] = {
    "default": "steering",
    "sound": "steering:preset=paper-sound",
    "literal": "steering:preset=paper",
}
"""The three STEERINGs: ours, the paper made sound, the literal paper."""

PARTNERS: Mapping[str, str] = {"default": LEARNED_IDS, "sound": MEAN_IDS, "literal": "ids"}
"""For each STEERING the IDS nearest to it, with the variance for the information: controls.

Partners share the given priors, how priors are learned, and whether plans are made in a sampled model.
"""

OTHERWISE: Mapping[str, str] = {
    "default": "the model of the data instead of the posterior mean, terms for novelty and reward noise, weight 0.0 "
    "instead of 0.5 and information about value, a longer horizon of plans, worth that grows with time, related rows, "
    "evened chances, excursions",
    "sound": "nothing",
    "literal": "the posterior gets the selected half of the data only",
}
"""What differs besides the information between each STEERING and its partner."""

AGENTS = (*BASELINES, MEAN_IDS, *VARIANTS.values())


@dataclass(frozen=True)
class Scale:
    """Numbers of seeds, steps, MDPs and episodes of a reproduction.

    Attributes
    ----------
    seeds, steps
        Seeds and steps of every comparison of regret (the paper: T = 5000).
    prior_steps
        Steps under strong and weak prior beliefs (the paper: 10,000).
    posterior_seeds
        Seeds of the evolution of Q.
    trace_seeds
        Seeds of runs with diagnostics (the paper's figure of the DSD has 5).
    mdps, episodes
        MDPs drawn from the prior and episodes on each, for Bayesian regret.
    """

    name: str
    seeds: int
    steps: int
    prior_steps: int
    posterior_seeds: int
    trace_seeds: int
    mdps: int
    episodes: int

    def remark(self, seeds: int | None = None) -> str:
        """What every figure says about its size."""
        count = self.seeds if seeds is None else seeds
        return f"{self.name}: {count} seeds"


QUICK = Scale(
    name="quick", seeds=6, steps=5000, prior_steps=10_000, posterior_seeds=4, trace_seeds=5, mdps=24, episodes=200
)
FULL = Scale(
    name="full", seeds=30, steps=5000, prior_steps=10_000, posterior_seeds=30, trace_seeds=30, mdps=200, episodes=500
)


@dataclass(frozen=True)
class Block:
    """All of some environments with all of some agents and seeds, in a sweep."""

    environments: tuple[str, ...]
    agents: tuple[str, ...]
    steps: int
    seeds: tuple[int, ...]
    points: int = 100
    windows: int = 20
    snapshots: int = 20
    extra: tuple[str, ...] = ()

    def description(self) -> dict[str, Any]:
        """The block as a sweep file has it."""
        return {
            "environments": list(self.environments),
            "agents": list(self.agents),
            "steps": self.steps,
            "seeds": list(self.seeds),
            "record": {
                "points": self.points,
                "windows": self.windows,
                "snapshots": self.snapshots,
                "extra": list(self.extra),
            },
        }


def deepsea(n: int, scale: Scale, options: str = "", agents: tuple[str, ...] = AGENTS) -> Block:
    """Agents on DeepSea n, with the steps and seeds of most figures."""
    return Block((f"deepsea:{n}{options}",), agents, scale.steps, tuple(range(scale.seeds)))


def prior_environment(S: int, A: int, H: int, i: int) -> str:
    """The i-th MDP drawn from the agents' prior, in episodes of H steps."""
    return f"priormdp:{S},{A},seed={i},normal_gamma=(0,4,3,3),horizon={H}"


def with_options(agent: str, **options: Any) -> str:
    """The text of an agent with more options."""
    parts = [f"{key}={str(value).replace(' ', '')}" for key, value in options.items()]
    return agent + ("," if ":" in agent else ":") + ",".join(parts) if parts else agent


TRACED = ("diagnostics", "value_gap")
"""What is recorded of a traced run: what every plan of STEERING rested on, and how good it truly was."""


def traced(environment: str, agents: tuple[str, ...], steps: int, seeds: tuple[int, ...]) -> Block:
    """Runs of STEERING with diagnostics at every plan."""
    return Block((environment,), agents, steps, seeds, extra=TRACED)
