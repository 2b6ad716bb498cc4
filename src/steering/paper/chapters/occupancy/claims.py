"""Claims about directed exploration: where agents are at the start and at the end of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper.fits import mean_effect
from steering.paper.rule import DECIDES, Claim, above, variants_ahead
from steering.paper.scale import VARIANTS
from steering.paper.tables import Tables, groups

FIRST, LAST = "first", "last"
"""Windows of a run."""
LEFT = 0
"""The action that is never optimal."""


def claims(tables: Tables) -> list[Claim]:
    """Visits of PSRL, IDS and the STEERINGs."""
    windows = groups(tables["runs"], "window")
    begin, end = ({a: _visits(part) for a, part in groups(windows[name], "agent").items()} for name in (FIRST, LAST))
    states = next(iter(end.values())).shape[1]
    half = states // 2

    def away(counts: Floats) -> Floats:
        """Share of visits outside the half of the chain next to the goal: lower is better."""
        share: Floats = 1.0 - counts[:, half:].sum(axis=(1, 2)) / counts.sum(axis=(1, 2))
        return share

    def left(counts: Floats) -> Floats:
        """Share of left actions, which are never optimal."""
        share: Floats = counts[:, :, LEFT].sum(axis=1) / counts.sum(axis=(1, 2))
        return share

    return [
        Claim(
            "visits-final",
            "In the final episodes STEERING visits the important states, those closer to the goal, more than PSRL and "
            "IDS do.",
            "Fig. 5, caption",
            f"share of visits to states {half + 1} to {states} in the last window of DeepSea {states}: STEERING's - "
            f"the other's, paired by seed; of PSRL and Var-IDS {DECIDES}",
            above(0),
            variants_ahead({agent: away(counts) for agent, counts in end.items()}, ("psrl", "ids")),
        ),
        Claim(
            "visits-change",
            "STEERING's visits move from the start to the important states during training.",
            "Fig. 5, caption; Experiments (2)",
            "the same share in the last window - in the first",
            above(0),
            {variant: mean_effect(away(begin[agent]) - away(end[agent])) for variant, agent in VARIANTS.items()},
        ),
        Claim(
            "visits-left",
            "STEERING does not over-explore actions once it is confident that they are suboptimal.",
            "Appendix, evolution of posterior representations",
            f"share of left actions in the last window of DeepSea {states}: the other's - STEERING's, paired by seed, "
            f"of PSRL and Var-IDS {DECIDES}",
            above(0),
            variants_ahead({agent: left(counts) for agent, counts in end.items()}, ("psrl", "ids")),
        ),
    ]


def _visits(part: pd.DataFrame) -> Floats:
    """Visits of one agent in one window, (runs, S, A)."""
    shape = tuple(int(part[column].max()) + 1 for column in ("run", "state", "action"))
    counts = np.zeros(shape)
    counts[part["run"], part["state"], part["action"]] = part["visits"]
    return counts
