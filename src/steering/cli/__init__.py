"""The command line. This file is read first: signals are listened to before anything that takes time is loaded."""

from __future__ import annotations

import os
import sys

from steering.cli import stopping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

DEBUG = "STEERING_DEBUG"
"""Variable that asks for tracebacks instead of sentences."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point: errors become one sentence on standard error and an exit code, never a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if os.environ.get(DEBUG):
        from steering.cli import program

        program.call_bare(given)
    with stopping.heard(until_the_end=arguments is None):
        from steering.cli import program

        program.call(given)
