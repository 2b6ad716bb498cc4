"""Run a sweep: decide what is missing, hand it out in batches, keep what comes back, survive what goes wrong.

- What is done is read from the store, never remembered: a restart does what is missing.
- Batches are sized by time: tiny runs travel together, so that handing out and storing cost little, and a batch is
  short (a second at first, up to half a minute in a sweep of hours), so that little is lost with a worker.
- A cell that fails is tried again on its own, `retries` times, then quarantined with its traceback; all others go on.
- The numbers of a cell depend on its configuration and seed only, so executors, workers, batches and restarts change
  neither a number nor a row.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steering._version import __version__
from steering.errors import InvalidOption
from steering.experiments.cells import Plan, Shard
from steering.experiments.compute import Failure, Outcome, pack_batch, warm_list
from steering.experiments.executors import Executor, Limits, Setup, make_executor
from steering.experiments.journal import Journal
from steering.experiments.sweep_file import Sweep, read_sweep
from steering.results.store import DiskFull, Store

FIRST_SECONDS = 1.0
SHORTEST_SECONDS = 0.1
LONGEST_SECONDS = 30.0
MAX_BATCH_CELLS = 2000
MAX_BATCH_STEPS = 2_000_000
GUESSED_STEP_SECONDS = 20e-6
DEFAULT_TIME_LIMIT = 3600.0
DEFAULT_RETRIES = 2
EVERYTHING = Shard()


@dataclass
class Report:
    """What a sweep did. `failed` holds the keys of quarantined cells (hexadecimal) and the last message of each."""

    directory: Path
    cells: int
    done: int = 0
    computed: int = 0
    retried: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    set_aside: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    run_seconds: float = 0.0
    """Time inside the runs themselves, summed over workers."""
    pack_seconds: float = 0.0
    """Time in which workers packed their results, summed."""
    first_batch: float = 0.0
    """Time from the start to the first batch sent: reading, checking, starting workers."""

    @property
    def pending(self) -> int:
        """Cells neither done nor failed."""
        return self.cells - self.done - len(self.failed)

    @property
    def complete(self) -> bool:
        """Whether every cell is done."""
        return self.done == self.cells


Watcher = Callable[[Report], None]


def sweep(
    description: str | Path | Mapping[str, Any] | Sweep,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    shard: Shard = EVERYTHING,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    retries: int = DEFAULT_RETRIES,
    retry_failed: bool = False,
    imports: Sequence[str] = (),
    watch: Watcher | None = None,
) -> Report:
    """Run what is missing of a sweep; start it again after any interruption.

    Parameters
    ----------
    description
        Path of a TOML file, or the same thing as a dictionary (see `sweep_file`).
    out
        Results directory; made if it is not there.
    workers
        Local processes (default: one for each core); 0 runs in this process.
    scheduler
        Address of a dask scheduler, or ``local``.
    shard
        Part of the cells to run.
    time_limit, memory_limit
        Seconds and megabytes that a cell may use (default: an hour, no limit). Not for workers=0.
    retries
        How often a failed cell is tried again.
    retry_failed
        Also run cells that are in quarantine from an earlier start.
    imports
        Modules that every worker imports first, for example one that registers your Gymnasium environments.
    watch
        Called with the report after every event.

    Examples
    --------
    >>> report = sweep({"environments": ["deepsea:4"], "agents": ["psrl"]}, "out")      # doctest: +SKIP
    >>> steering.load("out").finals                                                     # doctest: +SKIP
    """
    began = time.monotonic()
    Setup(tuple(imports)).do()
    wanted = read_sweep(description)
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 100:
        raise InvalidOption(f"retries is {retries}; give a number from 0 to 100.")
    if time_limit is None and workers != 0:
        time_limit = DEFAULT_TIME_LIMIT
    limits = Limits(time_limit, memory_limit)
    store = Store(out, create=True)
    store.tidy()
    store.write_sweep(wanted.description)
    run = _Run(wanted.plan, store, retries, watch)
    try:
        run.find_pending(shard, retry_failed)
        if run.pending:
            groups = [wanted.plan.groups[number] for number in run.pending_groups()]
            executor = make_executor(workers, scheduler, limits, Setup(tuple(imports), warm_list(groups)))
            try:
                run.all(executor, began)
            finally:
                executor.close()
        run.finished()
    finally:
        run.end(began)
    return run.report


class _Run:
    """The state of one start of a sweep; see the module's docstring."""

    executor: Executor

    def __init__(self, plan: Plan, store: Store, retries: int, watch: Watcher | None) -> None:
        self.plan = plan
        self.store = store
        self.state = "stopped"
        self.retries = retries
        self.watch = watch or (lambda report: None)
        self.journal = Journal(store)
        self.report = Report(store.directory, 0)
        self.sizes = _Sizes(plan)
        self.pending: Sequence[int] = ()
        self.next = 0
        self.again: deque[list[int]] = deque()
        self.running: dict[int, list[int]] = {}
        self.attempts: dict[int, int] = {}
        self.ticket = 0

    def find_pending(self, shard: Shard, retry_failed: bool) -> None:
        """List the cells to run: those of the shard that are neither in a whole shard nor in quarantine."""
        found = self.store.scan()
        if found.problems:
            self.store.set_aside(found.problems)
            for name, reason in found.problems:
                self.journal.write("set_aside", file=name[-200:], reason=reason)
        self.report.set_aside = found.problems
        failures = self.store.failures()
        pending: list[int] = []
        forget: list[bytes] = []
        for index, key in enumerate(self.plan.keys()):
            if index not in shard:
                continue
            self.report.cells += 1
            if key in found.keys:
                self.report.done += 1
            elif key in failures and not retry_failed:
                self.report.failed[key.hex()] = str(failures[key].get("message", ""))
                continue
            else:
                pending.append(index)
            if key in failures:
                forget.append(key)
        self.store.forget_failures(forget)
        self.pending = pending

        self.journal.write(
            "start", version=__version__, cells=self.report.cells, done=self.report.done, pending=len(pending)
        )
        self.watch(self.report)

    def pending_groups(self) -> list[int]:
        """Groups that have something to run, in order."""
        return list(dict.fromkeys(self.plan.locate(cell)[0] for cell in self.pending))

    def all(self, executor: Executor, began: float) -> None:
        """Run everything that is pending."""
        report = self.report
        self.executor = executor
        self._fill(began)
        report.first_batch = time.monotonic() - began
        while self.running:
            outcomes = [(self.running.pop(ticket), outcome) for ticket, outcome in executor.wait(1.0)]
            # The workers get new work before the disk gets the old.
            self._fill(began)
            for cells, outcome in outcomes:
                self._keep(cells, outcome)
            self._fill(began)
            report.seconds = time.monotonic() - began
            self.watch(report)

    def finished(self) -> None:
        """Everything was tried: tidy the store."""
        self.store.merge()
        self.state = "finished"

    def end(self, began: float) -> None:
        """Close the journal, however the sweep ended."""
        self.report.seconds = time.monotonic() - began
        try:
            self.journal.write("end", state=self.state, done=self.report.done, failed=len(self.report.failed))
        except DiskFull:
            pass  # the sweep's own error says so already
        finally:
            self.journal.close()

    def _fill(self, began: float) -> None:
        while len(self.running) < self.executor.slots:
            cells = self.again.popleft() if self.again else self._fresh(time.monotonic() - began)
            if not cells:
                return
            self.ticket += 1
            self.running[self.ticket] = cells
            self.executor.submit(self.ticket, pack_batch(self.plan.pieces(cells)), len(cells))

    def _fresh(self, elapsed: float) -> list[int]:
        start = self.next
        self.next = self.sizes.end_of_batch(self.pending, start, elapsed, self.executor.workers)
        return list(self.pending[start : self.next])

    def _keep(self, cells: list[int], outcome: Outcome) -> None:
        report = self.report
        if outcome.rows:
            self.store.write(outcome.shard, outcome.rows)
            self.sizes.learn(cells, outcome)
            report.done += outcome.rows
            report.computed += outcome.rows
            report.run_seconds += outcome.seconds
            report.pack_seconds += outcome.overhead
            self.journal.write(
                "batch", cells=outcome.rows, seconds=round(outcome.seconds, 4), done=report.done, of=report.cells
            )
        if outcome.lost:
            half = (len(outcome.lost) + 1) // 2 if outcome.split else len(outcome.lost)
            parts = [outcome.lost[:half], outcome.lost[half:]]
            self.again.extend([cells[i] for i in part] for part in parts if part)
        for failure in outcome.failures:
            self._failed(cells[failure.index], failure)

    def _failed(self, cell: int, failure: Failure) -> None:
        self.attempts[cell] = self.attempts.get(cell, 0) + 1
        key = self.plan.key(cell)
        known = {"key": key.hex(), "kind": failure.kind, "message": failure.message, "attempt": self.attempts[cell]}
        if self.attempts[cell] <= self.retries:
            self.report.retried += 1
            self.again.append([cell])
            self.journal.write("retry", **known)
            return
        number, seed = self.plan.locate(cell)
        config = self.plan.groups[number].config
        record = {**known, "seed": seed, "config": config, "traceback": failure.traceback, "version": __version__}
        self.store.record_failure(key, record)
        self.report.failed[key.hex()] = failure.message
        self.journal.write("quarantine", **known)


