"""What all commands share: consoles, exit codes, small helpers."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steering.errors import WRONG_PLACE, DiskFull

PIPE_WIDTH = 400
"""Columns of a table that goes to a file or a pipe, where nothing has to fit a screen; COLUMNS overrides it."""


WIDEST = 100_000


class PlainConsole(Console):
    """A console that shows every text as it is: no markup, no emoji names, and control characters made visible.

    Names, paths and messages come from users and from other people's results; `[/x]` in them is no closing tag, and an
    escape sequence must not reach the terminal. All texts, those of table cells too, pass through `render_str`.
    """

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn a text into what is drawn."""
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table that would have to leave out letters in this width becomes a list."""
        super().print(*(self._fitting(one) if isinstance(one, Table) else one for one in objects), **options)

    def _fitting(self, table: Table) -> Table | Text:
        needed = table.__rich_measure__(self, self.options.update(max_width=WIDEST)).minimum
        if needed <= self.width or all(column.overflow == "fold" for column in table.columns):
            return table
        lines = [str(table.title), ""] if table.title else []
        for row in zip(*(column.cells for column in table.columns), strict=True):
            for column, cell in zip(table.columns, row, strict=True):
                lines.append(f"{_text(column.header)}: {_text(cell)}")
            lines.append("")
        return Text(visible("\n".join([*lines, str(table.caption)] if table.caption else lines)), overflow="fold")


def _text(cell: Any) -> str:
    return " ".join((cell.plain if isinstance(cell, Text) else str(cell)).split())


def visible(text: str) -> str:
    r"""The text with control characters written out, such as ``\x1b``; line ends and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for every table where there is none."""
    made = PlainConsole(stderr=stderr)
    if not made.is_terminal and not os.environ.get("COLUMNS"):
        made.width = PIPE_WIDTH
    return made


out = console()
err = console(stderr=True)

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2
EXIT_CELLS_FAILED = 3
EXIT_DISK_FULL = 4


def place(text: str) -> Path:
    """Read the path of a directory; an empty one, from a variable that is not set, say, would mean the current one."""
    if not text.strip():
        raise typer.BadParameter("the path is empty; give a directory, or . for the current one")
    return Path(text)


def count(text: str | int) -> int:
    """Read a whole number, also as 1e4 or 10_000."""
    if isinstance(text, int):
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
        if value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"'{text}' is not a whole number; write 10000, or 1e4")


def seed_list(text: str | int) -> int | tuple[int, ...]:
    """Read a number of seeds, or the seeds themselves: 10, or 1,2,3 (a single one is written with a comma: 7,)."""
    if isinstance(text, int) or "," not in text:
        return count(text)
    parts = [part.strip() for part in text.removesuffix(",").split(",")]
    if not all(parts):
        raise typer.BadParameter(f"'{text}' lacks a seed beside a comma; write 10 for that many, or the seeds: 1,2,3")
    return tuple(map(count, parts))


Steps = Annotated[int, typer.Option("--steps", "-t", help="Steps of each run, e.g. 1e4.", parser=count, metavar="N")]
Seeds = Annotated[
    Any,
    typer.Option(
        "--seeds", "-k", help="Number of seeds (0, 1, ...), or the seeds: 1,2,3.", parser=seed_list, metavar="K"
    ),
]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import", help="Module that registers your agents or environments, here or installed; repeat for more."
    ),
]


def import_modules(names: list[str] | None) -> None:
    """Import what `--import` names; the current folder is searched too."""
    if names:
        from steering._modules import import_all

        with contextlib.redirect_stdout(sys.stderr):  # standard output belongs to results
            import_all(names)


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")]


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output; numbers that JSON does not have (inf, nan) become text."""
    print(json.dumps(_finite(value), indent=2, default=str, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: 1 seed, 2 seeds."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def system_error(error: OSError) -> tuple[str, int]:
    """Sentence and exit code for an error of the system, as a rule about a place that was given."""
    place = f"{error.filename}: " if error.filename is not None else ""
    if error.errno in DiskFull.causes:
        return f"{place}{error.strerror}; free some space and try again.", EXIT_DISK_FULL
    if error.errno in WRONG_PLACE:
        return f"{place}{error.strerror}; give another place.", EXIT_BAD_INPUT
    return f"{place}{error.strerror or error}.", EXIT_FAILURE
