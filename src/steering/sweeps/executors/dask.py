"""A dask cluster: the same batches on many machines.

Each dask worker holds a `LocalExecutor` of one process for each of its threads, so limits and faults are treated
there exactly as on one machine. A dask worker that dies altogether is dask's affair: it gives the batch to another;
a batch that took several dask workers down is split until the cell to blame is alone.

Batches travel as JSON and come back as bytes. `steering` must be installed on the workers, with the same source: a
worker with another is refused by name before it computes anything.
"""

from __future__ import annotations

import contextlib
import gc
import queue
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

from steering._code import package_source
from steering._version import REVISION, __version__
from steering.errors import InvalidOption, NotAvailable, SteeringError, Unreachable
from steering.sweeps.compute import Failure, Outcome
from steering.sweeps.executors.base import Limits, Setup, SetupFailed

CONNECT_SECONDS = 10
PROGRAM = f"{__version__} (revision {REVISION}, source {package_source()[:12]})"
HOW = f"pip install 'steering-rl[dask]=={__version__}'"
GONE = (
    "the dask scheduler at {} is gone ({}): all finished cells are kept; start the same command again when it is back."
)
LONGEST_GREETING = 1 << 24
"""Bytes in which a scheduler says who it is; a text would say more than 2^56 here."""
IDLE_SECONDS = 30.0
"""How long a dask worker keeps a process that no sweep uses."""
OTHER_SECONDS = 5.0
"""The same for a process with other settings, when a new one is started: two sweeps may take turns, quickly."""
NO_WORKERS_SECONDS = 600.0
"""How long a scheduler may be without workers."""
GRACE_SECONDS = 10.0
"""How long workers may take to join before anything is said about it."""
COUNT_SECONDS = 2.0
"""How often workers are counted."""
ROOM = 2
"""Batches held for each thread of the cluster, so that none waits for the network."""


class NoWorkersWarning(UserWarning):
    """A scheduler has no workers now."""


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    try:
        scheme, place = parse_address(address)
        get_backend(scheme)
        parse_host_port(place)
    except ValueError:
        raise InvalidOption(
            f"the scheduler '{address}' is not an address; give one such as tcp://host:8786, or local."
        ) from None


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[list[int]]:
    """Processes started here never see Ctrl-C: it is for the owner, which then ends them in order.

    They inherit that a signal is ignored; a mask would not do, because multiprocessing unblocks it. A SIGTERM is kept
    in the list for later: it must not come in the middle of starting a cluster, whose processes would stay behind.
    """
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    term = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, term)


