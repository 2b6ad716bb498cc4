"""`steering study`: a comparison with its verdicts, reproducible and resumable."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from steering.cli.common import EXIT_INTERRUPTED, Imports, JsonFlag, import_modules, out, place, print_json
from steering.cli.sweep import Display, Workers, clock
from steering.errors import unknown_name

STUDIES = ("default", "ladder")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(study)


def study(
    name: Annotated[str, typer.Argument(help="Which study: default or ladder.")],
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
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    import_modules(imports)
    try:
        (_default if name == "default" else _ladder)(out_dir, quick, workers, as_json)
    except KeyboardInterrupt:
        print(f"interrupted; finished runs are in {out_dir}. Start again to continue.", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _default(out_dir: Path, quick: bool, workers: int | None, as_json: bool) -> None:
    from steering.paper.studies import compare, default_design, run_study
    from steering.paper.studies.page import write_study
    from steering.paper.studies.verdicts import VERDICTS

    began = time.monotonic()
    design = default_design(quick=quick)
    with Display() as display:
        finals, _ = run_study(design, out_dir, workers=workers, watch=display.show)
    table = compare(finals)
    written = write_study(design, finals, table, out_dir)
    counts = table["verdict"].value_counts()
    if as_json:
        known = {str(verdict): int(count) for verdict, count in counts.items()}
        print_json({"verdicts": known, "rows": table.to_dict("records"), "files": [str(path) for path in written]})
        return
    for verdict in VERDICTS:
        out.print(f"{verdict}: {counts.get(verdict, 0)} of {len(table)} comparisons", highlight=False)
    for path in written:
        out.print(f"wrote {path}", soft_wrap=True, highlight=False)
    out.print(f"took {clock(time.monotonic() - began)}", highlight=False)


def _ladder(out_dir: Path, quick: bool, workers: int | None, as_json: bool) -> None:
    from steering._files import write_atomically
    from steering.paper.studies import ladder

    cells = ladder.CELLS[:1] if quick else ladder.CELLS
    with Display() as display:
        table = ladder.run_ladder(out_dir / "runs", cells=cells, workers=workers, watch=display.show)
    text = ladder.markdown(table)
    write_atomically(out_dir / "ladder.md", text.encode())
    write_atomically(out_dir / "ladder.csv", table.round(4).to_csv(index=False).encode())
    if as_json:
        print_json(table.to_dict("records"))
    else:
        out.print(text, soft_wrap=True, highlight=False)
