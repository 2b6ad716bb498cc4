"""Regret on WideNarrow and PriorMDP (the paper's Fig. 7 and its appendix).

The paper names neither size. WideNarrow has one wide state with 12 actions; PriorMDP has 4 states and 2 actions, and
run i meets the i-th MDP drawn from the prior, so that its band shows MDPs as well as noise. Regret of PriorMDP is in
units of reward: on a drawn MDP the oracle may well earn less than nothing, and no ratio to it has a meaning then.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from steering.paper import looks, panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.regret import environment_claims
from steering.paper.scale import AGENTS, Block, Scale
from steering.paper.source import Source

WIDE = "WideNarrow, 1 wide state, 12 actions"
PRIOR = "PriorMDP, 4 states, 2 actions"
TOO_HIGH = 2.0
"""An agent whose regret is this many times that of the next one is cut off."""
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
    title = f"WideNarrow and PriorMDP ({scale.remark()}; band: 95 % interval of the mean)"
    table: pd.DataFrame = tables["curves"]
    figure = panels.sheet(table, title, ylabel=panels.RAW, columns=2, width=4.6)
    for axes, (_, part) in zip(figure.axes, table.groupby("panel", sort=False), strict=True):
        limits, gone = readable(part)
        if limits:
            axes.set_ylim(*limits)
            axes.set_title(f"{axes.get_title()}\n({gone})", fontsize="medium")
    return {"environments": figure}


def readable(part: pd.DataFrame) -> tuple[tuple[float, float] | None, str]:
    """Limits of the heights that cut off one agent far above all others, and words for it; nothing where none is."""
    ends = part.groupby("agent")["mean"].last().sort_values()
    if ends.iloc[-1] <= TOO_HIGH * ends.iloc[-2]:
        return None, ""
    top = 1.3 * float(ends.iloc[-2])
    return (-0.06 * top, top), f"{looks.label(str(ends.index[-1]))} leaves the axes: {ends.iloc[-1]:.0f} at the end"


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same, interactive."""
    table: pd.DataFrame = tables["curves"]
    chart = panels.chart(table, TITLE, ylabel=panels.RAW, size=scale.remark())
    for panel, (_, part) in zip(chart["panels"], table.groupby("panel", sort=False), strict=True):
        limits, gone = readable(part)
        if limits:
            panel["ylim"] = panels.short(limits)
            panel["title"] += f" ({gone})"
    return [chart]


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
