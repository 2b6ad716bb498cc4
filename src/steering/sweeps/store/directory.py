"""A directory of results that survives anything: every file whole or absent, every writer independent of the others.

Layout::

    DIR/sweep.json            what was asked for
    DIR/shards/cells-TOKEN-ROWS-BYTES-CRC.parquet
    DIR/failed/KEY.json       cells that failed for good, with their traceback
    DIR/journal/*.jsonl       events of every process that worked here
    DIR/set-aside/            files found in shards/ that are not whole shards

The rule: *a cell is done if and only if its row is in a whole shard*. A shard is whole when its size and its CRC-32
are those in its name and its content is a Parquet file of exactly our schema. A name is given by the rename that ends
a write and never reused (TOKEN is random), so writers on one directory, on one machine or many, cannot disturb each
other; two that compute one cell leave two equal rows, of which readers take one.

Nothing here follows a symbolic link, and nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import secrets
import tempfile
import zlib
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from steering._files import TEMPORARY_PREFIX, make_folder, write_atomically
from steering.errors import Unreachable
from steering.sweeps.store import lists, schema
from steering.sweeps.store.places import StoreError, names_in, read_json, without_controls, writing
from steering.sweeps.store.shard_files import (
    NAME,
    UNREADABLE,
    Foreign,
    Unreadable,
    counted,
    different,
    digests_of,
    keys_of,
    read_shard,
    reason_of,
)

FOLDERS = ("shards", "failed", "journal", "set-aside")
STALE_SECONDS = 3600
MAX_RECORD_BYTES = 1 << 20
MAX_SWEEP_BYTES = 64 << 20

SMALL_BYTES = 4 << 20
MERGED_BYTES = 32 << 20
READ_AHEAD = 3
"""Shards that are read before they are asked for."""
SCANNED = ("key", "version", "environment", "agent", "steps", "config")
"""Columns that tell which cells are done."""
MANY_SMALL = 64
"""Fewer small shards than that are not merged: reading them costs less than merging would at the end of a sweep."""


Pieces = Iterable[pa.Table]
Key = bytes
"""Key of a cell; `Scan` has a field of the other name."""


@dataclass
class Scan:
    """What a look at all shards found."""

    keys: set[bytes] = field(default_factory=set)
    shards: int = 0
    rows: int = 0
    bytes: int = 0
    versions: set[str] = field(default_factory=set)
    """Versions of the package that computed the cells."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Files that are not whole shards: (name, reason). A reason that is `Unreadable` proves nothing about the file."""
    conflicts: dict[Key, str] = field(default_factory=dict)
    """Cells with rows of different numbers, which are in no `keys`: what is known about where they came from."""


