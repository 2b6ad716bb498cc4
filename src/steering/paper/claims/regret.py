"""Claims about regret: DeepSea at three sparsities, prior beliefs, WideNarrow and PriorMDP, and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steering._types import Floats
from steering.paper.claims.comparisons import control, variants_ahead
from steering.paper.claims.rule import ALL, DECIDES, Claim, Rule, above, below
from steering.paper.fits import exponent, mean_effect
from steering.paper.scale import BASELINES, EXACT_IDS, PARTNERS, VARIANTS, Block
from steering.paper.source import Source

Panels = Mapping[str, Sequence[Block]]

DIFFERENCE = f"baseline's regret - STEERING's, paired by seed; of all baselines {DECIDES}"
MARGINAL = 0.1
"""A difference of normalised regret within ± this is called marginal."""
FAILS = 0.9
"""Who loses more than this share of the oracle's reward fails to explore."""
SUBLINEAR = 0.95
"""Regret growing with a power of time below this is called sublinear."""
AFFORDABLE = 10.0
"""STEERING is called affordable when its run takes less than this many times PSRL's."""


def deepsea_claims(source: Source, panels: Panels) -> list[Claim]:
    """STEERING against all baselines at each sparsity (low, medium, high), and how its lead grows."""
    scores = {
        panel: {agent: source.regret(part, agent) for agent in (*BASELINES, *VARIANTS.values())}
        for panel, part in panels.items()
    }
    found = [
        Claim(
            f"deepsea-{panel.split()[0]}",
            f"STEERING outperforms all baselines on DeepSea with {panel.replace(', ', ' (')}).",
            "Fig. 3, caption; Experiments (1); abstract",
            f"normalised regret at the end; {DIFFERENCE}",
            above(0),
            variants_ahead(scores[panel], BASELINES),
        )
        for panel in panels
    ]
    sparsest = list(panels)[-1]
    high = {**scores[sparsest], **{agent: source.regret(panels[sparsest], agent) for agent in PARTNERS.values()}}
    return [
        *found,
        *_lead(list(scores.values())),
        Claim(
            "deepsea-fail",
            "Under high sparsity existing methods fail to explore.",
            "Experiments (1)",
            f"normalised regret at N = 15 (1: earns nothing), of all baselines {DECIDES}; fails: above {FAILS:g}",
            above(FAILS),
            {ALL: above(FAILS).worst([mean_effect(high[agent]) for agent in BASELINES])},
        ),
        _growth(source, panels),
        *_costs(source, panels),
        control("deepsea-control", high, "DeepSea 15"),
    ]


def _lead(scores: Sequence[Mapping[str, Floats]]) -> list[Claim]:
    """The lead over the better of PSRL and IDS, at low, medium and high sparsity."""
    comparable = Rule(-MARGINAL, MARGINAL)
    close, ahead = {}, {}
    for variant, agent in VARIANTS.items():
        low, medium, high = (np.minimum(part["psrl"], part["ids"]) - part[agent] for part in scores)
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


def _growth(source: Source, panels: Panels) -> Claim:
    """Sublinear regret on DeepSea."""
    worst = {}
    for variant, agent in VARIANTS.items():
        slopes = []
        for part in panels.values():
            steps, curves = source.curves(part, agent, kind="expected_regret")
            slopes.append(exponent(steps.astype(np.float64), curves, first=steps[-1] / 10))
        worst[variant] = below(SUBLINEAR).worst(slopes)
    return Claim(
        "deepsea-sublinear",
        "STEERING achieves sublinear regret.",
        "Abstract; Theorem 4.4",
        f"growth exponent of expected regret over the last 90 % of the steps; of N = 8, 14, 15 {DECIDES}",
        below(SUBLINEAR),
        worst,
    )


def _costs(source: Source, panels: Panels) -> list[Claim]:
    part = list(panels.values())[-1]
    base = float(np.median(source.seconds(part, "psrl")))
    ratios = {variant: mean_effect(source.seconds(part, agent) / base) for variant, agent in VARIANTS.items()}
    return [
        Claim(
            "cost",
            "STEERING is computationally affordable.",
            "Abstract; Conclusions",
            f"time of a run on DeepSea 15 / median time of PSRL's; affordable: below {AFFORDABLE:g}",
            below(AFFORDABLE),
            ratios,
            timing=True,
        ),
        Claim(
            "ids-intractable",
            "Estimating the information gain of IDS is computationally intractable.",
            "Abstract; section 2.1, L1",
            "time of a run of IDS with the exact mutual information (closed form for Dirichlet beliefs), DeepSea 15 / "
            f"median time of PSRL's; intractable: above {AFFORDABLE:g}",
            above(AFFORDABLE),
            {ALL: mean_effect(source.seconds(part, EXACT_IDS) / base)},
            timing=True,
        ),
    ]


def environment_claims(source: Source, panels: Panels, wide: str, prior: str) -> list[Claim]:
    """STEERING against all baselines on WideNarrow and PriorMDP."""
    found = []
    for panel, name, where in ((wide, "widenarrow", "WideNarrow"), (prior, "priormdp", "PriorMDP")):
        agents = (*BASELINES, *VARIANTS.values())
        scores = {agent: source.regret(panels[panel], agent, normalised=False) for agent in agents}
        found.append(
            Claim(
                name,
                f"STEERING outperforms existing baselines on {where}.",
                "Fig. 7; appendix, last figure",
                f"regret in units of reward at the end; {DIFFERENCE}",
                above(0),
                variants_ahead(scores, BASELINES),
            )
        )
        if name == "widenarrow":
            lost = [mean_effect(scores[agent] - scores["psrl"]) for agent in ("bayesian_q", "mm")]
            found.append(
                Claim(
                    "factored",
                    "The factored posteriors of Bayesian Q-learning and moment matching cost performance.",
                    "Appendix, baselines 1 and 3",
                    f"regret in units of reward on WideNarrow: theirs - PSRL's, paired by seed; {DECIDES}",
                    above(0),
                    {ALL: above(0).worst(lost)},
                )
            )
    return found


def prior_claims(scores: Mapping[str, Mapping[str, Floats]]) -> list[Claim]:
    """Strong and weak prior beliefs."""
    strong, weak = scores["strong"], scores["weak"]
    where = "Fig. 6, caption"
    return [
        Claim(
            "prior-ids-marginal",
            "With a strong prior belief IDS has only a marginal benefit over PSRL.",
            f"{where}; section 2.1, L2",
            f"normalised regret of PSRL - that of Var-IDS; marginal: within ± {MARGINAL:g}",
            Rule(-MARGINAL, MARGINAL),
            {ALL: mean_effect(strong["psrl"] - strong["ids"])},
        ),
        Claim(
            "prior-strong",
            "With a strong prior belief STEERING is significantly better than PSRL and IDS.",
            where,
            f"normalised regret after 10,000 steps; {DIFFERENCE}",
            above(0),
            variants_ahead(strong, ("psrl", "ids")),
        ),
        Claim(
            "prior-weak",
            "With a weak prior belief STEERING performs favourably too.",
            where,
            f"normalised regret after 10,000 steps; {DIFFERENCE}",
            above(0),
            variants_ahead(weak, ("psrl", "ids")),
        ),
        control("prior-control", strong, "strong prior belief"),
    ]
