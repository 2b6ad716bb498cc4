"""What happens in one comparison: running seeds, recording, regret, intervals, its table and its figure."""

from steering.runs.bayesian import BayesianRegret, bayesian_regret
from steering.runs.bsuite import deep_sea_episodes, deep_sea_score
from steering.runs.comparison import Comparison
from steering.runs.files import write_tables
from steering.runs.results import Diagnostics, QSnapshots, RunResults
from steering.runs.runner import Interrupted, Runs, run
from steering.runs.statistics import curve_interval, mean_interval

__all__ = [
    "BayesianRegret",
    "Comparison",
    "Diagnostics",
    "Interrupted",
    "QSnapshots",
    "RunResults",
    "Runs",
    "bayesian_regret",
    "curve_interval",
    "deep_sea_episodes",
    "deep_sea_score",
    "mean_interval",
    "run",
    "write_tables",
]
