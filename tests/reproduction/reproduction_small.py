"""A reproduction so small that tests can afford it, made once in a process."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from steering.experiments import sweep
from steering.reproduction.plan import CHAPTERS, description
from steering.reproduction.scale import Scale
from steering.reproduction.source import Source
from steering.results import load

SMALL = Scale(name="small", seeds=2, steps=150, prior_steps=160, posterior_seeds=2, trace_seeds=2, mdps=2, episodes=12)


@lru_cache(maxsize=1)
def small_source() -> Source:
    """Runs of all chapters; the directory lives as long as the process."""
    keep = tempfile.TemporaryDirectory()
    directory = Path(keep.name)
    report = sweep(description(list(CHAPTERS.values()), SMALL), directory, workers=0)
    assert report.complete
    source = Source(load(directory), SMALL)
    source.keep = keep  # type: ignore[attr-defined]
    return source
