"""A session that is open: its directory, its journal and its state; what can be done with it is built on this."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from steering._files import write_atomically
from steering.errors import SteeringError
from steering.session import snapshot
from steering.session.errors import JournalDamaged, SessionWarning
from steering.session.header import agent_text, mind_of, state_of
from steering.session.journal import Event, Journal
from steering.session.log import ImportReport
from steering.session.state import State


class Opened:
    """Opening, recording and closing."""

    def __init__(self, directory: str | Path, *, read_only: bool = False, sync: bool = True, wait: float = 0.0) -> None:
        self.directory = Path(directory)
        self._lock = threading.RLock()
        self._whole = True
        self._journal = Journal(self.directory, read_only=read_only, sync=sync, wait=wait)
        self.notes: list[str] = []
        """What the owner should know about the opening: a torn line that was cut, another version that wrote it."""
        try:
            self._load()
        except BaseException:
            self._journal.close()
            raise
        for note in self.notes:
            warnings.warn(note, SessionWarning, stacklevel=3)

    log_report: ImportReport | None = None
    """What came of the log that `create` was given."""

    def _load(self) -> None:
        self.header = self._journal.header()
        first = self._journal.checksum
        begin = self._journal.position
        state = snapshot.read_snapshot(self.directory, self._journal, first)
        if state is None:
            self._journal.jump(begin, first, 0)
            state = state_of(self.header, self._journal.path)
        self._kept = self._journal.number
        for event in self._journal.read():
            with self._readable():
                state.apply(event)
        if self._journal.torn:
            name = f"cut-{self._journal.position}.txt"
            write_atomically(self.directory / name, self._journal.torn)
            self.notes.append(
                f"the last line of {self._journal.path} was not whole ({len(self._journal.torn)} bytes, after a crash) "
                f"and was cut; it is in {name}, and what it was about never counted."
            )
        self._state: State = state
        self._first = first
        with self._readable():
            text, notes = agent_text(self.header)
            self._mind = mind_of(self.header, text)
        self.notes += notes

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Whatever is wrong with an event of the journal is said with its line."""
        try:
            yield
        except JournalDamaged:
            raise
        except (SteeringError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            line = self._journal.number + 1
            reason = f"{type(error).__name__} {error}" if not isinstance(error, SteeringError) else str(error)
            raise JournalDamaged(f"{self._journal.path}, line {line}: it cannot be used: {reason}") from None

    def close(self) -> None:
        """End the use of the session; nothing is lost without it."""
        with self._lock:
            if not self._journal.read_only and self._journal.close.alive and self._whole:
                self._save()
            self._journal.close()

    def _save(self) -> None:
        if snapshot.due(self._journal.number, self._journal.number - self._kept):
            with contextlib.suppress(OSError):  # it is never needed
                snapshot.write_snapshot(self.directory, self._state, self._journal, self._first)
                self._kept = self._journal.number

    def _record(self, *events: Event) -> None:
        """Write events and apply them; both or, where that fails, neither until the session is opened again."""
        self._refuse_closed()
        stamp = round(time.time(), 3)
        stamped = [{"event": event["event"], "time": stamp, **event} for event in events]
        self._whole = False
        try:
            self._journal.append(stamped)
        except Exception:
            self._whole = True
            raise
        for event in stamped:
            self._state.apply(event)
        self._whole = True
        self._save()

    @property
    def position(self) -> int:
        """Bytes of the journal."""
        return self._journal.position

    def flush(self) -> None:
        """Have the disk hold everything so far; for sessions opened with sync=False."""
        self._journal.flush()

    def _refuse_closed(self) -> None:
        if not self._journal.close.alive:
            raise SteeringError(f"the session in {self.directory} was closed; open it again.")
        if not self._whole:
            raise SteeringError(f"a change of the session in {self.directory} was interrupted; open it again.")
