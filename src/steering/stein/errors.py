"""What can go wrong in the Stein library, each a class of its own so that callers can tell them apart."""

from __future__ import annotations

from steering.errors import SteeringError


class InvalidDistribution(SteeringError):
    """An array given as probabilities, counts or samples is not one, or not one this operator can use."""


class DivergentExpectation(SteeringError):
    """An expectation was asked for that is infinite, with the entry that makes it so."""


class SteinSupportWarning(UserWarning):
    """The discrepancy asked for cannot vanish on this data, whatever the model and however much of it there is."""


class InfiniteVarianceWarning(UserWarning):
    """A standard error was asked for of draws whose variance is infinite."""


class RareOutcomeWarning(UserWarning):
    """The wild bootstrap was asked for with outcomes too rare for it: its p-values are then too small."""
