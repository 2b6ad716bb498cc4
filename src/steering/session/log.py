"""Histories from CSV files: states, actions, rewards and next states by name or number, read in chunks.

A row that cannot be used is left out, and reported with its line and the reason.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steering._types import Floats
from steering.errors import InvalidOption
from steering.session.labels import LONGEST, Label, Labels, checked_label
from steering.session.state import LARGEST_REWARD

COLUMNS = ("state", "action", "reward", "next_state", "done")
CHUNK = 10_000
KEPT = 1000
"""Skipped lines that are kept with their reasons; the others are only counted."""
TRUE, FALSE = ("1", "true", "yes", "y", "t"), ("", "0", "false", "no", "n", "f")


@dataclass
class ImportReport:
    """What came of a file.

    Attributes
    ----------
    source
        The file.
    rows
        Rows that were taken.
    skipped
        (line, reason) of rows that were left out, the first thousand.
    n_skipped
        How many were left out.
    already
        Rows taken by an earlier import of the same file, which are not taken again.
    new_states, new_actions
        Names that were added.
    """

    source: str
    rows: int = 0
    skipped: list[tuple[int, str]] = field(default_factory=list)
    n_skipped: int = 0
    already: bool = False
    new_states: list[Label] = field(default_factory=list)
    new_actions: list[Label] = field(default_factory=list)

    def skip(self, line: int, reason: str) -> None:
        """Leave a line out."""
        self.n_skipped += 1
        if len(self.skipped) < KEPT:
            self.skipped.append((line, reason))

    def __str__(self) -> str:
        if self.already:
            return f"{self.source} was imported before; nothing was added."
        text = f"{self.rows} rows of {self.source} were taken"
        if self.n_skipped:
            line, reason = self.skipped[0]
            text += f", {self.n_skipped} skipped (the first at line {line}: {reason})"
        return f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "source": self.source,
            "rows": self.rows,
            "already": self.already,
            "n_skipped": self.n_skipped,
            "skipped": [{"line": line, "reason": reason} for line, reason in self.skipped],
            "new_states": self.new_states,
            "new_actions": self.new_actions,
        }


@dataclass(frozen=True)
class LogRow:
    """One row as it stands in the file; `next_state` may be empty where an episode ends."""

    line: int
    state: str
    action: str
    reward: float
    next_state: str
    done: bool


class Log:
    """A CSV file with a header.

    Parameters
    ----------
    path
        The file.
    columns
        Names of its columns where they are other than `COLUMNS`, for example {"state": "condition"}.
    delimiter
        Between two cells; found in the header (comma, semicolon or tab) if it is not given.
    """

    def __init__(
        self, path: str | Path, columns: Mapping[str, str] | None = None, delimiter: str | None = None
    ) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InvalidOption(f"the log {path} is not a file; give a CSV file with a header.")
        unknown = sorted(set(columns or {}) - set(COLUMNS))
        if unknown:
            raise InvalidOption(f"'{unknown[0]}' is not a column of a log; there are: {', '.join(COLUMNS)}.")
        self.names = {name: str((columns or {}).get(name, name)) for name in COLUMNS}
        self._required = set(COLUMNS) - ({"done"} if "done" not in (columns or {}) else set())
        if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"'):
            raise InvalidOption(f"the delimiter is {delimiter!r}; give one character, such as ';'.")
        self.delimiter = delimiter

    def digest(self) -> str:
        """SHA-256 of the content and of how it is read; the same file is not imported twice."""
        found = hashlib.sha256(repr((sorted(self.names.items()), self.delimiter)).encode())
        with open(self.path, "rb") as file:
            while block := file.read(1 << 20):
                found.update(block)
        return found.hexdigest()

    def rows(self, report: ImportReport) -> Iterator[LogRow]:
        """All rows that can be read; the others go to the report."""
        with open(self.path, encoding="utf-8-sig", errors="replace", newline="") as file:
            first = file.readline(1 << 20)
            if len(first) >= 1 << 20:
                raise InvalidOption(f"the first line of {self.path} is too long for the header of a CSV file.")
            delimiter = self.delimiter or max(",;\t", key=first.count)
            reader = csv.reader(itertools.chain(io.StringIO(first, newline=""), file), delimiter=delimiter)
            try:
                places = self._places(next(reader, []))
                yield from self._read(reader, places, report)
            except csv.Error as error:
                raise InvalidOption(f"{self.path}, line {reader.line_num}: {error}; it is not a CSV file.") from None

    def _places(self, header: list[str]) -> dict[str, int]:
        found = {cell.strip(): place for place, cell in reversed(list(enumerate(header)))}
        for name in COLUMNS:
            if self.names[name] not in found and name in self._required:
                shown = ", ".join(_shown(cell.strip()) for cell in header[:20]) or "none"
                raise InvalidOption(
                    f"{self.path} has no column '{self.names[name]}' for the {name.replace('_', ' ')}; it has: {shown}."
                )
        return {name: found[self.names[name]] for name in COLUMNS if self.names[name] in found}

    def _read(self, reader: Any, places: dict[str, int], report: ImportReport) -> Iterator[LogRow]:
        last = max(places.values())
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            line = reader.line_num
            if len(cells) <= last:
                report.skip(line, f"it has {len(cells)} cells, and {last + 1} are needed")
                continue
            cell = {name: cells[place].strip() for name, place in places.items()}
            problem = _problem(cell)
            if problem:
                report.skip(line, problem)
                continue
            done = cell.get("done", "").lower() in TRUE
            yield LogRow(line, cell["state"], cell["action"], float(cell["reward"]), cell["next_state"], done)


def _shown(text: str) -> str:
    """The beginning of a cell, on one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:50])


