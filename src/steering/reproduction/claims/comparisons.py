"""Effects that several claims share: paired differences of regret between agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from steering.reproduction.claims.rule import worst_above
from steering.reproduction.fits import Effect, mean_effect
from steering.reproduction.scale import VARIANTS

Floats = NDArray[np.float64]


def ahead(scores: Mapping[str, Floats], agent: str, others: Iterable[str]) -> Effect:
    """By how much the score of every other agent exceeds that of `agent`: the least clear of all differences.

    Scores are paired by seed: runs of one seed met the same noise. The one returned has the lowest lower end, so that
    it lies above a threshold only when all of them do.
    """
    return worst_above([mean_effect(scores[other] - scores[agent]) for other in others])


def variants_ahead(scores: Mapping[str, Floats], others: Iterable[str]) -> dict[str, Effect]:
    """`ahead` for each STEERING."""
    chosen = list(others)
    return {variant: ahead(scores, agent, chosen) for variant, agent in VARIANTS.items()}
