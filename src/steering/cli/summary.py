"""`steering summary`, `steering plot` and `steering export`: what a results directory says."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from steering.cli.common import JsonFlag, out, place, print_json, visible
from steering.errors import InvalidOption

if TYPE_CHECKING:
    import pandas as pd

    from steering.sweeps.store.load import Results

Directory = Annotated[Path, typer.Argument(help="Results directory of a sweep.", parser=place)]
OutDir = Annotated[Path | None, typer.Option("--out", "-o", help="Where to write.", parser=place)]
AgentTexts = Annotated[
    list[str] | None, typer.Option("--agent", help="Only this agent (its full text); repeat for more.")
]
EnvironmentText = Annotated[str | None, typer.Option("--env", help="Only this environment (its full text).")]


SHOWN_PAIRS = 40


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(summary)
    app.command()(plot)
    app.command()(export)


def summary(
    directory: Directory,
    out_dir: OutDir = None,
    env: EnvironmentText = None,
    agent: AgentTexts = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the agents of a sweep: final and area-under-curve regret with intervals, and who beats whom.

    Examples: steering summary results/deepsea; steering summary results/deepsea --out report (Markdown and CSV)
    """
    from steering.sweeps.summary import INTERVALS, MEASURES, summarise

    results = _load(directory, env, agent)
    known = summarise(results)
    written = known.write(out_dir) if out_dir is not None else []
    if as_json:
        names = ("by_environment", "overall", "improvement")
        tables = {name: json.loads(getattr(known, name).to_json(orient="records")) for name in names}
        print_json({"measure": known.measure, **tables, "notes": known.notes, "files": [str(p) for p in written]})
        return
    out.print(f"Measure: {MEASURES[known.measure]}; lower is better. {INTERVALS}.", soft_wrap=True)
    for title, frame in (("By environment", known.by_environment), ("Over all environments", known.overall)):
        if len(frame):
            out.print(_table(title, frame))
    if len(known.improvement):
        out.print(_improvement(known.improvement))
    if (more := len(known.improvement) - SHOWN_PAIRS) > 0:
        out.print(f"... and {more} more pairs; --out or --json gives all.")
    for note in known.notes:
        out.print(f"note: {note}", soft_wrap=True)
    for path in written:
        out.print(f"wrote {path}", soft_wrap=True, highlight=False)


def plot(
    directory: Directory,
    out_dir: OutDir = None,
    env: EnvironmentText = None,
    agent: AgentTexts = None,
    formats: Annotated[str, typer.Option("--format", help="png, svg, pdf, or several with commas.")] = "png",
) -> None:
    """Draw learning curves, performance profiles and, of grid worlds, maps of visits (default: into DIR/figures).

    Example: steering plot results/deepsea --format png,pdf
    """
    from steering.errors import NotAvailable
    from steering.runs import figure
    from steering.runs.drawing import FORMATS, save_figure
    from steering.sweeps import maps, profiles
    from steering.sweeps.summary import scores_of

    chosen = list(dict.fromkeys(part.strip() for part in formats.split(",")))
    for one in chosen:
        if one not in FORMATS:
            raise InvalidOption(f"--format has '{one}'; choose from {', '.join(FORMATS)}.")
    results = _load(directory, env, agent)
    target = out_dir or directory / "figures"
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InvalidOption(f"{target} is a link or a file; give another place with --out.")
    target.mkdir(parents=True, exist_ok=True)
    reasons = []
    for name, module in (("curves", figure), ("profile", profiles), ("visits", maps)):
        try:
            sheet = module.figure(module.data(results))
        except NotAvailable as error:
            if module is not maps:  # not to be expected of a world that is no grid
                reasons.append(f"no {name}: {error}")
            continue
        for one in chosen:
            out.print(f"wrote {save_figure(sheet, target / f'{name}.{one}')}", soft_wrap=True, highlight=False)
    if len(reasons) == 2:
        raise NotAvailable(" ".join(reasons))
    for reason in reasons:
        print(visible(reason), file=sys.stderr)
    _notes(scores_of(results).notes)


def export(
    directory: Directory,
    out_dir: Annotated[Path, typer.Argument(help="Where to write.", parser=place)],
    format_: Annotated[str, typer.Option("--format", help="parquet, csv or tensorboard.")] = "parquet",
    env: EnvironmentText = None,
    agent: AgentTexts = None,
) -> None:
    """Write the tables of a sweep as files; the same cells give the same bytes, wherever they were computed.

    Examples: steering export results/deepsea tables --format csv

    steering export results/deepsea runs --format tensorboard
    """
    if format_ not in ("parquet", "csv", "tensorboard"):
        raise InvalidOption(f"--format is '{format_}'; choose parquet, csv or tensorboard.")
    results = _load(directory, env, agent)
    if format_ == "tensorboard":
        from steering.sweeps.store.selection import select
        from steering.sweeps.tracking import write_tensorboard

        out.print(f"wrote {write_tensorboard(results, out_dir)} runs to {out_dir}", soft_wrap=True, highlight=False)
        _notes(select(results).notes)
        return
    for path in results.write(out_dir, format=format_):
        out.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _notes(notes: list[str]) -> None:
    for note in notes:
        print(visible(f"note: {note}"), file=sys.stderr)


def _load(directory: Path, env: str | None, agents: list[str] | None) -> Results:
    from steering.sweeps.store.load import ProblemWarning, load

    results = load(directory, environment=env, agent=agents)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProblemWarning)
        count = len(results.finals)
    for warning in caught:
        print(visible(f"warning: {warning.message}"), file=sys.stderr)
    if not count:
        texts = [text for text in (env, *(agents or ())) if text is not None]
        where = " for " + ", ".join(f"'{text}'" for text in texts) if texts else ""
        raise InvalidOption(f"{directory} has no finished cells{where}; see steering status {directory}.")
    return results


def _table(title: str, frame: pd.DataFrame) -> Table:
    from steering.runs.tables import number, share

    table = Table(title=title, title_justify="left")
    texts = [name for name in frame if name in ("environment", "agent", "seeds", "environments")]
    for name in texts:
        table.add_column(str(name), overflow="fold")
    headings = {"mean": "final, mean", "iqm": "final, interquartile mean", "area": "area under curve, mean"}
    for heading in (*headings.values(), "score, mean", "failed"):
        table.add_column(heading, justify="right")
    for _, row in frame.iterrows():
        values = [_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], 3) for name in headings]
        values += [number(row["score"]), share(row["failed"])]
        table.add_row(*(str(row[name]) for name in texts), *values)
    return table


def _interval(value: float, low: float, high: float, digits: int) -> str:
    """A value with its interval, a dash where there are too few seeds for one."""
    ends = f"{low:.{digits}f} to {high:.{digits}f}" if math.isfinite(low) else "-"
    return f"{value:.{digits}f} ({ends})"


def _improvement(frame: pd.DataFrame) -> Table:
    table = Table("agent", "better than", title="Paired probability of improvement", title_justify="left")
    table.add_column("probability", justify="right")
    for row in frame.head(SHOWN_PAIRS).to_dict("records"):
        table.add_row(row["agent"], row["better_than"], _interval(row["probability"], row["low"], row["high"], 2))
    return table
