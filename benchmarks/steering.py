"""Cost of STEERING: against PSRL in one run, and how a plan grows with the number of states.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks steering

Two questions. *Runs*: DeepSea 15, 5000 steps, cases in turn within every repeat; a ratio is the median over repeats of
two times of the same repeat. *Growth*: a plan is the model, the Stein information and the reward terms, about S^2 A
numbers, and then planning proper (policy iteration). The two parts are timed apart for S = 15 ... 120 and A = 2, on
chains (DeepSea, two successors a row) and on dense MDPs (PriorMDP); the first part must not grow faster than S^2 A.
A plan at small S has a fixed cost of calls that hides growth, so that is measured from S = 30 on.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

import steering
from steering.agents.base import Floats, Problem
from steering.agents.steering import Steering
from steering.mdp.simulator import Simulator, tables_of
from steering.runs.seeds import environment_streams

RUN = "deepsea:15"
STEPS = 5000
REPEATS = 9
CASES = {"psrl": None, "steering": 3.0, "steering:objective=ratio": 6.0}
"""Agents and the most that each may take, in runs of PSRL."""
SIZES = (15, 30, 60, 120)
PLANS = 40
GROWTH = 1.3
"""Slack on the growth of the part without planning: a ratio of times above 1.3 (S / 30)^2 counts as faster growth."""


class Timed(Steering):
    """STEERING that counts the seconds inside policy iteration and inside whole plans."""

    solving = 0.0
    planning = 0.0

    def solve(self, P: Floats, r: Floats, discount: float | None = None) -> tuple[Floats, Floats]:
        begin = time.perf_counter()
        solved = super().solve(P, r, discount)
        self.solving += time.perf_counter() - begin
        return solved

    def plan(self, state: int = 0, step: int = 0) -> None:
        begin = time.perf_counter()
        super().plan(state, step)
        self.planning += time.perf_counter() - begin


def runs() -> list[dict[str, Any]]:
    """Seconds of whole runs, as ratios to PSRL's."""
    environment = steering.make_env(RUN)
    agents = {name: steering.make_agent(name) for name in CASES}

    def once(name: str) -> float:
        return float(steering.run(environment, agents[name], steps=STEPS, seeds=1).seconds[0])

    for name in CASES:
        once(name)  # compiles
    seconds: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(REPEATS):
        for name in CASES:
            seconds[name].append(once(name))
    rows = []
    for name, limit in CASES.items():
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds["psrl"], strict=True))
        row: dict[str, Any] = {"case": f"{RUN}, {name}", "ms": 1e3 * statistics.median(seconds[name]), "x_psrl": ratio}
        if limit is not None:
            row["target"] = f"x_psrl <= {limit:g}: {'met' if ratio <= limit else 'MISSED'}"
        rows.append(row)
    return rows


def plan_seconds(text: str) -> tuple[float, float]:
    """Median seconds of a plan without and within policy iteration, while the agent learns."""
    environment = steering.make_env(text)
    assert environment.mdp is not None
    mdp = environment.mdp
    agent = Timed(steering.make_agent("steering").options)
    block = environment.replan_every
    simulator = Simulator(mdp, tables_of(mdp), PLANS * block, environment_streams(0))
    problem = Problem(mdp.n_states, mdp.n_actions, mdp.mask, environment.discount, None, environment.max_iterations)
    agent.start(problem, np.random.default_rng(0), np.random.default_rng(1))
    simulator.begin_episode()
    rest, solving = [], []
    for _ in range(PLANS):
        agent.solving = agent.planning = 0.0
        agent.plan(simulator.state)
        rest.append(agent.planning - agent.solving)
        solving.append(agent.solving)
        agent.interact(simulator, block)
    return statistics.median(rest), statistics.median(solving)


def growth(kind: str, spec: str) -> list[dict[str, Any]]:
    """Time of a plan by the number of states, and its growth relative to S = 30."""
    plan_seconds(spec.format(10))  # compiles
    parts = {size: plan_seconds(spec.format(size)) for size in SIZES}
    rows = []
    for size in SIZES:
        rest, solving = parts[size]
        row: dict[str, Any] = {"case": f"a plan, {kind}, S = {size}", "ms": 1e3 * rest, "ms planning": 1e3 * solving}
        if size > 30:
            row["growth"] = rest / parts[30][0]
            limit = GROWTH * (size / 30) ** 2
            row["target"] = f"growth <= {limit:g}: {'met' if row['growth'] <= limit else 'MISSED'}"
        rows.append(row)
    return rows


def main() -> list[dict[str, Any]]:
    """Measure both; return the rows of the table."""
    return [*runs(), *growth("chain", "deepsea:{}"), *growth("dense", "priormdp:{},2,seed=0")]