def _hear(address: str) -> None:
    """Wait for the first words of a scheduler, which speaks first, and see that they may be its own.

    For a silent service dask would wait for ever; of one that speaks otherwise, such as SSH, it takes the first eight
    bytes for a length, and the client that fails with it cannot be closed.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme == "tcp":
        with socket.create_connection(parse_host_port(place, 8786), CONNECT_SECONDS) as connection:
            first = connection.recv(8, socket.MSG_WAITALL)
            if len(first) < 8 or int.from_bytes(first, "little") > LONGEST_GREETING:
                raise ConnectionResetError


def _plugin() -> Any:
    """For the workers of our own cluster: nobody needs their web pages, so they stop listening."""
    from steering.sweeps.executors.dask_plugin import WithoutHttp

    return WithoutHttp()


def _start_cluster(workers: int | None) -> tuple[Any, Any]:
    """A cluster of this machine that only its owner can talk to, and its credentials."""
    import dask
    import distributed
    from distributed.security import Security

    start: Any = distributed.LocalCluster
    temporary: Any = Security.temporary
    try:
        security = temporary()
    except ImportError:
        raise NotAvailable(
            "a local cluster needs the package cryptography, so that no other user of this machine can use it; install "
            f"it with: {HOW}"
        ) from None
    # The scheduler must have an HTTP server: without pages, on a free port of the loopback, and stopped at once.
    pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    with _deaf_to_interrupts() as heard, dask.config.set(pages), _nothing_collected():
        cluster = start(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard_address=None,
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=50,
        )
        cluster.scheduler.http_server.stop()
    if heard:
        cluster.close()
        signal.raise_signal(heard[0])  # for whoever listens when no cluster is being started
    return cluster, security


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Collect garbage now, and none inside.

    A client that could not connect closes itself when it is collected. If that happens while another one starts, both
    wait for one lock for ever.
    """
    gc.collect()
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class DaskExecutor:
    """Sends batches to a dask scheduler; `address` may be ``local`` for a cluster of this machine."""

    def __init__(self, address: str, workers: int | None, limits: Limits, setup: Setup) -> None:
        import distributed

        connect: Any = distributed.Client
        self._cluster: Any = None
        security: Any = None
        if address == "local":
            self._cluster, security = _start_cluster(workers)
            address = self._cluster.scheduler_address
        try:
            _hear(address)
            with _nothing_collected():
                self._client: Any = connect(address, timeout=CONNECT_SECONDS, set_as_default=False, security=security)
            if self._cluster is not None:
                self._client.register_plugin(_plugin())
        except Exception as error:  # whatever the answer of another service looks like to dask
            self._end_cluster()
            raise Unreachable(f"no dask scheduler answers at {address} ({type(error).__name__}).") from None
        except BaseException:
            self._end_cluster()
            raise
        self._address = address
        self._limits = (limits.seconds, limits.megabytes)
        self._setup = setup.as_json()
        self._done: queue.Queue[tuple[int, Any]] = queue.Queue()
        self._running: dict[int, tuple[Any, int]] = {}
        self._counted = 0.0
        self._alone_since: float | None = None
        self._told = False
        self.workers = 1
        self._count()

    @property
    def slots(self) -> int:
        """Room for batches; follows the cluster as it grows and shrinks."""
        self._count()
        return ROOM * self.workers

    def _count(self) -> None:
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._counted = time.monotonic()
            with self._scheduler():
                threads = sum(self._client.nthreads().values())
            self.workers = max(threads, 1)
            self._see_workers(threads)

    def _see_workers(self, threads: int) -> None:
        """Say when the cluster has no workers, and stop waiting after a stated time."""
        now = time.monotonic()
        if threads:
            self._alone_since, self._told = None, False
            return
        if self._alone_since is None:
            self._alone_since = now
        alone = now - self._alone_since
        if alone >= min(GRACE_SECONDS, NO_WORKERS_SECONDS / 2) and not self._told:
            self._told = True
            warnings.warn(
                f"the dask scheduler at {self._address} has no workers; waiting for one for {NO_WORKERS_SECONDS:g} s.",
                NoWorkersWarning,
                stacklevel=2,
            )
        if alone > NO_WORKERS_SECONDS:
            raise Unreachable(
                f"the dask scheduler at {self._address} has had no workers for {NO_WORKERS_SECONDS:g} s: all finished "
                "cells are kept; start workers and the same command again."
            )

    @contextlib.contextmanager
    def _scheduler(self) -> Iterator[None]:
        """Turn the loss of the scheduler into a sentence."""
        try:
            yield
        except SteeringError:
            raise
        except Exception as error:
            raise Unreachable(GONE.format(self._address, type(error).__name__)) from None

    def submit(self, ticket: int, batch: bytes, cells: int) -> None:
        """Send a batch."""
        with self._scheduler():
            future = self._client.submit(run_remote, batch, cells, self._limits, self._setup, PROGRAM, pure=False)
        self._running[ticket] = (future, cells)
        future.add_done_callback(lambda finished: self._done.put((ticket, finished)))

    def wait(self, timeout: float) -> list[tuple[int, Outcome]]:
        """Collect what has come back."""
        ready: list[tuple[int, Outcome]] = []
        try:
            ready.append(self._collect(*self._done.get(timeout=timeout)))
            while True:
                ready.append(self._collect(*self._done.get_nowait()))
        except queue.Empty:
            return ready

    def _collect(self, ticket: int, future: Any) -> tuple[int, Outcome]:
        _, cells = self._running.pop(ticket)
        try:
            outcome = Outcome.unpack(future.result())
        except ImportError as error:
            raise NotAvailable(f"the dask workers cannot run steering ({error}); install it there: {HOW}.") from None
        except SetupFailed as error:
            raise NotAvailable(f"the dask workers cannot run these cells: {error}") from None
        except Exception as error:
            if self._client.status != "running":
                raise Unreachable(GONE.format(self._address, type(error).__name__)) from None
            # The dask worker went down with the batch, or could not run it at all.
            reason = f"{type(error).__name__}: {error}"[:1000]
            if cells == 1:
                outcome = Outcome(failures=[Failure(0, "killed", reason)])
            else:
                outcome = Outcome(lost=list(range(cells)), split=True)
        future.release()
        return ticket, outcome

    def close(self) -> None:
        """Cancel what is not finished and leave the cluster, or end it if it is ours."""
        if self._running:
            self._client.cancel([future for future, _ in self._running.values()], force=True)
        self._client.close()
        self._end_cluster()

    def _end_cluster(self) -> None:
        if self._cluster is not None:
            self._cluster.close()


