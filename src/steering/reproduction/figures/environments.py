"""Regret on WideNarrow and PriorMDP (the paper's Fig. 7 and its appendix).

The paper names neither size. WideNarrow has one wide state with 12 actions; PriorMDP has 4 states and 2 actions, and
run i meets the i-th MDP drawn from the prior, so that its band shows MDPs as well as noise. Regret of PriorMDP is in
units of reward: on a drawn MDP the oracle may well earn less than nothing, and no ratio to it has a meaning then.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from steering.reproduction import panels
from steering.reproduction.chapter import Chapter, Chart, Tables
from steering.reproduction.claims.regret import environment_claims
from steering.reproduction.scale import AGENTS, Block, Scale
from steering.reproduction.source import Source

WIDE = "WideNarrow, 1 wide state, 12 actions"
PRIOR = "PriorMDP, 4 states, 2 actions"
TITLE = "WideNarrow and PriorMDP"


def blocks(scale: Scale) -> dict[str, list[Block]]:
    """One panel for each environment."""
    seeds = tuple(range(scale.seeds))
    return {
        WIDE: [Block(("widenarrow:1,12",), AGENTS, scale.steps, seeds)],
        PRIOR: [Block((f"priormdp:4,2,seed={i}",), AGENTS, scale.steps, (i,)) for i in seeds],
    }


def needs(scale: Scale) -> list[Block]:
    """All agents on both."""
    return [block for part in blocks(scale).values() for block in part]


def data(source: Source) -> Tables:
    """Regret over time, in units of reward."""
    return {"curves": panels.curves(source, blocks(source.scale), AGENTS, normalised=False)}


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Two panels."""
    title = f"WideNarrow and PriorMDP ({scale.remark()}; band: 95 % bootstrap of the mean)"
    table: pd.DataFrame = tables["curves"]
    return {"environments": panels.sheet(table, title, ylabel=panels.RAW, columns=2, width=4.6)}


def charts(tables: Tables) -> list[Chart]:
    """The same, interactive."""
    return [panels.chart(tables["curves"], TITLE, ylabel=panels.RAW)]


CHAPTER = Chapter(
    name="environments",
    title=TITLE,
    paper="Figure 7; appendix, last figure",
    text="WideNarrow: transitions are known at once, and what must be learned are noisy rewards. PriorMDP: no special "
    "structure at all, a new MDP drawn for every seed.",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: environment_claims(source, blocks(source.scale), WIDE, PRIOR),
)
