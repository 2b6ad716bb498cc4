"""Read what a Parquet file claims about itself, in plain Python, before a native reader is let near it.

The footer is a structure in Thrift's compact protocol between the last page and the last eight bytes of the file. The
bindings that show a footer in Python can end the whole process on a footer that contradicts itself, and the reader
allocates what the footer says; so the claims are read and judged here first. Only the few fields that matter are kept;
depth, lengths and numbers are bounded, and everything odd is a `ValueError`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, NamedTuple

MAGIC = b"PAR1"
MAX_DEPTH = 8
MAX_ITEMS = 100_000

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)


class Chunk(NamedTuple):
    """A piece of a column: the part of it that is in one row group."""

    column: str
    values: int
    unpacked: int
    packed: int
    start: int
    """Where its first page is."""
    codec: int

    @property
    def size(self) -> int:
        """Bytes that it takes unpacked, at most, as far as its claims are true."""
        return max(8 * self.values, self.unpacked, self.packed)


@dataclass(frozen=True)
class Claims:
    """What a file says: rows, columns of the schema, metadata, and unpacked bytes and numbers of all columns."""

    rows: int
    columns: list[str]
    metadata: dict[bytes, bytes]
    groups: list[int]
    """Rows of each row group."""
    chunks: list[Chunk]
    """Pieces of all columns, group after group."""

    def size(self, columns: Container[str]) -> int:
        """Bytes that these columns take unpacked."""
        return sum(chunk.size for chunk in self.chunks if chunk.column in columns)


def read_claims(content: bytes) -> Claims:
    """Read the footer of a Parquet file; `ValueError` where it is not one."""
    if len(content) < 12 or content[:4] != MAGIC or content[-4:] != MAGIC:
        raise ValueError("it does not begin and end as a Parquet file")
    length = int.from_bytes(content[-8:-4], "little")
    if not 0 < length <= len(content) - 12:
        raise ValueError("its footer does not fit in it")
    file = _Reader(content[len(content) - 8 - length : len(content) - 8]).struct(0)
    try:
        return _claims(file, len(content))
    except (KeyError, TypeError, AttributeError, IndexError):
        raise ValueError("its footer lacks what every footer has") from None


def _claims(file: dict[int, Any], size: int) -> Claims:
    schema = [(_whole(one.get(5, 0)), one[4]) for one in file[2]]
    metadata = {pair[1]: pair.get(2, b"") for pair in file.get(5, ())}
    chunks = []
    groups = []
    for group in file[4]:
        groups.append(_whole(group[3]))
        for column in group[1]:
            known = column[3]
            start = min(_whole(known[offset]) for offset in (9, 11) if offset in known)
            packed = _whole(known[7])
            if not 4 <= start <= start + packed <= size:
                raise ValueError("its footer points outside of it")
            path = b".".join(known[3]).decode()
            chunks.append(Chunk(path, _whole(known[5]), _whole(known[6]), packed, start, _whole(known[4])))
    if sum(groups) != _whole(file[3]):
        raise ValueError("its footer contradicts itself about the number of rows")
    return Claims(sum(groups), _leaves(schema), metadata, groups, chunks)


def read_struct(content: bytes) -> tuple[dict[int, Any], int]:
    """A structure at the beginning of some bytes, such as the header of a page, and its length."""
    reader = _Reader(content)
    return reader.struct(0), reader.at


def _leaves(schema: list[tuple[int, bytes]]) -> list[str]:
    """Dotted paths of the columns, from the flat list of the schema's tree: (number of children, name)."""
    position = 1
    leaves: list[str] = []

    def visit(prefix: str, depth: int) -> None:
        nonlocal position
        children, name = schema[position]
        position += 1
        if depth > MAX_DEPTH:
            raise ValueError("its schema is nested too deeply")
        path = f"{prefix}{name.decode()}"
        if children == 0:
            leaves.append(path)
        for _ in range(children):
            visit(f"{path}.", depth + 1)

    for _ in range(schema[0][0]):
        visit("", 0)
    if position != len(schema):
        raise ValueError("its schema does not fit together")
    return leaves


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError("its footer claims impossible sizes")
    return value


class _Reader:
    """Thrift's compact protocol: structures as {field number: value}."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0
        self.items = 0

    def byte(self) -> int:
        if self.at >= len(self.content):
            raise ValueError("its footer ends too early")
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("its footer has a number that is too long")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def take(self, length: int) -> bytes:
        if length > len(self.content) - self.at:
            raise ValueError("its footer ends too early")
        self.at += length
        return self.content[self.at - length : self.at]

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > MAX_DEPTH:
            raise ValueError("its footer is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while True:
            header = self.byte()
            kind = header & 0x0F
            if kind == STOP:
                return fields
            number = number + (header >> 4) if header >> 4 else self.zigzag()
            if number in fields:
                raise ValueError("its footer has a field twice")
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth)

    def value(self, kind: int, depth: int) -> Any:
        self.items += 1
        if self.items > MAX_ITEMS:
            raise ValueError("its footer is too large")
        if kind in (TRUE, FALSE, BYTE):  # in a list, where a boolean takes a byte
            return self.byte()
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind == DOUBLE:
            return self.take(8)
        if kind == BINARY:
            return self.take(self.varint())
        if kind in (LIST, SET):
            header = self.byte()
            count = header >> 4 if header >> 4 < 15 else self.varint()
            if count > len(self.content):
                raise ValueError("its footer claims a list that does not fit in it")
            return [self.value(header & 0x0F, depth + 1) if header & 0x0F != STRUCT else self.struct(depth + 1)
                    for _ in range(count)]  # fmt: skip
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError("its footer has a field of a kind that no footer has")
