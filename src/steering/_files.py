"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from steering.errors import WRONG_PLACE, DiskFull, InvalidOption

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
    sync_folder(path.parent)


@contextlib.contextmanager
def refusing_places(path: str | Path) -> Iterator[None]:
    """Turn what the system says of a place that somebody gave in Python into a sentence (commands have their own)."""
    try:
        yield
    except OSError as error:
        if error.errno in DiskFull.causes:
            raise DiskFull(f"cannot write '{path}': {error.strerror}; free some space and try again.") from None
        if error.errno in (*WRONG_PLACE, errno.ENOENT):
            raise InvalidOption(f"cannot write '{path}': {error.strerror}; give another place.") from None
        raise


def sync_folder(path: Path) -> None:
    """Flush the names in a folder, so that a power cut keeps them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are not there, each flushed to disk with its name."""
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    path.mkdir(exist_ok=True)
    with contextlib.suppress(PermissionError):  # a folder may be written to and not be read
        sync_folder(path.parent)


FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet would take for a formula and run."""


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV; a text that a spreadsheet would run gets an apostrophe, which makes it a text there."""
    shown = table.copy(deep=False)
    for name in shown.columns:
        if not is_numeric_dtype(shown[name]) and not is_bool_dtype(shown[name]):
            texts = shown[name].astype(object)
            risky = texts.map(lambda value: isinstance(value, str) and value.startswith(FORMULAS)).astype(bool)
            if risky.any():
                shown[name] = texts.where(~risky, "'" + texts.astype(str))
    return shown.to_csv(index=False).encode()
