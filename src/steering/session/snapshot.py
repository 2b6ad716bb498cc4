"""The state of a session in one file, so that opening need not read the whole journal.

It is never needed: without it, or where it does not fit the journal (checksum of the file, of the header, and of the
line at its position), the journal is read from its beginning. The file is a SHA-256 followed by arrays (npz, without
pickle).
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from steering._files import write_atomically
from steering.session.columns import ASKS, ORDER, ROWS, Columns
from steering.session.journal import Journal
from steering.session.labels import Labels
from steering.session.state import Open, Plan, State

FILE = "snapshot.bin"
DIGEST = hashlib.sha256().digest_size
EVERY = 2000
"""Events after which a new one is worth its while, at least; and a tenth of all."""


def due(events: int, since: int) -> bool:
    """Whether a snapshot is worth its while, with so many events in all and since the last one."""
    return since >= max(EVERY, events // 10)


def write_snapshot(directory: Path, state: State, journal: Journal, header: int) -> None:
    """Write the state after the last event of the journal."""
    about = {
        "header": header,
        "position": journal.position,
        "checksum": journal.checksum,
        "number": journal.number,
        "states": state.states.names,
        "actions": state.actions.names,
        "units": state.units.names,
        "risk": state.risk,
        "open": [asdict(one) for one in state.open.values()],
        "waiting": sorted(state.waiting.items()),
        "keys": state.keys,
        "imports": state.imports,
        "plan": None if state.plan is None else asdict(state.plan),
        "structure": state.structure,
        "episode_began": state.episode_began,
    }
    content = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    tables = {"rows": state.rows.array, "asks": state.asks.array, "order": state.order.array, "mask": state.mask}
    np.savez(content, about=text, **tables)  # type: ignore[arg-type]
    body = content.getvalue()
    write_atomically(directory / FILE, hashlib.sha256(body).digest() + body)


def read_snapshot(directory: Path, journal: Journal, header: int) -> State | None:
    """The state of the snapshot, with the journal moved behind it; None if there is none that fits."""
    path = directory / FILE
    try:
        if path.is_symlink() or not path.is_file():
            return None
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            return None
        with np.load(io.BytesIO(content[DIGEST:]), allow_pickle=False) as tables:
            about = json.loads(tables["about"].tobytes())
            if about["header"] != header or not journal.ends_with(about["position"], about["checksum"]):
                return None
            state = _state(about, {name: tables[name] for name in ("rows", "asks", "order", "mask")})
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile, RecursionError, MemoryError):
        return None
    journal.jump(about["position"], about["checksum"], about["number"])
    return state


def _state(about: dict[str, Any], tables: dict[str, np.ndarray[Any, np.dtype[Any]]]) -> State:
    dtypes = {"rows": ROWS, "asks": ASKS, "order": ORDER}
    if any(tables[name].dtype != dtype for name, dtype in dtypes.items()):
        raise ValueError("a table has another form")
    state = State(
        Labels("state", about["states"]),
        Labels("action", about["actions"]),
        tables["mask"].astype(bool),
        risk=None if about["risk"] is None else (about["risk"][0], about["risk"][1]),
        units=Labels("unit", about["units"]),
        rows=Columns(ROWS, tables["rows"]),
        asks=Columns(ASKS, tables["asks"]),
        order=Columns(ORDER, tables["order"]),
        waiting={unit: list(rows) for unit, rows in about["waiting"]},
        keys=dict(about["keys"]),
        imports=dict(about["imports"]),
        plan=None if about["plan"] is None else Plan(**about["plan"]),
        structure=about["structure"],
        episode_began=about["episode_began"],
        number=about["number"],
    )
    for values in about["open"]:
        for name in ("allowed", "risk"):
            values[name] = None if values[name] is None else tuple(values[name])
        one = Open(**values)
        state.open[one.id] = one
        if not one.happened:
            state.questions[one.question] = one.id
    return state
