"""Modules that whoever starts a sweep names, such as one that registers Gymnasium environments."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from steering.errors import InvalidOption


def import_all(names: Sequence[str]) -> None:
    """Import modules here, before anything is written; refuse those that workers could not import either."""
    if isinstance(names, str):  # else its letters would be taken for modules
        raise InvalidOption(f"imports is the text '{names}'; give a list of modules: imports=['{names}'].")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InvalidOption(f"{name!r} is not a module to import; give a name, as in --import my_envs.")
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise InvalidOption(f"the module '{name}' cannot be imported: {_line(error)}.") from None
        except (Exception, SystemExit) as error:  # the module's own code failed, or stopped the process
            raise InvalidOption(
                f"the module '{name}' cannot be imported, its code raises {type(error).__name__}: {_line(error)}."
            ) from None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
