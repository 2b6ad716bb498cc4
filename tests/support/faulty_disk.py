"""A disk that counts every call which changes a directory, fails one of them, and knows what a power cut would leave.

Only the process that stores is concerned: workers write nothing. Calls are caught in the module `os`, through which
the package, pathlib and the journal go.
"""

from __future__ import annotations

import builtins
import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from steering import _files
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.store.shard_files import keys_of

CALLS = ("open", "write", "fsync", "rename", "replace", "unlink", "mkdir")
LOST = ("all", "removals", "new")
"""Which changes of names, of those that no fsync of their folder followed, a power cut takes back."""


class Crash(BaseException):
    """The process is gone."""


@dataclass
class Change:
    """A change of names that is not synced: a rename, a removal or a new folder."""

    folder: str
    path: str
    before: bytes | None
    """What a power cut would have left under the name."""
    removal: bool = False
    source: str | None = None
    """Old name of what was renamed."""

    def undo(self) -> None:
        """As if it had never been made."""
        if os.path.isdir(self.path):
            shutil.rmtree(self.path)
            return
        if not os.path.isdir(self.folder):
            return  # gone with its folder
        if self.source is not None and os.path.exists(self.path):
            os.rename(self.path, self.source)
        if self.before is not None:
            Path(self.path).write_bytes(self.before)


class Disk:
    """Counts the calls below `place` and fails the k-th; see the module's docstring."""

    def __init__(self, place, monkeypatch, fault=None, kind="error"):
        self.place, self.fault, self.kind = str(place), fault, kind
        self.count = 0
        self.dead = False
        self.synced: dict[str, bytes | None] = {}
        """Content of files as it was synced, by their path now."""
        self.names: list[Change] = []
        self.kept: set[bytes] = set()
        """Keys of cells of which the store has said that they are kept."""
        self.real = {name: getattr(os, name) for name in CALLS}
        for name in CALLS:
            monkeypatch.setattr(os, name, getattr(self, name))
        monkeypatch.setattr(_files, "open", self.file, raising=False)
        self._store = Store.write
        monkeypatch.setattr(Store, "write", lambda store, content, rows: self.store(store, content, rows))

    def store(self, store, content, rows):
        path = self._store(store, content, rows)
        self.kept.update(keys_of(schema.read_rows(content)))
        return path

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
            self.names = [one for one in self.names if one.folder != path]
        else:
            self.synced[path] = Path(path).read_bytes()
        return self.real["fsync"](descriptor)

    def rename(self, source, target, **more):
        if self.step(target):
            source, target = str(source), str(target)
            self.names.append(Change(os.path.dirname(target), target, self.durable(target), source=source))
            self.synced[target] = self.synced.pop(source, None)
        return self.real["replace"](source, target, **more)

    replace = rename

    def unlink(self, path, **more):
        if self.step(path) and os.path.exists(path):
            self.names.append(Change(os.path.dirname(str(path)), str(path), self.durable(path), removal=True))
        return self.real["unlink"](path, **more)

    def mkdir(self, path, *rest, **more):
        ours = self.step(path)
        self.real["mkdir"](path, *rest, **more)
        if ours:
            self.names.append(Change(os.path.dirname(str(path)), str(path), None))

    def durable(self, path):
        """What a power cut would leave of a file; None where there is none."""
        return (self.synced.get(str(path)) or b"") if os.path.exists(path) else None

    def cut_power(self, lost):
        """Leave what was synced; changes of names that were not synced are taken back, all or one kind of them."""
        for root, _, names in os.walk(self.place):
            for name in names:
                path = os.path.join(root, name)
                Path(path).write_bytes(self.synced.get(path) or b"")
        for change in reversed(self.names):
            if lost == "all" or change.removal == (lost == "removals"):
                change.undo()
