"""`steering reproduce`: every figure and every claim of the paper, with a verdict."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steering.cli import stopping
from steering.cli.common import JsonFlag, err, out, place, plural, print_json
from steering.cli.sweep import Display
from steering.errors import InvalidOption
from steering.paper.contents import ALIASES, ALL, NAMES, resolve

if TYPE_CHECKING:
    from steering.paper.run import Reproduction

OUT = "results/reproduction"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="reproduce")(reproduce_command)


def _complete(text: str) -> list[str]:
    return [name for name in (ALL, *NAMES, *ALIASES) if name.startswith(text)]


def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Figures: {ALL}, or some of {', '.join(NAMES)}; names of the paper are known too: "
            f"{', '.join(ALIASES)}.",
            autocompletion=_complete,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="4 to 6 seeds, minutes on two cores (the default).")] = False,
    full: Annotated[bool, typer.Option("--full", help="30 seeds; 5 to 9 minutes on two cores.")] = False,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help=f"Directory for runs and report; start again to continue, or to add figures. Default: {OUT}-quick or "
            f"{OUT}-full.",
            parser=place,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", min=0, help="Local processes (default: all cores); 0: in this process."),
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option("--verdicts", metavar="DIR", help="Only judge the claims again, from the tables in DIR/data."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Reproduce the paper: run what is missing, draw every figure, judge every claim, write a report.

    [bold]Examples[/]

    steering reproduce all --quick

    steering reproduce regret fig6 --out results/two-figures

    steering reproduce all --full

    steering reproduce --verdicts results/reproduction-full

    Interrupt it whenever you like and start the same command again: finished runs are kept. Figures that the directory
    has already stay in the report; a directory holds one size.
    """
    if quick and full:
        raise InvalidOption("--quick and --full exclude each other; give one of them.")
    if again is not None:
        _judge_again(again, as_json)
        return
    resolve(names or [])
    from steering.paper.run import reproduce
    from steering.paper.scale import FULL, QUICK

    scale = FULL if full else QUICK
    directory = out_dir or Path(f"{OUT}-{scale.name}")
    began = time.monotonic()
    line = f"interrupted; finished runs are in {directory}. Start again to continue."
    with stopping.saying(line), Display() as display:
        result = reproduce(
            names or [],
            directory,
            scale=scale,
            workers=workers,
            watch=display.show,
            say=lambda text: err.print(text, highlight=False, soft_wrap=True),
        )
    if as_json:
        _print_verdicts(result)
        return
    figures = sum(len(part.figures) for part in result.chapters)
    out.print(f"{plural(figures, 'figure')} in {time.monotonic() - began:.0f} s", highlight=False)
    for line in result.summary():
        out.print(line, highlight=False, soft_wrap=True)
    out.print(f"report: {result.report}", highlight=False, soft_wrap=True)


def _judge_again(directory: Path, as_json: bool) -> None:
    """Verdicts of a finished reproduction from its published tables, and whether they are those that it has."""
    from steering.paper.run import changed, verdicts

    result = verdicts(directory)
    if as_json:
        _print_verdicts(result)
        return
    for line in result.summary():
        out.print(line, highlight=False, soft_wrap=True)
    different = changed(result)
    words = f"not as in numbers.json: {', '.join(different)}" if different else "all as in numbers.json"
    out.print(f"judged again from {directory / 'data'}: {words}", highlight=False, soft_wrap=True)


def _print_verdicts(result: Reproduction) -> None:
    verdicts = {claim.name: str(claim.verdict) for claim in result.claims}
    print_json({"report": str(result.report), "summary": result.summary(), "verdicts": verdicts})