Settings = tuple[Any, Any]
_free: list[tuple[Settings, float, Any]] = []
"""Processes of this dask worker that wait for a batch: settings, since when, executor."""
_lock = threading.Lock()
_timer: threading.Timer | None = None


def run_remote(
    batch: bytes,
    cells: int,
    limits: tuple[float | None, int | None],
    setup: str,
    program: str,
) -> bytes:
    """Run a batch inside a dask worker, in a watched process that is kept for the next batch."""
    if program != PROGRAM:
        raise ImportError(f"{_name()} has version {PROGRAM}, and the sweep was started with {program}")
    settings = (limits, setup)
    executor = _take(settings)
    try:
        executor.submit(0, batch, cells)
        while not (ready := executor.wait(60.0)):
            pass
    except SetupFailed as error:
        executor.close()
        raise SetupFailed(f"{_name()}: {error}") from None
    except BaseException:
        executor.close()
        raise
    _give_back(settings, executor)
    outcome: Outcome = ready[0][1]
    return outcome.pack()


def _name() -> str:
    """What the cluster calls this worker."""
    import distributed

    worker: Any = distributed.get_worker()
    return f"worker {worker.name} at {worker.address}"


def _take(settings: Settings) -> Any:
    from steering.sweeps.executors.local import LocalExecutor

    with _lock:
        index = next((i for i, (known, _, _) in enumerate(_free) if known == settings), None)
        if index is not None:
            return _free.pop(index)[2]
    _close_idle(OTHER_SECONDS)
    limits, setup = settings
    return LocalExecutor(1, Limits(*limits), Setup.from_json(setup))


def _give_back(settings: Settings, executor: Any) -> None:
    with _lock:
        _free.append((settings, time.monotonic(), executor))
    _watch_idle()


def _watch_idle() -> None:
    """Look again later, as long as there is something to look at."""
    global _timer
    with _lock:
        if _free and _timer is None:
            _timer = threading.Timer(IDLE_SECONDS, _end_of_wait)
            _timer.daemon = True
            _timer.start()


def _end_of_wait() -> None:
    global _timer
    with _lock:
        _timer = None
    _close_idle(IDLE_SECONDS)
    _watch_idle()


def _close_idle(seconds: float) -> None:
    """Close processes that nobody used for so long."""
    now = time.monotonic()
    with _lock:
        old = [entry for entry in _free if now - entry[1] >= seconds]
        _free[:] = [entry for entry in _free if now - entry[1] < seconds]
    for _, _, executor in old:
        executor.close()
