"""Run a study: what is missing is run, the answer follows from the published table of runs, both are written.

The directory that is written, for a study whose file is called FILE::

    DIR/tuning, DIR/comparison, DIR/runs    results directories of its sweeps (resumable)
    DIR/FILE_runs.csv                       a row for each run of the comparison: its score
    DIR/FILE.csv, DIR/FILE.md               the answer, made of FILE_runs.csv alone; as a table and as a page
    DIR/*.png                               its figures
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from steering._files import write_atomically
from steering.paper import contents
from steering.paper.scale import Block
from steering.paper.source import Source, Watch, run_blocks
from steering.paper.tables import csv, read_csv
from steering.runs.drawing import save_figure

DIGITS = 4


@dataclass(frozen=True)
class Answer:
    """What a study found, and the files that were written."""

    table: pd.DataFrame
    summary: list[str]
    files: list[Path]

    def plain(self) -> dict[str, Any]:
        """The same as plain values."""
        counts = Counter(self.table["verdict"]) if "verdict" in self.table else Counter[str]()
        return {
            "verdicts": dict(counts),
            "rows": self.table.to_dict("records"),
            "files": [str(path) for path in self.files],
        }


def run_study(
    name: str, out: str | os.PathLike[str], *, quick: bool = False, workers: int | None = None, watch: Watch = None
) -> Answer:
    """Run what is missing of a study and write its answer.

    Parameters
    ----------
    name
        A study: "default" or "ladder".
    out
        Directory of the study; start again with the same one to continue.
    quick
        A small one that shows that everything works.
    workers, watch
        As for `steering.sweep`.
    """
    study = contents.study(name)
    directory = Path(out)

    def run(title: str, blocks: Sequence[Block], folder: str) -> Source:
        return run_blocks(title, blocks, directory / folder, workers=workers, watch=watch)[0]

    runs = directory / f"{study.file}_runs.csv"
    write_atomically(runs, csv(study.runs(run, quick)))
    scores = read_csv(runs)
    table = study.answer(scores)
    texts = {"csv": csv(table.round(DIGITS)), "md": study.page(scores, table).encode()}
    files = [directory / f"{study.file}.{ending}" for ending in texts]
    for path, content in zip(files, texts.values(), strict=True):
        write_atomically(path, content)
    drawn = [save_figure(figure, directory / f"{name}.png") for name, figure in study.figures(scores).items()]
    return Answer(table, study.summary(table), [*files, runs, *drawn])
