"""Run a study: what is missing is run, the answer follows from the table of runs, both are written.

The directory that is written, for a study whose file is called FILE::

    DIR/...              results directories of its sweeps (resumable)
    DIR/FILE_runs.csv    a row for each run: its score
    DIR/*.csv            the answer, made of FILE_runs.csv alone: the tables that are published
    DIR/FILE.md          the answer as a page, made of these tables alone
    DIR/figures/*.png    its figures, made of the same
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steering._files import write_atomically
from steering.agents import describe_agent, make_agent
from steering.errors import unknown_name
from steering.paper import contents
from steering.paper.chapter import Wish
from steering.paper.scale import Block
from steering.paper.source import Source, Watch, run_blocks
from steering.paper.tables import Tables, csv, read_csv
from steering.runs.drawing import save_figure
from steering.runs.tables import count
from steering.sweeps.estimate import estimate
from steering.sweeps.sweep_file import read_sweep

DIGITS = 4
Speaker = Callable[[str], None]


@dataclass(frozen=True)
class Answer:
    """What a study found, and the files that were written."""

    tables: Tables
    summary: list[str]
    files: list[Path]

    def plain(self) -> dict[str, Any]:
        """The same as plain values."""
        tables = {name: table.to_dict("records") for name, table in self.tables.items()}
        return {"summary": self.summary, "tables": tables, "files": [str(path) for path in self.files]}


def run_study(
    name: str,
    out: str | os.PathLike[str],
    *,
    smoke: bool = False,
    stage: str = "",
    agents: Sequence[str] = (),
    workers: int | None = None,
    watch: Watch = None,
    say: Speaker = lambda text: None,
) -> Answer:
    """Run what is missing of a study and write its answer.

    Parameters
    ----------
    name
        A study: "default" or "ladder".
    out
        Directory of the study; start again with the same one to continue.
    smoke
        A small one of seconds that shows that everything works.
    stage
        Stop after this stage, such as "development"; empty runs all.
    agents
        Agents of yours, compared as they are given beside those of the study.
    workers, watch
        As for `steering.sweep`.
    say
        Called with an estimate of the time before anything is run (not with `smoke`).
    """
    study = contents.study(name)
    if stage and stage not in study.stages:
        raise unknown_name(f"stage of the study '{name}'", stage, study.stages)
    wish = Wish(smoke, stage, tuple(describe_agent(make_agent(text)) for text in agents))
    directory = Path(out)
    if not smoke:
        say(_estimate(study.blocks(wish), workers))

    def run(title: str, blocks: Sequence[Block], folder: str) -> Source:
        return run_blocks(title, blocks, directory / folder, workers=workers, watch=watch)[0]

    runs = directory / f"{study.file}_runs.csv"
    write_atomically(runs, csv(study.runs(run, wish)))
    tables = study.answer(read_csv(runs), wish)
    files = []
    for key, table in tables.items():
        files.append(directory / f"{key}.csv")
        write_atomically(files[-1], csv(table, DIGITS))
    published = {key: read_csv(path) for key, path in zip(tables, files, strict=True)}
    files.append(directory / f"{study.file}.md")
    write_atomically(files[-1], study.page(published).encode())
    (directory / "figures").mkdir(exist_ok=True)
    drawn = study.figures(published)
    files += [save_figure(figure, directory / "figures" / f"{key}.png") for key, figure in drawn.items()]
    return Answer(published, study.summary(published), [*files, runs])


def _estimate(blocks: Sequence[Block], workers: int | None) -> str:
    """How many runs there are, and how long they take if none is there yet."""
    plan = read_sweep({"name": "estimate", "blocks": [block.description() for block in dict.fromkeys(blocks)]}).plan
    cores = max(workers, 1) if workers is not None else len(os.sched_getaffinity(0))
    minutes = estimate(plan, range(len(plan)), cores).seconds / 60
    where = f"{count(cores, 'core')} as busy as now"
    return f"{len(plan):,} runs; if none is there yet, about {minutes:.0f} minutes on {where}."
