"""Run cells here and now: no processes, no isolation; for debugging and for small sweeps."""

from __future__ import annotations

from steering.sweeps.compute import Outcome, run_batch


class InProcessExecutor:
    """Runs each batch when it is waited for."""

    slots = 1
    workers = 1

    def __init__(self) -> None:
        self._queue: list[tuple[int, bytes]] = []

    def submit(self, ticket: int, batch: bytes, cells: int) -> None:
        """Keep a batch for later."""
        self._queue.append((ticket, batch))

    def wait(self, timeout: float) -> list[tuple[int, Outcome]]:
        """Run the oldest batch."""
        if not self._queue:
            return []
        ticket, batch = self._queue.pop(0)
        return [(ticket, run_batch(batch))]

    def close(self) -> None:
        """Drop what was not run."""
        self._queue.clear()
