"""All commands, and what becomes of their errors; quick to load (the compiler comes only when something runs)."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn

import typer

from steering._notices import compiling_is_said
from steering._version import __version__
from steering.cli import DEBUG, catalog, hardness, lab, reproduce, run, session, stopping, study, summary, sweep
from steering.cli.common import (
    EXIT_BAD_INPUT,
    EXIT_DISK_FULL,
    EXIT_FAILURE,
    system_error,
    visible,
)
from steering.errors import DiskFull, SteeringError, TooLarge, Unreachable

PROGRAM = "steering"
STOPPED = 128
"""Exit codes from here on are signals."""
TYPERS_INTERRUPT = 130
"""What typer makes of a KeyboardInterrupt; no command of ours returns it."""

app = typer.Typer(
    name=PROGRAM,
    help="Exploration in finite Markov decision processes: run agents, compare them, see what happens.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (catalog, hardness, run, lab, sweep, study, summary, reproduce, session):
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


def call_bare(given: list[str]) -> NoReturn:
    """Run a command, with tracebacks."""
    command: Any = typer.main.get_command(app)
    command(given or ["--help"], prog_name=PROGRAM)
    sys.exit()


def call(given: list[str]) -> NoReturn:
    """Run a command and end the process."""
    try:
        with (
            stopping.interrupts(),
            _short_warnings(),
            _own_output("--json" in given),
            compiling_is_said("--json" not in given),
        ):
            command: Any = typer.main.get_command(app)
            code = command(given or ["--help"], prog_name=PROGRAM, standalone_mode=False)
            sys.stdout.flush()
    except stopping.Stopped:
        sys.exit(stopping.exit_code())
    except DiskFull as error:
        _stop(str(error), EXIT_DISK_FULL)
    except (Unreachable, TooLarge) as error:  # not the input: the same command may work elsewhere, or later
        _stop(str(error), EXIT_FAILURE)
    except SteeringError as error:
        _stop(str(error), EXIT_BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__ or error.__context__, EOFError):  # a file that ends too early is no Ctrl-C
            _stop(f"a file ends too early (set {DEBUG}=1 to see where).", EXIT_FAILURE)
        _stop(stopping.INTERRUPTED, stopping.exit_code())
    except BrokenPipeError:
        _reader_left()
    except OSError as error:
        _stop(*system_error(error))
    except MemoryError as error:
        _stop(f"not enough memory ({error}); use a smaller environment, fewer steps or fewer seeds.", EXIT_FAILURE)
    except Exception as error:
        if stopping.was_heard():
            _stop(stopping.INTERRUPTED, stopping.exit_code())
        if hasattr(error, "format_message"):  # wrong use of the command line
            text = _misuse(error)
            if not text:  # a group without a command has shown its help, as the program without one does
                sys.exit()
            _stop(f"{text[:1].lower()}{text[1:]} (see: {_where(error)} --help)", EXIT_BAD_INPUT)
        _stop(f"{type(error).__name__}: {error} (set {DEBUG}=1 to see where)", EXIT_FAILURE)
    if code == TYPERS_INTERRUPT:
        _stop(stopping.INTERRUPTED, stopping.exit_code())
    sys.exit(code if isinstance(code, int) else 0)


@contextlib.contextmanager
def _own_output(wanted: bool) -> Iterator[None]:
    """Keep standard output for what is ours: all that libraries and environments write there goes to standard error."""
    usual = sys.stdout
    try:
        ours = os.dup(usual.fileno()) if wanted else None
    except (AttributeError, OSError, ValueError):  # no descriptor behind it, as in a notebook
        ours = None
    if ours is None:
        yield
        return
    usual.flush()
    os.dup2(2, usual.fileno())
    sys.stdout = os.fdopen(ours, "w", encoding=usual.encoding, errors=usual.errors)
    try:
        yield
    finally:
        made, sys.stdout = sys.stdout, usual
        made.flush()


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    """Say warnings of the package in one line; all others are shown as usual."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if category.__module__.partition(".")[0] == PROGRAM:
                print(visible(f"warning: {message}"), file=sys.stderr)
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield


def _stop(sentence: str, code: int) -> NoReturn:
    if code < STOPPED:
        print(visible(f"error: {sentence}"), file=sys.stderr)
    else:
        stopping.say(sentence)
    sys.exit(code)


def _reader_left() -> NoReturn:
    """The reader of our output went away (`steering envs | head`): stop without a word, nobody is left to tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(EXIT_FAILURE)


NO_NUMBER = {"int_parsing": "a whole number", "float_parsing": "a number"}
"""What a value is not, by the kind of error that the check of it gives."""


def _misuse(error: Any) -> str:
    """What is wrong with the use of the command line, in one line of plain words."""
    text = " ".join(error.format_message().split()).rstrip(".").replace(". Did you mean", ", did you mean")
    cause = error.__cause__
    for found in cause.errors() if hasattr(cause, "errors") else ():
        if found["type"] in NO_NUMBER:
            text = text.replace(found["msg"], f"'{found['input']}' is not {NO_NUMBER[found['type']]}")
    return text


def _where(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return str(context.command_path) if context is not None else PROGRAM
