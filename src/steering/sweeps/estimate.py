"""How long a sweep will take, from short trial runs: what `--dry-run` shows."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from steering.sweeps.cells import Group, Plan
from steering.sweeps.compute import GUESSED_STEP_SECONDS, pack_batch, run_batch

TRIAL_STEPS = 200
BUDGET_SECONDS = 10.0


def estimate_seconds(plan: Plan, pending: Iterable[int]) -> tuple[float, list[tuple[str, str]]]:
    """Seconds of one core that some cells will take, and the trials that failed: (what, message).

    A trial of up to 200 steps gives the time of a step for as many groups as fit in ten seconds; groups without a
    trial, or whose trial failed, take the mean of those with the same agent, or of all.
    """
    counts: dict[int, int] = defaultdict(int)
    for cell in pending:
        counts[plan.locate(cell)[0]] += 1
    known: dict[int, float] = {}
    failed: list[tuple[str, str]] = []
    by_agent: dict[str, list[float]] = defaultdict(list)
    began = time.monotonic()
    for number in counts:
        if (known or failed) and time.monotonic() - began > BUDGET_SECONDS:
            break
        config = plan.groups[number].config
        seconds = _step_seconds(config)
        if isinstance(seconds, str):
            failed.append((f"{config['environment']} with {config['agent']}", seconds))
            continue
        known[number] = seconds
        by_agent[config["agent"]].append(seconds)
    everything = [value for values in by_agent.values() for value in values]
    total = 0.0
    for number, count in counts.items():
        config = plan.groups[number].config
        alike = by_agent.get(config["agent"]) or everything or [GUESSED_STEP_SECONDS]
        total += count * int(config["steps"]) * known.get(number, sum(alike) / len(alike))
    return total, failed


def _step_seconds(config: Any) -> float | str:
    """Seconds of a step, or why a trial failed."""
    steps = min(int(config["steps"]), TRIAL_STEPS)
    trial = Group({**config, "steps": steps, "record": {**config["record"], "extra": []}}, (0, 1))
    run_batch(pack_batch([(trial, [0])]))  # the first may wait for the compiler
    began = time.monotonic()
    outcome = run_batch(pack_batch([(trial, [1])]))
    if outcome.failures:
        return outcome.failures[0].message
    return (time.monotonic() - began) / steps
