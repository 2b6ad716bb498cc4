"""Columns of transitions from arrays, from a pandas table or from a CSV file, with a sentence for what is wrong."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering.errors import InvalidMDP

COLUMNS = ("state", "action", "next_state", "probability", "reward", "reward_std")
_NEEDED = COLUMNS[:4]
_NUMBERS = COLUMNS[3:]
CLOSE = 0.75
"""Likeness of a name to that of a column from which on it is taken for a mistake of spelling."""


@dataclass
class Columns:
    """Columns of transitions as given: states and actions as numbers or labels, rewards perhaps (S, A) or a number."""

    state: NDArray[Any]
    action: NDArray[Any]
    successor: NDArray[Any]
    probability: Any
    reward: Any
    std: Any
    lines: Sequence[int] = field(default=(), kw_only=True)
    """Where each transition is in the file that they came from, if they did."""

    def at(self, k: int) -> str:
        """Transition k, with its line."""
        return f"transition {k} (line {self.lines[k]})" if len(self.lines) else f"transition {k}"


def read_columns(states: Any, actions: Any, successors: Any, probabilities: Any, rewards: Any, std: Any) -> Columns:
    """Columns from arrays, or from one pandas table or CSV file given as `states`."""
    lines: Sequence[int] = ()
    if isinstance(states, (str, os.PathLike)) or _is_table(states):
        if any(other is not None for other in (actions, successors, probabilities)):
            raise InvalidMDP("a table of transitions has all columns; give it alone.")
        table, lines = (states, ()) if _is_table(states) else _read_csv(states)
        found = _found(table)
        states, actions, successors, probabilities = (found[name] for name in _NEEDED)
        rewards = found["reward"] if rewards is None else rewards
        std = found["reward_std"] if std is None else std
    s, a, y = (
        _vector(name, values)
        for name, values in (("states", states), ("actions", actions), ("next_states", successors))
    )
    if probabilities is None:
        raise InvalidMDP("probabilities is missing; give one for each transition.")
    return Columns(
        s, a, y, probabilities, 0.0 if rewards is None else rewards, 0.0 if std is None else std, lines=lines
    )


def _is_table(values: object) -> bool:
    """Whether it is a pandas table, found without loading pandas."""
    return hasattr(values, "columns") and hasattr(values, "to_numpy")


def _found(table: Any) -> dict[str, NDArray[Any] | None]:
    """The columns of a table by their names; None where there is none."""
    titles = [str(title) for title in table]
    _refuse_repeated(titles)
    found: dict[str, NDArray[Any] | None] = {}
    known: list[str] = []
    for name in COLUMNS:
        written = next((title for title in _spellings(name) if title in titles), None)
        found[name] = None if written is None else np.asarray(table[written])
        known += [] if written is None else [written]
    others = [title for title in titles if title not in known]
    for name in COLUMNS:
        if found[name] is None:
            close = [title for title in others if get_close_matches(title, COLUMNS, 1, CLOSE) == [name]]
            meant = f"did you mean '{name}' by '{close[0]}'?" if close else ""
            if name in _NEEDED:
                columns = meant or f"its columns are {', '.join(map(_visible, titles))}."
                needed = f"it needs {', '.join(_NEEDED)} and perhaps reward"
                raise InvalidMDP(f"the table has no column '{name}'; {needed}; {columns}")
            if close:  # rewards would be 0 without a word
                raise InvalidMDP(f"the table has a column '{close[0]}', which is not known; {meant}")
    return found


def _visible(title: str) -> str:
    """A title without tabs and the like, which would be lost in a sentence."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in title)


def _refuse_repeated(titles: list[str]) -> None:
    """Refuse two columns for one thing, of which one would be left out without a word."""
    for name in COLUMNS:
        written = [title for title in titles if title in _spellings(name)]
        if len(written) > 1:
            both = " and ".join(f"'{title}'" for title in written[:2])
            raise InvalidMDP(f"the table has two columns of the {name}, {both}; keep the one that is meant.")


def _spellings(name: str) -> tuple[str, ...]:
    return name, f"{name}s", name.replace("probability", "probabilities")


def _read_csv(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Columns of a CSV file, numbers where all entries of one are, else texts (None where it is empty); and lines."""
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            delimiter = max(",\t", key=first.count)
            reader = csv.reader(itertools.chain([first], file), delimiter=delimiter, skipinitialspace=True)
            numbered = [(reader.line_num, row) for row in reader if row]
    except OSError as error:
        raise InvalidMDP(f"cannot read '{name}': {error.strerror or error}.") from None
    except (UnicodeError, csv.Error) as error:
        raise InvalidMDP(f"'{name}' is not a table of transitions: {error}.") from None
    if len(numbered) < 2:
        raise InvalidMDP(f"'{name}' has no transitions; the first line must name the columns, each other is one.")
    (_, header), *lines = numbered
    if len(header) == 1 and header[0].count(";") >= len(_NEEDED) - 1:
        raise InvalidMDP(f"the columns of '{name}' are separated by semicolons; separate them by commas.")
    for line, row in lines:
        if len(row) != len(header):
            raise InvalidMDP(f"line {line} of '{name}' has {len(row)} entries; there are {len(header)} columns.")
    titles = [title.strip() for title in header]
    _refuse_repeated(titles)  # in a dict the last would win
    columns = zip(*(row for _, row in lines), strict=True)
    table = {title: _parsed(column) for title, column in zip(titles, columns, strict=True)}
    for title in {spelling for column in _NUMBERS for spelling in _spellings(column)} & table.keys():
        _refuse_texts(name, title, table[title], [line for line, _ in lines])
    return table, [line for line, _ in lines]


def _refuse_texts(name: str, title: str, column: NDArray[Any], lines: list[int]) -> None:
    """Name the first line whose entry is not a number, where all must be."""
    if column.dtype.kind != "O":
        return
    for line, entry in zip(lines, column, strict=True):
        if entry is None or _parsed((entry,)).dtype.kind == "O":
            is_what = "is missing" if entry is None else f"is '{entry}', which is not a number"
            raise InvalidMDP(f"the {title} in line {line} of '{name}' {is_what}.")


def _parsed(column: tuple[str, ...]) -> NDArray[Any]:
    for kind in (int, float):
        try:
            return np.array([_number(kind, entry) for entry in column])
        except (ValueError, OverflowError):
            continue
    return np.array([entry.strip() or None for entry in column], dtype=object)


def _number(kind: type[int] | type[float], entry: str) -> int | float:
    """The number that an entry is; Python would read the name 1_0 as 10."""
    if "_" in entry:
        raise ValueError(entry)
    return kind(entry)


def _vector(name: str, values: Any) -> NDArray[Any]:
    if values is None:
        raise InvalidMDP(f"{name} is missing; give states, actions, next_states and probabilities.")
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.ndim != 1 or array.size == 0:
        raise InvalidMDP(f"{name} has shape {array.shape}; it must be a column of at least one transition.")
    return array
