"""Local processes, watched one by one: a fault costs the cells in flight on that worker and nothing else.

Each worker holds one batch and says which cell it begins, so that the supervisor knows whom to blame: a cell that
runs over its time is ended together with its worker, and a worker that dies takes down only the cell it was in; the
other cells of its batch come back as `lost` and are run again at no cost to their name. A worker that dies while it
hands over its results is nobody's fault in particular: its batch is tried again in halves.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import steering
from steering.errors import SteeringError, Unreachable
from steering.sweeps.compute import Failure, Outcome
from steering.sweeps.executors.base import Limits, Setup, SetupFailed
from steering.sweeps.executors.inbox import Inbox

START_SECONDS = 120.0
NURSERY = "steering.sweeps.executors.nursery"
NO_CACHE = "compiled functions cannot be kept"
"""How `steering.errors.NoCacheWarning` begins."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Nursery:
    """This side of the process that forks workers; see `executors.nursery`."""

    def __init__(self, limits: Limits, setup: Setup) -> None:
        self._control, theirs = socket.socketpair()
        root = str(Path(steering.__file__).parents[1])
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        with theirs:
            self._process = subprocess.Popen(
                # -P: a file in the current directory must not be imported as a module. -W: the owner said so already.
                [sys.executable, "-P", "-W", f"ignore:{NO_CACHE}", "-m", NURSERY, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what environments print is not a result
                env={**os.environ, "PYTHONPATH": path, **dict.fromkeys(ONE_THREAD, "1")},
                start_new_session=True,  # Ctrl-C is for the owner, which then ends everything in order
            )
        settings = {"setup": setup.as_json(), "megabytes": limits.megabytes}
        self._control.sendall(json.dumps(settings).encode() + b"\n")
        self._buffer = b""
        self._ends: dict[int, int] = {}

    def fork(self) -> tuple[int, Connection]:
        """A new worker: its process id and the connection to it."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            deadline = time.monotonic() + START_SECONDS
            while True:
                for word, pid, status in self._lines(deadline):
                    if word == b"up":
                        return pid, Connection(ours.detach())
                    self._ends[pid] = status
        finally:
            ours.close()  # only where there is no worker: a connection has taken it over

    def end_of(self, pid: int) -> int | None:
        """Exit code of a worker that went away (negative: the signal), if it is known."""
        deadline = time.monotonic() + 1.0
        try:
            while pid not in self._ends:
                for _, ended, status in self._lines(deadline):
                    self._ends[ended] = status
        except SteeringError:
            return None
        return self._ends.pop(pid)

    def _lines(self, deadline: float) -> list[tuple[bytes, int, int]]:
        """Lines from the nursery: at least one, or an error when it is gone or silent."""
        while b"\n" not in self._buffer:
            self._control.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                content = self._control.recv(4096)
            except (TimeoutError, ConnectionResetError):
                content = b""
            if not content:
                raise Unreachable("worker processes cannot be started; run with workers=0 to see why.")
            self._buffer += content
        line, _, self._buffer = self._buffer.partition(b"\n")
        if line.startswith(b"bad "):
            raise SetupFailed(line[4:].decode(errors="replace"))
        word, pid, *status = line.split()
        return [(word, int(pid), int(status[0]) if status else 0)]

    def close(self) -> None:
        """End the nursery and with it all workers."""
        self._control.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@dataclass
class _Worker:
    pid: int
    connection: Connection
    inbox: Inbox
    ticket: int | None = None
    cells: int = 0
    current: int = 0
    since: float = 0.0


class LocalExecutor:
    """A number of worker processes on this machine, one thread each."""

    def __init__(self, workers: int, limits: Limits, setup: Setup) -> None:
        self.workers = workers
        self.slots = 2 * workers  # the next batch is at hand when a worker is free
        self._limits = limits
        self._setup = setup
        self._nursery = Nursery(limits, setup)
        self._selector = selectors.DefaultSelector()  # kept: a message for each cell makes building one count
        self._workers: list[_Worker] = []
        self._waiting: list[tuple[int, bytes, int]] = []
        self._ready: list[tuple[int, Outcome]] = []

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are up."""
        return [worker.pid for worker in self._workers]

    def submit(self, ticket: int, batch: bytes, cells: int) -> None:
        """Give a batch to a worker that is free, or keep it until one is."""
        self._waiting.append((ticket, batch, cells))
        self._assign()

    def wait(self, timeout: float) -> list[tuple[int, Outcome]]:
        """Listen to all workers until something is finished or has failed."""
        deadline = time.monotonic() + timeout
        while not self._ready:
            busy = [worker for worker in self._workers if worker.ticket is not None]
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for key, _ in self._selector.select(self._until_limit(busy, left)):
                self._listen(key.data)
            self._enforce_time()
            self._assign()
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._workers):
            self._drop(worker)
        self._selector.close()
        self._nursery.close()

    def _until_limit(self, busy: list[_Worker], left: float) -> float:
        if self._limits.seconds is None or not busy:
            return left
        first = min(worker.since for worker in busy) + self._limits.seconds
        return max(min(left, first - time.monotonic()), 0.0)

    def _assign(self) -> None:
        while self._waiting:
            free = next((worker for worker in self._workers if worker.ticket is None), None)
            if free is None:
                if len(self._workers) >= self.workers:
                    return
                free = self._start()
            ticket, batch, cells = self._waiting[0]
            try:
                free.connection.send_bytes(batch)
            except OSError:
                self._drop(free)  # it died while idle: nothing is lost
                continue
            self._waiting.pop(0)
            free.ticket, free.cells, free.current, free.since = ticket, cells, 0, time.monotonic()

    def _start(self) -> _Worker:
        try:
            pid, connection = self._nursery.fork()
        except SetupFailed:
            raise  # a second try would end in the same way
        except (SteeringError, OSError):
            # The nursery itself was killed: one more chance with a new one.
            self._nursery.close()
            self._nursery = Nursery(self._limits, self._setup)
            pid, connection = self._nursery.fork()
        worker = _Worker(pid, connection, Inbox(connection.fileno()))
        self._workers.append(worker)
        self._selector.register(connection, selectors.EVENT_READ, worker)
        return worker

    def _drop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._selector.unregister(worker.connection)
        worker.connection.close()

    def _listen(self, worker: _Worker) -> None:
        try:
            messages = list(worker.inbox.read())
        except (EOFError, OSError):
            self._gone(worker, "killed", _how(self._nursery.end_of(worker.pid)))
            return
        worker.since = time.monotonic()  # also for a piece of a message: it is at work on the rest
        for message in messages:
            if message[:1] == b"c":
                worker.current = int(message[1:])
            else:
                self._finished(worker, Outcome.unpack(message[1:]))

    def _finished(self, worker: _Worker, outcome: Outcome) -> None:
        assert worker.ticket is not None
        self._ready.append((worker.ticket, outcome))
        worker.ticket = None
        if any(failure.kind == "memory" for failure in outcome.failures):
            # What is left of its memory may be in any state.
            self._gone(worker, "memory", "")

    def _enforce_time(self) -> None:
        limit = self._limits.seconds
        if limit is None:
            return
        for worker in list(self._workers):
            if worker.connection.poll(0):
                continue  # it has said something that was not heard yet: this process was stopped, or busy
            if worker.ticket is not None and time.monotonic() - worker.since > limit:
                self._gone(worker, "time", f"the cell ran for more than {limit:g} s and was ended")

    def _gone(self, worker: _Worker, kind: str, message: str) -> None:
        """Drop a worker; the cell it was in failed, the others of its batch are lost."""
        handing_over = worker.current >= worker.cells
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        self._drop(worker)
        if worker.ticket is None:
            return
        if handing_over and worker.cells > 1:
            outcome = Outcome(lost=list(range(worker.cells)), split=True)
        else:
            blamed = 0 if handing_over else worker.current
            lost = [i for i in range(worker.cells) if i != blamed]
            message += " while it handed over its results" if handing_over else ""
            outcome = Outcome(failures=[Failure(blamed, kind, message)], lost=lost)
        self._ready.append((worker.ticket, outcome))


def _how(status: int | None) -> str:
    """How a worker process ended, as a sentence."""
    if status is None:
        return "the worker process went away"
    if status >= 0:
        return f"the worker process ended with code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    hint = "; the system may have been out of memory" if name == "SIGKILL" else ""
    return f"the worker process was ended by {name}{hint}"
