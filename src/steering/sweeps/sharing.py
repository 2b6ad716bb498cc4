"""Several processes on one directory: what others finish is not run again.

Nothing is locked and nobody waits, so a process that dies holds nobody up: each looks at the shards that the others
add and leaves out the cells in them. Two that begin with the same cell would go on side by side, so whoever is not
alone goes on from a random place. What is still run twice is what two have in flight at the same time, at the start
and at the end above all; such rows are equal, and readers take one.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

from steering.sweeps.journal import RECENT_SECONDS, host_name, last_event
from steering.sweeps.store.directory import Store
from steering.sweeps.store.places import names_in
from steering.sweeps.store.shard_files import UNREADABLE, keys_of

LOOK_SECONDS = 1.0
SHARE = 0.05
"""Part of the time that may be spent on reading what others write."""


class Others:
    """Shards that other processes add to a store from now on.

    Parameters
    ----------
    store
        The directory.
    clock
        Seconds, from any zero.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._seen = set(names_in(store.shards))
        self._next = clock() + LOOK_SECONDS

    def not_theirs(self, name: str) -> None:
        """A shard of our own."""
        self._seen.add(name)

    def look(self) -> set[bytes]:
        """Keys of cells in shards of others that are new; nothing when it is too early to look again."""
        began = self._clock()
        if began < self._next:
            return set()
        keys: set[bytes] = set()
        for name in sorted(set(names_in(self._store.shards)) - self._seen):
            self._seen.add(name)
            keys |= self._keys(name)
        now = self._clock()
        self._next = now + max(LOOK_SECONDS, (now - began) / SHARE)
        return keys

    def _keys(self, name: str) -> set[bytes]:
        """Keys in a shard; none where it is not whole, or was merged in the meantime: then it has another name."""
        try:
            pieces = self._store.rows(name, ["key", "version"])
            return {key for rows in pieces for key in keys_of(rows)}
        except UNREADABLE:
            return set()


def at_work(folder: Path, own: Path) -> int:
    """How many other processes seem to work on a directory, from their journals; `own` is our journal.

    One that has ended says so in its journal. One that was killed does not: on this machine its process is looked for,
    on others it counts until its journal is five minutes old (by the clock of the disk, which all share).
    """
    now = own.stat().st_mtime
    return sum(_is_alive(folder / name, now) for name in names_in(folder) if name != own.name)


def _is_alive(path: Path, now: float) -> bool:
    try:
        recent = now - path.lstat().st_mtime < RECENT_SECONDS
    except FileNotFoundError:
        return False
    if not recent or last_event(path) in ("end", None):
        return False
    parts = path.name.split("-")
    if len(parts) == 5 and parts[2] == host_name(socket.gethostname()) and parts[3].isdigit():
        return os.path.exists(f"/proc/{parts[3]}") if os.path.isdir("/proc/self") else True
    return True


def from_another_place(cells: list[int]) -> list[int]:
    """The same cells in the same order, beginning at a random one."""
    if len(cells) < 2:
        return cells
    start = secrets.randbelow(len(cells))
    return cells[start:] + cells[:start]
