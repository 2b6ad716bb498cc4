"""Agents in large sparse worlds: whole runs and single plans, CPU seconds of the process and its largest memory.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks sparse_agents

Each case is run once on fewer steps first, so that nothing is compiled while the time is taken. The memory is the
largest that the process had so far, the cases being in the order of their size; a compilation takes more than all of
them, so a second start shows what runs need.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from steering import make_agent, make_env
from steering.mdp.simulator import Simulator, tables_of
from steering.runs.loop import simulate
from steering.runs.runner import problem_of
from steering.runs.seeds import environment_streams, stream

RUNS = (
    ("deepsea:15", "q_learning", 5000),
    ("deepsea:15", "steering:replan=every", 5000),
    ("deepsea:15", "steering", 5000),
    ("gym:Taxi-v4", "steering", 10_000),
    ("maze:20", "steering", 20_000),
    ("maze:100", "ids:planning=mean,concentration=learned,replan=learned", 20_000),
    ("maze:100", "steering", 100_000),
)
PLANS = ("steering", "ids:planning=mean", "ube", "psrl:concentration=learned", "psrl", "steering:objective=ratio")
OBSERVED = 5000


def one_run(env: Any, name: str, steps: int) -> tuple[float, float, int]:
    """CPU seconds, seconds and plans of one run of an agent (its part of it: no oracle)."""
    agent, count = make_agent(name), [0]
    agent.start(problem_of(env), stream(0, "planning"), stream(0, "acting"))
    plan = agent.plan

    def counted(state: int = 0, step: int = 0) -> None:
        count[0] += 1
        plan(state, step)

    agent.plan = counted  # type: ignore[method-assign]
    simulator = Simulator(env.mdp, tables_of(env.mdp), steps, environment_streams(0))
    cpu, clock = time.process_time(), time.perf_counter()
    simulate(agent, simulator, env)
    return time.process_time() - cpu, time.perf_counter() - clock, count[0]


def one_plan(env: Any, name: str) -> float:
    """Milliseconds of a plan on Taxi after `OBSERVED` steps from random pairs, the least of some."""
    rng = np.random.default_rng(0)
    s, a = rng.integers(env.n_states, size=OBSERVED), rng.integers(env.n_actions, size=OBSERVED)
    y = np.array([env.mdp.row(i, j)[0][0] for i, j in zip(s, a, strict=True)])
    agent: Any = make_agent(name)
    agent.start(problem_of(env), stream(0, "planning"), stream(0, "acting"))
    agent.learn((s, a, env.mdp.rewards[s, a], y))
    times = []
    for _ in range(8):
        began = time.process_time()
        agent.plan(0, 0)
        times.append(time.process_time() - began)
    return 1e3 * min(times)


def main() -> list[dict[str, Any]]:
    """One row for each run and each plan."""
    rows: list[dict[str, Any]] = []
    for text, name, steps in RUNS:
        env = make_env(text)
        one_run(env, name, min(steps, 2000))
        cpu, clock, plans = one_run(env, name, steps)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append(
            {
                "world": f"{text}, {env.n_states} states",
                "agent": name,
                "what": f"{steps} steps, {plans} plans",
                "CPU": f"{cpu:.3f} s",
                "wall": f"{clock:.3f} s",
                "memory": f"{memory:.0f} MB",
            }
        )
    taxi = make_env("gym:Taxi-v4")
    for name in PLANS:
        rows.append(
            {"world": "gym:Taxi-v4", "agent": name, "what": "one plan", "CPU": f"{one_plan(taxi, name):.2f} ms"}
        )
    return rows


if __name__ == "__main__":
    for row in main():
        print(row)
