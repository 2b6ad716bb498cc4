"""Reproduce the paper: run what is missing, draw, judge, report.

The directory that is written::

    DIR/runs/            results of the sweep (resumable; quick and full share their first seeds)
    DIR/figures/*.png    every figure
    DIR/data/*.csv       the tables that were drawn
    DIR/claims.csv       claims, effects, verdicts
    DIR/numbers.json     every number of the report that must not change from run to run
    DIR/report.html      one self-contained page; report.md, the same as text

Runs depend on configuration and seed only and all resampling has fixed seeds, so numbers.json is the same for every
number of workers and after every restart. Times are in the report, not in numbers.json.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steering._version import __version__
from steering.errors import SteeringError
from steering.experiments import sweep
from steering.experiments.engine import Report as SweepReport
from steering.figures.files import save_figure
from steering.reproduction.chapter import Chapter, Chart, Tables
from steering.reproduction.claims.rule import Claim
from steering.reproduction.plan import CHAPTERS, chosen, description
from steering.reproduction.report.page import write_reports
from steering.reproduction.report.text import claims_table, summary_lines
from steering.reproduction.scale import QUICK, Scale
from steering.reproduction.source import Source
from steering.results import load, write_atomically

Watcher = Callable[[SweepReport], None]
Speaker = Callable[[str], None]


@dataclass(frozen=True)
class Finished:
    """A chapter with everything that came out of it."""

    chapter: Chapter
    tables: Tables
    figures: list[Path]
    charts: list[Chart]
    claims: list[Claim]


@dataclass(frozen=True)
class Reproduction:
    """What was reproduced, and where it was written."""

    directory: Path
    scale: Scale
    chapters: list[Finished]
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time by stage: runs, figures."""
    cells: int = 0
    computed: int = 0

    @property
    def report(self) -> Path:
        """The page."""
        return self.directory / "report.html"

    @property
    def claims(self) -> list[Claim]:
        """All claims, in the order of the chapters."""
        return [claim for part in self.chapters for claim in part.claims]

    def summary(self) -> list[str]:
        """Five lines: how many claims got which verdict, and which."""
        return summary_lines(self.claims, self.scale)


def reproduce(
    names: Sequence[str] = (),
    out: str | os.PathLike[str] = "reproduction",
    *,
    scale: Scale = QUICK,
    workers: int | None = None,
    watch: Watcher | None = None,
    say: Speaker = lambda text: None,
) -> Reproduction:
    """Reproduce figures and claims of the paper.

    Parameters
    ----------
    names
        Chapters (see `steering.reproduction.names.NAMES`); none means all.
    out
        Directory for runs and report; start again to continue.
    scale
        `QUICK`, `FULL`, or another `Scale`.
    workers
        Local processes (default: one for each core); 0 runs in this process.
    watch
        Called with the report of the sweep after every event.
    say
        Called with a line about every stage.
    """
    chapters = chosen(names)
    directory = Path(out)
    began = time.perf_counter()
    wanted = description(chapters, scale)
    directory.mkdir(parents=True, exist_ok=True)
    cells = computed = 0
    if wanted["blocks"]:
        done = sweep(wanted, directory / "runs", workers=workers, watch=watch)
        cells, computed = done.cells, done.computed
        if done.failed:
            key, message = next(iter(done.failed.items()))
            raise SteeringError(
                f"{len(done.failed)} runs failed, the first ({key}) with: {message}; see "
                f"{directory / 'runs' / 'failed'}, then try again with: steering retry {directory / 'runs'}"
            )
    else:
        (directory / "runs" / "shards").mkdir(parents=True, exist_ok=True)
    middle = time.perf_counter()
    ready = f"{cells} runs ready ({computed} computed now) after {middle - began:.0f} s"
    say(f"{ready}; drawing {len(chapters)} of {len(CHAPTERS)} chapters.")
    source = Source(load(directory / "runs"), scale)
    finished = [_finish(chapter, source, directory, say) for chapter in chapters]
    seconds = {"runs": middle - began, "figures": time.perf_counter() - middle}
    result = Reproduction(directory, scale, finished, seconds, cells, computed)
    _write_numbers(result)
    write_reports(result)
    return result


def _finish(chapter: Chapter, source: Source, directory: Path, say: Speaker) -> Finished:
    began = time.perf_counter()
    tables = chapter.data(source)
    (directory / "figures").mkdir(exist_ok=True)
    (directory / "data").mkdir(exist_ok=True)
    for name, table in tables.items():
        write_atomically(directory / "data" / f"{chapter.name}_{name}.csv", table.to_csv(index=False).encode())
    drawn = chapter.figures(tables, source.scale)
    paths = [save_figure(figure, directory / "figures" / f"{name}.png") for name, figure in drawn.items()]
    claims = chapter.claims(source, tables)
    say(f"{chapter.name}: {len(paths)} figure(s), {len(claims)} claim(s), {time.perf_counter() - began:.1f} s")
    return Finished(chapter, tables, paths, chapter.charts(tables), claims)


def _write_numbers(result: Reproduction) -> None:
    numbers: dict[str, Any] = {
        "scale": result.scale.name,
        "version": __version__,
        "claims": {
            claim.name: {
                "verdict": str(claim.verdict),
                "effects": {name: [e.value, e.low, e.high] for name, e in claim.effects.items()},
            }
            for claim in result.claims
            if not claim.timing
        },
        "tables": {
            f"{part.chapter.name}/{name}": {
                column: float(np.nansum(values.to_numpy(dtype=np.float64)))
                for column, values in table.select_dtypes("number").items()
            }
            for part in result.chapters
            for name, table in part.tables.items()
        },
    }
    content = json.dumps(_plain(numbers), indent=1, sort_keys=True, allow_nan=False) + "\n"
    write_atomically(result.directory / "numbers.json", content.encode())
    table: pd.DataFrame = claims_table(result.claims)
    write_atomically(result.directory / "claims.csv", table.to_csv(index=False).encode())


def _plain(value: Any) -> Any:
    """The same with numbers that JSON does not have as text."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
