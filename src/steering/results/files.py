"""Write the results of a comparison to a directory, each file whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from steering.results.runs import RunResults

TEMPORARY_PREFIX = ".writing-"
"""How the names of unfinished files begin; such a file is never data."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write to a temporary neighbour, flush it to disk, then rename: a reader never sees half a file.

    The neighbour is a new file (a link that somebody left under its name is not followed) and is removed when the
    write fails, for example on a full disk. The directory is flushed too, so that the name survives a power cut.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:  # it names the neighbour, or nothing
        error.filename, error.filename2 = str(path), None
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write_tables(runs: Sequence[RunResults], directory: Path) -> list[Path]:
    """Write finals.csv (a row for each agent and seed) and settings.json; returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    finals = pd.concat([one.table() for one in runs], ignore_index=True)
    settings = [
        {
            "environment": one.environment,
            "agent": one.agent,
            "steps": one.steps,
            "seeds": list(one.seeds),
            "discount": one.discount,
            "horizon": one.horizon,
            **one.settings,
        }
        for one in runs
    ]
    tables = {
        "finals.csv": finals.to_csv(index=False).encode(),
        "settings.json": (json.dumps(settings, indent=2) + "\n").encode(),
    }
    for name, content in tables.items():
        write_atomically(directory / name, content)
    return [directory / name for name in tables]
