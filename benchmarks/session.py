"""Speed of sessions: asking, telling, opening a long history, and a server with eight clients.

The process is made up; what counts is its size. `ask` includes a new plan and the reasons.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from steering.session import Session, snapshot
from steering.session.client import Client
from steering.session.columns import ROWS

STEPS = 200
EVENTS = 1_000_000
CLIENTS, REQUESTS = 8, 100


def ask_and_tell(place: Path, states: int, *, sync: bool, limit: float = 20.0, seen: int = 0) -> list[dict[str, Any]]:
    """Median and worst time of ask and tell after a short history, or after so many rows of an import."""
    rng = np.random.default_rng(0)
    asks, tells = [], []
    with Session.create(place, states, 4, sync=sync) as session:
        if seen:
            session.import_log(log_of(place / "log.csv", states, seen))
        state = 0
        for _ in range(STEPS):
            begin = time.perf_counter()
            found = session.ask(state)
            middle = time.perf_counter()
            state = int((state + rng.integers(-3, 4)) % states)
            session.tell(found.id, reward=float(rng.normal()), next_state=state)
            asks.append(middle - begin)
            tells.append(time.perf_counter() - middle)
    how = "with fsync" if sync else "without fsync"
    return [
        row(f"ask, {states} states, {how}", asks[5:], limit if not sync else None),
        row(f"tell, {states} states, {how}", tells[5:], 5.0 if not sync else None),
    ]


def log_of(path: Path, states: int, rows: int) -> Path:
    """A log in which every state leads to a few others."""
    rng = np.random.default_rng(1)
    s, a, jump = rng.integers(states, size=rows), rng.integers(4, size=rows), rng.integers(-3, 4, size=rows)
    cells = np.stack([s, a, np.round(rng.normal(size=rows), 3), (s + (a + 1) * jump) % states], axis=1)
    lines = (f"{int(s)},{int(a)},{r},{int(y)}" for s, a, r, y in cells.tolist())
    path.write_text("\n".join(["state,action,reward,next_state", *lines]) + "\n", encoding="utf-8")
    return path


def row(case: str, seconds: list[float], limit: float | None) -> dict[str, Any]:
    middle, worst = 1e3 * float(np.median(seconds)), 1e3 * max(seconds)
    target = "" if limit is None else f"< {limit:g} ms: {'met' if middle < limit else 'MISSED'}"
    return {"case": case, "median_ms": middle, "worst_ms": worst, "target": target}


def opening(place: Path) -> list[dict[str, Any]]:
    """Open a session of a million events, with its snapshot and without."""
    with Session.create(place, 100, 4, sync=False) as session:
        rng = np.random.default_rng(1)
        names = session._state.states.names
        events = []
        for _ in range(EVENTS):
            s, a, y = int(rng.integers(100)), int(rng.integers(4)), int(rng.integers(100))
            events.append({"event": "add", "state": s, "action": a, "reward": round(float(rng.normal()), 3), "next": y})
            if len(events) == 20_000:
                session._record(*events)
                events = []
        assert len(names) == 100
        snapshot.write_snapshot(place, session._state, session._journal, session._first)
    found = []
    for case in ("with its snapshot", "from the journal alone"):
        begin = time.perf_counter()
        with Session.open(place) as session:
            session.ask(0)
        spent = time.perf_counter() - begin
        target = f"< 5 s: {'met' if spent < 5 else 'MISSED'}" if case == "with its snapshot" else ""
        size = f"{ROWS.itemsize * EVENTS / 1e6:.0f} MB of rows"
        found.append(
            {"case": f"open {EVENTS} events and ask, {case}", "median_ms": 1e3 * spent, "worst_ms": 1e3 * spent}
            | {"target": target or size}
        )
        (place / snapshot.FILE).unlink(missing_ok=True)
    return found


def server(place: Path) -> list[dict[str, Any]]:
    """Eight clients that ask and tell at once."""
    Session.create(place, 20, 4).close()
    command = [sys.executable, "-m", "steering.cli", "serve", str(place), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        problems: list[Exception] = []

        def work(name: int) -> None:
            try:
                with Client(address) as client:
                    for step in range(REQUESTS // 2):
                        found = client.ask(step % 20, unit=name)
                        client.tell(found["id"], reward=1.0, next_state=(step + 1) % 20)
            except Exception as error:
                problems.append(error)

        with Client(address) as client:
            client.ask(0, unit="first")
        threads = [threading.Thread(target=work, args=(name,)) for name in range(CLIENTS)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = CLIENTS * REQUESTS / (time.perf_counter() - begin)
        process.terminate()
    verdict = "met" if rate > 200 and not problems else "MISSED"
    return [
        {
            "case": f"server, {CLIENTS} clients that ask and tell, with fsync: {rate:.0f} requests a second",
            "median_ms": 1e3 / rate,
            "worst_ms": float("nan"),
            "target": f"> 200 a second without an error: {verdict}",
        }
    ]


def main() -> list[dict[str, Any]]:
    """All rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = ask_and_tell(place / "small", 12, sync=False)
        rows += ask_and_tell(place / "hundred", 100, sync=False)
        rows += ask_and_tell(place / "synced", 100, sync=True)
        rows += ask_and_tell(place / "many", 10_000, sync=False, limit=200.0, seen=20_000)
        rows += opening(place / "long")
        rows += server(place / "served")
    return rows
