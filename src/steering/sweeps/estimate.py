"""How long a sweep will take, from short trial runs: what `--dry-run` shows."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from steering.sweeps.cells import Group, Plan
from steering.sweeps.compute import GUESSED_STEP_SECONDS, pack_batch, run_batch

TRIAL_STEPS = 200
LONGER = 10
"""How many times longer the second trial is."""
BUDGET_SECONDS = 10.0


def estimate_seconds(plan: Plan, pending: Iterable[int]) -> tuple[float, list[tuple[str, str]]]:
    """Seconds of one core that some cells will take, and the trials that failed: (what, message).

    Trials of up to 200 and 2000 steps give the time of a step for as many groups as fit in ten seconds; groups without
    a trial, or whose trial failed, take the mean of those with the same agent, or of all.
    """
    counts: dict[int, int] = defaultdict(int)
    for cell in pending:
        counts[plan.locate(cell)[0]] += 1
    known: dict[int, tuple[float, float, float]] = {}
    failed: list[tuple[str, str]] = []
    by_agent: dict[str, list[float]] = defaultdict(list)
    began = time.monotonic()
    for number in counts:
        if (known or failed) and time.monotonic() - began > BUDGET_SECONDS:
            break
        config = plan.groups[number].config
        trial = _step_seconds(config)
        if isinstance(trial, str):
            failed.append((f"{config['environment']} with {config['agent']}", trial))
            continue
        known[number] = trial
        by_agent[config["agent"]].append(trial[0])
    everything = [value for values in by_agent.values() for value in values]
    total = 0.0
    for number, count in counts.items():
        config = plan.groups[number].config
        alike = by_agent.get(config["agent"]) or everything or [GUESSED_STEP_SECONDS]
        step, fixed, setup = known.get(number, (sum(alike) / len(alike), 0.0, 0.0))
        total += setup + count * (fixed + int(config["steps"]) * step)
    return total, failed


def _step_seconds(config: Any) -> tuple[float, float, float] | str:
    """Seconds of a step, of a run beside its steps, and those that cells of a group share (solving it); or a reason.

    Two trials of different length tell the first two apart: what a run costs once is not multiplied by its steps.
    """
    steps = min(int(config["steps"]), TRIAL_STEPS)
    longer = min(int(config["steps"]), LONGER * steps)
    trials = []
    for length, seed in ((steps, 0), (steps, 1), (longer, 1)):  # the first may wait for the compiler
        trial = Group({**config, "steps": length, "record": {**config["record"], "extra": []}}, (seed,))
        outcome = run_batch(pack_batch([(trial, [seed])]))
        if outcome.failures:
            return outcome.failures[0].message
        trials.append((max(outcome.seconds - outcome.setup, 0.0), outcome.setup))
    (short, setup), (long, _) = trials[1:]
    if longer == steps:
        return short / steps, 0.0, setup
    step = max(long - short, 0.0) / (longer - steps) or short / steps
    return step, max(short - step * steps, 0.0), setup
