"""Bayesian regret: the average of expected regret over MDPs drawn from a prior.

    BR_T = E_M E[ sum_t (oracle's reward of M - agent's reward on M) ],

estimated with one or several runs on each of a number of drawn MDPs. The standard error is that of the mean over MDPs,
which are independent; runs on one MDP are averaged first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from steering._checks import whole
from steering._types import Floats
from steering.agents import Agent, describe_agent, make_agent
from steering.envs import Environment, make_env
from steering.errors import InvalidOption
from steering.runs.runner import Progress, run
from steering.runs.seeds import checked_seeds
from steering.runs.statistics import mean_interval


@dataclass(frozen=True)
class BayesianRegret:
    """Expected regret on each drawn MDP.

    Attributes
    ----------
    curves
        Cumulative expected regret, averaged over the runs on each MDP, (M, T).
    """

    agent: str
    prior: str
    mdp_seeds: tuple[int, ...]
    curves: Floats

    def mean(self) -> float:
        """Estimate of the Bayesian regret after T steps."""
        return float(self.curves[:, -1].mean())

    def standard_error(self) -> float:
        """Standard error of `mean` over MDPs; needs at least two of them."""
        if len(self.mdp_seeds) < 2:
            raise InvalidOption("a standard error needs at least two MDPs; raise mdps.")
        return float(self.curves[:, -1].std(ddof=1) / np.sqrt(len(self.mdp_seeds)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of `mean` over MDPs (NaN for fewer than 3); see `runs.statistics`."""
        return mean_interval(self.curves[:, -1], level=level)[1:]

    def table(self) -> pd.DataFrame:
        """One row for each MDP."""
        return pd.DataFrame(
            {
                "prior": self.prior,
                "agent": self.agent,
                "mdp": list(self.mdp_seeds),
                "regret": self.curves[:, -1],
            }
        )


def bayesian_regret(
    prior: str | Callable[[int], Environment],
    agent: str | Agent,
    *,
    mdps: int | Iterable[int] = 20,
    steps: int = 5000,
    runs_per_mdp: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> BayesianRegret:
    """Average the expected regret of an agent over MDPs drawn from a prior.

    Parameters
    ----------
    prior
        Text of an environment that has a `seed` option, such as ``"priormdp:4,2"``, or a function from a seed to an
        environment.
    agent, options
        As for `run`.
    mdps
        Number of MDPs (seeds 0, 1, ...) or their seeds.
    steps, runs_per_mdp
        Length of a run and number of runs on each MDP.
    progress
        Called as progress(finished MDPs, all MDPs).

    Examples
    --------
    >>> bayesian_regret("priormdp:3,2", "psrl", mdps=4, steps=100).curves.shape
    (4, 100)
    """
    learner = make_agent(agent, **options)
    drawn = checked_seeds(mdps, "mdps")
    whole("runs_per_mdp", runs_per_mdp, 1)
    draw: Callable[[int], Environment] = prior if callable(prior) else lambda seed: make_env(prior, seed=seed)
    curves = []
    for done, seed in enumerate(drawn):
        # Runs on different MDPs use different seeds, so that their noise is independent too.
        runs = range(seed * runs_per_mdp, (seed + 1) * runs_per_mdp)
        results = run(draw(seed), learner, steps=steps, seeds=runs)
        curves.append(results.regret_curve(kind="expected").mean(axis=0))
        if progress is not None:
            progress(done + 1, len(drawn))
    name = prior if isinstance(prior, str) else getattr(prior, "__name__", "prior")
    return BayesianRegret(describe_agent(learner), name, drawn, np.array(curves))
