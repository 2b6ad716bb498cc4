"""Reproduce the paper: run what is missing, draw, judge, report.

The directory that is written::

    DIR/runs/            results of the sweep (resumable)
    DIR/figures/*.png    every figure
    DIR/data/*.csv       the tables that were drawn and that claims were judged by
    DIR/claims.csv       claims, effects, verdicts
    DIR/numbers.json     verdicts and effects of claims, and a hash of every table in DIR/data
    DIR/report.html      one self-contained page; report.md, the same as text

Claims are judged by the files in DIR/data and nothing else (`verdicts` does it again). Runs depend on configuration and
seed only and all resampling has fixed seeds, so numbers.json is the same for every number of workers and after every
restart. Times are in the report and in DIR/data/regret_times.csv, not in numbers.json.

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

from steering._files import write_atomically
from steering._version import REVISION, __version__
from steering.errors import InvalidOption
from steering.paper import contents
from steering.paper.chapter import Chapter
from steering.paper.charts import Chart
from steering.paper.drawing import headline_figure
from steering.paper.report.answer import headline
from steering.paper.report.page import write_reports
from steering.paper.report.text import claims_table, summary_lines
from steering.paper.rule import Claim
from steering.paper.scale import QUICK, Scale
from steering.paper.source import Source, Watch, run_blocks
from steering.paper.tables import TIMES, Tables, csv, read_tables, write_tables
from steering.runs.drawing import save_figure

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
    def claims(self) -> list[Claim]:
        """All claims, in the order of the report: controls at the end."""
        found = [claim for part in self.chapters for claim in part.claims]
        return sorted(found, key=lambda claim: claim.control)

    @property
    def report(self) -> Path:
        """The page to open."""
        return self.directory / "report.html"

    def summary(self) -> list[str]:
        """The answer in sentences, and how many claims got which verdict."""
        return summary_lines(self)


def reproduce(
    names: Sequence[str] = (),
    out: str | os.PathLike[str] = "reproduction",
    *,
    scale: Scale = QUICK,
    workers: int | None = None,
    watch: Watch = None,
    say: Speaker = lambda text: None,
) -> Reproduction:
    """Reproduce figures and claims of the paper.

    Parameters
    ----------
    names
        Chapters, by their name or that of the paper, such as "fig3" (see `steering.paper.contents`); none means all.
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
    wanted = contents.resolve(names)
    directory = Path(out)
    began = time.perf_counter()
    earlier = [name for name in _already_there(directory, scale) if name not in wanted]
    if earlier:
        wanted = contents.resolve([*wanted, *earlier])
        say(f"{directory} also has {', '.join(earlier)}: kept, and reported with the rest.")
    chapters = [contents.chapter(name) for name in wanted]
    blocks = [block for chapter in chapters for block in chapter.needs(scale)]
    _make(directory)
    source, done = run_blocks(f"reproduction, {scale.name}", blocks, directory / "runs", workers=workers, watch=watch)
    cells, computed = (done.cells, done.computed) if done else (0, 0)
    middle = time.perf_counter()
    ready = f"{cells} runs ready ({computed} computed now) after {middle - began:.0f} s"
    say(f"{ready}; drawing {len(chapters)} of {len(contents.NAMES)} chapters.")
    finished = [_finish(chapter, source, scale, directory, say) for chapter in chapters]
    seconds = {"runs": middle - began, "figures": time.perf_counter() - middle}
    result = Reproduction(directory, scale, finished, seconds, cells, computed)
    write_numbers(result)
    if rows := headline(result):
        save_figure(headline_figure(rows), directory / "figures" / "headline.png")
    write_reports(result)
    return result


