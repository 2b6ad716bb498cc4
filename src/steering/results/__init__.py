"""What runs leave behind: arrays, tables and intervals."""

from steering.results.runs import QSnapshots, RunResults
from steering.results.statistics import curve_interval, mean_interval

__all__ = ["QSnapshots", "RunResults", "curve_interval", "mean_interval"]
