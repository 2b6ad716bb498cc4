"""How long a sweep will take, from trial runs of its own cells: what `--dry-run` shows.

A cell of T steps takes about fixed + slope T seconds, on top of what the cells of a group share (building the
environment, solving it for the oracle). Each pair of environment and agent is run for n, 2n, 4n, ... steps until the
whole length is reached or its share of the time is spent; the last two lengths give the slope, so that what an agent
does at the beginning only (plans while everything is new, say) is not taken for its pace.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from steering.sweeps import compute
from steering.sweeps.batches import BATCH_SECONDS
from steering.sweeps.cells import Group, Plan
from steering.sweeps.codes import modules_for
from steering.sweeps.compute import GUESSED_STEP_SECONDS, pack_batch, run_batch
from steering.sweeps.executors.base import Limits, make_setup

FIRST_STEPS = 100
BUDGET_SECONDS = 20.0
LEAST_SECONDS = 0.2
"""What every pair that is tried may take, however many there are."""
LONG_SECONDS = 300.0
"""For sweeps longer than that it does not matter how long workers take to start."""


@dataclass(frozen=True)
class Measured:
    """Seconds of a trial: of the cell, and of what it shares with the others of its group."""

    cell: float
    setup: float


Trial = Callable[[Any, int, bool], Measured | str]
"""A run of (configuration, steps, whether everything is made anew): how long it took, or why it failed."""


@dataclass
class Estimate:
    """How long some cells will take, and what that rests on."""

    seconds: float = 0.0
    """On the workers."""
    work: float = 0.0
    """Of one core, summed over all cells."""
    pairs: int = 0
    tried: int = 0
    """How many of the pairs of environment and agent have been tried; the others are taken to be like these."""
    whole: int = 0
    """How many of those were tried in their whole length."""
    steps: int = 0
    """Length of the longest trial."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Trials that failed: (what, message)."""

    @property
    def basis(self) -> str:
        """What it rests on, in words."""
        if not self.tried:
            return "without a trial, so it is a guess"
        some = f"{self.tried} of " if self.tried < self.pairs else ""
        pairs = f"{some}{self.pairs} pairs" if self.pairs > 1 else "the pair"
        length = "their whole length" if self.whole == self.tried else f"up to {self.steps} steps"
        return f"from runs of {pairs} of environment and agent over {length}"


@dataclass
class _Cost:
    """What was learnt about a pair: seconds of a cell and of the setup of its group, from how many steps."""

    cell: float
    setup: float
    steps: int


def estimate(
    plan: Plan,
    pending: Iterable[int],
    workers: int,
    *,
    imports: Sequence[str] = (),
    trial: Trial | None = None,
    start: Callable[[], float] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Estimate:
    """How long some cells of a plan will take on so many local workers (0: in this process).

    `imports` are modules that workers import first; `trial` runs a cell, `start` starts a worker and says how long
    that took.
    """
    counts = Counter(plan.locate(cell)[0] for cell in pending)
    found = Estimate(pairs=len(counts))
    known: dict[int, _Cost] = {}
    left = BUDGET_SECONDS
    share = max(BUDGET_SECONDS / max(len(counts), 1), LEAST_SECONDS)
    for number in _spread(list(counts)):
        if (known or found.failed) and left <= 0:
            break
        config = plan.groups[number].config
        first = (trial or run_trial)(config, min(int(config["steps"]), FIRST_STEPS), True)  # it may be compiled
        began = clock()
        cost = first if isinstance(first, str) else _measure(config, trial or run_trial, clock, clock() + share)
        left -= clock() - began
        if isinstance(cost, str):
            found.failed.append((f"{config['environment']} with {config['agent']}", cost))
            continue
        known[number] = cost
        found.whole += cost.steps == int(config["steps"])
        found.steps = max(found.steps, cost.steps)
    found.tried = len(known)
    _add_up(found, plan, counts, known, workers)
    if workers and counts and found.seconds < LONG_SECONDS:
        groups = [plan.groups[number] for number in counts]
        found.seconds += start() if start is not None else start_seconds(groups, imports)
    return found


def _add_up(found: Estimate, plan: Plan, counts: Counter[int], known: dict[int, _Cost], workers: int) -> None:
    cores = min(max(workers, 1), len(os.sched_getaffinity(0)))
    alike = _paces(plan, known)
    longest = 0.0
    for number, count in counts.items():
        config = plan.groups[number].config
        cost = known.get(number)
        if cost is None:
            pace = alike.get(config["agent"], alike.get("", GUESSED_STEP_SECONDS))
            cost = _Cost(pace * int(config["steps"]), 0.0, 0)
        batches = 1 + int(count * cost.cell / BATCH_SECONDS)
        found.work += count * cost.cell + cost.setup * min(cores, batches, count)
        longest = max(longest, cost.cell + cost.setup)
    found.seconds = max(found.work / cores, longest)


def _paces(plan: Plan, known: dict[int, _Cost]) -> dict[str, float]:
    """Seconds of a step, setup included, by agent and over all (under the empty name)."""
    paces: dict[str, list[float]] = defaultdict(list)
    for number, cost in known.items():
        config = plan.groups[number].config
        for name in (config["agent"], ""):
            paces[name].append(cost.cell / int(config["steps"]))
    return {name: sum(values) / len(values) for name, values in paces.items()}


def _spread(numbers: list[int]) -> list[int]:
    """The same numbers in an order in which the first few are spread over all of them."""
    golden = 0.6180339887498949
    return [numbers[i] for i in sorted(range(len(numbers)), key=lambda i: i * golden % 1.0)]


def _measure(config: Any, trial: Trial, clock: Callable[[], float], until: float) -> _Cost | str:
    whole = int(config["steps"])
    steps = min(whole, FIRST_STEPS)
    last = trial(config, steps, True)
    if isinstance(last, str):
        return last
    setup, slope, curve, lengths = last.setup, last.cell / steps, 0.0, 1
    # Two lengths at least: the first alone would take what a cell costs once for what its steps cost.
    while steps < whole and (lengths < 2 or clock() + 2 * last.cell < until):
        before, shorter = last, steps
        steps, lengths = min(2 * steps, whole), lengths + 1
        longer = trial(config, steps, False)
        if isinstance(longer, str):
            return longer
        last = longer
        slope = max(last.cell - before.cell, 0.0) / (steps - shorter)
        curve = last.setup / steps  # all that is not kept from before is the oracle's curve
    left = whole - steps
    return _Cost(last.cell + slope * left, setup + curve * left, steps)


def run_trial(config: Any, steps: int, anew: bool) -> Measured | str:
    """Run a cell of a configuration for so many steps, in this process."""
    group = Group({**config, "steps": steps}, (0,))
    if anew:
        compute.forget_environments()
    outcome = run_batch(pack_batch([(group, [0])]))
    if outcome.failures:
        return outcome.failures[0].message
    return Measured(max(outcome.seconds - outcome.setup, 0.0) + outcome.overhead, outcome.setup)


def start_seconds(groups: list[Group], imports: Sequence[str]) -> float:
    """How long a worker takes to start: it imports the package and loads the compiled functions of the agents."""
    from steering.sweeps.executors.local import Nursery

    modules = tuple(dict.fromkeys([*imports, *modules_for(groups, in_process=False)]))
    began = time.monotonic()
    nursery = Nursery(Limits(), make_setup(groups, modules))
    try:
        _, connection = nursery.fork()
        connection.close()
        return time.monotonic() - began
    finally:
        nursery.close()
