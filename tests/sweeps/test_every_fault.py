"""A fault at every write, fsync, rename, unlink and new file of a sweep of 40 cells: counted, then failed one by one.

Three kinds. *Error*: the call fails as a broken disk does, once. *Crash*: the process ends there; nothing after it is
done. *Power loss*: a crash after which only what was synced is left; names and removals that no fsync of their folder
followed may be gone or not, both are tried. Each time the sweep is started again, and its tables must be those of a
sweep in peace, byte for byte. The quick suite takes every 17th call, the slow one all of them.
"""

import builtins
import errno
import os
from pathlib import Path

import pytest
from engine_helpers import digests

import steering
from steering import _files
from steering.errors import SteeringError
from steering.sweeps import batches
from steering.sweeps.store import directory as directory_module
from steering.sweeps.store.directory import Store

WANTED = {
    "environments": ["deepsea:3", "riverswim:3"],
    "agents": ["psrl", "q_learning"],
    "steps": 20,
    "seeds": 10,
    "record": {"points": 3},
}
CALLS = ("open", "write", "fsync", "rename", "replace", "unlink", "mkdir")


class Crash(BaseException):
    """The process is gone."""


class Disk:
    """Counts the calls that change a directory, and fails the k-th; knows what a power cut would leave."""

    def __init__(self, place, monkeypatch, fault=None, kind="error"):
        self.place, self.fault, self.kind = str(place), fault, kind
        self.count = 0
        self.dead = False
        self.synced = {}
        """Content of files as it was synced, by their path now."""
        self.names = []
        """Changes of names that are not synced: (folder, new name, old name and content before)."""
        self.real = {name: getattr(os, name) for name in CALLS}
        for name in CALLS:
            monkeypatch.setattr(os, name, getattr(self, name))
        monkeypatch.setattr(_files, "open", self.file, raising=False)

    def step(self, path):
        """One call; whether it is ours."""
        if not str(path).startswith(self.place):
            return False
        if self.dead:
            raise Crash
        self.count += 1
        if self.count == self.fault:
            if self.kind == "error":
                raise OSError(errno.EIO, "Input/output error", str(path))
            self.dead = True
            raise Crash
        return True

    def path(self, descriptor):
        return os.readlink(f"/proc/self/fd/{descriptor}")

    def open(self, path, flags, *rest, **more):
        if flags & os.O_CREAT:
            self.step(path)
        return self.real["open"](path, flags, *rest, **more)

    def file(self, descriptor, mode):
        inner = builtins.open(descriptor, mode)  # noqa: SIM115
        write = inner.write

        class File:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                inner.close()

            def write(this, content):
                if self.step(self.path(descriptor)) and len(content) > 1:
                    write(content[: len(content) // 2])
                    inner.flush()
                    self.step(self.path(descriptor))  # half of it is there
                    write(content[len(content) // 2 :])

            def flush(self):
                inner.flush()

            def fileno(self):
                return descriptor

        return File()

    def write(self, descriptor, content):
        if descriptor > 2:
            self.step(self.path(descriptor))
        return self.real["write"](descriptor, content)

    def fsync(self, descriptor):
        path = self.path(descriptor)
        self.step(path)
        if os.path.isdir(path):
            self.names = [one for one in self.names if one[0] != path]
        else:
            self.synced[path] = Path(path).read_bytes()
        return self.real["fsync"](descriptor)

    def rename(self, source, target, **more):
        if self.step(target):
            source, target = str(source), str(target)
            before = Path(target).read_bytes() if os.path.exists(target) else None
            self.names.append((os.path.dirname(target), target, before))
            self.synced[target] = self.synced.pop(source, None)
        return self.real["replace"](source, target, **more)

    replace = rename

    def unlink(self, path, **more):
        if self.step(path):
            before = Path(path).read_bytes() if os.path.exists(path) else None
            self.names.append((os.path.dirname(str(path)), str(path), before))
        return self.real["unlink"](path, **more)

    def mkdir(self, path, *rest, **more):
        self.step(path)
        return self.real["mkdir"](path, *rest, **more)

    def cut_power(self, undo):
        """Leave what was synced; changes of names that were not are undone, or only those that were removals."""
        for root, _, names in os.walk(self.place):
            for name in names:
                path = os.path.join(root, name)
                content = self.synced.get(path)
                Path(path).write_bytes(b"" if content is None else content)
        for _, path, before in reversed(self.names):
            removal = not os.path.exists(path)
            if before is not None and (undo or removal):
                Path(path).write_bytes(before)
            elif before is None and undo and os.path.exists(path):
                self.real["unlink"](path)


@pytest.fixture
def small_batches(monkeypatch):
    """Eight shards, whatever the machine does beside, and a merge at the end."""
    monkeypatch.setattr(
        batches.Sizes, "end_of_batch", lambda self, pending, start, workers: min(start + 5, len(pending))
    )
    monkeypatch.setattr(batches.Sizes, "target", lambda self, cells, workers: 60.0)
    monkeypatch.setattr(directory_module, "MANY_SMALL", 3)


def attempt(place, monkeypatch, fault, kind, workers):
    """A sweep with a fault; returns the disk, with how many calls there were."""
    with monkeypatch.context() as patch:
        disk = Disk(place, patch, fault, kind)
        try:
            steering.sweep(WANTED, place, workers=workers)
        except Crash:
            assert kind != "error"
        except (SteeringError, OSError):
            assert kind == "error"
        disk.count_at_end = disk.count
    return disk


def enumerate_faults(tmp_path, monkeypatch, workers, every, first=1):
    steering.sweep(WANTED, tmp_path / "peace", workers=0)
    peace = digests(tmp_path / "peace", tmp_path)
    calls = attempt(tmp_path / "count", monkeypatch, None, "error", workers).count
    assert calls > 40
    assert digests(tmp_path / "count", tmp_path) == peace
    tried = 0
    for fault in range(first, calls + 1, every):
        for kind, undo in (("error", None), ("crash", None), ("power", True), ("power", False)):
            place = tmp_path / f"{fault}-{kind}-{undo}"
            disk = attempt(place, monkeypatch, fault, kind, workers)
            if undo is not None:
                disk.cut_power(undo)
            if disk.count < fault:
                continue  # batches are sized by time: this start had fewer calls
            before = Store(place).scan().keys if (place / "shards").is_dir() else set()
            report = steering.sweep(WANTED, place, workers=0)
            assert report.complete, (fault, kind, undo)
            assert report.computed <= 40 - len(before), (fault, kind, undo)
            assert digests(place, tmp_path) == peace, (fault, kind, undo)
            tried += 1
    assert tried > calls // every


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_fault_at_some_calls_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch, small_batches):
    enumerate_faults(tmp_path, monkeypatch, 0, every=17)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_fault_at_every_call_loses_nothing_and_doubles_nothing(workers, tmp_path, monkeypatch, small_batches):
    enumerate_faults(tmp_path, monkeypatch, workers, every=1)
