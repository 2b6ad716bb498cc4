"""A made-up process, a script that drives a session through it and can be killed anywhere, and HTTP without sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np

from steering.session import Session, SessionWarning
from steering.session.journal import line_of

STATES = ["good", "worn", "bad", "broken"]
ACTIONS = ["run", "service", "replace"]


def process(step: int, action: str) -> tuple[float, str]:
    """Reward and next state of a step: a function of its number and of the action."""
    rng = np.random.default_rng([step, ACTIONS.index(action)])
    return round(float(rng.normal(-ACTIONS.index(action), 1.0)), 3), STATES[int(rng.integers(4))]


def state_of(step: int) -> str:
    return STATES[int(np.random.default_rng([step, 99]).integers(4))]


def write_log(path: Path, seed: int, rows: int = 25) -> Path:
    rng = np.random.default_rng([seed, 7])
    lines = ["state,action,reward,next_state,done"]
    for _ in range(rows):
        s, y = rng.integers(4, size=2)
        lines.append(f"{STATES[s]},{ACTIONS[rng.integers(3)]},{rng.normal():.3f},{STATES[y]},{int(rng.random() < 0.1)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def make(directory: Path, **options) -> Session:
    chosen = {"states": STATES, "actions": ACTIONS, "rewards": "about -5 to 2", "seed": 3, **options}
    return Session.create(directory, **chosen)


class Library:
    """The script's way to a session: the class itself."""

    def __init__(self, directory: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SessionWarning)
            self.session = Session.open(directory, wait=10.0)

    def told(self) -> int:
        return int((self.session.history()["id"] > 0).sum())

    def half_told(self) -> dict | None:
        """The suggestion whose outcome was told and not its reward."""
        under_way = self.session.summary()["under_way"]
        return next((one for one in under_way if one["waits_for"] == ["reward"]), None)

    def ask(self, state: str) -> tuple[int, str]:
        found = self.session.ask(state)
        return found.id, str(found.action)

    def tell(self, id: int, **what) -> None:
        self.session.tell(id, **what)

    def add(self, *row, key: str) -> None:
        self.session.add(*row, key=key)

    def import_log(self, path: Path) -> None:
        self.session.import_log(path, chunk=7)

    def close(self) -> None:
        self.session.close()


def drive(way, logs: Path, steps: int) -> None:
    """The script: asks and tells, adds, imports. Started again it goes on where it was killed."""
    told, half = way.told(), way.half_told()
    asked = 0
    for step in range(steps):
        if step % 9 == 4:
            path = logs / f"log{step}.csv"
            if asked >= told and hasattr(way, "import_log"):
                way.import_log(path)
        elif step % 5 == 2:
            if asked >= told:
                action = ACTIONS[step % 3]
                reward, follows = process(step, action)
                way.add(state_of(step), action, reward, follows, key=f"step {step}")
        else:
            asked += 1
            if asked == told + 1 and half is not None:
                way.tell(half["id"], reward=process(step, half["action"])[0])
            elif asked > told:
                id, action = way.ask(state_of(step))
                reward, follows = process(step, action)
                if step % 4 == 1:  # the reward comes later
                    way.tell(id, next_state=follows)
                    way.tell(id, reward=reward)
                else:
                    way.tell(id, reward=reward, next_state=follows)


def make_logs(folder: Path, steps: int) -> Path:
    folder.mkdir(exist_ok=True)
    for step in range(4, steps, 9):
        write_log(folder / f"log{step}.csv", step)
    return folder


def essence(directory: Path) -> list[dict]:
    """All events without times and checksums."""
    lines = (directory / "journal.jsonl").read_text().splitlines()[1:]
    return [{k: v for k, v in json.loads(line).items() if k not in ("time", "sum")} for line in lines]


def killed(work, seconds: float) -> bool:
    """Run `work` in a child that is killed after some time; whether it had finished before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)  # whatever it starts is killed with it
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            work()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os._exit(code)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return not os.WIFSIGNALED(status)


def request(app, method: str, path: str, body=None, headers=None, query: str = "") -> tuple[int, dict, dict]:
    """Call an ASGI application; code, answer and headers."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    given = {"host": "127.0.0.1:1", "content-type": "application/json", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode("utf-8", "surrogatepass"),
        "root_path": "",
        "scheme": "http",
        "server": ("127.0.0.1", 1),
        "client": ("127.0.0.1", 2),
        "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in given.items()],
    }
    sent: list[dict] = []

    async def call() -> None:
        parts = [content[i : i + 65536] for i in range(0, len(content), 65536)] or [b""]

        async def receive() -> dict:
            part = parts.pop(0) if parts else b""
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: dict) -> None:
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(call())
    answer = b"".join(message.get("body", b"") for message in sent[1:])
    heads = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
    try:
        found = json.loads(answer)
    except ValueError:
        found = {"text": answer.decode("utf-8", "replace")}
    return sent[0]["status"], found, heads


def resummed(whole: bytes, rng: np.random.Generator) -> bytes:
    """One value of one event replaced, and all checksums right: what a person may have done."""
    events = [json.loads(line) for line in whole.splitlines()]
    event = events[int(rng.integers(len(events)))]
    event.pop("sum")
    if isinstance(event.get("why"), dict) and rng.random() < 0.5:
        event = event["why"] if rng.random() < 0.5 else event["why"]["actions"][0]
    name = list(event)[int(rng.integers(len(event)))]
    odd = [None, -1, 10**30, 1e308, "x", [], {}, True, [[1]], {"good": [1]}, "", [0], [None], ["good", "good"], 0.5]
    if rng.random() < 0.2:
        del event[name]
    else:
        event[name] = odd[int(rng.integers(len(odd)))]
    lines, checksum = [], 0
    for one in events:
        one.pop("sum", None)
        line, checksum = line_of(one, checksum)
        lines.append(line)
    return b"".join(lines)
