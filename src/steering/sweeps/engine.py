"""Run a sweep: decide what is missing, hand it out in batches, keep what comes back, survive what goes wrong.

- What is done is read from the store, never remembered: a restart does what is missing.
- Batches are sized by time: tiny runs travel together, so that handing out and storing cost little, and a batch is
  short, about a second, so that little is lost with a worker. Where that was a wrong guess the worker stops after
  twice the time and gives the rest back: a kill of everything repeats the cells that workers were in and those
  finished in the last two seconds or so. (Longer only where it must be: one batch is one cell at least, cells whose
  environment takes long to set up share that time, and very many workers must not drown the one that stores.)
- A cell that fails is tried again on its own, `retries` times, then quarantined with its traceback; all others go on.
- The numbers of a cell depend on its configuration and seed only, so executors, workers, batches and restarts change
  neither a number nor a row.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steering._modules import import_all, importing
from steering._progress import notebook_bar
from steering._version import __version__
from steering.errors import DiskFull, InvalidOption, SteeringError
from steering.sweeps.batches import Sizes
from steering.sweeps.cells import Group, Part, Plan
from steering.sweeps.codes import Older, modules_for
from steering.sweeps.compute import Failure, Outcome, pack_batch
from steering.sweeps.executors import Executor, Limits, check_choice, make_executor, make_setup
from steering.sweeps.journal import Journal
from steering.sweeps.sharing import Others, at_work, from_another_place
from steering.sweeps.store.directory import Store
from steering.sweeps.sweep_file import Sweep, read_sweep, saved

HOLD = 2.0
"""A worker stops with a batch after so many times the time that it should have taken."""
MERGE_EVERY = 512
"""Shards after which a long sweep merges its own: a second each would otherwise be 86,400 files a day."""
DEFAULT_TIME_LIMIT = 3600.0
DEFAULT_RETRIES = 2
EVERYTHING = Part()


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
    others: int = 0
    """Other processes that were at work on the directory at the start."""
    by_others: int = 0
    """Cells that other processes finished while this one worked, so that it left them out."""
    versions: list[str] = field(default_factory=list)
    """Other versions of the package that computed cells which are already in the directory."""
    anew: list[str] = field(default_factory=list)
    """How many cells are computed again although the directory has them, and why: their code changed."""
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


def _in_notebook() -> Watcher | None:
    """What shows the progress of a sweep in a notebook."""
    bar = notebook_bar("cells")
    return None if bar is None else lambda report: bar(report.done + len(report.failed), report.cells)


class VersionWarning(UserWarning):
    """A sweep continues in a directory with cells that another version of the package computed."""


Watcher = Callable[[Report], None]


def sweep(
    description: str | Path | Mapping[str, Any] | Sweep,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    part: Part = EVERYTHING,
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
        Path of a TOML file, or the same thing as a dictionary (see `sweep_file`), in which agents and environments may
        also be registered classes and functions, or what `make_agent` and `make_env` return.
    out
        Results directory; made if it is not there.
    workers
        Local processes (default: one for each core); 0 runs in this process.
    scheduler
        Address of a dask scheduler, or ``local``.
    part
        Part i/n of the cells to run.
    time_limit, memory_limit
        Seconds and megabytes that a cell may use (default: an hour, no limit). Not for workers=0.
    retries
        How often a failed cell is tried again.
    retry_failed
        Also run cells that are in quarantine from an earlier start.
    imports
        Modules that every worker imports first, for example one that registers your Gymnasium environments. Those in
        which agents and environments of the sweep were registered are imported anyway.
    watch
        Called with the report after every event; unless it is given, a notebook shows a bar.

    Examples
    --------
    >>> report = sweep({"environments": ["deepsea:4"], "agents": ["psrl"]}, "out")      # doctest: +SKIP
    >>> steering.load("out").finals                                                     # doctest: +SKIP
    """
    began = time.monotonic()
    if (module := importing()) is not None:
        raise SteeringError(
            f"the module '{module}' starts a sweep when it is imported; put that under: if __name__ == '__main__':"
        )
    import_all(imports)
    wanted = read_sweep(description)
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 100:
        raise InvalidOption(f"retries is {retries}; give a number from 0 to 100.")
    if time_limit is None and workers != 0:
        time_limit = DEFAULT_TIME_LIMIT
    limits = Limits(time_limit, memory_limit)
    check_choice(workers, scheduler, limits)
    modules = tuple(dict.fromkeys([*imports, *modules_for(wanted.plan.groups, in_process=workers == 0)]))
    store = Store(out, create=True)
    store.tidy()
    store.write_sweep(saved(wanted, modules))
    run = _Run(wanted.plan, store, retries, watch or _in_notebook())
    try:
        run.find_pending(part, retry_failed)
        if run.pending:
            groups = [wanted.plan.groups[number] for number in run.pending_groups()]
            executor = make_executor(workers, scheduler, limits, make_setup(groups, modules))
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
    part: Part

    def __init__(self, plan: Plan, store: Store, retries: int, watch: Watcher | None) -> None:
        self.plan = plan
        self.store = store
        self.state = "stopped"
        self.retries = retries
        self.watch = watch or (lambda report: None)
        self.journal = Journal(store)
        self.report = Report(store.directory, 0)
        self.sizes = Sizes(plan)
        self.pending: list[int] = []
        self.next = 0
        self.again: deque[list[int]] = deque()
        self.running: dict[int, list[int]] = {}
        self.attempts: dict[int, int] = {}
        self.ticket = 0
        self.written: list[str] = []
        self.others = Others(store)
        self.mine: set[bytes] = set()
        """Keys of all cells to run; filled when another process is seen to store something."""
        self.theirs: set[bytes] = set()
        """Those that other processes have finished."""

    def find_pending(self, part: Part, retry_failed: bool) -> None:
        """List the cells to run: those of the part that are neither in a whole shard nor in quarantine."""
        self.part = part
        for name in self.store.take_back():
            self.journal.write("taken_back", file=name)
        found = self.store.scan()
        self.report.versions = sorted(found.versions - {__version__})
        if found.problems:
            self.store.set_aside(found.problems)
            for name, reason in found.problems:
                self.journal.write("set_aside", file=name[-200:], reason=reason)
        self.report.set_aside = found.problems
        failures = self.store.failures()
        pending: list[int] = []
        forget: list[bytes] = []
        for index, key in enumerate(self.plan.keys()):
            if index not in part:
                continue
            self.report.cells += 1
            if key in found.keys:
                self.report.done += 1
            elif key in found.conflicts:  # another run of it would be one more opinion
                self.report.failed[key.hex()] = found.conflicts[key]
                self.journal.write("conflict", key=key.hex(), origins=found.conflicts[key][:2000])
                continue
            elif key in failures and not retry_failed:
                self.report.failed[key.hex()] = str(failures[key].get("message", ""))
                continue
            else:
                pending.append(index)
            if key in failures:
                forget.append(key)
        self.store.forget_failures(forget)
        self.report.others = at_work(self.store.directory / "journal", self.journal.path)
        self.pending = from_another_place(pending) if self.report.others else pending
        if pending and self.report.versions:
            self._warn_of_versions()
        if pending:
            older = Older(self.store, self.plan)
            self.report.anew = older.reasons(map(self._cell, pending))
            for reason in self.report.anew:
                self.journal.write("anew", reason=reason)
        self.journal.write(
            "start", version=__version__, cells=self.report.cells, done=self.report.done, pending=len(pending)
        )
        self.watch(self.report)

    def _cell(self, index: int) -> tuple[Group, int]:
        number, seed = self.plan.locate(index)
        return self.plan.groups[number], seed

    def _warn_of_versions(self) -> None:
        others = ", ".join(self.report.versions[:5])
        self.journal.write("versions", others=self.report.versions[:5])
        warnings.warn(
            f"{self.store.directory} holds cells computed by version {others} of steering, and this is {__version__}: "
            "those that give the same numbers (the revision in the key) are kept.",
            VersionWarning,
            stacklevel=4,
        )

    def pending_groups(self) -> list[int]:
        """Groups that have something to run, in order."""
        return list(dict.fromkeys(self.plan.locate(cell)[0] for cell in self.pending))

    def all(self, executor: Executor, began: float) -> None:
        """Run everything that is pending."""
        report = self.report
        self.executor = executor
        self._fill()
        report.first_batch = time.monotonic() - began
        while self.running:
            outcomes = [(self.running.pop(ticket), outcome) for ticket, outcome in executor.wait(1.0)]
            # The workers get new work before the disk gets the old.
            self._fill()
            for cells, outcome in outcomes:
                self._keep(cells, outcome)
            self._share()
            self._fill()
            report.seconds = time.monotonic() - began
            self.watch(report)

    def finished(self) -> None:
        """Everything was tried: tidy the store, then count what is in it."""
        if self.store.merge() or self.report.computed:
            self._count()
        self.state = "finished"

    def _count(self) -> None:
        """What is done is what is found on the disk, whatever was handed to it."""
        found = self.store.scan()
        for name, reason in found.problems:
            self.journal.write("unreadable", file=name[-200:], reason=reason)
        mine = {key for index, key in enumerate(self.plan.keys()) if index in self.part}
        self.report.done = len(mine & found.keys)
        conflicts = ((key.hex(), why) for key, why in found.conflicts.items() if key in mine)
        failed = [*self.report.failed.items(), *conflicts]
        self.report.failed = {key: message for key, message in failed if bytes.fromhex(key) not in found.keys}
        self.watch(self.report)

    def end(self, began: float) -> None:
        """Close the journal, however the sweep ended."""
        self.report.seconds = time.monotonic() - began
        try:
            self.journal.write("end", state=self.state, done=self.report.done, failed=len(self.report.failed))
        except DiskFull:
            pass  # the sweep's own error says so already
        finally:
            self.journal.close()

    def _fill(self) -> None:
        while len(self.running) < self.executor.slots:
            cells = self.again.popleft() if self.again else self._fresh()
            if not cells:
                return
            self.ticket += 1
            self.running[self.ticket] = cells
            hold = HOLD * self.sizes.target(cells, self.executor.workers)
            self.executor.submit(self.ticket, pack_batch(self.plan.pieces(cells), hold), len(cells))

    def _fresh(self) -> list[int]:
        while self.next < len(self.pending):
            start = self.next
            self.next = self.sizes.end_of_batch(self.pending, start, self.executor.workers)
            cells = self.pending[start : self.next]
            if not self.theirs:
                return cells
            left = [cell for cell in cells if self.plan.key(cell) not in self.theirs]
            self.report.by_others += len(cells) - len(left)
            self.report.done += len(cells) - len(left)
            if left:
                return left
        return []

    def _share(self) -> None:
        """Leave out what other processes have finished in the meantime; see `sharing`."""
        new = self.others.look()
        if new and not self.mine:
            self.mine = {self.plan.key(cell) for cell in self.pending}
        if new := new & self.mine:  # and not another part of the sweep, or another sweep
            self.theirs |= new
            self.pending[self.next :] = from_another_place(self.pending[self.next :])

    def _put_back(self, cells: list[int]) -> None:
        """Cells that did not get their chance are the next ones; there is room in the part that was handed out."""
        self.next -= len(cells)
        self.pending[self.next : self.next + len(cells)] = cells

    def _keep(self, cells: list[int], outcome: Outcome) -> None:
        report = self.report
        if outcome.rows:
            self._store(outcome)
            self.sizes.learn(cells, outcome)
            report.done += outcome.rows
            report.computed += outcome.rows
            report.run_seconds += outcome.seconds
            report.pack_seconds += outcome.overhead
            self.journal.write(
                "batch", cells=outcome.rows, seconds=round(outcome.seconds, 4), done=report.done, of=report.cells
            )
        lost = [cells[i] for i in outcome.lost]
        if outcome.split:
            half = (len(lost) + 1) // 2
            self.again.extend(part for part in (lost[:half], lost[half:]) if part)
        else:
            self._put_back(lost)
        for failure in outcome.failures:
            self._failed(cells[failure.index], failure)

    def _store(self, outcome: Outcome) -> None:
        for rows, content in outcome.shards:
            self.written.append(self.store.write(content, rows).name)
            self.others.not_theirs(self.written[-1])
        if len(self.written) >= MERGE_EVERY:
            # Only what this process wrote: others on the same directory may be doing the same.
            self.store.merge(self.written)
            self.written = []

    def _failed(self, cell: int, failure: Failure) -> None:
        self.attempts[cell] = self.attempts.get(cell, 0) + 1
        key = self.plan.key(cell)
        number, seed = self.plan.locate(cell)
        config = self.plan.groups[number].config
        message = failure.message
        if failure.kind in ("time", "killed"):  # nobody was left to say where it happened
            message = f"environment '{config['environment']}' with {config['agent']}: {message}"
        known = {"key": key.hex(), "kind": failure.kind, "message": message, "attempt": self.attempts[cell]}
        if self.attempts[cell] <= self.retries:
            self.report.retried += 1
            self.again.append([cell])
            self.journal.write("retry", **known)
            return
        record = {**known, "seed": seed, "config": config, "traceback": failure.traceback, "version": __version__}
        self.store.record_failure(key, record)
        self.report.failed[key.hex()] = message
        self.journal.write("quarantine", **known)
