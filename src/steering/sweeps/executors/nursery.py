"""The nursery: a process that imports and warms everything once and then forks workers on request.

It has a single thread and does nothing but fork, so forking is safe whatever the process that uses it does, and a
worker starts in milliseconds with kernels loaded. Three rules make it robust: it ends all workers when its owner goes
away (the control socket closes), it reports how every worker ended, and a worker that dies touches nobody else.

Protocol on the control socket: the owner sends one line of JSON (settings), then one byte with one descriptor for
each worker; the nursery answers with lines ``up PID`` and ``down PID STATUS``, or with ``bad REASON`` when it could not
do its setup.

A worker reads packed batches from its socket and answers with ``c INDEX`` before each cell, ``c CELLS`` when no more is
run, and ``r OUTCOME`` at the end (see `compute`). Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Entry point: `python -P -m steering.sweeps.executors.nursery DESCRIPTOR`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(_line(control))
    from steering.errors import SteeringError
    from steering.sweeps.executors.base import Setup

    try:
        Setup.from_json(settings["setup"]).do()
    except Exception as error:
        reason = str(error) if isinstance(error, SteeringError) else f"{type(error).__name__}: {error}"
        control.sendall(b"bad %s\n" % " ".join(reason.split())[:1000].encode())
        return
    wake, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    workers: set[int] = set()
    try:
        while True:
            select.select([control.fileno(), wake], [], [])
            _drain(wake)
            for pid, status in _ended(workers):
                control.sendall(b"down %d %d\n" % (pid, status))
            request = _request(control)
            if request is None:
                continue
            byte, descriptor = request
            if not byte:
                return
            pid = os.fork()
            if pid == 0:
                _become_worker(control, (wake, wake_writer), descriptor, settings)
            os.close(descriptor)
            workers.add(pid)
            control.sendall(b"up %d\n" % pid)
    except (BrokenPipeError, ConnectionResetError):
        return
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)  # nothing to tidy, and a normal exit takes a second


def _line(control: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = control.recv(1)
        if not byte:
            sys.exit(0)
        line += byte
    return line


def _drain(wake: int) -> None:
    while select.select([wake], [], [], 0)[0]:
        os.read(wake, 512)


def _request(control: socket.socket) -> tuple[bytes, int] | None:
    if not select.select([control], [], [], 0)[0]:
        return None
    byte, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    return byte, descriptors[0] if descriptors else -1


def _ended(workers: set[int]) -> list[tuple[int, int]]:
    ended = []
    while workers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        workers.discard(pid)
        ended.append((pid, os.waitstatus_to_exitcode(status)))
    return ended


def _become_worker(control: socket.socket, wake: tuple[int, int], descriptor: int, settings: dict[str, Any]) -> None:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for one in wake:
            os.close(one)
        die_with_parent()
        os.register_at_fork(after_in_child=die_with_parent)  # a copy that an environment makes may hang, too
        limit_memory(settings["megabytes"])
        serve(Connection(descriptor))
        code = 0
    except (EOFError, BrokenPipeError, ConnectionResetError):
        code = 0  # the owner is gone
    finally:
        os._exit(code)


def serve(connection: Any) -> None:
    """Run batches until the owner closes the connection."""
    from steering.sweeps.compute import run_batch

    while True:
        batch = connection.recv_bytes()
        outcome = run_batch(batch, lambda index: connection.send_bytes(b"c%d" % index))
        connection.send_bytes(b"r" + outcome.pack())


def die_with_parent() -> None:
    """Ask the system to end this process with the one that forked it, however that ends and whatever this one is in."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(0)


def limit_memory(megabytes: int | None) -> None:
    """Let this process allocate so much more than it has now; beyond, allocations fail with a MemoryError."""
    if megabytes is None:
        return
    with open("/proc/self/status") as file:
        now = next(int(line.split()[1]) for line in file if line.startswith("VmData:"))
    most = (now << 10) + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
