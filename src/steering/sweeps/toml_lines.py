"""Lines of a TOML file, so that an error can say where it is."""

from __future__ import annotations

import math
import re

Where = tuple[str | int, ...]

TOKEN = re.compile(
    r"""
    (?P<text> "(?:\\.|[^"\\])*" | '[^']*' )
    | (?P<comment> \#.* )
    | (?P<mark> [\[\]{},] )
    | (?P<other> [^\s\[\]{},"'\#]+ )
    """,
    re.VERBOSE,
)
"""Pieces of a TOML value on one line."""


class Lines:
    """Finds the line of a key, or of an item of its list; a key that is not found is named alone."""

    def __init__(self, text: str) -> None:
        self._text = text.splitlines()
        self._lines: dict[Where, int] = {}
        table: Where = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(self._text, start=1):
            header = re.match(r"\s*(\[\[?)\s*([\w.\-]+)\s*\]", line)
            key = re.match(r"\s*([\w\-]+)\s*=", line)
            if header:
                table = tuple(header[2].split("."))
                if header[1] == "[[":
                    counts[header[2]] = counts.get(header[2], -1) + 1
                    table = (*table, counts[header[2]])
                elif table[0] in counts:
                    table = (table[0], counts[str(table[0])], *table[1:])
                self._lines.setdefault(table, number)
            elif key:
                self._lines.setdefault((*table, key[1]), number)

    def place(self, where: Where) -> str:
        """Return "line 3, agents[1]" for a path such as ("agents", 1)."""
        name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
        for end in range(len(where), 0, -1):
            line = self._lines.get(where[:end])
            if line is not None:
                if end < len(where) and isinstance(item := where[end], int):
                    line = self._item(line, item)
                return f"line {line}, {name}"
        return name or "the top level"

    def _item(self, line: int, item: int) -> int:
        """Line on which an item of the list that begins on a line begins; the list's own where it cannot be found."""
        depth, at = 0, -1
        fresh = False
        for number in range(line, len(self._text) + 1):
            content = self._text[number - 1]
            start = content.index("=") + 1 if number == line and "=" in content else 0
            for token in TOKEN.finditer(content, start):
                if token.lastgroup == "comment":
                    break
                mark = token.group()
                if fresh and mark not in "],":
                    at, fresh = at + 1, False
                    if at == item:
                        return number
                depth += (mark in "[{") - (mark in "]}")
                if depth == 0:
                    return line
                if depth == 1 and mark in "[,":
                    fresh = True
        return line


def by_line(errors: list[str]) -> list[str]:
    """Errors that begin with a place (see `Lines.place`) in the order of the file; those without a line come last."""

    def line(error: str) -> float:
        found = re.match(r"line (\d+),", error)
        return float(found[1]) if found else math.inf

    return sorted(errors, key=line)
