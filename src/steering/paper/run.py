"""Reproduce the paper: run what is missing, draw, judge, report.

The directory that is written::

    DIR/runs/            results of the sweep (resumable)
    DIR/figures/*.png    every figure
    DIR/data/*.csv       the tables that were drawn
    DIR/claims.csv       claims, effects, verdicts
    DIR/numbers.json     verdicts and effects of claims, and a hash of every table in DIR/data
    DIR/report.html      one self-contained page; report.md, the same as text

Runs depend on configuration and seed only and all resampling has fixed seeds, so numbers.json is the same for every
number of workers and after every restart. Times are in the report, not in numbers.json.

A directory holds one size. A run of some chapters keeps the others that are there: they are drawn and judged again,
from the runs they have, so that the report always covers all of the directory. Another size or version is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steering._files import write_atomically
from steering._version import REVISION, __version__
from steering.errors import InvalidOption, SteeringError
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.rule import Claim
from steering.paper.plan import CHAPTERS, chosen, description
from steering.paper.report.page import write_reports
from steering.paper.report.text import claims_table, summary_lines
from steering.paper.scale import QUICK, Scale
from steering.paper.source import Source
from steering.runs.drawing import save_figure
from steering.sweeps import sweep
from steering.sweeps.engine import Report as SweepReport
from steering.sweeps.store.load import load

Watcher = Callable[[SweepReport], None]
Speaker = Callable[[str], None]

PROGRAM = f"{__version__}, revision {REVISION}"
"""What has to agree for runs to belong to one report."""


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
        """All claims, in the order of the chapters; controls, which are not the paper's, at the end."""
        found = [claim for part in self.chapters for claim in part.claims]
        return sorted(found, key=lambda claim: claim.control)

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
        Chapters (see `steering.paper.names.NAMES`); none means all.
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
    earlier = [name for name in _already_there(directory, scale) if CHAPTERS[name] not in chapters]
    if earlier:
        chapters = chosen([*(chapter.name for chapter in chapters), *earlier])
        say(f"{directory} also has {', '.join(earlier)}: kept, and reported with the rest.")
    wanted = description(chapters, scale)
    _make(directory)
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


def _already_there(directory: Path, scale: Scale) -> list[str]:
    """Chapters that were reported in a directory before; a directory of another size is refused."""
    path = directory / "numbers.json"
    if not path.is_file():
        return []
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidOption(f"{path} is not readable; give another directory, or remove the file.") from None
    if not isinstance(known, dict) or not {"settings", "version", "tables"} <= known.keys():
        raise InvalidOption(f"{path} was written by an older program; give another directory, or remove the file.")
    if (known["settings"], known["version"]) != (dataclasses.asdict(scale), PROGRAM):
        made = f"{known.get('scale')}, version {known['version']}"
        raise InvalidOption(f"{directory} holds a reproduction of another size or version ({made}); give another one.")
    names = {key.partition("/")[0] for key in known["tables"]}
    return [name for name in CHAPTERS if name in names]


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidOption(
            f"the directory {directory} cannot be made ({error.strerror}); give another directory."
        ) from None


def _finish(chapter: Chapter, source: Source, directory: Path, say: Speaker) -> Finished:
    began = time.perf_counter()
    tables = chapter.data(source)
    (directory / "figures").mkdir(exist_ok=True)
    (directory / "data").mkdir(exist_ok=True)
    for name, table in tables.items():
        write_atomically(directory / "data" / f"{chapter.name}_{name}.csv", _csv(table))
    drawn = chapter.figures(tables, source.scale)
    paths = [save_figure(figure, directory / "figures" / f"{name}.png") for name, figure in drawn.items()]
    claims = chapter.claims(source, tables)
    say(f"{chapter.name}: {len(paths)} figure(s), {len(claims)} claim(s), {time.perf_counter() - began:.1f} s")
    return Finished(chapter, tables, paths, chapter.charts(tables, source.scale), claims)


def _write_numbers(result: Reproduction) -> None:
    numbers: dict[str, Any] = {
        "scale": result.scale.name,
        "settings": dataclasses.asdict(result.scale),
        "version": PROGRAM,
        "claims": {
            claim.name: {
                "verdict": str(claim.verdict),
                "effects": {name: [e.value, e.low, e.high] for name, e in claim.effects.items()},
            }
            for claim in result.claims
            if not claim.timing
        },
        "tables": {
            f"{part.chapter.name}/{name}": {"rows": len(table), "sha256": hashlib.sha256(_csv(table)).hexdigest()}
            for part in result.chapters
            for name, table in part.tables.items()
        },
    }
    content = json.dumps(_plain(numbers), indent=1, sort_keys=True, allow_nan=False) + "\n"
    write_atomically(result.directory / "numbers.json", content.encode())
    write_atomically(result.directory / "claims.csv", _csv(claims_table(result.claims)))


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def _plain(value: Any) -> Any:
    """The same with numbers that JSON does not have as text."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
