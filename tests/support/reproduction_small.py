"""A reproduction so small that tests can afford it, made once in a process."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

import pandas as pd

from steering.paper import contents
from steering.paper.chapter import Chapter
from steering.paper.scale import Scale
from steering.paper.source import Source, run_blocks
from steering.paper.tables import Tables

SMALL = Scale(name="small", seeds=3, steps=150, prior_steps=160, posterior_seeds=3, trace_seeds=3, mdps=3, episodes=12)
CHAPTERS: dict[str, Chapter] = {name: contents.chapter(name) for name in contents.NAMES}


@lru_cache(maxsize=1)
def small_source() -> Source:
    """Runs of all chapters; the directory lives as long as the process."""
    keep = tempfile.TemporaryDirectory()
    blocks = [block for chapter in CHAPTERS.values() for block in chapter.needs(SMALL)]
    source, report = run_blocks("small", blocks, Path(keep.name), workers=0)
    assert report is not None
    assert report.complete
    source.keep = keep  # type: ignore[attr-defined]
    return source


@lru_cache
def _tables(name: str) -> Tables:
    return CHAPTERS[name].data(small_source(), SMALL)


def small_tables(name: str) -> dict[str, pd.DataFrame]:
    """Tables of a chapter, a copy to change at will."""
    return {key: table.copy() for key, table in _tables(name).items()}
