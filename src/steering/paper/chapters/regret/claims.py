"""Claims about regret on DeepSea at three sparsities, and about cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper.fits import exponent, mean_effect
from steering.paper.rule import ALL, BEHIND, DECIDES, MARGINAL, Claim, Rule, above, below, controls, variants_ahead
from steering.paper.scale import BASELINES, EXACT_IDS, VARIANTS
from steering.paper.tables import TIMES, Tables, groups, runs_by_x, scores

FAILS = 0.9
"""Who loses more than this share of the oracle's reward fails to explore."""
SUBLINEAR = 0.95
"""Regret growing with a power of time below this is called sublinear."""
AFFORDABLE = 10.0
"""STEERING is called affordable when its run takes less than this many times PSRL's."""


def claims(tables: Tables) -> list[Claim]:
    """STEERING against all baselines at each sparsity (low, medium, high), and how its lead grows."""
    panels = {panel: scores(part) for panel, part in groups(tables["runs"], "panel").items()}
    found = [
        Claim(
            f"deepsea-{panel.split()[0]}",
            f"STEERING outperforms all baselines on DeepSea with {panel.replace(', ', ' (')}).",
            "Fig. 3, caption; Experiments (1); abstract",
            f"normalised regret at the end; {BEHIND}",
            above(0),
            variants_ahead(regrets, BASELINES),
        )
        for panel, regrets in panels.items()
    ]
    high = list(panels.values())[-1]
    return [
        *found,
        *_lead(list(panels.values())),
        Claim(
            "deepsea-fail",
            "Under high sparsity existing methods fail to explore.",
            "Experiments (1)",
            f"normalised regret at N = 15 (1: earns nothing), of all baselines {DECIDES}; fails: above {FAILS:g}",
            above(FAILS),
            {ALL: above(FAILS).worst([mean_effect(high[agent]) for agent in BASELINES])},
        ),
        _growth(tables["growth"]),
        *_costs(scores(tables[TIMES], value="seconds")),
        *controls("deepsea-control", high, "DeepSea 15"),
    ]


def _lead(panels: Sequence[Mapping[str, Floats]]) -> list[Claim]:
    """The lead over the better of PSRL and IDS, at low, medium and high sparsity."""
    comparable = Rule(-MARGINAL, MARGINAL)
    close, ahead = {}, {}
    for variant, agent in VARIANTS.items():
        low, medium, high = (np.minimum(part["psrl"], part["ids"]) - part[agent] for part in panels)
        close[variant] = comparable.worst([mean_effect(low), mean_effect(medium)])
        ahead[variant] = above(0).worst([mean_effect(high), mean_effect(high - low)])
    where = "Fig. 3, caption"
    lead = "lead over the better of PSRL and Var-IDS (normalised regret, paired by seed)"
    return [
        Claim(
            "deepsea-comparable",
            "STEERING is comparable with PSRL and IDS at low and medium sparsity.",
            where,
            f"{lead} at N = 8 and 14, {DECIDES}; comparable: within ± {MARGINAL:g}",
            comparable,
            close,
        ),
        Claim(
            "deepsea-lead",
            "At high sparsity STEERING's lead over PSRL and IDS is significant.",
            where,
            f"{lead} at N = 15, and its growth since N = 8; {DECIDES}",
            above(0),
            ahead,
        ),
    ]


def _growth(table: pd.DataFrame) -> Claim:
    """Sublinear regret on DeepSea."""
    slopes = {
        variant: [exponent(*runs_by_x(part)) for part in groups(table[table["agent"] == agent], "panel").values()]
        for variant, agent in VARIANTS.items()
    }
    return Claim(
        "deepsea-sublinear",
        "STEERING achieves sublinear regret.",
        "Abstract; Theorem 4.4",
        f"growth exponent of expected regret over the last 90 % of the steps; of N = 8, 14, 15 {DECIDES}",
        below(SUBLINEAR),
        {variant: below(SUBLINEAR).worst(found) for variant, found in slopes.items()},
    )


def _costs(seconds: Mapping[str, Floats]) -> list[Claim]:
    base = float(np.median(seconds["psrl"]))
    return [
        Claim(
            "cost",
            "STEERING is computationally affordable.",
            "Abstract; Conclusions",
            f"time of a run on DeepSea 15 / median time of PSRL's; affordable: below {AFFORDABLE:g}",
            below(AFFORDABLE),
            {variant: mean_effect(seconds[agent] / base) for variant, agent in VARIANTS.items()},
            timing=True,
        ),
        Claim(
            "ids-intractable",
            "Estimating the information gain of IDS is computationally intractable.",
            "Abstract; section 2.1, L1",
            "time of a run of IDS with the exact mutual information (closed form for Dirichlet beliefs), DeepSea 15 / "
            f"median time of PSRL's; intractable: above {AFFORDABLE:g}",
            above(AFFORDABLE),
            {ALL: mean_effect(seconds[EXACT_IDS] / base)},
            timing=True,
        ),
    ]
