"""What papers found, found again: the three tables of docs/agents.md, means of 10 seeds with their standard errors.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks papers

The CPU seconds of each row are in its last column.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import steering
from steering.runs.bsuite import deep_sea_episodes

SEEDS = 10
RIVER = ("riverswim:6,discount=0.99", (50_000, 100_000, 200_000))
RIVER_AGENTS = (
    "ucrl2b:criterion=average,bound=l1",
    "ucrl2b:criterion=average",
    "ucrl2b:criterion=average,bound=l1,scale=0.1",
    "ucrl2b:criterion=average,scale=0.01",
    "ucbvi:bound=simplified",
    "psrl:replan=tsde",
    "psrl",
    "q_learning",
)
LAZY = ("lazychain:10", (2_500, 10_000))
LAZY_AGENTS = (
    "eubrl:concentration=learned,reward_scale=learned,scale=2.5",
    "eubrl:eta=1e-8,scale=10",
    "psrl:eta=1e-8",
    "rmax:m=1,r_min=-1,r_max=19",
    "beb:eta=1e-8,scale=1e-6",
    "psrl",
    "q_learning",
)
SEA_SIZES, EPISODES = (10, 20), 600
SEA_AGENTS = (
    "rmax:m=1",
    "eubrl:concentration=learned,reward_scale=learned",
    "ucbvi:bound=simplified,scale=0.1",
    "rlsvi:noise=simple,scale=0.1",
    "ucb_q:scale=0.01",
    "psrl",
    "bayesian_q",
    "q_learning",
)


def curve(environment: str, agent: str, moments: tuple[int, ...]) -> str:
    """Regret after some numbers of steps, mean and standard error, and the oracle's reward at the end."""
    results = steering.run(environment, agent, steps=moments[-1], seeds=SEEDS)
    regret = results.regret_curve()
    assert regret.shape == (SEEDS, moments[-1])
    cells = []
    for moment in moments:
        at = regret[:, moment - 1]
        cells.append(f"{at.mean():,.0f} ({at.std(ddof=1) / np.sqrt(SEEDS):,.0f})")
    return " / ".join(cells)


def solved(size: int, agent: str) -> str:
    """Median of the episode at which the deep sea was solved, its least and largest, and how many seeds did."""
    results = steering.run(f"griddeepsea:{size}", agent, steps=EPISODES * size, seeds=SEEDS)
    episodes = deep_sea_episodes(results)
    many = int(np.isfinite(episodes).sum())
    if many == 0:
        return "-"
    inside = np.sort(episodes)
    middle = 0.5 * (inside[(SEEDS - 1) // 2] + inside[SEEDS // 2])
    return f"{middle:.0f} ({inside[0]:.0f} to {inside[-1]:.0f}), {many} of {SEEDS}"


def main() -> list[dict[str, Any]]:
    """One row for each environment and agent, in the order of the page."""
    rows = []
    cases: list[tuple[str, str, Any]] = []
    for (environment, moments), agents in ((RIVER, RIVER_AGENTS), (LAZY, LAZY_AGENTS)):
        cases += [(environment, agent, moments) for agent in agents]
    cases += [(f"griddeepsea:{size}", agent, size) for size in SEA_SIZES for agent in SEA_AGENTS]
    for environment, agent, what in cases:
        began = time.process_time()
        found = curve(environment, agent, what) if isinstance(what, tuple) else solved(what, agent)
        seconds = f"{time.process_time() - began:.0f} s"
        rows.append({"environment": environment, "agent": agent, "found": found, "CPU": seconds})
        print(*rows[-1].values(), sep=" | ", file=sys.stderr)
    return rows
