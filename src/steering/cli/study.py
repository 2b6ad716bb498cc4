"""`steering study`: a comparison with its verdicts, reproducible and resumable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from steering.cli import stopping
from steering.cli.common import Imports, JsonFlag, import_modules, out, place, print_json
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
    quick: Annotated[bool, typer.Option("--quick", help="A small one that takes a minute or two.")] = False,
    workers: Workers = None,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare STEERING's default with every baseline at its best setting, and say where it is better, tied or worse.

    Examples: steering study default --out results/study --quick; steering study ladder --out results/ladder

    `ladder` goes from the literal reading of the paper to the default, one change at a time. Tables and figures are
    written into the directory; the runs themselves are kept in it too, so the same command continues after an
    interruption.
    """
    from steering.paper.study import run_study

    import_modules(imports)
    began = time.monotonic()
    line = f"interrupted; finished runs are in {out_dir}. Start again to continue."
    with stopping.saying(line), Display() as display:
        found = run_study(name, out_dir, quick=quick, workers=workers, watch=display.show)
    if as_json:
        print_json(found.plain())
        return
    for line in (*found.summary, *(f"wrote {path}" for path in found.files)):
        out.print(line, soft_wrap=True, highlight=False)
    out.print(f"took {clock(time.monotonic() - began)}", highlight=False)
