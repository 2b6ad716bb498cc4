"""What all commands share: consoles, exit codes, small helpers."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

out = Console()
err = Console(stderr=True)

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")]


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    print(json.dumps(value, indent=2, default=str))
