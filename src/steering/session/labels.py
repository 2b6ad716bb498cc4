"""Names of states, actions and units, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from steering.errors import InvalidOption, SteeringError, UnknownName, unknown_name

Label = str | int
MOST = 1_000_000
LONGEST = 200
NEAR = 200
"""Names among which the nearest to a misspelt one is looked for, and which are listed, at most."""


class Labels:
    """Names in order; `number` finds one. A whole number and its text are the same name."""

    def __init__(self, what: str, names: Iterable[Any] = ()) -> None:
        self.what = what
        self.names: list[Label] = []
        self._numbers: dict[str, int] = {}
        self.extend(names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return str(name) in self._numbers

    def extend(self, names: Iterable[Any]) -> None:
        """Add names at the end; refused as a whole if one of them cannot be a name or is there already."""
        new = [checked_label(self.what, name) for name in names]
        keys = [str(name) for name in new]
        twice = [key for key in keys if key in self._numbers] or _repeated(keys)
        if twice:
            raise InvalidOption(f"the {self.what} '{twice[0]}' is given twice; every {self.what} needs its own name.")
        if len(self.names) + len(new) > MOST:
            raise InvalidOption(f"there are more than {MOST} {self.what}s; use fewer.")
        for key, name in zip(keys, new, strict=True):
            self._numbers[key] = len(self.names)
            self.names.append(name)

    def number(self, name: Any) -> int:
        """Number of a name, from 0; an unknown name is refused with the nearest known one."""
        if isinstance(name, (bool, np.bool_)) or not isinstance(name, (str, int, np.integer)):
            raise InvalidOption(f"{name!r} is not the name of a {self.what}; give a text or a whole number.")
        key = name.strip() if isinstance(name, str) else str(int(name))
        found = self._numbers.get(key)
        if found is None:
            raise self._unknown(key)
        return found

    def _unknown(self, key: str) -> SteeringError:
        if len(self.names) <= NEAR:
            return unknown_name(self.what, key[:LONGEST], self._numbers)
        return UnknownName(f"unknown {self.what} '{key[:LONGEST]}': it is none of the {len(self.names)} names.")


def checked_label(what: str, name: Any) -> Label:
    """A name as it is kept: a whole number, or a text without spaces around it and without control characters."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        if abs(int(name)) >= 2**53:
            raise InvalidOption(f"{name} is too large for the name of a {what}; use a text.")
        return int(name)
    if not isinstance(name, str):
        raise InvalidOption(f"{name!r} cannot be the name of a {what}; give a text or a whole number.")
    text = name.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise InvalidOption(
            f"{text[:LONGEST]!r} cannot be the name of a {what}; use 1 to {LONGEST} letters, digits and signs."
        )
    return text


def checked_names(what: str, given: Any) -> list[Any]:
    """Names from a list, or the numbers 0, ..., n - 1 from a number n."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 1 <= given <= MOST:
            raise InvalidOption(f"the number of {what}s is {given}; it must be from 1 to {MOST}.")
        return list(range(int(given)))
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidOption(f"{what}s is {given!r}; give a list of names, or a number.")
    names = list(given)
    if not names:
        raise InvalidOption(f"the list of {what}s is empty; give at least one name.")
    return names


def _repeated(keys: list[str]) -> list[str]:
    seen: set[str] = set()
    return [key for key in keys if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