def _problem(cell: dict[str, str]) -> str:
    """What is wrong with the cells of a row, or nothing."""
    done = cell.get("done", "").lower()
    if done not in TRUE and done not in FALSE:
        return f"done is '{_shown(cell['done'])}', which is neither true nor false"
    for name in ("state", "action", "next_state"):
        if not cell[name] and not (name == "next_state" and done in TRUE):
            return f"the {name.replace('_', ' ')} is missing"
        if len(cell[name]) > LONGEST or not cell[name].isprintable():
            return f"the {name.replace('_', ' ')} is not a name"
    try:
        reward = float(cell["reward"])
    except ValueError:
        reward = math.nan
    if not math.isfinite(reward):
        return f"the reward is '{_shown(cell['reward'])}', which is not a finite number"
    if abs(reward) > LARGEST_REWARD:
        return f"the reward is {reward:g}, which is larger than {LARGEST_REWARD:g}"
    return ""


def survey(log: Log) -> tuple[list[Label], list[Label], Floats]:
    """States and actions of a log, and all rewards. Names that are all whole numbers are put in order."""
    states: dict[str, None] = {}
    actions: dict[str, None] = {}
    rewards = []
    for row in log.rows(ImportReport(str(log.path))):
        states[row.state] = None
        actions[row.action] = None
        if row.next_state:
            states[row.next_state] = None
        rewards.append(row.reward)
    return _ordered("state", states), _ordered("action", actions), np.array(rewards)


def _ordered(what: str, names: dict[str, None]) -> list[Label]:
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return [checked_label(what, name) for name in names]
    if [str(number) for number in numbers] != list(names):  # 007 is a name
        return [checked_label(what, name) for name in names]
    return [checked_label(what, number) for number in sorted(numbers)]


def chunks_of(
    log: Log,
    states: Labels,
    actions: Labels,
    report: ImportReport,
    after: int = 0,
    size: int = CHUNK,
) -> Iterator[dict[str, Any]]:
    """Events of an import: rows by number, in chunks."""
    digest = log.digest()
    columns: dict[str, list[Any]] = {"state": [], "action": [], "reward": [], "next": [], "done": []}
    line = after

    def event(last: bool) -> dict[str, Any]:
        found = {"event": "import", "source": log.path.name, "sha256": digest, "line": line, "last": last}
        return {**found, **{name: list(values) for name, values in columns.items()}}

    for row in log.rows(report):
        if row.line <= after:
            continue
        unknown = next(
            (
                f"unknown {labels.what} '{name}'"
                for labels, name in ((states, row.state), (actions, row.action), (states, row.next_state))
                if name and name not in labels
            ),
            "",
        )
        if unknown:
            report.skip(row.line, unknown)
            continue
        if row.done:
            columns["done"].append(len(columns["state"]))
        columns["state"].append(states.number(row.state))
        columns["action"].append(actions.number(row.action))
        columns["reward"].append(row.reward)
        columns["next"].append(states.number(row.next_state) if row.next_state else -1)
        line = row.line
        report.rows += 1
        if len(columns["state"]) >= size:
            yield event(False)
            for values in columns.values():
                values.clear()
    yield event(True)
