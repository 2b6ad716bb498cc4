"""And what happens in a million runs: sweep files, cells, the engine, executors, the store and what reads it."""

from steering.sweeps.engine import Report, sweep
from steering.sweeps.store.load import Results, load

__all__ = ["Report", "Results", "load", "sweep"]
