"""Strong and weak prior beliefs, T = 10,000 (the paper's Fig. 6).

The paper prints no concentration. Strong is Dirichlet(10) for every next state: confident (80 pseudo-observations a
row) and wrong; weak is its usual Dirichlet(1). STEERING's default learns the concentration; the two presets of the
paper keep it fixed, as the baselines do.
"""

from __future__ import annotations

import pandas as pd

from steering.paper.chapter import Chapter, Topic
from steering.paper.charts import Chart, chart
from steering.paper.fits import mean_effect
from steering.paper.rule import ALL, BEHIND, MARGINAL, Claim, Rule, above, controls, variants_ahead
from steering.paper.scale import LEARNED_IDS, LEARNED_PSRL, MEAN_IDS, VARIANTS, Block, Scale, with_options
from steering.paper.source import Source
from steering.paper.tables import Tables, band, groups, per_run, scores

N = 8
LEVELS = {"strong": 10, "weak": 1}
DRAWN = ("psrl", "ids", MEAN_IDS, *VARIANTS.values())
AGENTS = (*DRAWN, LEARNED_IDS, LEARNED_PSRL)
"""The last two are controls, which are not drawn."""
TITLE = "Strong and weak prior beliefs"


def with_eta(agent: str, eta: int) -> str:
    """An agent with the concentration of its prior."""
    return agent if eta == 1 else with_options(agent, eta=eta)


def blocks(scale: Scale, level: str) -> list[Block]:
    """Agents under one belief."""
    agents = tuple(with_eta(agent, LEVELS[level]) for agent in AGENTS)
    return [Block((f"deepsea:{N}",), agents, scale.prior_steps, tuple(range(scale.seeds)))]


def data(source: Source, scale: Scale) -> Tables:
    """Regret over time and at the end; agents by their name without the prior."""
    curves, runs = [], []
    for level, eta in LEVELS.items():
        part = blocks(scale, level)
        for agent in AGENTS:
            name = with_eta(agent, eta)
            runs.append(per_run({"level": level, "agent": agent}, regret=source.regret(part, name)))
            if agent in DRAWN:
                known = {"panel": f"{level} prior belief, Dirichlet({eta})", "agent": agent}
                curves.append(band(known, *source.curves(part, name)))
    return {"curves": pd.concat(curves, ignore_index=True), "runs": pd.concat(runs, ignore_index=True)}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """A panel for each belief."""
    return [chart(tables["curves"], TITLE, size=scale.remark(), share_y=True)]


def claims(tables: Tables) -> list[Claim]:
    """Strong and weak prior beliefs."""
    regrets = {level: scores(part) for level, part in groups(tables["runs"], "level").items()}
    strong, weak = regrets["strong"], regrets["weak"]
    where = "Fig. 6, caption"
    test = f"normalised regret after 10,000 steps; {BEHIND}"
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
            test,
            above(0),
            variants_ahead(strong, ("psrl", "ids")),
        ),
        Claim(
            "prior-weak",
            "With a weak prior belief STEERING performs favourably too.",
            where,
            test,
            above(0),
            variants_ahead(weak, ("psrl", "ids")),
        ),
        *controls("prior-control", strong, "strong prior belief"),
    ]


CHAPTER = Chapter(
    name="prior_belief",
    title=TITLE,
    paper="Figure 6",
    text="A confident and wrong prior hides what is not known yet: the posterior variance is small from the start.",
    needs=lambda scale: [block for level in LEVELS for block in blocks(scale, level)],
    data=data,
    charts=charts,
    claims=claims,
    topic=Topic.PRIOR,
)
