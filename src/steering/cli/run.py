"""`steering run`: compare agents on one environment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from steering.cli.common import EXIT_INTERRUPTED, JsonFlag, err, out, print_json
from steering.errors import InvalidOption

if TYPE_CHECKING:
    from steering.results import RunResults


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="run")(run_command)


def _complete_env(incomplete: str) -> list[str]:
    from steering.envs import list_envs

    return [info.name for info in list_envs() if info.name.startswith(incomplete)]


def _complete_agent(incomplete: str) -> list[str]:
    from steering.agents import list_agents

    return [str(row["name"]) for row in list_agents() if str(row["name"]).startswith(incomplete)]


def run_command(
    env: Annotated[str, typer.Argument(help="Environment, e.g. deepsea:15.", autocompletion=_complete_env)],
    agent: Annotated[
        list[str],
        typer.Option("--agent", "-a", help="Agent; repeat to compare.", autocompletion=_complete_agent),
    ],
    steps: Annotated[int, typer.Option("--steps", "-t", help="Steps of each run.")] = 5000,
    seeds: Annotated[int, typer.Option("--seeds", "-k", help="Number of seeds (0, 1, ...).")] = 10,
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write finals.csv, curves.csv, settings.json and regret.png here."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run agents on an environment and compare their regret.

    [bold]Examples[/]

    steering run deepsea:8 --agent psrl --agent ids:planning=mean

    steering run widenarrow:1,12 -a psrl -a mm:zeta=0.5 -t 12000 -k 30 --out results/wide

    steering run gym:FrozenLake-v1 -a psrl -a q_learning --json

    Ctrl-C stops; agents that are finished are reported and written.
    """
    from steering.agents import make_agent
    from steering.envs import make_env
    from steering.experiments.seeds import checked_seeds

    environment = make_env(env)
    learners = [make_agent(text) for text in agent]
    chosen = checked_seeds(seeds)
    if steps < 1:
        raise InvalidOption(f"--steps is {steps}; it must be at least 1.")
    if out_dir is not None and out_dir.exists() and not out_dir.is_dir():
        raise InvalidOption(f"--out {out_dir} is a file; give a directory.")
    finished, interrupted = _run_all(environment, learners, steps, chosen)
    if finished:
        _report(finished, out_dir, as_json)
    if interrupted:
        err.print(f"interrupted: {len(finished)} of {len(learners)} agents finished.")
        raise typer.Exit(EXIT_INTERRUPTED)


def _run_all(
    environment: Any, learners: list[Any], steps: int, seeds: tuple[int, ...]
) -> tuple[list[RunResults], bool]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from steering.agents import describe_agent
    from steering.experiments import run

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    finished: list[RunResults] = []
    with Progress(*columns, console=err, disable=not err.is_terminal) as bar:
        task = bar.add_task("starting", total=len(learners) * len(seeds))
        try:
            for number, learner in enumerate(learners):
                name = describe_agent(learner)
                bar.update(task, description=name)
                if not err.is_terminal:
                    print(f"{name}: {len(seeds)} runs of {steps} steps", file=sys.stderr)

                def report(done: int, total: int, before: int = number * len(seeds)) -> None:
                    bar.update(task, completed=before + done)

                finished.append(run(environment, learner, steps=steps, seeds=seeds, progress=report))
        except KeyboardInterrupt:
            return finished, True
    return finished, False


def _report(runs: list[RunResults], directory: Path | None, as_json: bool) -> None:
    written: list[Path] = []
    if directory is not None:
        written = _write(runs, directory)
    rows = [one.summary() for one in runs]
    if as_json:
        print_json({"results": rows, "files": [str(path) for path in written]})
        return
    measure = str(rows[0]["measure"]).replace("_", " ")
    title = f"{rows[0]['environment']}: {rows[0]['steps']} steps, {rows[0]['seeds']} seeds"
    table = Table(title=title, title_justify="left")
    table.add_column("agent", overflow="fold")
    for heading in (f"{measure}, mean", "95 % interval", "reward, mean", "ms a run"):
        table.add_column(heading, justify="right")
    for one, row in zip(runs, rows, strict=True):
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        reward = f"{one.rewards.sum(axis=1).mean():.1f}"
        table.add_row(
            str(row["agent"]),
            f"{row['mean']:.3f}",
            interval,
            reward,
            f"{1000 * float(str(row['seconds'])):.1f}",
        )
    out.print(table)
    for path in written:
        out.print(f"wrote {path}", soft_wrap=True, highlight=False)


def _write(runs: list[RunResults], directory: Path) -> list[Path]:
    from steering.figures import regret
    from steering.results import write_atomically, write_tables

    written = write_tables(runs, directory)
    curves = directory / "curves.csv"
    write_atomically(curves, regret.data(runs).to_csv(index=False).encode())
    return [*written, curves, regret.save(runs, directory / "regret.png")]