class Store:
    """One results directory; see the module's docstring for layout and guarantees."""

    def __repr__(self) -> str:
        return f"Store: {self.directory}"

    def __init__(self, directory: str | os.PathLike[str], *, create: bool = False) -> None:
        self.directory = Path(directory)
        if create:
            with writing(self.directory):
                for name in FOLDERS:
                    make_folder(self.directory / name)
        if not (self.directory / "shards").is_dir():
            raise StoreError(f"{self.directory} is not a results directory: it has no folder 'shards'.")
        for name in FOLDERS:
            folder = self.directory / name
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise StoreError(
                    f"{folder} is a link or a file, not a folder; a results directory holds its own files."
                )
        self.shards = self.directory / "shards"
        self.sweep_file = self.directory / "sweep.json"

    # Shards

    def write(self, content: bytes, rows: int) -> Path:
        """Add a shard (the bytes of `schema.to_bytes`), whole or not at all."""
        name = f"cells-{secrets.token_hex(8)}-{rows}-{len(content)}-{zlib.crc32(content):08x}.parquet"
        with writing(self.directory):
            write_atomically(self.shards / name, content)
        return self.shards / name

    def read(self, columns: Sequence[str] | None, problems: list[tuple[str, str]]) -> Iterator[tuple[str, Pieces]]:
        """Names and rows of all whole shards, some columns of them; other files are listed in `problems`.

        The rows of a shard come in one table, or in several where they would take too much memory at once. What is
        wrong in a later table is only found when that is asked for: `UNREADABLE` errors, for `reason_of`.
        """
        with ThreadPoolExecutor(2) as pool:
            for batch in self._new_names():
                ahead = deque(pool.submit(self._load, name, columns) for name in batch[:READ_AHEAD])
                for number, name in enumerate(batch):
                    outcome = ahead.popleft().result()
                    if number + READ_AHEAD < len(batch):
                        ahead.append(pool.submit(self._load, batch[number + READ_AHEAD], columns))
                    if isinstance(outcome, str):
                        problems.append((name, outcome))
                    elif outcome is not None:
                        yield name, outcome

    def _new_names(self) -> Iterator[list[str]]:
        """Names in shards/, in small batches, until no new ones appear: shards may be merged while we read."""
        seen: set[str] = set()
        while True:
            names = sorted(set(names_in(self.shards)) - seen)
            if not names:
                return
            seen.update(names)
            for start in range(0, len(names), 32):
                yield names[start : start + 32]

    def _load(self, name: str, columns: Sequence[str] | None, path: Path | None = None) -> Pieces | str | None:
        """Rows, or the reason why there are none; nothing when the file was merged into another in the meantime."""
        try:
            pieces = iter(self.rows(name, columns, path))
            first = list(itertools.islice(pieces, 2))
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            return reason_of(error)
        return first if len(first) == 1 else itertools.chain(first, pieces)

    def rows(self, name: str, columns: Sequence[str] | None, path: Path | None = None) -> Pieces:
        """Rows of one shard, some columns of them; `UNREADABLE` errors where it is none, or gone."""
        content, rows = read_shard(path or self.shards / name, name)
        return counted(schema.read_pieces(content, columns), rows)

    def scan(self) -> Scan:
        """Keys of all finished cells; every shard's checksum is verified."""
        found = Scan()
        twice: set[bytes] = set()
        for name, pieces in self.read(SCANNED, found.problems):
            try:
                tables = [_claiming(rows) for rows in pieces]
                keys = [key for rows in tables for key in keys_of(rows)]
            except UNREADABLE as error:
                found.problems.append((name, reason_of(error)))
                continue
            twice.update(found.keys.intersection(keys))
            if len(set(keys)) < len(keys):
                twice.update(key for key, count in Counter(keys).items() if count > 1)
            found.keys.update(keys)
            for rows in tables:
                found.versions.update(map(str, rows.column("version").unique().to_pylist()))
            found.shards += 1
            found.rows += len(keys)
            found.bytes += int(name.split("-")[3])
        found.conflicts = self.conflicts(twice)
        found.keys -= found.conflicts.keys()
        return found

    def conflicts(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Those of some cells that have rows with different numbers, and the origins of these rows in words.

        Two that compute one cell leave equal rows. Rows that differ come from other code, a broken machine or a
        forger: nobody can tell here which is right, so none is taken.
        """
        if not keys:
            return {}
        origins: dict[bytes, dict[str, list[str]]] = {}
        for name, pieces in self.read(None, []):
            with contextlib.suppress(*UNREADABLE):
                for rows in pieces:
                    for key, digest, version in digests_of(rows, keys):
                        origins.setdefault(key, {}).setdefault(digest, []).append(f"{name} (version {version})")
        return {
            key: "rows with different numbers, of which none is taken: "
            + " against ".join(", ".join(names[:3]) for names in known.values())
            + "; move the file that is wrong out of the folder shards and start the sweep again"
            for key, known in origins.items()
            if len(known) > 1
        }

    def set_aside(self, problems: Sequence[tuple[str, str]]) -> None:
        """Move files that are not whole shards out of shards/, so that their cells are computed again.

        A file that may well be whole, because only the reading of it failed, stops the sweep instead.
        """
        for name, reason in problems:
            if isinstance(reason, Unreadable):
                raise (StoreError if isinstance(reason, Foreign) else Unreachable)(
                    f"{(self.shards / name)!s} may be a whole shard, but {reason}; see to that, or move the file away, "
                    "and start the sweep again."
                )
        for name, _ in problems:
            target = self.directory / "set-aside" / f"{secrets.token_hex(4)}-{name[-200:]}"
            with writing(self.directory):
                try:
                    (self.shards / name).rename(target)
                except FileNotFoundError:
                    continue

    def take_back(self) -> list[str]:
        """Put files that were set aside but are whole shards back in their place; returns their names.

        Older versions set aside whole shards that were too large for them to read.
        """
        back = []
        folder = self.directory / "set-aside"
        for name in sorted(names_in(folder)):
            shard = name.partition("-")[2]
            if isinstance(self._load(shard, ["key", "version"], folder / name), str | None):
                continue
            with writing(self.directory):
                try:
                    (folder / name).rename(self.shards / shard)
                except FileNotFoundError:
                    continue
            back.append(shard)
        return back

    def tidy(self) -> None:
        """Remove what killed writers left unfinished, an hour later, when none can still be writing it.

        The hour is one of the disk's clock: that of this machine may be wrong, and others may be writing.
        """
        with writing(self.directory), tempfile.TemporaryFile(dir=self.directory, prefix=TEMPORARY_PREFIX) as file:
            now = os.fstat(file.fileno()).st_mtime
        for folder in (self.directory, *(self.directory / name for name in FOLDERS)):
            for name in os.listdir(folder):
                path = folder / name
                try:
                    if name.startswith(TEMPORARY_PREFIX) and now - path.lstat().st_mtime > STALE_SECONDS:
                        path.unlink()
                except (FileNotFoundError, IsADirectoryError, PermissionError):
                    continue  # gone, or a folder that somebody else left: it is not in the way

    def merge(self, names: Sequence[str] | None = None) -> int:
        """Merge small shards, all or these, into larger ones, without double rows; returns how many files went away.

        A merged shard is whole on disk, and was read from there, before the first of its parts is removed: a kill at
        any moment leaves at most some rows twice.
        """
        chosen = names_in(self.shards) if names is None else names
        small = [name for name in chosen if (m := NAME.fullmatch(name)) and int(m[3]) < SMALL_BYTES]
        if len(small) < MANY_SMALL:
            return 0
        gone = 0
        parts: list[str] = []
        tables: list[pa.Table] = []
        packed = unpacked = 0
        for name in sorted(small):
            try:
                content, _ = read_shard(self.shards / name, name)
                size = schema.size_of(content)
                if size > schema.PIECE_BYTES // 2:
                    continue  # small only because it packs well
                rows = schema.read_rows(content)
            except UNREADABLE:
                continue
            if parts and (packed > MERGED_BYTES or unpacked + size > schema.PIECE_BYTES):
                gone += self._merge_parts(parts, tables)
                parts, tables, packed, unpacked = [], [], 0, 0
            parts.append(name)
            tables.append(rows)
            packed += len(content)
            unpacked += size
        return gone + self._merge_parts(parts, tables)

    def _merge_parts(self, parts: list[str], tables: list[pa.Table]) -> int:
        if len(parts) < 2:
            return 0
        rows = pa.concat_tables(tables)
        first: dict[bytes, int] = {}
        twice: set[bytes] = set()
        for i, key in enumerate(keys_of(rows)):
            if first.setdefault(key, i) != i:
                twice.add(key)
        if bad := different(rows, twice):  # which of them is right is not ours to choose: these shards stay
            good = [i for i, table in enumerate(tables) if bad.isdisjoint(keys_of(table))]
            return self._merge_parts([parts[i] for i in good], [tables[i] for i in good])
        rows = rows.take(pa.array([first[key] for key in sorted(first)]))
        merged = [self.write(content, count) for count, content in schema.to_shards(rows.combine_chunks())]
        if not self._check_merged(merged, sorted(first)):
            return 0
        for name in parts:
            (self.shards / name).unlink(missing_ok=True)
        return len(parts) - len(merged)

    def _check_merged(self, merged: list[Path], keys: list[bytes]) -> bool:
        """Read merged shards whole, from the disk; where they do not hold these cells they go, and their parts stay.

        False where another process has merged them on: then the parts stay as well.
        """
        try:
            found = []
            for path in merged:
                content, rows = read_shard(path, path.name, from_disk=True)
                found += [key for table in counted(schema.read_pieces(content), rows) for key in keys_of(table)]
            if found != keys:
                raise schema.BadShard("it does not hold the cells of its parts")
        except FileNotFoundError:
            return False
        except UNREADABLE as error:
            for path in merged:
                path.unlink(missing_ok=True)
            raise Unreachable(
                f"{self.directory}: a merged shard was written, but {reason_of(error)}; it was removed, and all "
                "finished cells are kept in their parts. See to the disk and start the same command again."
            ) from None
        return True

    # Failures and the sweep

    def record_failure(self, key: bytes, record: dict[str, Any]) -> None:
        """Keep what is known about a cell that failed for good."""
        with writing(self.directory):
            write_atomically(self.directory / "failed" / f"{key.hex()}.json", json.dumps(record, indent=1).encode())

    def failures(self) -> dict[bytes, dict[str, Any]]:
        """Records of failed cells by key; files that are none are left alone."""
        found = {}
        folder = self.directory / "failed"
        for name in sorted(names_in(folder)) if folder.is_dir() else ():
            if re.fullmatch(rf"[0-9a-f]{{{2 * schema.KEY_BYTES}}}\.json", name):
                record = read_json(folder / name, MAX_RECORD_BYTES)
                if isinstance(record, dict):
                    found[bytes.fromhex(name[:-5])] = {key: without_controls(value) for key, value in record.items()}
        return found

    def forget_failures(self, keys: Sequence[bytes]) -> None:
        """Remove failure records, so that their cells are tried again."""
        for key in keys:
            (self.directory / "failed" / f"{key.hex()}.json").unlink(missing_ok=True)

    def write_sweep(self, description: dict[str, Any]) -> None:
        """Keep what the newest sweep asked for."""
        with writing(self.directory):
            write_atomically(self.sweep_file, json.dumps(description).encode())

    def read_sweep(self) -> dict[str, Any]:
        """What the newest sweep asked for, as it was written; its content is checked by whoever uses it."""
        value = read_json(self.sweep_file, MAX_SWEEP_BYTES)
        if not isinstance(value, dict):
            raise StoreError(f"{self.sweep_file} is missing or not readable; start the sweep again with its file.")
        return value


def _claiming(rows: pa.Table) -> pa.Table:
    """Keys and versions of rows that are what their configuration says."""
    lists.check_claims(rows)
    return rows.select(["key", "version"])
