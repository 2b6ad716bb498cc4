"""Run the command line in this process or in one of its own."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from steering.cli import main

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-m", "steering.cli"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> Done:
    """Call the entry point as the installed command does, and return its exit code and what it printed."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    return Done(int(stop.value.code or 0), printed.out, printed.err)


def environment(**changes: str) -> dict[str, str]:
    """Variables for a real process, which finds the package where the tests found it."""
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **changes}
