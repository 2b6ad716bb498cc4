"""Claims about existing algorithms when rewards become sparse (the paper's Fig. 2a and 2b)."""

from __future__ import annotations

from steering.paper.fits import exponent, mean_effect
from steering.paper.rule import ALL, DECIDES, Claim, above, below
from steering.paper.scale import BASELINES
from steering.paper.tables import Tables, groups, runs_by_x, scores

ALMOST_LINEAR = 0.9
"""Regret growing with at least this power of time is called almost linear."""
OTHERS = ("q_learning", "bayesian_q", "ube", "mm")
"""Existing algorithms but PSRL. Var-IDS, which the paper introduces after this figure, is not held against it."""
TEST = "growth exponent of expected regret over the last 90 % of the steps"
WHERE = "Fig. 2, caption; section 2"


def claims(tables: Tables) -> list[Claim]:
    """Who grows how fast, and what sparse rewards cost."""
    growth = {agent: exponent(*runs_by_x(part)) for agent, part in groups(tables["growth"], "agent").items()}
    dense, sparse = (scores(part) for part in groups(tables["runs"], "panel").values())
    return [
        Claim(
            "sparse-linear",
            "With sparse rewards regret becomes almost linear for all algorithms except PSRL.",
            WHERE,
            f"{TEST}: of {', '.join(OTHERS)} {DECIDES}; Var-IDS, which the paper introduces after this figure, is "
            "left out (its regret is far from linear)",
            above(ALMOST_LINEAR),
            {ALL: above(ALMOST_LINEAR).worst([growth[agent] for agent in OTHERS])},
        ),
        Claim(
            "sparse-psrl",
            "With sparse rewards the regret of PSRL is not linear.",
            WHERE,
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
            {ALL: above(0).worst([mean_effect(sparse[agent] - dense[agent]) for agent in BASELINES])},
        ),
    ]
