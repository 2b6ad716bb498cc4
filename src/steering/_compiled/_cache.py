"""Compiled functions on the disk: every file carries its checksum, and one that is damaged is compiled anew.

A power cut may leave a file cut off, a disk may be full, a folder may be another user's. None of that may touch a
result: whatever cannot be read or kept is thrown away with one line, and the function is compiled again. What is found
in a cache is run, so a folder that others own or may write to is not used at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import warnings
from collections.abc import Iterator
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from steering.errors import NoCacheWarning

DIGEST = hashlib.sha256
DIGEST_BYTES = 32

_said: set[str] = set()


def say_once(sentence: str) -> None:
    """Warn, once in a process."""
    if sentence not in _said:
        _said.add(sentence)
        warnings.warn(sentence, NoCacheWarning, stacklevel=3)


def usable(directory: str) -> str | None:
    """Make a directory for compiled functions; returns why it cannot be used, or None."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        known = os.stat(directory)
    except OSError as error:
        return str(error.strerror)
    if known.st_uid != os.geteuid():
        return "it belongs to somebody else"
    if known.st_mode & stat.S_IWOTH:
        return "everybody may write there"
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        return "it cannot be written"
    return None


class CheckedFiles(IndexDataCacheFile):
    """Numba's two files of a function, each followed by its checksum (a reader of pickles stops before it)."""

    def _load_index(self) -> Any:
        return super()._load_index() if self._whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not self._whole(self._data_path(name)):
            raise FileNotFoundError(name)  # the caller compiles it
        return super()._load_data(name)

    def _whole(self, path: str) -> bool:
        """Whether a file is as it was written; one that is not is removed."""
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return False
        if DIGEST(content[:-DIGEST_BYTES]).digest() == content[-DIGEST_BYTES:]:
            return True
        say_once(f"a file of compiled functions in {self._cache_path} was damaged; it is compiled anew.")
        with contextlib.suppress(OSError):
            os.unlink(path)
        return False

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        buffer = io.BytesIO()
        yield buffer
        content = buffer.getvalue()
        with super()._open_for_write(filepath) as file:
            file.write(content + DIGEST(content).digest())


class CheckedCache(FunctionCache):
    """The cache of one function; trouble with it costs time and nothing else."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        numbas = self._cache_file
        self._cache_file = CheckedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=numbas._source_stamp,
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is kept for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever a file of another program makes the reader raise
            say_once(
                f"compiled functions in {self._cache_path} cannot be read ({type(error).__name__}); they are compiled "
                "anew."
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if there is room."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self.disable()
            say_once(
                f"compiled functions cannot be kept in {self._cache_path} ({error.strerror}), so the next start "
                "compiles them again; results are not touched."
            )
