"""Regret of all algorithms on DeepSea at low, medium and high sparsity, N = 8, 14, 15 (the paper's Fig. 3)."""

from __future__ import annotations

import pandas as pd

from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.regret.claims import claims
from steering.paper.charts import Comparison
from steering.paper.scale import AGENTS, EXACT_IDS, LEARNED_IDS, LEARNED_PSRL, VARIANTS, Block, Scale, deepsea
from steering.paper.source import Source
from steering.paper.tables import TIMES, Tables, finals, growth, per_run

LEVELS = {"low sparsity, N = 8": 8, "medium sparsity, N = 14": 14, "high sparsity, N = 15": 15}
HIGH = list(LEVELS)[-1]
CONTROLS = (LEARNED_IDS, LEARNED_PSRL)


def panels(scale: Scale) -> dict[str, list[Block]]:
    """One panel a level of sparsity."""
    return {panel: [deepsea(n, scale)] for panel, n in LEVELS.items()}


def more(scale: Scale) -> list[Block]:
    """At the highest sparsity also exact IDS, to see what it costs, and controls."""
    return [deepsea(LEVELS[HIGH], scale, agents=(EXACT_IDS, *CONTROLS))]


COMPARISON = Comparison("Regret on DeepSea", panels, AGENTS)


def data(source: Source, scale: Scale) -> Tables:
    """Regret over time and at the end, its growth, and times of runs at the highest sparsity."""
    tables = COMPARISON.data(source, scale)
    control = finals(source, {HIGH: more(scale)}, CONTROLS)
    timed = {agent: panels(scale)[HIGH] for agent in ("psrl", *VARIANTS.values())} | {EXACT_IDS: more(scale)}
    times = [per_run({"agent": agent}, seconds=source.seconds(part, agent)) for agent, part in timed.items()]
    return {
        **tables,
        "runs": pd.concat([tables["runs"], control], ignore_index=True),
        "growth": growth(source, panels(scale), VARIANTS.values()),
        TIMES: pd.concat(times, ignore_index=True),
    }


CHAPTER = Chapter(
    name="regret",
    title=COMPARISON.title,
    paper="Figure 3",
    text="Cumulative regret to an oracle that follows the optimal policy, divided by the oracle's total reward: 1 "
    "means that nothing was earned.",
    needs=lambda scale: [*COMPARISON.needs(scale), *more(scale)],
    data=data,
    charts=COMPARISON.charts,
    claims=claims,
    topic=Topic.OUTPERFORMS,
)
