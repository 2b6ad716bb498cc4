"""What the tests of sweeps share: faulty environments, digests of tables, processes of their own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from typer.testing import CliRunner

import steering
from steering.cli.program import app

PLUGIN = Path(__file__).parents[1] / "sweeps" / "plugin"
SOURCE = Path(steering.__file__).parents[1]
PATH = os.pathsep.join([str(PLUGIN), str(SOURCE)])
"""Where other processes find the package and the faulty environments, wherever they start."""


FAULTY = ("faulty_envs",)
"""What a sweep must import to know them."""


def call(*arguments, code=0):
    """What the command printed; it must end with this code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def faulty(fault, **options):
    """Text of an environment with a fault."""
    return ",".join([f"gym:Faulty-v0,fault={fault}", *(f"{key}={value}" for key, value in options.items())])


def digests(directory, tmp_path):
    """Digest of every exported table: what must not depend on how the cells were computed."""
    target = tmp_path / f"tables-{time.monotonic_ns()}"
    paths = steering.load(directory).write(target) + steering.load(directory).write(target, format="csv")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def start_dask(tmp_path, workers=2, path=PATH):
    """A scheduler and workers as processes of their own, on loopback; returns them and the address."""
    file = tmp_path / "scheduler.json"
    log = (tmp_path / "dask.log").open("wb")
    common = {
        "stdout": log,
        "stderr": log,
        "cwd": tmp_path,
        "start_new_session": True,
        "env": {**os.environ, "PYTHONPATH": path},
    }
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)],
        **common,
    )
    options = ["--nworkers", str(workers), "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    worker = subprocess.Popen(
        [*dask, "worker", "--scheduler-file", str(file), *options, "--local-directory", str(tmp_path)], **common
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return [worker, scheduler], json.loads(file.read_text())["address"]
        except (FileNotFoundError, ValueError):
            time.sleep(0.05)
    stop([worker, scheduler])
    raise AssertionError((tmp_path / "dask.log").read_text())


def stop(processes):
    """End processes and wait for them."""
    for process in processes:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def descendants(pids):
    """Process ids of the children of some processes, and of theirs, and so on."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    found, last = [], set(pids)
    while last:
        last = {pid for pid, parent in parents.items() if parent in last}
        found.extend(last)
    return found


def alive(pid):
    """Whether a process runs; one that ended and was not yet waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def command(*arguments, **options):
    """Start the command line as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "steering.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
