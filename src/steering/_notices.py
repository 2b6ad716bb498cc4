"""Says on standard error that functions are being compiled: that takes long, and happens once.

Commands ask for it, except those that print JSON; with STEERING_QUIET set nothing is said. The request is a variable of
the environment, so that it reaches the processes which a command starts, and whoever says it first takes it back.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

ASKED = "STEERING_SAY_COMPILING"
QUIET = "STEERING_QUIET"

SENTENCE = "compiling once, about a minute; the next start is quick"

EVERY = 10.0
"""Seconds between two lines about progress."""


@contextlib.contextmanager
def compiling_is_said(wanted: bool) -> Iterator[None]:
    """Within, the first compilation says so, if wanted."""
    if wanted and not os.environ.get(QUIET):
        os.environ[ASKED] = "1"
    try:
        yield
    finally:
        os.environ.pop(ASKED, None)


class Compiling:
    """What is said while functions are compiled."""

    def __init__(self) -> None:
        self._said: float | None = None
        self._made = 0

    def begins(self) -> None:
        """A function of the package is about to be compiled."""
        if os.environ.pop(ASKED, None):
            print(SENTENCE, file=sys.stderr, flush=True)
            self._said, self._made = time.monotonic(), 0

    def ends(self) -> None:
        """It was compiled."""
        self._made += 1
        if self._said is not None and time.monotonic() - self._said > EVERY:
            self._said = time.monotonic()
            print(f"compiling: {self._made} functions so far", file=sys.stderr, flush=True)
