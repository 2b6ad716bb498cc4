"""Regret of all algorithms on DeepSea at low, medium and high sparsity, N = 8, 14, 15 (the paper's Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from steering.paper import panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.regret import deepsea_claims
from steering.paper.scale import AGENTS, EXACT_IDS, LEARNED_IDS, Block, Scale
from steering.paper.source import Source

LEVELS = {"low sparsity, N = 8": 8, "medium sparsity, N = 14": 14, "high sparsity, N = 15": 15}
TITLE = "Regret on DeepSea"


def deepsea(n: int, scale: Scale, options: str = "", agents: tuple[str, ...] = AGENTS) -> Block:
    """Agents on DeepSea n, with the steps and seeds of most figures."""
    return Block((f"deepsea:{n}{options}",), agents, scale.steps, tuple(range(scale.seeds)))


def blocks(scale: Scale) -> dict[str, list[Block]]:
    """One panel a level of sparsity."""
    return {panel: [deepsea(n, scale)] for panel, n in LEVELS.items()}


def needs(scale: Scale) -> list[Block]:
    """All agents at all levels; at the highest exact IDS too, to see what it costs, and a control."""
    more = deepsea(max(LEVELS.values()), scale, agents=(EXACT_IDS, LEARNED_IDS))
    return [*(block for part in blocks(scale).values() for block in part), more]


def data(source: Source) -> Tables:
    """Regret over time."""
    return {"curves": panels.curves(source, blocks(source.scale), AGENTS)}


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Three panels."""
    title = f"DeepSea at three levels of sparsity ({scale.remark()}; band: 95 % interval of the mean)"
    return {"regret": panels.sheet(tables["curves"], title, share_y=True)}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same, interactive."""
    return [panels.chart(tables["curves"], TITLE, size=scale.remark(), share_y=True)]


CHAPTER = Chapter(
    name="regret",
    title=TITLE,
    paper="Figure 3",
    text="Cumulative regret to an oracle that follows the optimal policy, divided by the oracle's total reward: 1 "
    "means that nothing was earned.",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: deepsea_claims(source, blocks(source.scale)),
)
