"""Claims about directed exploration: where agents are, and what the discrepancy of optimal actions does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steering._types import Floats
from steering.paper.claims.comparisons import variants_ahead
from steering.paper.claims.rule import DECIDES, Claim, above, below
from steering.paper.fits import Effect, mean_effect
from steering.paper.scale import VARIANTS

LEFT, RIGHT = 0, 1
TINY = 1e-300
MUCH, TENTH = above(float(np.log10(2))), below(-1)
"""Conditions on log10 of ratios: a factor of two, and less than a tenth."""


def occupancy_claims(visits: Mapping[str, Floats]) -> list[Claim]:
    """Visits (runs, windows, S, A) of PSRL, IDS and the STEERINGs."""
    states = next(iter(visits.values())).shape[2]
    half = states // 2

    def away(counts: Floats) -> Floats:
        """Share of visits outside the half of the chain next to the goal: lower is better."""
        share: Floats = 1.0 - counts[:, half:].sum(axis=(1, 2)) / counts.sum(axis=(1, 2))
        return share

    def left(counts: Floats) -> Floats:
        """Share of left actions, which are never optimal."""
        share: Floats = counts[:, :, LEFT].sum(axis=1) / counts.sum(axis=(1, 2))
        return share

    final = {agent: away(counts[:, -1]) for agent, counts in visits.items()}
    change = {variant: mean_effect(away(visits[agent][:, 0]) - final[agent]) for variant, agent in VARIANTS.items()}
    return [
        Claim(
            "visits-final",
            "In the final episodes STEERING visits the important states, those closer to the goal, more than PSRL and "
            "IDS do.",
            "Fig. 5, caption",
            f"share of visits to states {half + 1} to {states} in the last window of DeepSea {states}: STEERING's - "
            f"the other's, paired by seed; of PSRL and Var-IDS {DECIDES}",
            above(0),
            variants_ahead(final, ("psrl", "ids")),
        ),
        Claim(
            "visits-change",
            "STEERING's visits move from the start to the important states during training.",
            "Fig. 5, caption; Experiments (2)",
            "the same share in the last window - in the first",
            above(0),
            change,
        ),
        Claim(
            "visits-left",
            "STEERING does not over-explore actions once it is confident that they are suboptimal.",
            "Appendix, evolution of posterior representations",
            f"share of left actions in the last window of DeepSea {states}: the other's - STEERING's, paired by seed, "
            f"of PSRL and Var-IDS {DECIDES}",
            above(0),
            variants_ahead({agent: left(counts[:, -1]) for agent, counts in visits.items()}, ("psrl", "ids")),
        ),
    ]


def dsd_claims(information: Mapping[tuple[int, str], Floats], states: Sequence[int]) -> list[Claim]:
    """D (runs, plans, S, A) by (N, variant), for some states (numbered from 1)."""
    sizes = sorted({n for n, _ in information})
    lower: dict[str, Effect] = {}
    falls: dict[str, Effect] = {}
    for variant in VARIANTS:
        ratios, decays = [], []
        for n in sizes:
            table = information[(n, variant)]
            end = _late(table)
            for state in states:
                left, right = end[:, state - 1, LEFT], end[:, state - 1, RIGHT]
                ratios.append(mean_effect(np.log10(left + TINY) - np.log10(right + TINY)))
                begin = table[:, 0, state - 1, RIGHT]
                decays.append(mean_effect(np.log10(right + TINY) - np.log10(begin + TINY)))
        lower[variant], falls[variant] = MUCH.worst(ratios), TENTH.worst(decays)
    where = "Appendix, DSD convergence"
    return [
        Claim(
            "dsd-lower",
            "The DSD converges to much lower values for optimal actions than for suboptimal ones.",
            where,
            "log10 of D(left) / D(right), mean of the last tenth of the plans; of states 3 and 4, N = 4 and 8 "
            f"{DECIDES}; much: a factor of 2",
            MUCH,
            lower,
        ),
        Claim(
            "dsd-converges",
            "The DSD converges with the iterations.",
            f"{where}; Lemma 4.2",
            f"log10 of D(right) at the end / at the first plan; of states 3 and 4, N = 4 and 8 {DECIDES}; converges: "
            "below a tenth",
            TENTH,
            falls,
        ),
    ]


def _late(table: Floats) -> Floats:
    """Mean over the last tenth of the plans."""
    plans = table.shape[1]
    mean: Floats = table[:, -max(plans // 10, 1) :].mean(axis=1)
    return mean
