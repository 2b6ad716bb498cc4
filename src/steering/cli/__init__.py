"""The command line: thin, and quick to start (the compiler is loaded only when something runs)."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from steering._version import __version__
from steering.cli import catalog, run
from steering.cli.common import EXIT_BAD_INPUT, EXIT_FAILURE, EXIT_INTERRUPTED
from steering.errors import SteeringError

app = typer.Typer(
    name="steering",
    help="Exploration in finite Markov decision processes: run agents, compare them, see what happens.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (catalog, run):
    commands.register(app)


def _version(show: bool) -> None:
    if show:
        print(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point: errors become one sentence on standard error and an exit code, never a traceback."""
    if os.environ.get("STEERING_DEBUG"):
        app()
        return
    try:
        app()
    except SteeringError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        print("interrupted.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`steering envs | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        kind = type(error).__name__
        print(f"error: {kind}: {error} (set STEERING_DEBUG=1 to see where)", file=sys.stderr)
        sys.exit(EXIT_FAILURE)
