"""Save and load a `TabularMDP`: ``.npz`` (compact) or ``.json`` (readable), both exact to the bit.

``.npz`` is a zip of ``.npy`` members: `schema`, `version`, `P`, `reward_mean`, `reward_std`, `mask`, `start` and the
names as fixed-width text. Nothing is ever unpickled. ``.json`` is an object with the same keys; numbers have the 17
digits that give the same double back. A JSON file written by hand may leave out what has a default in `TabularMDP`.

A dense MDP has version 1. A sparse one has version 2: in ``.npz`` the rows (`offsets`, `successors`, `probabilities`)
with rewards as they are stored in place of `P`, in ``.json`` the columns of `TabularMDP.from_transitions`.

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

from steering import _memory
from steering.errors import InvalidMDP, SteeringError
from steering.mdp.sparse import SparseTable
from steering.mdp.tabular import TabularMDP

SCHEMA = "steering-mdp"
VERSION = 1
SPARSE_VERSION = 2
MAX_JSON_BYTES = 2**27
MAX_ENTRIES = 2**27
"""Largest number of entries of one array that is loaded: 1 GB in double precision."""

MAX_UNPACKED, MAX_RATIO = 2**30, 100
"""A file that unpacks to more than a gigabyte and to more than so many times its size is not read."""

_ARRAYS = {"P": "<f8", "reward_mean": "<f8", "reward_std": "<f8", "mask": "|b1", "start": "<f8"}
_ROWS = {
    "offsets": "<i8",
    "successors": "<i4",
    "probabilities": "<f8",
    "reward_mean": "<f8",
    "reward_std": "<f8",
    "mask": "|b1",
    "start": "<f8",
}
_COLUMNS = ("states", "actions", "next_states", "probabilities")
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
        if "P" in parts:
            return TabularMDP(**parts)
        if "offsets" in parts:
            parts = _columns_of_rows(source, parts)
        return TabularMDP.from_transitions(**parts)
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
    if type(version) is not int or version not in (VERSION, SPARSE_VERSION):
        raise InvalidMDP(
            f"'{path}' has format version {version!r}; this package reads {VERSION} and {SPARSE_VERSION}, so update it."
        )


def _to_npz(mdp: TabularMDP) -> bytes:
    version = SPARSE_VERSION if mdp.is_sparse else VERSION
    members: dict[str, Any] = {"schema": np.array(SCHEMA), "version": np.array(version, dtype="<i8")}
    arrays = zip(_ROWS if mdp.is_sparse else _ARRAYS, mdp.arrays(), strict=True)
    members.update({key: array.astype({**_ARRAYS, **_ROWS}[key], copy=False) for key, array in arrays})
    members.update({key: np.array(getattr(mdp, key), dtype=np.str_) for key in _NAMES})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **members)
    return buffer.getvalue()


def _from_npz(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        found = {name.removesuffix(".npy") for name in archive.namelist()}
        arrays = _ROWS if "offsets" in found else _ARRAYS
        expected = {"schema", "version", *arrays, *_NAMES}
        if {f"{key}.npy" for key in expected} != set(archive.namelist()):
            _refuse(path, "it does not have the arrays of one")
        _refuse_bomb(archive, path)
        schema, version = _member(archive, "schema", path), _member(archive, "version", path)
        _check_header(path, str(schema), int(version) if version.dtype.kind == "i" else version)
        parts: dict[str, Any] = {key: _member(archive, key, path) for key in arrays}
        parts.update({key: tuple(_member(archive, key, path).tolist()) for key in _NAMES})
    return parts


def _refuse_bomb(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse a small file that would fill the memory, before any of it is unpacked."""
    unpacked = sum(info.file_size for info in archive.infolist())
    packed = max(path.stat().st_size, 1)
    if unpacked > MAX_UNPACKED and unpacked > MAX_RATIO * packed:
        _refuse(path, f"its {packed} bytes unpack to {_memory.size_text(unpacked)}; if it is yours, save sparse rows")
    _memory.require(unpacked, f"the MDP of '{path}'", "use a smaller one, or sparse rows")


