"""Which code an agent or environment of somebody else's is: a hash of its source, so that results notice an edit.

Hashed are the source files of its module: a single file `mine.py`, or all of a package, and those beside it, in the
same folder, that it imports. What is installed elsewhere (numpy, say) is not: declare a `version` to count it in.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path
from types import FunctionType
from typing import Any

from steering.errors import InvalidOption

PACKAGE = __name__.partition(".")[0]
MAX_FILES = 5000
DIGEST_BYTES = 16


@dataclass(frozen=True)
class Code:
    """Code of one agent or environment.

    Attributes
    ----------
    module
        Top-level module it is defined in.
    source
        Hash of the source; None where there is none to read.
    version
        What its author declared, if anything.
    whole
        Whether all of it was hashed; False for a compiled extension.
    """

    module: str
    source: str | None
    version: str | None = None
    whole: bool = True

    def as_config(self) -> dict[str, Any]:
        """What the key of a cell holds."""
        return {"module": self.module, "source": self.source, **({"version": self.version} if self.version else {})}


def code_of(things: Iterable[Any], version: Any = None) -> Code:
    """Code of classes and functions that belong together (an agent and its options)."""
    given = list(things)
    modules = list(dict.fromkeys(module for thing in given for module in _modules_of(thing)))
    declared = _version(version if version is not None else getattr(given[0], "version", None))
    tops = list(dict.fromkeys(top for top in map(top_of, modules) if top is not None))
    if not tops:
        source = _texts_of(given)
        return Code(given[0].__module__, source, declared, source is not None)
    source, whole = source_of(tops)
    return Code("+".join(name for name, _ in tops), source, declared, whole)


def source_now(module: str) -> str | None:
    """Hash of the source of a `Code.module` as it lies on the disk now; None where it is not found from here."""
    tops = [top_of(name) if name.isidentifier() else None for name in module.split("+")]
    found = [top for top in tops if top is not None]
    return source_of(found)[0] if len(found) == len(tops) else None


def package_source() -> str:
    """Hash of the source of this package as it is on the disk."""
    folder = Path(__file__).parent
    parts: list[bytes] = []
    for path in sorted(folder.rglob("*.py")):
        parts += [path.relative_to(folder).as_posix().encode(), path.read_bytes().replace(b"\r\n", b"\n")]
    return _digest(parts)


def _version(declared: Any) -> str | None:
    if declared is None:
        return None
    if isinstance(declared, (str, int, float)) and re.fullmatch(r"\S{1,100}", str(declared)):
        return str(declared)
    raise InvalidOption(f"version is {declared!r}; it must be a number or a text without spaces.")


def _modules_of(thing: Any) -> Iterator[str]:
    """Module of a class or function, then those of the bases of a class that are somebody's own code too."""
    for number, one in enumerate(thing.__mro__ if inspect.isclass(thing) else (thing,)):
        name = str(one.__module__).partition(".")[0]
        if name == PACKAGE or name in sys.stdlib_module_names - {"__main__"}:
            continue
        top = top_of(one.__module__)
        if number == 0 or (top is not None and not _installed(top[1])):
            yield str(one.__module__)


def top_of(module: str) -> tuple[str, Path] | None:
    """Name of the top-level module and the folder that it lies in; nothing is imported. None: it is in no file."""
    if module == "__main__":
        main = sys.modules["__main__"]
        spec = getattr(main, "__spec__", None)
        if spec is None:  # started as a file
            file = getattr(main, "__file__", None)
            return None if file is None or not os.path.isfile(file) else (Path(file).stem, Path(file).resolve().parent)
        module = str(spec.name)
    name = module.partition(".")[0]
    spec = getattr(sys.modules.get(name), "__spec__", None) or PathFinder.find_spec(name, [*sys.path, os.getcwd()])
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return name, Path(next(iter(spec.submodule_search_locations))).resolve().parent
    return None if not spec.has_location or spec.origin is None else (name, Path(spec.origin).resolve().parent)


def source_of(tops: Iterable[tuple[str, Path]]) -> tuple[str | None, bool]:
    """Hash of the source of modules (name and folder of each), and whether that is all of their code."""
    parts: list[bytes] = []
    whole = True
    for name, folder in tops:
        files, all_of_it = _files(name, folder)
        whole = whole and all_of_it and bool(files)
        for place in sorted(files):
            parts += [place.encode(), files[place]]
    return (_digest(parts) if parts else None), whole


def _files(name: str, folder: Path) -> tuple[dict[str, bytes], bool]:
    """Content of the files of a module, and of those beside it that it imports, by their place in the folder."""
    files: dict[str, bytes] = {}
    whole = True
    alone = _installed(folder)
    seen = {PACKAGE}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for path in _paths(one, folder):
            if path.name.endswith(tuple(EXTENSION_SUFFIXES)):
                whole = False
                continue
            content = path.read_bytes().replace(b"\r\n", b"\n")
            files[path.relative_to(folder).as_posix()] = content
            if not alone:
                waiting.extend(_imported(content))
            if len(files) > MAX_FILES:
                raise InvalidOption(f"the code of module '{name}' has more than {MAX_FILES} files in {folder}.")
    return files, whole


def _paths(name: str, folder: Path) -> list[Path]:
    """Files of a module or package in a folder, none if it is not there."""
    package, suffixes = folder / name, (".py", *EXTENSION_SUFFIXES)
    files = [path for suffix in suffixes if (path := folder / f"{name}{suffix}").is_file()]
    if not package.is_dir() or (files and not (package / "__init__.py").is_file()):
        return files[:1]
    return sorted(path for path in package.rglob("*") if path.name.endswith(suffixes) and path.is_file())


def _imported(content: bytes) -> Iterator[str]:
    """Top-level names that a file imports, anywhere in it."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def _installed(folder: Path) -> bool:
    """Whether a folder holds installed packages, which have nothing to do with each other."""
    places = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    return folder in places or folder.name in ("site-packages", "dist-packages")


def _texts_of(things: list[Any]) -> str | None:
    """Hash of what was typed into a session, such as a notebook, where there is no file."""
    functions = [f for thing in things for f in (vars(thing).values() if inspect.isclass(thing) else (thing,))]
    try:
        texts = [inspect.getsource(f).encode() for f in functions if isinstance(f, FunctionType)]
    except (OSError, TypeError):
        return None
    return _digest(texts) if texts else None


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(b"%d " % len(part))
        digest.update(part)
    return digest.hexdigest()
