"""Claims about the weight lambda of the regularised objective (Theorem 4.6), on runs at that weight.

The theorem's lambda = sqrt(K Gamma* / sum_k K_k) depends on the run, which depends on lambda. What the theorem speaks
of is the fixed point: the lambda of a run whose weight was lambda. Runs are made on a grid of weights w; for each seed
the fixed point lies where lambda(w) - w changes its sign from plus to minus. Where that happens more than once, the one
with the smallest weight is taken. It is interpolated in log w, and so is the regret at it. A seed whose lambda stays
outside of the grid has none, and then there is no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steering._types import Floats
from steering.paper.fits import mean_effect
from steering.paper.rule import Claim, below
from steering.paper.tables import Tables, groups, runs_by_x, scores

CLOSE = 0.1
"""As good as the ratio: at most this much more normalised regret."""
FACTOR = below(float(np.log10(np.sqrt(1.5))))
"""The theorem's factor sqrt(3/2), as a condition on log10 of regret / bound."""


@dataclass(frozen=True)
class WeightRuns:
    """Runs of one STEERING at growing weights (W,); all else (W, seeds) but `ratio` (seeds,).

    Attributes
    ----------
    regret
        Normalised regret at each weight.
    theory
        The theorem's lambda of each run.
    excess
        log10 of the sum of true value gaps / the bound of theorem 4.1.
    ratio
        Normalised regret with the ratio objective, same seeds.
    """

    weights: Floats
    regret: Floats
    theory: Floats
    excess: Floats
    ratio: Floats

    def fixed_points(self) -> Floats:
        """The theorem's lambda for every seed, the smallest of several; NaN where there is none among the weights."""
        return np.exp(self._between(np.log(self.weights)[:, None] + np.zeros_like(self.theory)))

    def regret_there(self) -> Floats:
        """Normalised regret at the fixed point of every seed."""
        return self._between(self.regret)

    def excess_there(self) -> Floats:
        """The larger excess of the two runs around the fixed point of every seed."""
        left, _ = self._crossings()
        seeds = np.arange(left.size)
        larger: Floats = np.maximum(self.excess[left, seeds], self.excess[left + 1, seeds])
        return np.where(left < 0, np.nan, larger)

    def _crossings(self) -> tuple[NDArray[np.int64], Floats]:
        """For every seed the last weight below its first fixed point (-1: none), the share of the way to the next."""
        with np.errstate(divide="ignore"):
            above = np.log(self.theory) - np.log(self.weights)[:, None]
        crosses = (above[:-1] >= 0) & (above[1:] < 0)
        left = np.where(crosses.any(axis=0), crosses.argmax(axis=0), -1).astype(np.int64)
        seeds = np.arange(left.size)
        here, there = above[left, seeds], above[left + 1, seeds]
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = np.where(left < 0, np.nan, here / (here - there))
        return left, share

    def _between(self, table: Floats) -> Floats:
        """Values (W, seeds) at the fixed points."""
        left, share = self._crossings()
        seeds = np.arange(left.size)
        values: Floats = (1 - share) * table[left, seeds] + share * table[left + 1, seeds]
        return values


def runs_by_variant(tables: Tables) -> dict[str, WeightRuns]:
    """Runs at every weight (table `runs`, x the weight) and with the ratio (table `ratio`), by variant."""
    ratio = scores(tables["ratio"], by="variant")
    found = {}
    for variant, part in groups(tables["runs"], "variant").items():
        values = {name: runs_by_x(part, name)[1].T for name in ("regret", "theory", "excess")}
        found[variant] = WeightRuns(weights=runs_by_x(part, "regret")[0], ratio=ratio[variant], **values)
    return found


def claims(tables: Tables) -> list[Claim]:
    """Claims, from the tables."""
    return claims_of(runs_by_variant(tables))


def claims_of(runs: Mapping[str, WeightRuns]) -> list[Claim]:
    """The bound at the theorem's weight, and its regret against that of the ratio."""
    return [
        Claim(
            "theorem-4.6",
            "The regularised objective with lambda = sqrt(K Gamma* / sum of the gains) has the bound of theorem 4.1 "
            "times sqrt(3/2).",
            "Theorem 4.6",
            "log10 of the sum of true value gaps / the bound of theorem 4.1, DeepSea 8, the larger of the two runs "
            "with weights next to the theorem's (its smallest fixed point); condition: log10 of sqrt(3/2)",
            FACTOR,
            {variant: mean_effect(one.excess_there()) for variant, one in runs.items()},
        ),
        Claim(
            "weight",
            "The regularised objective with that lambda does as well as the ratio.",
            "Theorem 4.6, and the text before it",
            "normalised regret at the theorem's weight (its smallest fixed point) - with objective=ratio, DeepSea 8, "
            f"paired by seed; as well: at most {CLOSE:g} more",
            below(CLOSE),
            {variant: mean_effect(one.regret_there() - one.ratio) for variant, one in runs.items()},
        ),
    ]