def _columns_of_rows(path: Path, parts: dict[str, Any]) -> dict[str, Any]:
    """Columns of stored rows, for `TabularMDP.from_transitions`, which checks them."""
    offsets, mask = parts.pop("offsets"), parts.pop("mask")
    n = parts["probabilities"].size
    whole = mask.ndim == 2 and offsets.shape == (mask.size + 1,) and parts["successors"].shape == (n,)
    if not whole or offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 0).any():
        _refuse(path, "its rows do not fit each other")
    if not np.array_equal(np.diff(offsets) > 0, mask.ravel()):
        _refuse(path, "its mask does not fit its rows")
    table = SparseTable(offsets, parts["successors"], parts["probabilities"], *(np.zeros(1),) * 2, shape=mask.shape)
    rewards = [parts.pop("reward_mean"), parts.pop("reward_std")]
    if any(part.ndim != 1 or part.size not in (1, mask.size, n) for part in rewards):
        _refuse(path, "its rewards do not fit its rows")
    rows = np.repeat(np.arange(mask.size), np.diff(offsets))
    return {
        "states": rows // mask.shape[1],
        "actions": rows % mask.shape[1],
        "next_states": parts.pop("successors").astype(np.int64),
        "rewards": table.spread(rewards[0]),
        "reward_std": table.spread(rewards[1]),
        "n_states": mask.shape[0],
        "n_actions": mask.shape[1],
        **parts,
    }


def _member(archive: zipfile.ZipFile, key: str, path: Path) -> np.ndarray[Any, Any]:
    """Read one array whose header has been compared with the limits and with the size of the member."""
    info = archive.getinfo(f"{key}.npy")
    with archive.open(info) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            _refuse(path, f"array '{key}' has an unknown header")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        count = math.prod(shape)
        kind = {**_ARRAYS, **_ROWS}.get(key, "i" if key == "version" else "U")
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
    entries = mdp.n_transitions if mdp.is_sparse else mdp.entries
    if entries * 3 > MAX_JSON_BYTES / 3:  # even "0.0" takes more than three characters
        raise InvalidMDP(f"an MDP of {entries} transitions is too large for '{path}'; save it as .npz.")
    parts: dict[str, Any] = {"schema": SCHEMA, "version": SPARSE_VERSION if mdp.is_sparse else VERSION}
    parts.update(_json_columns(mdp) if mdp.is_sparse else {key: getattr(mdp, key).tolist() for key in _ARRAYS})
    parts.update({key: list(getattr(mdp, key)) for key in _NAMES})
    data = (json.dumps(parts, allow_nan=False) + "\n").encode()
    if len(data) > MAX_JSON_BYTES:
        raise InvalidMDP(f"'{path}' would have {len(data)} bytes, too large for JSON; save it as .npz.")
    return data


def _json_columns(mdp: TabularMDP) -> dict[str, Any]:
    """Columns of a sparse MDP; rewards that are all the same are written once."""
    table, A = mdp.transitions, mdp.n_actions
    rows = np.repeat(np.arange(mdp.n_states * A), np.diff(table.offsets))
    rewards = [part[0].item() if part.size == 1 else table.spread(part).tolist() for part in (table.mean, table.std)]
    return {
        "n_states": mdp.n_states,
        "n_actions": A,
        "states": (rows // A).tolist(),
        "actions": (rows % A).tolist(),
        "next_states": table.successors.tolist(),
        "probabilities": table.probabilities.tolist(),
        "rewards": rewards[0],
        "reward_std": rewards[1],
        "start": mdp.start.tolist(),
    }


def _from_json(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_JSON_BYTES:
        _refuse(path, f"it has more than {MAX_JSON_BYTES} bytes")
    parts = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_object)
    if not isinstance(parts, dict):
        _refuse(path, "it does not hold an object with the key 'schema'")
    version = parts.pop("version", None)
    _check_header(path, parts.pop("schema", None), version)
    columns = version == SPARSE_VERSION
    for key in _COLUMNS if columns else ("P", "reward_mean"):
        if key not in parts:
            _refuse(path, f"it has no '{key}'")
    extra = ("n_states", "n_actions", "rewards", "reward_std", "start") if columns else tuple(_ARRAYS)
    for key in parts:
        if key not in (*extra, *_NAMES, *(_COLUMNS if columns else ())):
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
