"""The page: one template with its own style and scripts, served live or written as one file that replays a record."""

from __future__ import annotations

import base64
import hashlib
import html
import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from steering._files import write_atomically
from steering.agents import Agent
from steering.envs import Environment
from steering.errors import SteeringError
from steering.lab.chart import chart, colour, script
from steering.lab.packing import pack
from steering.lab.recorder import Track
from steering.lab.words import draws, how, what
from steering.lab.world import world

SCRIPTS = ("record.js", "map.js", "chart.js", "panel.js", "words.js", "session.js", "lab.js")
ASSETS = ("lab.css", *SCRIPTS)
LIVE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the live page may do: run our scripts, talk to this server, nothing else."""


def asset(name: str) -> str:
    """Text of a file of the page."""
    return (files("steering.lab") / "assets" / name).read_text(encoding="utf-8")


def live_page(speed: float | None) -> str:
    """The page that asks this server; without a speed it chooses one that suits the world."""
    head = '<link rel="stylesheet" href="/assets/lab.css">'
    # The picture moves before the script of the chart, a large one, is read.
    names = (*SCRIPTS, "bokeh.min.js")
    scripts = "".join(f'<script defer src="/assets/{name}"></script>' for name in names)
    return _filled({"HEAD": head, "SCRIPTS": scripts, "SPEED": _speed(speed), "TITLE": "STEERING lab"})


def world_pack(environment: Environment, tracks: Sequence[Track], steps: int, seed: int, *, live: bool) -> bytes:
    """What the page needs before the first step; live the chart comes later, since Bokeh takes its time to load."""
    names = [track.name for track in tracks]
    header, arrays = world(environment, names, steps, seed)
    more: dict[str, Any] = {
        "chart": None if live else chart(names, live=False),
        "about": what(environment.name),
        "how": [how(track.agent) for track in tracks],
        "draws": [draws(track.agent) for track in tracks],
        "colours": [colour(number) for number in range(len(names) + 1)],
        "live": live,
    }
    return pack({**header, **more}, arrays)


def tracks_pack(tracks: Sequence[Track], seen: Sequence[tuple[int, int, int, int]], run: int = 0) -> bytes:
    """What is new in some tracks."""
    headers, arrays = [], {}
    for number, (track, counts) in enumerate(zip(tracks, seen, strict=True)):
        header, own = track.since(*counts)
        headers.append(header)
        arrays.update({f"{number}.{name}": array for name, array in own.items()})
    return pack({"tracks": headers, "run": run}, arrays)


def export(
    path: Path, environment: Environment, agents: Sequence[Agent], *, steps: int, seed: int, speed: float | None
) -> list[Track]:
    """Run agents and write the page that replays them; returns their records."""
    tracks = [Track(environment, agent, steps, seed) for agent in agents]
    for track in tracks:
        track.run()
        if track.error is not None:
            raise SteeringError(f"agent '{track.name}' stopped with {track.error}.")
    parts = [
        world_pack(environment, tracks, steps, seed, live=False),
        tracks_pack(tracks, [(0, 0, 0, 0)] * len(tracks)),
    ]
    write_page(path, environment.name, parts, speed)
    return tracks


def write_page(path: Path, name: str, parts: Sequence[bytes], speed: float | None) -> None:
    """Write the page that replays a record: its world and its tracks."""
    data = [base64.b64encode(zlib.compress(part, 9)).decode() for part in parts]
    write_atomically(path, _exported(name, data, speed).encode())


def _exported(name: str, data: Sequence[str], speed: float | None) -> str:
    """One file: scripts are inlined, and the policy allows exactly these and no connection."""
    code = [script(), "\n".join(asset(part) for part in SCRIPTS)]
    # What ends a script element in HTML is text to the script; only strings and comments can hold it.
    code = [part.replace("</script", "<\\/script") for part in code]
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in code)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{asset("lab.css")}</style>'
    blocks = "".join(f'<script type="application/octet-stream" class="record">{part}</script>' for part in data)
    scripts = blocks + "".join(f"<script>{part}</script>" for part in code)
    title = f"{html.escape(name)} · STEERING lab"
    return _filled({"HEAD": head, "SCRIPTS": scripts, "SPEED": _speed(speed), "TITLE": title})


def _speed(speed: float | None) -> str:
    return "" if speed is None else f"{speed:g}"


def _filled(parts: dict[str, str]) -> str:
    text = asset("page.html")
    for name, content in parts.items():
        text = text.replace(f"<!--{name}-->", content)
    return text
