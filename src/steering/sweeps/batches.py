"""How many cells make a batch; see `engine` for why."""

from __future__ import annotations

from collections.abc import Sequence

from steering.sweeps.cells import Plan
from steering.sweeps.compute import GUESSED_STEP_SECONDS, Outcome

BATCH_SECONDS = 1.0
SHORTEST_SECONDS = 0.1
LONGEST_SECONDS = 30.0
BATCHES_PER_SECOND = 20
"""What one process can store with ease; with more workers than that, batches are longer."""
MAX_BATCH_CELLS = 2000
MAX_BATCH_STEPS = 2_000_000


class Sizes:
    """How many cells make a batch: for every group the seconds of a step and of its setup, from the last outcome."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[int, float] = {}
        self.setup: dict[int, float] = {}
        self.usual = GUESSED_STEP_SECONDS

    def target(self, cells: Sequence[int], workers: int) -> float:
        """Seconds that a batch beginning with the first of these cells should take, setup included."""
        setup = self.setup.get(self.plan.locate(cells[0])[0], 0.0)
        return setup + max(BATCH_SECONDS, workers / BATCHES_PER_SECOND, min(setup, LONGEST_SECONDS))

    def end_of_batch(self, pending: Sequence[int], start: int, workers: int) -> int:
        """Where the batch that begins at pending[start] ends."""
        if start >= len(pending):
            return start
        target = self.target(pending[start : start + 1], workers)
        most = min(start + MAX_BATCH_CELLS, len(pending))
        # Towards the end batches shrink, so that all workers finish at about the same time.
        share = start + (len(pending) - start) // (2 * workers)
        end, seconds, setup, steps, group = start, 0.0, 0.0, 0, -1
        while end < most:
            number, _ = self.plan.locate(pending[end])
            one = int(self.plan.groups[number].config["steps"])
            setup += self.setup.get(number, 0.0) if number != group else 0.0
            group = number
            seconds += one * self.known.get(number, self.usual)
            steps += one
            if end > start and (setup + seconds > target or steps > MAX_BATCH_STEPS):
                break
            if end > share and seconds > SHORTEST_SECONDS:
                break
            end += 1
        return end

    def learn(self, cells: list[int], outcome: Outcome) -> None:
        """Update the estimates of the groups of a batch from those of its cells that finished."""
        unfinished = {*outcome.lost, *(failure.index for failure in outcome.failures)}
        numbers = [self.plan.locate(cell)[0] for i, cell in enumerate(cells) if i not in unfinished]
        groups = set(numbers)
        steps = sum(int(self.plan.groups[number].config["steps"]) for number in numbers)
        rate = (outcome.seconds - outcome.setup) / max(steps, 1)
        for number in groups:
            self.known[number] = rate
            self.setup[number] = outcome.setup / len(groups)
        self.usual = 0.5 * (self.usual + rate)
