"""A task of a study: an environment, or a class of them, with a number of steps, and the scores of agents in it.

The score of a run is regret / (optimal - uniformly random policy): 0 is optimal, 1 as bad as acting at random, and
costs count as rewards do. A run has failed when it is above 0.5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from steering.agents.registry import AGENTS
from steering.envs import make_env
from steering.paper.scale import Block, with_options
from steering.paper.source import Source

RUNS = 30
LAST = 0.25
"""The last quarter of a run is looked at on its own: what is lost there is hardly exploration any more."""


@dataclass(frozen=True)
class Task:
    """One question with one answer.

    Attributes
    ----------
    name, kind
        What it is called, and its family.
    environments
        One, or several instances of a class, which are pooled.
    steps
        Length of a run.
    slow
        Whether rivals that take long for a run take part.
    large
        Whether runs take so long (many states) that only some rivals and no controls take part.
    prior
        Options that every agent with such a prior gets, such as eta.
    runs
        Runs in all, over the environments.
    """

    name: str
    kind: str
    environments: tuple[str, ...]
    steps: int = 3000
    slow: bool = False
    large: bool = False
    prior: dict[str, Any] = field(default_factory=dict, hash=False)
    runs: int = RUNS

    def seeds(self, first: int, runs: int) -> range:
        """Seeds of every environment, for so many runs in all (at least one each)."""
        return range(first, first + max(1, -(-runs // len(self.environments))))

    def few(self, runs: int) -> Task:
        """The same task for so few runs: not more environments than that."""
        return replace(self, environments=self.environments[:runs], runs=runs)

    def blocks(self, settings: Iterable[str], seeds: range) -> list[Block]:
        """Some settings in this task, as blocks of a sweep: one for each environment, which has its own rewards."""
        texts = tuple(dict.fromkeys(settings))
        return [
            _block(environment, tuple(self.setting(text, environment) for text in texts), self.steps, seeds)
            for environment in self.environments
            if texts
        ]

    def setting(self, text: str, environment: str) -> str:
        """A setting as it is run: with the prior of the task, and told the range of rewards if it has to be."""
        has = _option_names(text.partition(":")[0])
        low, high = reward_range(environment)
        told = {"r_min": low, "r_max": high if "r_min" in has else max(abs(low), abs(high))}
        extra = {key: value for key, value in {**self.prior, **told}.items() if key in has and f"{key}=" not in text}
        return with_options(text, **extra)

    def scores(self, source: Source, setting: str, seeds: range) -> pd.DataFrame:
        """Score of every run of a setting, in all and of the last quarter: environment, seed, score, late."""
        frames = []
        for environment in self.environments:
            text = self.setting(setting, environment)
            total, late = source.scores([_block(environment, (text,), self.steps, seeds)], text, LAST)
            frames.append(pd.DataFrame({"environment": environment, "seed": list(seeds), "score": total, "late": late}))
        return pd.concat(frames, ignore_index=True)


def _block(environment: str, agents: tuple[str, ...], steps: int, seeds: range) -> Block:
    return Block((environment,), agents, steps, tuple(seeds), points=20, windows=1)


@cache
def _option_names(name: str) -> frozenset[str]:
    entry = AGENTS.get(name)
    kind = None if entry is None else entry.options
    return frozenset() if kind is None else frozenset(field.name for field in dataclasses.fields(kind))


@cache
def reward_range(environment: str) -> tuple[float, float]:
    """Smallest and largest mean reward of a transition that can happen.

    Examples
    --------
    >>> reward_range("chain:5")
    (0.0, 10.0)
    """
    table = make_env(environment).table.transitions
    values = table.spread(table.mean)[table.probabilities > 0]
    return float(np.min(values)), float(np.max(values))
