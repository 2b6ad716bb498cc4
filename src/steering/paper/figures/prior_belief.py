"""Strong and weak prior beliefs, T = 10,000 (the paper's Fig. 6).

The paper prints no concentration. Strong is Dirichlet(10) for every next state: confident (80 pseudo-observations a
row) and wrong; weak is its usual Dirichlet(1). STEERING's default learns the concentration; the two presets of the
paper keep it fixed, as the baselines do.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from steering._types import Floats
from steering.paper import panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.regret import prior_claims
from steering.paper.scale import LEARNED_IDS, MEAN_IDS, VARIANTS, Block, Scale
from steering.paper.source import Source

N = 8
LEVELS = {"strong": 10, "weak": 1}
NAMES = ("psrl", "ids", MEAN_IDS, *VARIANTS.values())
TITLE = "Strong and weak prior beliefs"


def with_eta(agent: str, eta: int) -> str:
    """An agent with the concentration of its prior."""
    if eta == 1:
        return agent
    return f"{agent}{',' if ':' in agent else ':'}eta={eta}"


def blocks(scale: Scale, level: str) -> list[Block]:
    """Agents under one belief; the last is a control, which is not drawn."""
    agents = tuple(with_eta(agent, LEVELS[level]) for agent in (*NAMES, LEARNED_IDS))
    return [Block((f"deepsea:{N}",), agents, scale.prior_steps, tuple(range(scale.seeds)))]


def needs(scale: Scale) -> list[Block]:
    """Both beliefs."""
    return [block for level in LEVELS for block in blocks(scale, level)]


def data(source: Source) -> Tables:
    """Regret over time; agents by their name without the prior."""
    frames = []
    for level, eta in LEVELS.items():
        part = blocks(source.scale, level)
        panel = f"{level} prior belief, Dirichlet({eta})"
        for agent in NAMES:
            frames.append(panels.rows_of(panel, agent, *source.curves(part, with_eta(agent, eta))))
    return {"curves": pd.concat(frames, ignore_index=True)}


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Two panels."""
    title = f"DeepSea {N} under two prior beliefs ({scale.remark()}; band: 95 % interval of the mean)"
    return {"prior_belief": panels.sheet(tables["curves"], title, columns=2, width=4.6, share_y=True)}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same, interactive."""
    return [panels.chart(tables["curves"], TITLE, size=scale.remark(), share_y=True)]


def _regret(source: Source, level: str) -> dict[str, Floats]:
    part = blocks(source.scale, level)
    return {agent: source.regret(part, with_eta(agent, LEVELS[level])) for agent in (*NAMES, LEARNED_IDS)}


CHAPTER = Chapter(
    name="prior_belief",
    title=TITLE,
    paper="Figure 6",
    text="A confident and wrong prior hides what is not known yet: the posterior variance is small from the start.",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: prior_claims({level: _regret(source, level) for level in LEVELS}),
)
