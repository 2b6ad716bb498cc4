"""Checks of options; each refusal is one sentence with the option, its value and its range."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    if not fits or not np.isfinite(value):
        border = "a finite number above" if open_low else "a finite number of at least"
        upper = "" if high == np.inf else f" and at most {high:g}"
        raise InvalidOption(f"{name} is {value}; it must be {border} {low:g}{upper}.")
