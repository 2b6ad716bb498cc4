"""Claims about the discrepancy of optimal actions."""

from __future__ import annotations

import numpy as np

from steering.paper.fits import mean_effect
from steering.paper.rule import DECIDES, Claim, above, below
from steering.paper.scale import VARIANTS
from steering.paper.tables import Tables

TINY = 1e-300
MUCH, TENTH = above(float(np.log10(2))), below(-1)
"""Conditions on log10 of ratios: a factor of two, and less than a tenth."""
WHERE = "Appendix, DSD convergence"


def claims(tables: Tables) -> list[Claim]:
    """D of every run at its first plan and late in the run, by size, variant, state and action."""
    logs = tables["runs"].assign(**{name: np.log10(tables["runs"][name] + TINY) for name in ("first", "late")})
    places = logs.pivot(index=["variant", "n", "state", "run"], columns="action", values=["first", "late"])
    lower, falls = {}, {}
    for variant in VARIANTS:
        parts = [part for _, part in places.loc[variant].groupby(["n", "state"])]
        ratios = [mean_effect((one["late", "left"] - one["late", "right"]).to_numpy()) for one in parts]
        decays = [mean_effect((one["late", "right"] - one["first", "right"]).to_numpy()) for one in parts]
        lower[variant], falls[variant] = MUCH.worst(ratios), TENTH.worst(decays)
    return [
        Claim(
            "dsd-lower",
            "The DSD converges to much lower values for optimal actions than for suboptimal ones.",
            WHERE,
            "log10 of D(left) / D(right), mean of the last tenth of the plans; of states 3 and 4, N = 4 and 8 "
            f"{DECIDES}; much: a factor of 2",
            MUCH,
            lower,
        ),
        Claim(
            "dsd-converges",
            "The DSD converges with the iterations.",
            f"{WHERE}; Lemma 4.2",
            f"log10 of D(right) at the end / at the first plan; of states 3 and 4, N = 4 and 8 {DECIDES}; converges: "
            "below a tenth",
            TENTH,
            falls,
        ),
    ]
