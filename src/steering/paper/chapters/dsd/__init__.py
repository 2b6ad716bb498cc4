"""Convergence of the DSD for optimal and suboptimal actions (the paper's appendix; 5 seeds, states 3 and 4).

The paper shows states s = 3 and s = 4 at two levels of sparsity; N = 4 and 8, those of its other appendix figures, are
used here. D(s, a) is the Stein information that the agent itself plans with. Right is the optimal action.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.dsd.claims import claims
from steering.paper.charts import Chart, chart, choice, series
from steering.paper.drawing import sheet
from steering.paper.scale import VARIANTS, Block, Scale, traced
from steering.paper.source import Source, stacked
from steering.paper.tables import Tables, band, groups, per_run

SIZES = (4, 8)
STATES = (3, 4)
SEEDS = 5
COLOURS = {"left": "#0072B2", "right": "#E69F00"}
"""The paper's colours: orange for the optimal action, blue for the other."""
NAMES = {"left": "left (suboptimal)", "right": "right (optimal)"}
POINTS = 100
TITLE = "Convergence of the Stein discrepancy"


def blocks(n: int, scale: Scale) -> list[Block]:
    """All variants on DeepSea n."""
    seeds = tuple(range(min(SEEDS, scale.trace_seeds)))
    return [traced(f"deepsea:{n}", tuple(VARIANTS.values()), scale.steps, seeds)]


def data(source: Source, scale: Scale) -> Tables:
    """D over time (mean over seeds), and of every run at its first plan and over the last tenth of its plans."""
    drawn, runs = [], []
    for n in SIZES:
        for variant, agent in VARIANTS.items():
            traces = source.traces(blocks(n, scale), agent)
            times, table = stacked(traces, "information")
            kept = np.unique(np.linspace(0, times.size - 1, min(POINTS, times.size)).round().astype(int))
            for state in STATES:
                for action, name in enumerate(NAMES):
                    fixed = {"variant": variant, "n": n, "state": state, "action": name}
                    drawn.append(band(fixed, times[kept], table[:, kept, state - 1, action]))
                    runs.append(ends(fixed, table, state, action))
    return {"dsd": pd.concat(drawn, ignore_index=True), "runs": pd.concat(runs, ignore_index=True)}


def ends(fixed: Mapping[str, Any], information: Floats, state: int, action: int) -> pd.DataFrame:
    """D (runs, plans, S, A) of one state and action at the first plan and over the last tenth of the plans."""
    late = information[:, -max(information.shape[1] // 10, 1) :].mean(axis=1)
    return per_run(fixed, first=information[:, 0, state - 1, action], late=late[:, state - 1, action])


def charts_by_variant(tables: Tables, scale: Scale) -> dict[str, Chart]:
    """A chart for each variant, a panel for each size and state."""
    found = {}
    for variant, table in groups(tables["dsd"], "variant").items():
        label = looks.label(VARIANTS[variant]).removeprefix("STEERING, ")
        size = scale.remark(int(table["seeds"].max()))
        one = chart(None, TITLE, ylabel=f"D(s, a), {label}", size=size, log="y", share_y=True, columns=2)
        for (n, state), part in table.groupby(["n", "state"]):
            lines = [series(NAMES[a], rows, COLOURS[a]) for a, rows in groups(part, "action").items()]
            one["panels"].append({"title": f"N = {n}, state {state}", "series": lines})
        found[label] = one
    return found


CHAPTER = Chapter(
    name="dsd",
    title=TITLE,
    paper="Figure 21",
    text="The discrepancy that the agent plans with, for the optimal and the other action. The literal operator does "
    "not vanish on rows with few possible outcomes, however much data there is.",
    needs=lambda scale: [block for n in SIZES for block in blocks(n, scale)],
    data=data,
    draw=lambda tables, scale: {"dsd": sheet(*charts_by_variant(tables, scale).values())},
    charts=lambda tables, scale: [choice("STEERING", charts_by_variant(tables, scale))],
    claims=claims,
    topic=Topic.CONVERGENCE,
)
