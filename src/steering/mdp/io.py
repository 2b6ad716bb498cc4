"""Save and load a `TabularMDP`: ``.npz`` (compact) or ``.json`` (readable), both exact to the bit.

``.npz`` is a zip of ``.npy`` members: `schema`, `version`, `P`, `reward_mean`, `reward_std`, `mask`, `start` and the
names as fixed-width text. Nothing is ever unpickled. ``.json`` is an object with the same keys; numbers have the 17
digits that give the same double back. A JSON file written by hand may leave out what has a default in `TabularMDP`.

Files are written to a temporary name, flushed to disk and renamed, so a reader sees the old file or the whole new one.
A file from a stranger can do no harm: sizes are compared with limits before anything is allocated, and whatever is
wrong with it becomes one `SteeringError`.
"""

from __future__ import annotations

import io
import json
import math
import os
import secrets
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steering.errors import InvalidMDP, SteeringError
from steering.mdp.tabular import TabularMDP

SCHEMA = "steering-mdp"
VERSION = 1
MAX_JSON_BYTES = 2**27
MAX_ENTRIES = 2**27
"""Largest number of entries of one array that is loaded: 1 GB in double precision."""

_ARRAYS = {"P": "<f8", "reward_mean": "<f8", "reward_std": "<f8", "mask": "|b1", "start": "<f8"}
_NAMES = ("state_names", "action_names")
_FORMATS = (".npz", ".json")


def save(mdp: TabularMDP, path: str | os.PathLike[str]) -> None:
    """Write an MDP to a ``.npz`` or ``.json`` file, whole or not at all.

    Parameters
    ----------
    mdp
        The MDP; `load` gives an equal one back, to the bit.
    path
        Where to; the ending chooses the format, an existing file is replaced.
    """
    if not isinstance(mdp, TabularMDP):
        raise InvalidMDP(f"cannot save an object of type {type(mdp).__name__}; give a TabularMDP.")
    target = Path(path)
    data = _to_npz(mdp) if _ending(target) == ".npz" else _to_json(mdp, target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InvalidMDP(f"cannot write '{target}': {error.strerror or error}.") from None


def load(path: str | os.PathLike[str]) -> TabularMDP:
    """Read an MDP from a ``.npz`` or ``.json`` file that `save` wrote, or from JSON written by hand."""
    source = Path(path)
    read = _from_npz if _ending(source) == ".npz" else _from_json
    if not source.is_file():
        raise InvalidMDP(f"there is no file '{source}'; check the path.")
    try:
        parts = read(source)
    except SteeringError:
        raise
    except OSError as error:
        raise InvalidMDP(f"cannot read '{source}': {error.strerror or error}.") from None
    except Exception as error:
        # A damaged or hostile file fails in the zip, the decompressor, the header or the parser, each in its
        # own way.
        _refuse(source, f"it is damaged or of another kind ({type(error).__name__})")
    try:
        return TabularMDP(**parts)
    except SteeringError as error:
        raise InvalidMDP(f"'{source}' does not hold a valid MDP: {error}") from None


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in _FORMATS:
        raise InvalidMDP(f"'{path}' ends in '{path.suffix}'; an MDP file ends in .npz or .json.")
    return ending


def _refuse(path: Path, why: str) -> NoReturn:
    raise InvalidMDP(f"'{path}' is not an MDP file: {why}; make it with steering.mdp.io.save.")


def _check_header(path: Path, schema: object, version: object) -> None:
    if schema != SCHEMA:
        _refuse(path, f"its schema is not '{SCHEMA}'")
    if version != VERSION:
        raise InvalidMDP(f"'{path}' has format version {version!r}; this package reads {VERSION}, so update it.")


def _to_npz(mdp: TabularMDP) -> bytes:
    members: dict[str, Any] = {"schema": np.array(SCHEMA), "version": np.array(VERSION, dtype="<i8")}
    members.update({key: getattr(mdp, key).astype(kind, copy=False) for key, kind in _ARRAYS.items()})
    members.update({key: np.array(getattr(mdp, key), dtype=np.str_) for key in _NAMES})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **members)
    return buffer.getvalue()


def _from_npz(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        expected = {"schema", "version", *_ARRAYS, *_NAMES}
        if {f"{key}.npy" for key in expected} != set(archive.namelist()):
            _refuse(path, "it does not have the arrays of one")
        schema, version = _member(archive, "schema", path), _member(archive, "version", path)
        _check_header(path, str(schema), int(version) if version.dtype.kind == "i" else version)
        parts: dict[str, Any] = {key: _member(archive, key, path) for key in _ARRAYS}
        parts.update({key: tuple(_member(archive, key, path).tolist()) for key in _NAMES})
    return parts


def _member(archive: zipfile.ZipFile, key: str, path: Path) -> np.ndarray[Any, Any]:
    """Read one array whose header has been compared with the limits and with the size of the member."""
    info = archive.getinfo(f"{key}.npy")
    with archive.open(info) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            _refuse(path, f"array '{key}' has an unknown header")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        count = math.prod(shape)
        kind = _ARRAYS.get(key, "i" if key == "version" else "U")
        wanted = dtype.kind == kind or dtype.str == kind
        if not wanted or fortran:
            _refuse(path, f"array '{key}' has type {dtype}")
        size = count * dtype.itemsize
        if min(shape, default=0) < 0 or max(count, size // 8) > MAX_ENTRIES or size > info.file_size:
            _refuse(path, f"array '{key}' cannot have shape {shape}")
        data = stream.read(size)
        if stream.read(1):
            _refuse(path, f"array '{key}' has data after its end")
    if dtype.kind == "b":  # any byte but 0 is true; NumPy would keep a stray 2 and count it twice
        return np.not_equal(np.frombuffer(data, dtype=np.uint8, count=count), 0).reshape(shape)
    return np.frombuffer(data, dtype=dtype, count=count).reshape(shape)


def _to_json(mdp: TabularMDP, path: Path) -> bytes:
    parts: dict[str, Any] = {"schema": SCHEMA, "version": VERSION}
    if mdp.P.size * 3 > MAX_JSON_BYTES / 3:  # even "0.0" takes more than three characters
        raise InvalidMDP(f"an MDP of {mdp.P.size} transitions is too large for '{path}'; save it as .npz.")
    parts.update({key: getattr(mdp, key).tolist() for key in _ARRAYS})
    parts.update({key: list(getattr(mdp, key)) for key in _NAMES})
    data = (json.dumps(parts, allow_nan=False) + "\n").encode()
    if len(data) > MAX_JSON_BYTES:
        raise InvalidMDP(f"'{path}' would have {len(data)} bytes, too large for JSON; save it as .npz.")
    return data


def _from_json(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_JSON_BYTES:
        _refuse(path, f"it has more than {MAX_JSON_BYTES} bytes")
    parts = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_object)
    if not isinstance(parts, dict):
        _refuse(path, "it does not hold an object with the key 'schema'")
    _check_header(path, parts.pop("schema", None), parts.pop("version", None))
    for key in ("P", "reward_mean"):
        if key not in parts:
            _refuse(path, f"it has no '{key}'")
    for key in parts:
        if key not in (*_ARRAYS, *_NAMES):
            _refuse(path, f"it has the unknown key '{key}'")
    for key in _NAMES:
        names = parts.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            _refuse(path, f"'{key}' is not a list of texts")
    return parts


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parts = dict(pairs)
    if len(parts) != len(pairs):
        raise InvalidMDP("an MDP file has a key twice; keep one of them.")
    return parts
