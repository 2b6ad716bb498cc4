"""How records travel: a JSON header and plain arrays in one piece of bytes, the same live and in a file.

Layout: the length of the header (4 bytes, little-endian), the header, spaces up to a multiple of 8, then the arrays,
each at a multiple of 8. The header's ``"arrays"`` says for each name its type, shape and place.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"uint8": "u1", "uint16": "u2", "uint32": "u4", "int32": "i4", "float32": "f4", "float64": "f8"}
KEPT_BITS = 12
"""Bits of precision that a rounded number keeps: 0.02 %, more than a page shows, and the rest packs well."""


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Bytes of a header and arrays; numbers that JSON does not have become nothing."""
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in arrays.items():
        kind = array.dtype.name
        data = np.ascontiguousarray(array, dtype=np.dtype("<" + TYPES[kind])).tobytes()
        places[name] = [kind, list(array.shape), at]
        parts.append(data + bytes(-len(data) % 8))
        at += len(parts[-1])
    text = json.dumps(finite({**header, "arrays": places}), separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of `pack`, as the page reads them."""
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    arrays = {
        name: np.frombuffer(data, "<" + TYPES[kind], int(np.prod(shape)), 4 + length + at).reshape(shape)
        for name, (kind, shape, at) in header.pop("arrays").items()
    }
    return header, arrays


def rounded(values: NDArray[Any]) -> NDArray[np.float32]:
    """Values as float32 to `KEPT_BITS` bits of precision."""
    numbers = np.ascontiguousarray(values, dtype=np.float32)
    drop = np.uint32(23 - KEPT_BITS)
    bits = numbers.view(np.uint32)
    half = np.uint32(1) << (drop - np.uint32(1))
    kept = np.where(np.isfinite(numbers), (bits + half) & ~((np.uint32(1) << drop) - np.uint32(1)), bits)
    out: NDArray[np.float32] = kept.astype(np.uint32).view(np.float32)
    return out


def small_unsigned(values: NDArray[Any], most: int) -> NDArray[Any]:
    """Whole numbers from 0 to `most` in the smallest type that holds them."""
    kind = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32
    return np.asarray(values).astype(kind)


def finite(value: Any) -> Any:
    """The same without numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
