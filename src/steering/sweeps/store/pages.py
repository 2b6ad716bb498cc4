"""How much memory each row of a Parquet file takes, told from its pages before a reader unpacks them.

A footer says how many values a column has, not how they fall into rows: one row may hold them all. A shard that is too
large to be read at once is read some rows at a time, so their sizes must be known first. A list column keeps for each
value a *repetition level*, 0 where a row begins and 1 inside it; these are read here, page by page, in plain Python,
and no value is. (For pages, levels and their run lengths see the Parquet format, "Data Pages" and "RLE".)

Only what `schema.to_bytes` writes is understood: pages of the first kind, packed with zstd. Everything else is a
`ValueError`, like everything odd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from steering.sweeps.store.footer import Chunk, read_struct

DATA_PAGE, DICTIONARY_PAGE = 0, 2
PLAIN = 0
ZSTD = 6
MAX_HEADER = 1 << 12
MAX_PAGE = 64 << 20
"""Largest page that is unpacked here; those of a shard are about a megabyte."""


@dataclass(frozen=True)
class _Page:
    dictionary: bool
    plain: bool
    values: int
    unpacked: int
    body: bytes


def row_bytes(content: bytes, chunk: Chunk, rows: int, *, is_list: bool, is_text: bool) -> NDArray[np.float64]:
    """Bytes that each row of a column takes unpacked, at most: its values times the bytes of a value.

    A number takes 8. A text is in a page whole, so it is no longer than the largest page that holds texts.
    """
    each = 8
    starts: list[NDArray[np.int64]] = []
    seen = 0
    for page in _pages(content, chunk):
        if is_text and (page.dictionary or page.plain):
            each = max(each, page.unpacked)
        if is_list and not page.dictionary:
            starts += [seen + some for some in _row_starts(page, rows)]
            seen += page.values
    if not is_list:
        return np.full(rows, float(each))
    edges = np.concatenate([*starts, [chunk.values]])
    if len(edges) != rows + 1 or edges[0] != 0:
        raise ValueError("its rows are not those that its footer claims")
    return np.diff(edges) * float(each)


def unpacked_bytes(content: bytes, chunk: Chunk, *, is_text: bool) -> int:
    """Bytes that a piece of a column takes in memory, at most, from the headers of its pages; nothing is unpacked.

    Refused are pages that would unpack to more than the footer claims. A text that stands once in a dictionary is
    there as often as it is referred to when it is read.
    """
    largest = 0
    for page in _pages(content, chunk):
        if page.dictionary:
            largest = max(largest, page.unpacked)
    return max(chunk.size, largest * chunk.values if is_text else 0)


def _pages(content: bytes, chunk: Chunk) -> Iterator[_Page]:
    """Pages of a piece of a column, in order; together they have the values that the footer claims."""
    if chunk.codec != ZSTD:
        raise ValueError("its columns are not packed as those of a shard")
    at, end, seen, size = chunk.start, chunk.start + chunk.packed, 0, 0
    while seen < chunk.values:
        header, length = read_struct(content[at : min(at + MAX_HEADER, end)])
        at += length
        try:
            kind, unpacked, packed = header[1], header[2], header[3]
            known = header[5] if kind == DATA_PAGE else header[7]
            values, encoding = known[1], known[2]
        except (KeyError, TypeError):
            raise ValueError("it has pages that a shard does not have") from None
        sizes = (kind, unpacked, packed, values, encoding)
        if not all(type(size) is int and size >= 0 for size in sizes) or kind not in (DATA_PAGE, DICTIONARY_PAGE):
            raise ValueError("it has pages that a shard does not have")
        if unpacked > MAX_PAGE or at + packed > end:
            raise ValueError("it has a page that does not fit in it")
        if kind == DATA_PAGE:
            seen += values
        size += length + unpacked
        if seen > chunk.values or size > chunk.unpacked:
            raise ValueError("its pages hold more than its footer claims")
        yield _Page(kind == DICTIONARY_PAGE, encoding == PLAIN, values, unpacked, content[at : at + packed])
        at += packed


def _row_starts(page: _Page, rows: int) -> Iterator[NDArray[np.int64]]:
    """Places of the values of a page at which rows begin: those with repetition level 0."""
    # The levels come first in the page: their length in four bytes, then runs. The result has the size that was
    # allowed above, whatever the packed bytes would unpack to.
    whole = pa.Codec("zstd").decompress(page.body, decompressed_size=page.unpacked, asbytes=True)
    length = int.from_bytes(whole[:4], "little")
    levels = whole[4 : 4 + length]
    at = place = found = 0
    while place < page.values:
        header, at = _varint(levels, at)
        if header & 1:  # (header >> 1) bytes of eight levels each
            count = header >> 1
            bits = np.unpackbits(np.frombuffer(levels[at : at + count], np.uint8), bitorder="little")
            if count == 0 or len(bits) != 8 * count:
                raise ValueError("its levels end too early")
            at += count
            zeros = np.flatnonzero(bits[: page.values - place] == 0)
            place += 8 * count
            found += len(zeros)
            if found <= rows:
                yield place - 8 * count + zeros
        else:  # one level, (header >> 1) times
            count = header >> 1
            if count == 0 or at >= len(levels):
                raise ValueError("its levels end too early")
            if levels[at] == 0:
                found += min(count, page.values - place)
                if found <= rows:
                    yield np.arange(place, min(place + count, page.values))
            at += 1
            place += count
        if found > rows:
            raise ValueError("its rows are not those that its footer claims")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and the place behind it."""
    value = shift = 0
    while at < len(content) and shift < 35:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("its levels end too early")
