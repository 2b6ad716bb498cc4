"""Experiments: one run, many seeds, averages over a prior, sweeps."""

from steering.experiments.bayesian import BayesianRegret, bayesian_regret
from steering.experiments.engine import Report, sweep
from steering.experiments.runner import Interrupted, run

__all__ = ["BayesianRegret", "Interrupted", "Report", "bayesian_regret", "run", "sweep"]
