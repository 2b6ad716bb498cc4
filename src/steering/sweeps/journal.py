"""The journal: what happened in a results directory, one JSON object a line, for tools and for `steering status`.

Every process that works on a directory writes a file of its own, so lines of different processes never mix. Events:
`start`, `batch` (cells finished, seconds of the runs), `retry`, `quarantine`, `set_aside`, `taken_back`, `unreadable`
(a file that is no whole shard at the end), `versions`, `end`. Each has `time`, in seconds since 1970. The journal is
for looking only; nothing is decided by it.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import stat
import time
from pathlib import Path
from typing import Any

from steering.sweeps.store.directory import Store
from steering.sweeps.store.places import writing

MAX_BYTES = 256 << 20
RECENT_SECONDS = 300.0
LAST_BYTES = 64 << 10
"""Longest last line of a journal that is read."""


class Journal:
    """Appends events to a new file in DIR/journal."""

    def __init__(self, store: Store) -> None:
        self._directory = store.directory
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        host = host_name(socket.gethostname())
        self.path = store.directory / "journal" / f"{stamp}-{host}-{os.getpid()}-{secrets.token_hex(3)}.jsonl"
        with writing(self._directory):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
            self._descriptor = os.open(self.path, flags, 0o666)

    def write(self, event: str, **values: Any) -> None:
        """Append one event. A line that a full disk cut short is no JSON, and readers leave it out."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **values}) + "\n"
        left = line.encode()
        with writing(self._directory):
            while left:
                left = left[os.write(self._descriptor, left) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def host_name(text: str) -> str:
    """Name of a host as it stands in the name of a journal."""
    return "".join(c for c in text if c.isalnum())[:32]


def last_event(path: Path) -> str | None:
    """Name of the last event of a journal; None where there is none, or no journal."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - LAST_BYTES, 0))
            event = json.loads(file.read().splitlines()[-1])
    except (OSError, ValueError, IndexError, RecursionError):
        return None
    return str(event.get("event")) if isinstance(event, dict) else None


def read_events(directory: Path) -> list[dict[str, Any]]:
    """All events of a results directory in the order of their time; lines that are none are left out."""
    events = []
    folder = directory / "journal"
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        try:
            if not stat.S_ISREG(path.lstat().st_mode) or path.stat().st_size > MAX_BYTES:
                continue
            lines = path.read_bytes().splitlines()
        except OSError:
            continue
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict) and _is_time(event.get("time")) and "event" in event:
                events.append({**event, "journal": path.name})
    return sorted(events, key=lambda event: float(event["time"]))


def recent_rate(events: list[dict[str, Any]], now: float) -> float | None:
    """Cells finished per second over the last five minutes by processes that have not ended; None when none works.

    A machine whose clock is ahead of ours is taken to have written its last event now.
    """
    ended = {event["journal"] for event in events if event["event"] == "end"}
    ahead: dict[str, float] = {}
    for event in events:
        ahead[event["journal"]] = max(ahead.get(event["journal"], 0.0), event["time"] - now)
    recent = [
        {**event, "time": event["time"] - ahead[event["journal"]]}
        for event in events
        if event["journal"] not in ended
        and event["event"] in ("start", "batch")
        and event["time"] - ahead[event["journal"]] > now - RECENT_SECONDS
    ]
    cells = sum(int(event["cells"]) for event in recent if event["event"] == "batch" and _whole(event.get("cells")))
    if not cells:
        return None
    return cells / max(now - min(float(event["time"]) for event in recent), 1e-3)


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 <= value < 1 << 40


def _whole(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 40
