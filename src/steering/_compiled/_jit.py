"""The one decorator for compiled functions: cached on disk, without the interpreter lock.

Numba's disk cache looks only at the file of the function itself, so an edited callee in another file would leave a
stale binary behind. Here the cache directory carries a hash of every source in this folder: any edit starts
an empty cache. Where no such directory can be written, functions are compiled anew in every process: not in a folder
that others may write to, because what is found in a cache is run.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from steering.errors import NoCacheWarning

F = TypeVar("F", bound=Callable[..., Any])


def _cache_directory() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(base) / "steering" / "numba" / digest.hexdigest()[:16])


def _writable(directory: str) -> bool:
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)


_CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or _cache_directory()
_CACHED = _writable(_CACHE_DIR)
if not _CACHED:
    warnings.warn(
        f"compiled functions cannot be kept in {_CACHE_DIR}, so every start compiles them again, for a minute or so; "
        "set XDG_CACHE_HOME to a directory that can be written.",
        NoCacheWarning,
        stacklevel=2,
    )


def jit(function: F) -> F:
    """Compile a function of arrays and numbers (`numba.njit`, cached if possible, without the interpreter lock)."""
    config: Any = numba.config
    previous = config.CACHE_DIR
    config.CACHE_DIR = _CACHE_DIR
    try:
        compile_: Any = numba.njit(cache=_CACHED, nogil=True, error_model="numpy")
        compiled: F = compile_(function)
    finally:
        config.CACHE_DIR = previous
    return compiled
