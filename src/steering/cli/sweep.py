"""`steering sweep`, `steering status` and `steering retry`: many runs, interrupted or not."""

from __future__ import annotations

import os
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from steering.cli import stopping
from steering.cli.common import (
    EXIT_CELLS_FAILED,
    Imports,
    JsonFlag,
    err,
    import_modules,
    out,
    place,
    plural,
    print_json,
    visible,
)
from steering.errors import Unreachable

if TYPE_CHECKING:
    from steering.sweeps.engine import Report
    from steering.sweeps.sweep_file import Sweep

PLAIN_SECONDS = 10.0

Workers = Annotated[
    int | None, typer.Option("--workers", "-w", help="Local processes (default: all cores); 0: in this process.")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Dask scheduler, tcp://host:port, or 'local' for one here.")
]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", help="Seconds that one cell may take [3600].")]
MemoryLimit = Annotated[int | None, typer.Option("--memory-limit", help="Megabytes that one cell may take.")]
Retries = Annotated[int, typer.Option("--retries", help="How often a failed cell is tried again.")]
Directory = Annotated[Path, typer.Argument(help="Results directory.", parser=place)]
PartText = Annotated[
    str | None,
    typer.Option("--part", help="Run part i/n; 'auto/n' (SLURM array, Kubernetes) reads the index."),
]
OldPartText = Annotated[str | None, typer.Option("--shard", hidden=True)]
"""The name of ``--part`` before a shard was only a file of the store."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(name="sweep")(sweep_command)
    app.command()(status)
    app.command()(retry)


def sweep_command(
    file: Annotated[Path, typer.Argument(help="The sweep, a TOML file.")],
    out_dir: Annotated[
        Path, typer.Option("--out", "-o", help="Results directory; start again to continue.", parser=place)
    ],
    workers: Workers = None,
    scheduler: Scheduler = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show cells and estimated time; run nothing.")] = False,
    part: PartText = None,
    old_part: OldPartText = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    retries: Retries = 2,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """Run all cells of a sweep that are not in the results directory yet.

    [bold]Examples[/]

    steering sweep examples/sweeps/deepsea.toml --out results/deepsea --dry-run

    steering sweep examples/sweeps/deepsea.toml --out results/deepsea --workers 8

    steering sweep sweep.toml --out results/big --part 3/16           (one job of an array)

    steering sweep sweep.toml --out results/big --scheduler tcp://10.0.0.5:8786

    Kill it whenever you like and start the same command again: finished cells are kept. Exit codes: 0 all done,
    1 anything else, 2 bad input, 3 some cells failed (see steering status), 4 disk full, 130 Ctrl-C, 143 SIGTERM.
    """
    from steering.sweeps.cells import parse_part
    from steering.sweeps.sweep_file import read_sweep

    import_modules(imports)
    wanted = read_sweep(file)
    part_text = part if part is not None else old_part
    mine = parse_part(part_text, os.environ) if part_text is not None else None
    if dry_run:
        _dry_run(wanted, mine, out_dir, workers, imports or (), as_json)
        return
    options: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "imports": imports or ()}
    options |= {"time_limit": time_limit, "memory_limit": memory_limit, "retries": retries}
    _run(wanted, out_dir, as_json, **options, **({"part": mine} if mine else {}))


def retry(
    directory: Directory,
    workers: Workers = None,
    scheduler: Scheduler = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    retries: Retries = 2,
    imports: Imports = None,
    as_json: JsonFlag = False,
) -> None:
    """Run the failed cells of a results directory again, and whatever else is missing.

    Example: steering retry results/deepsea --memory-limit 4000

    Modules that the sweep was started with (--import) are imported again.
    """
    from steering.sweeps.store.directory import Store
    from steering.sweeps.store.plans import read_imports
    from steering.sweeps.sweep_file import saved_sweep

    import_modules(imports)
    store = Store(directory)
    known = store.read_sweep()
    modules = list(dict.fromkeys([*(imports or ()), *read_imports(known)]))
    import_modules(modules)
    wanted = saved_sweep(known, str(store.sweep_file))
    options: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "imports": modules}
    options |= {"time_limit": time_limit, "memory_limit": memory_limit, "retries": retries}
    _run(wanted, directory, as_json, retry_failed=True, **options)


def status(directory: Directory, as_json: JsonFlag = False) -> None:
    """Show what is done, failed and pending in a results directory, and how fast it goes.

    Example: steering status results/deepsea
    """
    from steering.sweeps.status import status_of

    now = status_of(directory)
    if as_json:
        print_json(now)
        return
    table = Table(title=f"{directory}", title_justify="left")
    for heading in ("cells", "done", "failed", "pending", "cells / s", "time left"):
        table.add_column(heading, justify="right")
    rate = now["rate"]
    left = clock(now["seconds_left"]) if now["seconds_left"] is not None else "-"
    counts = (str(now[key]) for key in ("cells", "done", "failed", "pending"))
    table.add_row(*counts, f"{rate:.1f}" if rate else "-", left)
    out.print(table)
    for one in now["failures"][:20]:
        where = f"{one['environment']}, {one['agent']}, seed {one['seed']}"
        out.print(f"failed: {where}: {one['kind']}: {one['message']} (failed/{one['key']}.json)", soft_wrap=True)
    for one in now["conflicts"][:20]:
        out.print(f"in conflict: cell {one['key']}: {one['origins']}", soft_wrap=True)
    if now["older"]:
        out.print(f"older code: {plural(now['older'], 'cell')} of the same agents and environments are kept too")
    for sentence in now["edited"]:
        out.print(f"{sentence}.", soft_wrap=True, highlight=False)
    for name, reason in now["problems"][:20]:
        out.print(f"not a whole shard: {name}: {reason}", soft_wrap=True)
    if len(now["versions"]) > 1:
        out.print(f"computed by different versions: {', '.join(now['versions'])}")


def _dry_run(
    wanted: Sweep, part: Any, directory: Path, workers: int | None, imports: Sequence[str], as_json: bool
) -> None:
    from steering.sweeps.cells import Part
    from steering.sweeps.codes import Older
    from steering.sweeps.estimate import estimate
    from steering.sweeps.store.directory import Store

    done: set[bytes] = set()
    failed: set[bytes] = set()
    older = None
    if (directory / "shards").is_dir():
        store = Store(directory)
        found = store.scan()
        done = found.keys
        failed = (store.failures().keys() | found.conflicts.keys()) - done
        older = Older(store, wanted.plan)
    part = part or Part()
    mine = [(i, key) for i, key in enumerate(wanted.plan.keys()) if i in part]
    pending = [i for i, key in mine if key not in done and key not in failed]
    quarantined = sum(key in failed for _, key in mine)
    groups = [wanted.plan.locate(i) for i in pending]
    anew = older.reasons((wanted.plan.groups[number], seed) for number, seed in groups) if older is not None else []
    chosen = workers if workers is not None else len(os.sched_getaffinity(0))
    expected = estimate(wanted.plan, pending, chosen, imports=imports)
    rows = [
        {
            "environment": g.config["environment"],
            "agent": g.config["agent"],
            "steps": g.config["steps"],
            "seeds": len(g.seeds),
        }
        for g in wanted.plan.groups
    ]
    if as_json:
        known: dict[str, Any] = {
            "cells": len(mine),
            "done": len(mine) - len(pending) - quarantined,
            "failed": quarantined,
        }
        known |= {
            "pending": len(pending),
            "workers": max(chosen, 1),
            "failed_trials": len(expected.failed),
            "anew": anew,
        }
        print_json({**known, "seconds": expected.seconds, "basis": expected.basis, "groups": rows})
        return
    table = Table("environment", "agent", "steps", "seeds", title=wanted.name or "sweep", title_justify="left")
    for row in rows[:50]:
        table.add_row(*(str(value) for value in row.values()))
    out.print(table)
    if len(rows) > 50:
        out.print(f"... and {len(rows) - 50} more pairs of environment and agent")
    held = f", {quarantined} failed before (steering retry runs them)" if quarantined else ""
    count = f"{len(mine)} cells, {len(mine) - len(pending) - quarantined} done{held}, {len(pending)} to run"
    time_needed = f"about {clock(expected.seconds)} on {plural(max(chosen, 1), 'worker')}"
    out.print(f"{count}: {time_needed}.", soft_wrap=True)
    if pending:
        out.print(f"the time is estimated {expected.basis}.", soft_wrap=True)
    for reason in anew:
        out.print(f"{reason}.", soft_wrap=True, highlight=False)
    for where, message in expected.failed[:5]:
        out.print(f"a trial of {where} failed, so its time is a guess: {message}", soft_wrap=True)


def _run(wanted: Sweep, directory: Path, as_json: bool, **options: Any) -> None:
    from steering.sweeps.engine import sweep

    began = time.monotonic()
    line = f"interrupted; finished cells are in {directory}. Start again to continue."
    with stopping.saying(line), warnings.catch_warnings(), Display() as display:
        warnings.showwarning = _one_line
        report = sweep(wanted, directory, watch=_Telling(display.show), **options)
    _summary(report, time.monotonic() - began, as_json)
    if report.pending:
        raise Unreachable(
            f"{plural(report.pending, 'cell')} were run and handed to {directory}, but are not found there; see "
            f"steering status {directory}, and start the same command again."
        )
    if report.failed:
        raise typer.Exit(EXIT_CELLS_FAILED)


class _Telling:
    """Shows progress, and first of all why cells that the directory seems to have are run."""

    def __init__(self, show: Callable[[Report], None]) -> None:
        self._show = show
        self._told = False

    def __call__(self, report: Report) -> None:
        if not self._told:
            self._told = True
            for reason in report.anew:
                err.print(f"{reason}.", soft_wrap=True, highlight=False)
            if report.others and report.pending:
                who = plural(report.others, "other process").replace("processs", "processes")
                err.print(
                    f"{who} at work on {report.directory}: cells finished there are left out here.", soft_wrap=True
                )
        self._show(report)


def _one_line(message: Warning | str, category: object, filename: str, lineno: int, *rest: Any, **more: Any) -> None:
    print(visible(f"warning: {message}"), file=sys.stderr)


def _summary(report: Report, seconds: float, as_json: bool) -> None:
    if as_json:
        names = ("cells", "done", "computed", "by_others", "retried", "pending", "anew")
        known = {name: getattr(report, name) for name in names}
        print_json({**known, "failed": report.failed, "set_aside": report.set_aside, "seconds": seconds})
        return
    now = f"{report.computed} now" + (f", {report.by_others} by others meanwhile" if report.by_others else "")
    text = f"{report.done} of {report.cells} cells done ({now}) in {clock(seconds)}"
    out.print(f"{text}; {report.retried} tried again; {len(report.failed)} failed.", highlight=False)
    for name, reason in report.set_aside:
        out.print(f"set aside: {name}: {reason}", soft_wrap=True)
    for key, message in list(report.failed.items())[:20]:
        out.print(f"failed: {key}: {message}", soft_wrap=True)
    if report.failed:
        again = shlex.join(["steering", "retry", str(report.directory)])
        out.print(
            f"failed cells are described in {report.directory / 'failed'}; try again with: {again}", soft_wrap=True
        )
    out.print(
        f"results: {report.directory} (steering summary, steering plot, or steering.load in Python)", soft_wrap=True
    )


class Display:
    """Progress: a bar for people, a plain line now and then where there is no terminal."""

    def __enter__(self) -> Display:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, TimeRemainingColumn(), console=err, disable=not err.is_terminal)
        self._task = self._bar.add_task("cells", total=None)
        self._last = 0.0
        self._first: tuple[float, int] | None = None
        self._bar.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._bar.__exit__(*details)

    def show(self, report: Report) -> None:
        """Show the state of a sweep."""
        failed = len(report.failed)
        text = f"cells, {failed} failed" if failed else "cells"
        self._bar.update(self._task, total=report.cells, completed=report.done + failed, description=text)
        now = time.monotonic()
        if self._first is None or report.done < self._first[1]:  # the first look, or another sweep
            self._first = (now, report.done)
        if not err.is_terminal and (now - self._last > PLAIN_SECONDS or report.complete):
            self._last = now
            since = now - self._first[0]
            rate = (report.done - self._first[1]) / since if since > 0 else 0.0
            left = f", about {clock(report.pending / rate)} left" if rate > 0 and report.pending else ""
            print(f"{report.done} of {report.cells} done, {failed} failed, {rate:.1f} / s{left}", file=sys.stderr)


def clock(seconds: float) -> str:
    """Time for people: 12 s, 3 min 20 s, 5 h 12 min, 12 d 3 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
