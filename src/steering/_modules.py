"""Modules that whoever starts a command names, such as one that registers agents or environments of their own."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from steering._code import top_of
from steering.errors import InvalidOption

LOOKED_AT = 2000
"""Folders that are looked at for a module that was not found, at most."""

_busy: list[str] = []


def import_all(names: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Import modules here, before anything is written; refuse those that workers could not import either.

    Parameters
    ----------
    names
        Modules by name.
    folders
        Where they may lie, beside the places that Python knows; the current folder if none are given.
    """
    if isinstance(names, str):  # else its letters would be taken for modules
        raise InvalidOption(f"imports is the text '{names}'; give a list of modules: imports=['{names}'].")
    for name in names:
        _refuse_no_module(name)
    if names:
        # At the end: a file that happens to be called random.py must not take the place of Python's own.
        sys.path.extend(folder for folder in folders or [os.getcwd()] if folder not in sys.path)
    for name in names:
        _busy.append(name)
        try:
            importlib.import_module(name)
        except ImportError as error:
            hint = _hint(name) if isinstance(error, ModuleNotFoundError) and error.name == _top(name) else _place(error)
            raise InvalidOption(f"the module '{name}' cannot be imported: {_line(error)}{hint}.") from None
        except (Exception, SystemExit) as error:  # the module's own code failed, or stopped the process
            raised = f"its code raises {type(error).__name__}: {_line(error)}"
            raise InvalidOption(f"the module '{name}' cannot be imported, {raised}{_place(error)}.") from None
        finally:
            _busy.pop()
        _refuse_another(name)


def importing() -> str | None:
    """The module that is being imported here by `import_all`."""
    return _busy[-1] if _busy else None


def folders_of(names: Sequence[str]) -> tuple[str, ...]:
    """Folders in which the modules lie, for workers: they may start elsewhere."""
    tops = [top for top in map(top_of, names) if top is not None]
    return tuple(dict.fromkeys(str(folder) for _, folder in tops))


def _top(name: str) -> str:
    return name.partition(".")[0]


def _refuse_no_module(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidOption(f"{name!r} is not a module to import; give a name, as in --import my_envs.")
    if name.endswith(".py") or "/" in name:
        path = Path(name)
        where = f" in the folder {path.parent}" if len(path.parts) > 1 else ""
        raise InvalidOption(f"'{name}' is a file, and a module is meant; write --import {path.stem}{where}.")
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name):
        raise InvalidOption(f"'{name}' is not the name of a module; give one as in --import my_envs.")


def _refuse_another(name: str) -> None:
    """Refuse a module that Python found elsewhere while the current folder has one of the same name."""
    here = Path.cwd().resolve()
    top = top_of(name)
    own = next((path for path in _candidates(here, _top(name)) if path.is_file()), None)
    if own is not None and top is not None and top[1] != here:
        raise InvalidOption(
            f"the module '{name}' is the one in {top[1]}, which Python finds before {own.relative_to(here)} of this "
            "folder; give yours another name."
        )


def _candidates(folder: Path, top: str) -> tuple[Path, Path]:
    return folder / f"{top}.py", folder / top / "__init__.py"


def _hint(name: str) -> str:
    """Where the module seems to be, if it is somewhere near."""
    here = Path.cwd()
    for folder in _near(here):
        if any(path.is_file() for path in _candidates(folder, _top(name))):
            shown = os.path.relpath(folder, here)
            shown = shown if shown.startswith("..") else f"./{shown}"
            return f"; it is in {shown}: run there, or add that folder to PYTHONPATH"
    return f"; the current folder has no {_top(name)}.py: run where it is, or add its folder to PYTHONPATH"


def _near(here: Path) -> Iterator[Path]:
    yield from list(here.parents)[:2]
    for folder, inner, _ in itertools.islice(os.walk(here), LOOKED_AT):
        inner[:] = [one for one in sorted(inner) if not one.startswith((".", "_")) and one != "node_modules"]
        if len(Path(folder).relative_to(here).parts) >= 3:
            inner.clear()
        yield Path(folder)


def _place(error: BaseException) -> str:
    """File and line in which the module's own code failed."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    own = [frame for frame in own if Path(frame.filename) != Path(__file__)]
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})" if error.filename else ""
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
