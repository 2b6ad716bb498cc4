"""Checks of options; each refusal is one sentence with the option, its value and its range."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from steering.errors import InvalidOption


def whole(what: str, value: object, least: int, most: int | None = None) -> int:
    """Return `value` as an int, or refuse it unless it is a whole number from `least` to `most`."""
    wanted = f"at least {least}" if most is None else f"from {least} to {most}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InvalidOption(f"{what} is {value!r}; it must be a whole number, {wanted}.")
    if value < least or (most is not None and value > most):
        raise InvalidOption(f"{what} is {int(value)}; it must be {wanted}.")
    return int(value)


def number(what: str, value: object, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """Return `value` as a finite float that is >= `least` and > `above`, or refuse it."""
    real = (int, float, np.integer, np.floating)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, real):
        raise InvalidOption(f"{what} is {value!r}; it must be a number.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise InvalidOption(f"{what} is {value}; it must be a finite number.")
    if result < least:
        raise InvalidOption(f"{what} is {value}; it must be at least {least:g}.")
    if result <= above:
        raise InvalidOption(f"{what} is {value}; it must be greater than {above:g}.")
    return result


def probability(what: str, value: object) -> float:
    """Return `value` as a float from 0 to 1, or refuse it."""
    chance = number(what, value, least=0.0)
    if chance > 1.0:
        raise InvalidOption(f"{what} is {chance:g}; a probability is from 0 to 1.")
    return chance


def truth(what: str, value: object) -> bool:
    """Return `value` as a bool, or refuse anything but true and false."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidOption(f"{what} is {value!r}; it must be true or false.")
    return bool(value)


def choice(what: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed words, or refuse it."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidOption(f"{what} is {value!r}; it must be one of: {', '.join(allowed)}.")
    return value


def choose(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the allowed words."""
    if value not in allowed:
        raise InvalidOption(f"{name} is '{value}'; choose one of: {', '.join(allowed)}.")


def in_range(name: str, value: float, low: float, high: float = np.inf, *, open_low: bool = False) -> None:
    """Refuse a number outside [low, high], or (low, high] with `open_low`; NaN is always outside."""
    fits = low < value <= high if open_low else low <= value <= high
    if not fits or not np.isfinite(number_of(name, value)):
        border = "a finite number above" if open_low else "a finite number of at least"
        upper = "" if high == np.inf else f" and at most {high:g}"
        raise InvalidOption(f"{name} is {value}; it must be {border} {low:g}{upper}.")


SMALLEST, LARGEST = 1e-200, 1e100
"""Sizes of numbers other than 0 in options: their squares and reciprocals, times what a world brings, stay finite."""
MOST = 2**31 - 1
"""Of what is counted in options."""


def moderate(name: str, value: float, largest: float = LARGEST) -> None:
    """Refuse a number other than 0 whose size floating point numbers cannot compute with; others are left alone."""
    if np.isfinite(value) and value != 0 and not SMALLEST <= abs(value) <= largest:
        raise InvalidOption(f"{name} is {value}; numbers other than 0 must be {SMALLEST:g} to {largest:g} in size.")


def moderate_options(options: Any, *checked: str) -> None:
    """Refuse numbers of a dataclass of options that are too small, too large or too many, but for those `checked`."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in checked or isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if field.type in (int, "int") and abs(value) > MOST:
            raise InvalidOption(f"{field.name} is {value}; it must be at most {MOST}.")
        moderate(field.name, value)


def typed(what: str, value: Any, hint: Any) -> Any:
    """Return `value` in the type that an option is declared with, or refuse it; a whole number is a number.

    Known are float, int, bool, str, tuples, None, `Literal` and unions of them; other declarations are not checked.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if hint is str and value is None:
        return "none"  # the grammar reads the word none as nothing
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_of(what, value)
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint in (bool, str) and isinstance(value, hint):
        return value
    origin = typing.get_origin(hint)
    if (hint is tuple or origin is tuple) and isinstance(value, (tuple, list)):
        return tuple(value)
    if origin is typing.Literal and value in typing.get_args(hint):
        return value
    if origin in (typing.Union, types.UnionType):
        return _one_of(what, value, hint)
    if hint in EXPECTED or hint is tuple or origin in (tuple, typing.Literal):
        raise InvalidOption(f"{what} is {value!r}; it must be {expected(hint)}.")
    return value


EXPECTED = {float: "a number", int: "a whole number", bool: "true or false", str: "a word", type(None): "none"}


def expected(hint: Any) -> str:
    """What a declared type asks for, in words."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return "one of: " + ", ".join(map(str, typing.get_args(hint)))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(expected, typing.get_args(hint)))
    return EXPECTED.get(hint, "numbers in brackets, as (0, 4, 3, 3)")


def number_of(what: str, value: int | float) -> float:
    """A number as a float; one that is too large for it is refused."""
    try:
        return float(value)
    except OverflowError:
        raise InvalidOption(f"{what} is too large for a number.") from None


def _one_of(what: str, value: Any, hint: Any) -> Any:
    """The value as the first member of a union that it fits; `int | float` keeps whole numbers as they are."""
    members = typing.get_args(hint)
    if value is None and type(None) in members:
        return None
    for member in sorted(members, key=lambda one: one is not type(value)):
        try:
            return typed(what, value, member)
        except InvalidOption:
            continue
    raise InvalidOption(f"{what} is {value!r}; it must be {expected(hint)}.")
