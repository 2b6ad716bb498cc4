"""A shard as a file: its name says how many rows, how many bytes and which checksum it has."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from steering.errors import SteeringError
from steering.sweeps.store.schema import MAX_SHARD_BYTES, BadShard, OtherSchema

NAME = re.compile(r"cells-([0-9a-f]{16})-([0-9]{1,9})-([0-9]{1,12})-([0-9a-f]{8})\.parquet")


def read_shard(path: Path, name: str, *, from_disk: bool = False) -> tuple[bytes, int]:
    """Content of a file that has the size and the checksum in a shard's name, and its number of rows as in the name."""
    match = NAME.fullmatch(name)
    if match is None:
        raise BadShard("its name is not that of a shard")
    content = _read_regular(path, int(match[3]), from_disk)
    if zlib.crc32(content) != int(match[4], 16):
        raise BadShard("its checksum is not the one in its name")
    return content, int(match[2])


NOT_COMPARED = ("seconds", "version", "random_gap")
"""Columns in which equal cells may differ: how long and by whom; and one that older versions do not have."""

AT_ONCE = 64
"""Rows that are turned into Python's numbers at once: these take several times the memory."""


def digests_of(rows: pa.Table, keys: Collection[bytes]) -> Iterator[tuple[bytes, str, str]]:
    """Key, digest of the numbers, and version of those rows that have one of the keys."""
    rows = rows.filter(pc.is_in(rows.column("key"), pa.array(list(keys), rows.schema.field("key").type)))
    compared = rows.drop_columns([name for name in NOT_COMPARED if name in rows.column_names])
    versions = rows.column("version").to_pylist()
    for start in range(0, rows.num_rows, AT_ONCE):
        for i, row in enumerate(compared.slice(start, AT_ONCE).to_pylist(), start=start):
            yield row["key"], hashlib.blake2b(repr(row).encode(), digest_size=16).hexdigest(), str(versions[i])


def different(rows: pa.Table, keys: Collection[bytes]) -> set[bytes]:
    """Those of some keys whose rows have different numbers."""
    digests: dict[bytes, str] = {}
    return {key for key, digest, _ in digests_of(rows, keys) if digests.setdefault(key, digest) != digest}


def _read_regular(path: Path, size: int, from_disk: bool) -> bytes:
    """Content of a regular file that must have a given size; links and devices are refused without opening them."""
    if size > MAX_SHARD_BYTES:
        raise BadShard(f"its name claims {size} bytes, above the limit of {MAX_SHARD_BYTES}")
    if not stat.S_ISREG(path.lstat().st_mode):
        raise BadShard("it is not a regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        actual = os.fstat(descriptor).st_size
        if actual != size:
            raise BadShard(f"it has {actual} bytes, its name says {size}")
        if from_disk and hasattr(os, "posix_fadvise"):  # forget what the system still has of the file in memory
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return file.read(size)


UNREADABLE = (SteeringError, OSError, MemoryError)
"""What reading a file may raise; `reason_of` says it."""


class Unreadable(str):
    """Why a file could not be read although it may be a whole shard: such a file is never moved away."""


class Foreign(Unreadable):
    """The same of a file that another version of the package wrote: waiting does not help."""


def reason_of(error: BaseException) -> str:
    """Why a file is not read, from the error of reading it."""
    if isinstance(error, OtherSchema):
        return Foreign(error)
    if isinstance(error, SteeringError):
        return str(error)
    return Unreadable(f"it cannot be read ({getattr(error, 'strerror', None) or 'not enough memory'})")


def counted(pieces: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same tables; it is an error when they have another number of rows."""
    found = 0
    for piece in pieces:
        found += piece.num_rows
        yield piece
    if found != rows:
        raise BadShard(f"it has {found} rows, its name says {rows}")


def keys_of(rows: pa.Table) -> list[bytes]:
    """Keys of rows as bytes."""
    keys: list[bytes] = rows.column("key").to_pylist()
    if any(key is None for key in keys):
        raise BadShard("a row has no key")
    return keys
