"""`steering reproduce`: every figure and every claim of the paper, with a verdict."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from steering.cli.common import EXIT_INTERRUPTED, JsonFlag, err, out, place, plural, print_json
from steering.errors import InvalidOption
from steering.paper.names import ALL, NAMES

PLAIN_SECONDS = 15.0
OUT = "results/reproduction"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="reproduce")(reproduce_command)


def _complete(text: str) -> list[str]:
    return [name for name in (ALL, *NAMES) if name.startswith(text)]


def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"Figures: {ALL}, or some of {', '.join(NAMES)}.", autocompletion=_complete),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="4 to 6 seeds, minutes on two cores (the default).")] = False,
    full: Annotated[bool, typer.Option("--full", help="30 seeds; 7 to 9 minutes on two cores.")] = False,
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
    as_json: JsonFlag = False,
) -> None:
    """Reproduce the paper: run what is missing, draw every figure, judge every claim, write a report.

    [bold]Examples[/]

    steering reproduce all --quick

    steering reproduce regret prior_belief --out results/two-figures

    steering reproduce all --full

    Interrupt it whenever you like and start the same command again: finished runs are kept. Figures that the directory
    has already stay in the report; a directory holds one size.
    """
    if quick and full:
        raise InvalidOption("--quick and --full exclude each other; give one of them.")
    from steering.paper.plan import chosen

    chosen(names or [])
    from steering.paper.run import reproduce
    from steering.paper.scale import FULL, QUICK

    scale = FULL if full else QUICK
    directory = out_dir or Path(f"{OUT}-{scale.name}")
    began = time.monotonic()
    try:
        with _Display() as display:
            result = reproduce(
                names or [],
                directory,
                scale=scale,
                workers=workers,
                watch=display.show,
                say=lambda text: err.print(text, highlight=False, soft_wrap=True),
            )
    except KeyboardInterrupt:
        print(f"interrupted; finished runs are in {directory}. Start again to continue.", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if as_json:
        verdicts = {claim.name: str(claim.verdict) for claim in result.claims}
        print_json({"report": str(result.report), "summary": result.summary(), "verdicts": verdicts})
        return
    figures = sum(len(part.figures) for part in result.chapters)
    out.print(f"{plural(figures, 'figure')} in {time.monotonic() - began:.0f} s", highlight=False)
    for line in result.summary():
        out.print(line, highlight=False, soft_wrap=True)
    out.print(f"report: {result.report}", highlight=False, soft_wrap=True)


class _Display:
    """Progress of the runs: a bar for people, a plain line now and then where there is no terminal."""

    def __enter__(self) -> _Display:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=err, disable=not err.is_terminal)
        self._task = self._bar.add_task("runs", total=None)
        self._last = 0.0
        self._bar.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._bar.__exit__(*details)

    def show(self, report: Any) -> None:
        """Show the state of the sweep."""
        self._bar.update(self._task, total=report.cells, completed=report.done)
        now = time.monotonic()
        if not err.is_terminal and (now - self._last > PLAIN_SECONDS or report.complete):
            self._last = now
            print(f"{report.done} of {report.cells} runs done", file=sys.stderr)