def verdicts(out: str | os.PathLike[str]) -> Reproduction:
    """Judge the claims of a finished reproduction again, from its published tables alone; nothing is run or written.

    Parameters
    ----------
    out
        Directory of a reproduction; only numbers.json (which tables there are) and the tables in its `data` are read.
    """
    directory = Path(out)
    known = _numbers(directory)
    if known is None:
        raise InvalidOption(f"{directory} has no numbers.json; give the directory of a finished reproduction.")
    tables = [key.partition("/")[::2] for key in (*known["tables"], *known["times"])]
    finished = []
    for name in contents.NAMES:
        if mine := [table for chapter, table in tables if chapter == name]:
            chapter, read = contents.chapter(name), read_tables(directory, name, mine)
            finished.append(Finished(chapter, read, [], [], chapter.claims(read)))
    return Reproduction(directory, Scale(**known["settings"]), finished)


def changed(result: Reproduction) -> list[str]:
    """Claims whose verdict or effects are not those of numbers.json in the directory (times are not in it)."""
    known = (_numbers(result.directory) or {}).get("claims", {})
    found = json.loads(json.dumps(claims_numbers(result.claims)))
    return [name for name in {**known, **found} if known.get(name) != found.get(name)]


def _numbers(directory: Path) -> dict[str, Any] | None:
    """What numbers.json of a directory says, if there is one."""
    path = directory / "numbers.json"
    if not path.is_file():
        return None
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidOption(f"{path} is not readable; give another directory, or remove the file.") from None
    if not isinstance(known, dict) or not {"settings", "version", "tables", "times"} <= known.keys():
        raise InvalidOption(f"{path} was written by an older program; give another directory, or remove the file.")
    return known


def _already_there(directory: Path, scale: Scale) -> list[str]:
    """Chapters that were reported in a directory before; a directory of another size is refused."""
    known = _numbers(directory)
    if known is None:
        return []
    if (known["settings"], known["version"]) != (dataclasses.asdict(scale), PROGRAM):
        made = f"{known.get('scale')}, version {known['version']}"
        raise InvalidOption(f"{directory} holds a reproduction of another size or version ({made}); give another one.")
    names = {key.partition("/")[0] for key in known["tables"]}
    return [name for name in contents.NAMES if name in names]


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidOption(
            f"the directory {directory} cannot be made ({error.strerror}); give another directory."
        ) from None


def _finish(chapter: Chapter, source: Source, scale: Scale, directory: Path, say: Speaker) -> Finished:
    began = time.perf_counter()
    write_tables(directory, chapter.name, made := chapter.data(source, scale))
    tables = read_tables(directory, chapter.name, made)
    (directory / "figures").mkdir(exist_ok=True)
    drawn = chapter.figures(tables, scale)
    paths = [save_figure(figure, directory / "figures" / f"{name}.png") for name, figure in drawn.items()]
    claims = chapter.claims(tables)
    say(f"{chapter.name}: {len(paths)} figure(s), {len(claims)} claim(s), {time.perf_counter() - began:.1f} s")
    return Finished(chapter, tables, paths, chapter.charts(tables, scale), claims)


def write_numbers(result: Reproduction) -> None:
    """Write claims.csv and numbers.json."""
    tables = {f"{part.chapter.name}/{name}": one for part in result.chapters for name, one in part.tables.items()}
    timed = [key for key in tables if key.endswith(f"/{TIMES}")]
    numbers: dict[str, Any] = {
        "scale": result.scale.name,
        "settings": dataclasses.asdict(result.scale),
        "version": PROGRAM,
        "claims": claims_numbers(result.claims),
        "tables": {
            key: {"rows": len(table), "sha256": hashlib.sha256(csv(table)).hexdigest()}
            for key, table in tables.items()
            if key not in timed
        },
        "times": timed,
    }
    content = json.dumps(numbers, indent=1, sort_keys=True, allow_nan=False) + "\n"
    write_atomically(result.directory / "numbers.json", content.encode())
    write_atomically(result.directory / "claims.csv", csv(claims_table(result.claims)))


def claims_numbers(claims: Sequence[Claim]) -> dict[str, Any]:
    """Verdict and effects of every claim that is not about times, as plain values; what is not finite as text."""
    return {
        claim.name: {
            "verdict": str(claim.verdict),
            "effects": {
                name: [x if np.isfinite(x) else str(x) for x in (effect.value, effect.low, effect.high)]
                for name, effect in claim.effects.items()
            },
        }
        for claim in claims
        if not claim.timing
    }
