"""`steering run`: compare agents on one environment."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from steering.cli import stopping
from steering.cli.catalog import complete_agent, complete_env
from steering.cli.common import (
    Imports,
    JsonFlag,
    Seeds,
    Steps,
    err,
    import_modules,
    out,
    place,
    plural,
    print_json,
    system_error,
    visible,
)
from steering.errors import InvalidOption

if TYPE_CHECKING:
    from steering.agents import Agent
    from steering.envs import Environment
    from steering.runs import Runs
    from steering.runs.results import RunResults

NARROW = 78
"""Columns of a terminal below which the table leaves out reward and time."""
TIGHT = 60
"""Columns below which numbers are broken too."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="run")(run_command)


def run_command(
    env: Annotated[str, typer.Argument(help="Environment, e.g. deepsea:15.", autocompletion=complete_env)],
    agent: Annotated[
        list[str],
        typer.Option("--agent", "-a", help="Agent; repeat to compare.", autocompletion=complete_agent),
    ],
    steps: Steps = 5000,
    seeds: Seeds = 10,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write finals.csv, curves.csv, settings.json and regret.png here.", parser=place
        ),
    ] = None,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """Run agents on an environment and compare their regret.

    [bold]Examples[/]

    steering run deepsea:8 --agent psrl --agent ids:planning=mean

    steering run widenarrow:1,12 -a psrl -a mm:zeta=0.5 -t 12000 -k 30 --out results/wide

    steering run gym:FrozenLake-v1 -a psrl -a q_learning --json

    steering run deepsea:8 -a psrl -a mine:bonus=0.2 --import mine          (your own agent, in mine.py)

    Ctrl-C stops; runs that are finished are reported and written.
    """
    from steering.agents import make_agent
    from steering.envs import make_env
    from steering.runs.runner import refuse_too_long, refuse_twice
    from steering.runs.seeds import checked_seeds

    import_modules(imports)
    environment = make_env(env)
    _refuse_without_choice(environment)
    learners = [make_agent(text) for text in agent]
    refuse_twice(learners)
    if steps < 1:
        raise InvalidOption(f"--steps is {steps}; it must be at least 1.")
    if isinstance(seeds, int) and seeds < 1:
        raise InvalidOption(f"--seeds is {seeds}; it must be at least 1.")
    chosen = checked_seeds(seeds)
    refuse_too_long(steps, len(chosen) * len(learners))
    made = _prepared(out_dir) if out_dir is not None else []
    parts: list[Runs] = []

    def reported(stopped: bool) -> str:
        """Report what is finished; returns the line for an end that came too early."""
        finished = [part.results() for part in parts if part.finished]
        if finished:
            _report(finished, out_dir, as_json, len(chosen))
        else:
            _unmake(made)
        done = sum(len(one.seeds) for one in finished)
        return f"interrupted: {done} of {plural(len(learners) * len(chosen), 'run')} finished." if stopped else ""

    with stopping.last_words(lambda: reported(stopped=True)):
        try:
            complete = _run_all(environment, learners, steps, chosen, parts)
        except BaseException:
            _unmake(made)
            raise
    line = reported(not complete)
    if line:
        stopping.say(line)
        raise stopping.Stopped


def _refuse_without_choice(environment: Environment) -> None:
    """Refuse to compare agents where there is nothing to explore."""
    if environment.n_states == 1:
        raise InvalidOption(
            f"'{environment.name}' has one state, so no transition to learn; choose one with at least 2 states."
        )
    if int(environment.mask.sum(axis=1).max()) == 1:
        raise InvalidOption(
            f"'{environment.name}' has one action in every state, so agents cannot differ; choose one with a choice."
        )


def _prepared(directory: Path) -> list[Path]:
    """Make the directory and see that files can be written there, before hours are spent; returns what was made."""
    made: list[Path] = []
    try:
        for parent in (*reversed(directory.parents), directory):
            if not parent.exists():
                parent.mkdir()
                made.insert(0, parent)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        _unmake(made)
        raise InvalidOption(
            f"--out {directory} cannot be written ({error.strerror or error}); give a directory of your own."
        ) from None
    return made


def _unmake(directories: list[Path]) -> None:
    for directory in directories:
        with contextlib.suppress(OSError):  # somebody else has put something there: leave it
            directory.rmdir()


