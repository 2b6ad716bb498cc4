"""A shard as a file: its name says how many rows, how many bytes and which checksum it has."""

from __future__ import annotations

import os
import re
import stat
import zlib
from pathlib import Path

from steering.sweeps.store.schema import MAX_SHARD_BYTES, BadShard

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
