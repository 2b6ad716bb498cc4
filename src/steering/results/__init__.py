"""What runs leave behind: arrays, tables, intervals and files."""

from steering.results.files import write_atomically, write_tables
from steering.results.runs import QSnapshots, RunResults
from steering.results.statistics import curve_interval, mean_interval

__all__ = ["QSnapshots", "RunResults", "curve_interval", "mean_interval", "write_atomically", "write_tables"]