def _run_all(
    environment: Environment, learners: list[Agent], steps: int, seeds: tuple[int, ...], parts: list[Runs]
) -> bool:
    """Run the agents in turn, each in one of `parts`; returns whether all were run."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from steering.agents import describe_agent
    from steering.runs import Runs

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal, transient=True) as bar:
        task = bar.add_task("starting", total=len(learners) * len(seeds))
        try:
            for number, learner in enumerate(learners):
                name = describe_agent(learner)
                bar.update(task, description=name)
                if not err.is_terminal:
                    print(f"{name}: {plural(len(seeds), 'run')} of {plural(steps, 'step')}", file=sys.stderr)
                parts.append(Runs(environment, learner, steps=steps, seeds=seeds))
                for done, _ in enumerate(parts[-1], start=1):
                    bar.update(task, completed=number * len(seeds) + done)
        except (KeyboardInterrupt, Exception) as error:
            if isinstance(error, KeyboardInterrupt) or stopping.was_heard():
                return False
            raise
    return True


def _report(runs: list[RunResults], directory: Path | None, as_json: bool, asked: int) -> None:
    rows = [one.summary() for one in runs]
    written: list[Path] = []
    failure: OSError | None = None
    try:
        written = _write(runs, directory) if directory is not None else []
    except OSError as error:  # a full disk, say: what was computed is still shown
        failure = error
    if as_json:
        print_json({"results": rows, "files": [str(path) for path in written]})
    else:
        out.print(results_table(runs, rows, asked=asked, width=out.width))
        for path in written:
            out.print(f"wrote {path}", soft_wrap=True, highlight=False, markup=False)
    if failure is not None:
        sentence, code = system_error(failure)
        print(visible(f"error: --out {directory} is not complete: {sentence}"), file=sys.stderr)
        raise typer.Exit(code)


def results_table(
    runs: list[RunResults], rows: list[dict[str, Any]], *, asked: int | None = None, width: int = 100
) -> Table:
    """The table of a comparison: one line for each agent, from the runs and their summaries.

    Where an agent has fewer seeds than were asked for, because of an interruption, every line says how many. A narrow
    table leaves out reward and time, and says so.
    """
    from steering.runs.tables import number, share

    first = rows[0]
    asked = asked or max(row["seeds"] for row in rows)
    partial = any(row["seeds"] < asked for row in rows)
    size = f"{plural(first['steps'], 'step')}, {plural(asked, 'seed')}{', interrupted' if partial else ''}"
    table = Table(title=f"{first['environment']}: {size}", title_justify="left")
    table.add_column("agent", overflow="fold")
    columns: dict[str, list[str]] = {}
    if partial:
        columns["seeds"] = [f"{row['seeds']} of {asked}" for row in rows]
    measure = str(first["measure"]).replace("_", " ")
    columns[measure] = [number(row["mean"]) for row in rows]
    columns["95 % interval"] = [
        "-" if row["low"] is None else f"{number(row['low'])} to {number(row['high'])}" for row in rows
    ]
    if "score" in first:
        if first["measure"] != "score":
            columns["score"] = [number(row["score"]) for row in rows]
        columns["failed"] = [share(row["failed"]) for row in rows]
    if width < NARROW:
        table.caption, table.caption_justify = "reward and time need a wider terminal, or --json", "left"
    else:
        columns["reward"] = [f"{row['reward']:,.1f}" for row in rows]
        columns["ms a run"] = [f"{1000 * row['seconds']:,.1f}" for row in rows]
    for heading in columns:  # where it is tight, the name of the measure is broken, and no number
        table.add_column(heading, justify="right", overflow="fold", no_wrap=heading != measure and width >= TIGHT)
    for one, *cells in zip(runs, *columns.values(), strict=True):
        table.add_row(one.agent, *cells)
    return table


def _write(runs: list[RunResults], directory: Path) -> list[Path]:
    from steering._files import csv_bytes, write_atomically
    from steering.runs import Comparison, figure, write_tables
    from steering.runs.drawing import save_figure

    written = write_tables(runs, directory)
    curves = directory / "curves.csv"
    table = figure.data(Comparison(runs))
    write_atomically(curves, csv_bytes(table))
    return [*written, curves, save_figure(figure.figure(table), directory / "regret.png")]
