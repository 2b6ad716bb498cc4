"""What registries of own agents and environments share: plug-ins that are installed, names, who is the same."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from steering._code import top_of
from steering.errors import InvalidOption, SteeringError

_loaded: set[str] = set()


class PluginWarning(UserWarning):
    """An installed plug-in cannot be used."""


def names_of(group: str) -> list[str]:
    """Names that installed plug-ins bring; none of them is loaded."""
    from importlib.metadata import entry_points  # takes its time, and few have plug-ins

    return [point.name for point in entry_points(group=group)]


def load_plugins(group: str, known: Callable[[str], bool], register: Callable[[str, Any], Any]) -> None:
    """Register what installed packages bring under an entry point, once; a broken one is told and left out.

    The object may have registered itself when it was loaded (`known`), or is registered under the entry point's name.
    """
    if group in _loaded:
        return
    from importlib.metadata import entry_points

    _loaded.add(group)
    for point in entry_points(group=group):
        try:
            thing = point.load()
            if not known(point.name) or not is_registered(thing):
                register(point.name, thing)
        except (Exception, SystemExit) as error:
            reason = str(error) if isinstance(error, SteeringError) else f"{type(error).__name__}: {error}"
            source = f" of the package {point.dist.name}" if point.dist is not None else ""
            text = f"the plug-in '{point.name}' ({group}){source} cannot be used: {' '.join(reason.split())}"
            warnings.warn(f"{text.rstrip('.')}.", PluginWarning, stacklevel=3)


MARK = "_steering_name"
"""Attribute of a registered class or function: its name."""


def is_registered(thing: Any) -> bool:
    """Whether a class or function was registered itself (not a base of it)."""
    return MARK in getattr(thing, "__dict__", {})


def checked_name(what: str, name: Any) -> str:
    """Refuse a name that could not be written in a description."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII):
        raise InvalidOption(f"{name!r} cannot be the name of an {what}; use letters, digits and underscores.")
    return name


def same_thing(one: Any, other: Any) -> bool:
    """Whether two classes or functions are the same one, perhaps defined again: a cell run twice, a module reloaded."""
    if one is other:
        return True
    if one.__qualname__ != other.__qualname__:
        return False
    first, second = one.__module__, other.__module__
    if first == second or "__main__" not in (first, second):
        return bool(first == second)
    return top_of(first) is not None and top_of(first) == top_of(second)  # a file, run and imported


def caller_module(depth: int = 2) -> str:
    """Name of the module that called the function that calls this: importing it registers again."""
    return str(sys._getframe(depth).f_globals.get("__name__", "__main__"))


def module_to_import(home: str) -> str | None:
    """The module that workers import for what was registered in `home`; None where they cannot."""
    if home != "__main__":
        return home
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None:
        return str(spec.name)
    top = top_of("__main__")
    return None if top is None or not top[0].isidentifier() else top[0]
