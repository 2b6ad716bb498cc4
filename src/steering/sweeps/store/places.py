"""Files and folders of a results directory: what goes wrong with them, in sentences, and how strangers' are read."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from steering._files import TEMPORARY_PREFIX
from steering.errors import WRONG_PLACE, DiskFull, SteeringError, Unreachable


class StoreError(SteeringError):
    """A results directory cannot be used as one."""


class writing:
    """Turn the system's errors of writing into sentences: a full disk, a place that cannot be written."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, OSError):
            return
        if error.errno in DiskFull.causes:
            raise DiskFull(
                f"no space left for {self.directory} ({error.strerror}): all finished cells are kept; free some space "
                "and start the same command again."
            ) from None
        kind_of_error = StoreError if error.errno in WRONG_PLACE else Unreachable
        raise kind_of_error(f"{self.directory} cannot be written: {error.strerror} ({error.filename}).") from None


def without_controls(value: Any) -> Any:
    """Text without control characters but new lines and tabs: a stranger's record may go to a terminal."""
    if not isinstance(value, str):
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in value)


def names_in(folder: Path) -> list[str]:
    """Names in a folder but those of writes that are not finished."""
    return [name for name in os.listdir(folder) if not name.startswith(TEMPORARY_PREFIX)]


def read_json(path: Path, limit: int) -> Any:
    """Content of a JSON file of at most so many bytes; None where there is none."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or path.stat().st_size > limit:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
