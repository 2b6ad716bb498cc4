"""`steering study`: a comparison with its verdicts, reproducible and resumable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from steering.cli import stopping
from steering.cli.catalog import complete_agent
from steering.cli.common import Imports, JsonFlag, err, import_modules, out, place, print_json
from steering.cli.sweep import Display, Workers, clock
from steering.paper.contents import STUDIES


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(study)


def study(
    name: Annotated[str, typer.Argument(help=f"Which study: {' or '.join(STUDIES)}.")],
    out_dir: Annotated[
        Path, typer.Option("--out", "-o", help="Directory of the study; start again to continue.", parser=place)
    ],
    smoke: Annotated[bool, typer.Option("--smoke", "--quick", help="A small one that takes seconds.")] = False,
    stage: Annotated[str, typer.Option("--stage", help="Stop after this stage: development.")] = "",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", "-a", help="Agent of yours to compare as well; repeat for more.", autocompletion=complete_agent
        ),
    ] = None,
    workers: Workers = None,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare STEERING's default with every other agent, and say where it is better, tied or worse.

    Examples: steering study default --out results/study --smoke; steering study ladder --out results/ladder

    Rivals take part as published, at the one setting that was best in development, and tuned in each task. With
    `--stage development` only the first part is run. `ladder` goes from the literal reading of the paper to the
    default, one change at a time. Tables, a page and figures are written into the directory; the runs themselves are
    kept in it too, so the same command continues after an interruption.
    """
    from steering.paper.study import run_study

    import_modules(imports)
    began = time.monotonic()

    def say(text: str) -> None:
        err.print(text, soft_wrap=True, highlight=False)

    with (
        stopping.saying(f"interrupted; finished runs are in {out_dir}. Start again to continue."),
        Display() as display,
    ):
        found = run_study(
            name, out_dir, smoke=smoke, stage=stage, agents=agent or (), workers=workers, watch=display.show, say=say
        )
    if as_json:
        print_json(found.plain())
        return
    for line in (*found.summary, *(f"wrote {path}" for path in found.files)):
        out.print(line, soft_wrap=True, highlight=False)
    out.print(f"took {clock(time.monotonic() - began)}", highlight=False)