class _Sizes:
    """How many cells make a batch: an estimate of seconds a step for every group, corrected by every outcome."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[int, float] = {}
        self.usual = GUESSED_STEP_SECONDS

    def end_of_batch(self, pending: Sequence[int], start: int, elapsed: float, workers: int) -> int:
        """Where the batch that begins at pending[start] ends."""
        target = min(max(FIRST_SECONDS, elapsed / 60), LONGEST_SECONDS)
        most = min(start + MAX_BATCH_CELLS, len(pending))
        # Towards the end batches shrink, so that all workers finish at about the same time.
        share = start + (len(pending) - start) // (2 * workers)
        end, seconds, steps = start, 0.0, 0
        while end < most:
            number, _ = self.plan.locate(pending[end])
            one = int(self.plan.groups[number].config["steps"])
            seconds += one * self.known.get(number, self.usual)
            steps += one
            if end > start and (seconds > target or steps > MAX_BATCH_STEPS):
                break
            if end > share and seconds > SHORTEST_SECONDS:
                break
            end += 1
        return end

    def learn(self, cells: list[int], outcome: Outcome) -> None:
        """Update the estimates of the groups of a finished batch."""
        groups = {self.plan.locate(cell)[0] for cell in cells}
        steps = sum(int(self.plan.groups[self.plan.locate(cell)[0]].config["steps"]) for cell in cells)
        rate = outcome.seconds / max(steps, 1)
        for number in groups:
            self.known[number] = rate
        self.usual = 0.5 * (self.usual + rate)
