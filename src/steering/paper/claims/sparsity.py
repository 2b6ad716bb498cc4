"""Claims about existing algorithms under sparse rewards (the paper's Fig. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steering._types import Floats
from steering.paper.claims.rule import ALL, DECIDES, Claim, above, below
from steering.paper.fits import Effect, exponent, mean_effect
from steering.paper.scale import BASELINES, Block
from steering.paper.source import Source

ALMOST_LINEAR = 0.9
"""Regret growing with at least this power of time is called almost linear."""
SUFFERS = 0.9
"""Who loses more than this share of the oracle's reward suffers badly."""
OTHERS = ("q_learning", "bayesian_q", "ube", "mm")
"""Existing algorithms but PSRL. Var-IDS, which the paper introduces after this figure, is not held against it."""
TEST = "growth exponent of expected regret over the last 90 % of the steps"


def dense_sparse_claims(source: Source, panels: Mapping[str, Sequence[Block]]) -> list[Claim]:
    """What happens when rewards become sparse."""
    dense, sparse = panels.values()
    growth = {agent: _growth(source, sparse, agent) for agent in (*OTHERS, "psrl")}
    worse = [mean_effect(source.regret(sparse, agent) - source.regret(dense, agent)) for agent in BASELINES]
    return [
        Claim(
            "sparse-linear",
            "With sparse rewards regret becomes almost linear for all algorithms except PSRL.",
            "Fig. 2, caption; section 2",
            f"{TEST}: of {', '.join(OTHERS)} {DECIDES}; Var-IDS, which the paper introduces after this figure, is "
            "left out (its regret is far from linear)",
            above(ALMOST_LINEAR),
            {ALL: above(ALMOST_LINEAR).worst([growth[agent] for agent in OTHERS])},
        ),
        Claim(
            "sparse-psrl",
            "With sparse rewards the regret of PSRL is not linear.",
            "Fig. 2, caption; section 2",
            f"{TEST}, of PSRL at N = 8",
            below(ALMOST_LINEAR),
            {ALL: growth["psrl"]},
        ),
        Claim(
            "sparse-worse",
            "Performance degrades from dense to sparse rewards.",
            "Section 2, Fig. 2a to 2b",
            f"normalised regret with sparse - with dense rewards; of all baselines {DECIDES}",
            above(0),
            {ALL: above(0).worst(worse)},
        ),
    ]


def _growth(source: Source, part: Sequence[Block], agent: str) -> Effect:
    steps, curves = source.curves(part, agent, kind="expected_regret")
    return exponent(steps.astype(np.float64), curves, first=steps[-1] / 10)


def psrl_claims(sizes: Floats, scores: Sequence[Floats]) -> list[Claim]:
    """PSRL at growing N; `scores` holds the normalised regret of every run at each size."""
    slopes: Floats = np.polynomial.polynomial.polyfit(sizes, np.stack(list(scores)), 1)[1]
    return [
        Claim(
            "psrl-degrades",
            "PSRL degrades as sparsity grows.",
            "Fig. 2c",
            f"slope of normalised regret against N, mean over seeds, N = {sizes[0]:g} to {sizes[-1]:g}",
            above(0),
            {ALL: mean_effect(slopes)},
        ),
        Claim(
            "psrl-suffers",
            "Even PSRL suffers badly in very sparse settings.",
            "Section 2",
            f"normalised regret at the largest N (1: earns nothing); badly: above {SUFFERS:g}",
            above(SUFFERS),
            {ALL: mean_effect(scores[-1])},
        ),
    ]
