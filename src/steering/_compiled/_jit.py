"""The one decorator for compiled functions: cached on disk, without the interpreter lock.

Numba's disk cache looks only at the file of the function itself, so an edited callee in another file would leave a
stale binary behind. Here the cache directory carries a hash of every source in this folder: any edit starts
an empty cache, also below a directory of NUMBA_CACHE_DIR. Where no such directory can be used, functions are compiled
anew in every process: not in a folder that others may write to, because what is found in a cache is run.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

from steering._compiled._cache import CheckedCache, usable
from steering._notices import Compiling
from steering.errors import NoCacheWarning

F = TypeVar("F", bound=Callable[..., Any])


def _cache_directory() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    given = os.environ.get("NUMBA_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    place = Path(given) / "steering" if given else Path(base) / "steering" / "numba"
    return str(place / digest.hexdigest()[:16])


_CACHE_DIR = _cache_directory()
_REASON = usable(_CACHE_DIR)
if _REASON is not None:
    warnings.warn(
        f"compiled functions cannot be kept in {_CACHE_DIR} ({_REASON}), so every start compiles them again, for a "
        "minute or so; set XDG_CACHE_HOME to a directory of your own that can be written.",
        NoCacheWarning,
        stacklevel=2,
    )


class _Listener(event.Listener):
    """Tells of compilations that nothing was kept of; functions that others call are compiled inside of them."""

    def __init__(self) -> None:
        self._notice = Compiling()
        self._inside = 0

    def on_start(self, happened: Any) -> None:
        self._inside += 1
        if self._inside == 1 and happened.data["dispatcher"].__module__.partition(".")[0] == "steering":
            self._notice.begins()

    def on_end(self, happened: Any) -> None:
        self._inside -= 1
        self._notice.ends()


if _REASON is None:
    event.register("numba:compile", _Listener())


def inlined(function: F) -> F:
    """As `jit`, and put into every compiled caller: a call passes 7 words for each array, also in an inner loop."""
    return jit(function, inline=True)


def jit(function: F, inline: bool = False) -> F:
    """Compile a function of arrays and numbers (`numba.njit`, cached if possible, without the interpreter lock)."""
    compile_: Any = numba.njit(nogil=True, error_model="numpy", forceinline=inline)
    compiled: Any = compile_(function)
    if _REASON is None:
        config: Any = numba.config
        previous = config.CACHE_DIR
        config.CACHE_DIR = _CACHE_DIR
        try:
            compiled._cache = CheckedCache(function)
        except (OSError, RuntimeError):
            pass  # no place for this one: it is compiled at every start
        finally:
            config.CACHE_DIR = previous
    result: F = compiled
    return result
