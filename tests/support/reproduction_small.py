"""A reproduction so small that tests can afford it, made once in a process."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from steering.paper.plan import CHAPTERS, description
from steering.paper.scale import Scale
from steering.paper.source import Source
from steering.sweeps import sweep
from steering.sweeps.store.load import load

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
