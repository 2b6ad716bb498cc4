"""The journal of a session: one file, a header and one JSON object a line, only ever appended to.

Each line ends with a checksum (CRC-32) of its own text that begins with the checksum of the line before. So a line
that was changed, lost, repeated or moved is noticed. A line counts once it is whole: what a crash left at the end of
the file is cut when the session is opened for writing. Damage anywhere else is never repaired silently.

One process writes at a time (a lock that ends with the process); any number may read.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import time
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steering._files import write_atomically
from steering.errors import DiskFull, InvalidOption, SteeringError
from steering.session.errors import JournalDamaged, SessionInUse

FILE = "journal.jsonl"
LOCK = "lock"
FORMAT = 1
Event = dict[str, Any]
_SUM = b',"sum":"'


def line_of(event: Event, previous: int) -> tuple[bytes, int]:
    """A line with its checksum, which continues that of the line before."""
    body = json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)[:-1].encode()
    checksum = zlib.crc32(body, previous)
    return body + _SUM + b'%08x"}\n' % checksum, checksum


def read_line(line: bytes, previous: int) -> tuple[Event, int] | None:
    """The event of a line and its checksum; None if the line is not whole."""
    body, _, tail = line.rpartition(_SUM)
    checksum = zlib.crc32(body, previous)
    if tail != b'%08x"}\n' % checksum:
        return None
    try:
        event = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    return (event, checksum) if isinstance(event, dict) else None


def create_journal(directory: Path, events: list[Event]) -> None:
    """Write a new journal, whole or not at all."""
    lines, checksum = [], 0
    for event in events:
        line, checksum = line_of(event, checksum)
        lines.append(line)
    directory.mkdir(parents=True, exist_ok=True)
    with Lock(directory, 0.0):
        refuse_second(directory)
        write_atomically(directory / FILE, b"".join(lines))


def refuse_second(directory: Path) -> None:
    """Refuse to begin a session where there is one."""
    if os.path.lexists(directory / FILE):
        raise InvalidOption(f"{directory} holds a session already; open it, or give another directory.")


class Lock:
    """The right to write to a session, from the moment it is made until `release`, or until the process ends."""

    def __init__(self, directory: Path, wait: float) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(directory / LOCK, flags, 0o666)
        self.release = weakref.finalize(self, os.close, self._descriptor)
        until = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    holder = os.pread(self._descriptor, 40, 0).decode("ascii", "replace").strip()
                    self.release()
                    who = f"process {holder}" if holder.isdigit() else "another process"
                    raise SessionInUse(
                        f"{directory} is in use by {who}; wait until it ends, ask the server if it is one, or open it "
                        "for reading only."
                    ) from None
                time.sleep(0.01)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Journal:
    """A journal that is open.

    Attributes
    ----------
    position, checksum, number
        Where its whole lines end, the checksum of the last one, and how many events there are (the header is 0).
    torn
        What was cut at the end, b"" as a rule.
    """

    def __init__(self, directory: Path, *, read_only: bool = False, sync: bool = True, wait: float = 0.0) -> None:
        self.directory, self.path = directory, directory / FILE
        self.read_only, self.sync = read_only, sync
        if not self.path.is_file():
            raise InvalidOption(
                f"{directory} holds no session; make one with Session.create or `steering session new`."
            )
        self._lock = None if read_only else Lock(directory, wait)
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_APPEND
        try:
            self._descriptor = os.open(self.path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            self._release()
            raise
        self.close = weakref.finalize(self, self._close, self._descriptor, self._lock)
        self.position = self.checksum = self.number = 0
        self.torn = b""
        self._unsure = False

    @staticmethod
    def _close(descriptor: int, lock: Lock | None) -> None:
        os.close(descriptor)
        if lock is not None:
            lock.release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self._descriptor).st_size

    def header(self) -> Event:
        """The first line."""
        for event in self._lines():
            if event.get("steering_session") != FORMAT:
                raise SteeringError(
                    f"{self.path} has the format {event.get('steering_session')!r}, and this version of the package "
                    f"reads {FORMAT}; use the version {event.get('version', '?')} that wrote it."
                )
            return event
        what = "its first line is no header of one, or was changed" if self.size else "it is empty"
        raise JournalDamaged(f"{self.path} is not the journal of a session: {what}; put a backup in its place.")

    def ends_with(self, position: int, checksum: int) -> bool:
        """Whether a whole line with this checksum ends at a position."""
        tail = b'%08x"}\n' % checksum
        return position <= self.size and os.pread(self._descriptor, len(tail), position - len(tail)) == tail

    def jump(self, position: int, checksum: int, number: int) -> None:
        """Go on after a line that is known."""
        self.position, self.checksum, self.number = position, checksum, number

    def read(self) -> Iterator[Event]:
        """All events from here to the end, where a torn line is cut."""
        for event in self._lines():
            self.number += 1
            yield event
        left = self.size - self.position
        if left and not self.read_only:
            self.torn = os.pread(self._descriptor, min(left, 1 << 20), self.position)
            os.ftruncate(self._descriptor, self.position)
            os.fsync(self._descriptor)

    def peek(self, after: int, limit: int) -> list[Event]:
        """Events number after + 1, ..., after + limit, as they stand in the file; the reading goes on where it was."""
        with open(self.path, "rb") as file:
            lines = itertools.islice(file, after + 1, min(after + limit, self.number) + 1)
            return [{"number": n, **json.loads(line)} for n, line in enumerate(lines, start=after + 1)]

    def _lines(self) -> Iterator[Event]:
        with open(self.path, "rb") as file:
            file.seek(self.position)
            for line in file:
                found = read_line(line, self.checksum)
                if found is None:
                    self._refuse_damage(file.read(4096))
                    return
                self.position += len(line)
                self.checksum = found[1]
                yield found[0]

    def _refuse_damage(self, after: bytes) -> None:
        """A line that is not whole may only be the last one."""
        if self.position and after.strip(b"\0\n\r "):  # without its first line nothing is left of a journal
            raise JournalDamaged(
                f"{self.path}: line {self.number + 2} (at byte {self.position}) was changed or damaged after it was "
                "written, and others follow; put a backup in its place, or cut the file there to lose what follows."
            )

    def append(self, events: list[Event]) -> None:
        """Add events as one write, flushed to the disk; all of them count or an error is raised and none does."""
        if self.read_only:
            raise InvalidOption(f"{self.directory} is open for reading only; open it without read_only to change it.")
        if self._unsure:
            raise SteeringError(f"a write to {self.path} failed half-way; open the session again.")
        content, checksum = b"", self.checksum
        for event in events:
            line, checksum = line_of(event, checksum)
            content += line
        self._unsure = True
        try:
            self._write(content)
        except BaseException as error:
            os.ftruncate(self._descriptor, self.position)
            self._unsure = False
            if isinstance(error, OSError) and error.errno in DiskFull.causes:
                raise DiskFull(f"{self.path}: {error.strerror}; nothing was recorded, free some space.") from None
            raise
        self.position, self.checksum = self.position + len(content), checksum
        self.number += len(events)
        self._unsure = False

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self._descriptor, left) :]
        if self.sync:
            self.flush()

    def flush(self) -> None:
        """Have the disk hold all that was written."""
        os.fsync(self._descriptor)
