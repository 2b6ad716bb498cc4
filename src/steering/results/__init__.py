"""What runs leave behind: arrays, tables, intervals and files."""

from steering.results.files import write_atomically, write_tables
from steering.results.load import Results, load
from steering.results.runs import Diagnostics, QSnapshots, RunResults
from steering.results.statistics import curve_interval, mean_interval

__all__ = [
    "Diagnostics",
    "QSnapshots",
    "Results",
    "RunResults",
    "curve_interval",
    "load",
    "mean_interval",
    "write_atomically",
    "write_tables",
]
