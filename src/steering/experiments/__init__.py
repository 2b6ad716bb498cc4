"""Experiments: one run, many seeds, averages over a prior."""

from steering.experiments.bayesian import BayesianRegret, bayesian_regret
from steering.experiments.runner import run

__all__ = ["BayesianRegret", "bayesian_regret", "run"]
