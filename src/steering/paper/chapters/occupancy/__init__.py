"""Where agents are: state-action visits in the first and the last window of a run (the paper's Fig. 5).

The paper shows PSRL, IDS and STEERING in their initial and final episodes, without saying N or how many episodes. Here
N = 15 (high sparsity), the run is cut into 20 equal windows, and the first and the last are drawn as shares of visits;
the interactive report has a slider over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from steering._types import Floats
from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.occupancy.claims import FIRST, LAST, claims
from steering.paper.charts import Chart
from steering.paper.scale import VARIANTS, Block, Scale, deepsea
from steering.paper.source import Source
from steering.paper.tables import Tables
from steering.runs.drawing import new_figure

N = 15
NAMES = ("psrl", "ids", *VARIANTS.values())
ACTIONS = ("left", "right")
TITLE = "Where the agents are"


def blocks(scale: Scale) -> list[Block]:
    """The runs of the regret figure at high sparsity."""
    return [deepsea(N, scale)]


def data(source: Source, scale: Scale) -> Tables:
    """Shares of visits in every window, mean over seeds; visits of every run in the first and the last window."""
    part = blocks(scale)
    shares, runs = [], []
    for agent in NAMES:
        visits = source.visits(part, agent, (N, len(ACTIONS)))
        share = (visits / visits.sum(axis=(2, 3), keepdims=True)).mean(axis=0)
        edges = np.linspace(0, part[0].steps, len(share) + 1).round().astype(int)
        w, s, a = (axis.ravel() for axis in np.indices(share.shape))
        rows = {"agent": agent, "window": w, "start": edges[w], "end": edges[w + 1], "state": s, "action": a}
        shares.append(pd.DataFrame({**rows, "share": share.ravel()}))
        runs.append(ends(agent, visits))
    return {"visits": pd.concat(shares, ignore_index=True), "runs": pd.concat(runs, ignore_index=True)}


def ends(agent: str, visits: Floats) -> pd.DataFrame:
    """Visits (runs, windows, S, A) of every run in its first and its last window."""
    frames = []
    for window, counts in ((FIRST, visits[:, 0]), (LAST, visits[:, -1])):
        r, s, a = (axis.ravel() for axis in np.indices(counts.shape))
        rows = {"agent": agent, "window": window, "run": r, "state": s, "action": a}
        frames.append(pd.DataFrame({**rows, "visits": counts.ravel()}))
    return pd.concat(frames, ignore_index=True)


def draw(axes: Axes, table: pd.DataFrame, top: float) -> AxesImage:
    """One heatmap: actions by states, the darker the more visits (by the square root, so that even spread is seen)."""
    grid = table.pivot(index="action", columns="state", values="share").to_numpy()
    image = axes.imshow(grid, cmap="Blues", norm=PowerNorm(0.5, vmin=0, vmax=top), aspect="auto")
    axes.set_yticks(range(len(ACTIONS)), ACTIONS)
    axes.set_xticks(range(0, grid.shape[1], 2), [str(s + 1) for s in range(0, grid.shape[1], 2)])
    return image


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Agents in columns, first and last window in rows."""
    table = tables["visits"]
    last = int(table["window"].max())
    shown = table[table["window"].isin((0, last))]
    top = float(shown["share"].max())
    figure = new_figure(2.9 * len(NAMES), 4.4)
    grid = figure.subplots(2, len(NAMES), sharex=True, sharey=True)
    for column, agent in enumerate(NAMES):
        for row, window in enumerate((0, last)):
            part = shown[(shown["agent"] == agent) & (shown["window"] == window)]
            image = draw(grid[row, column], part, top)
            if row == 0:
                grid[row, column].set_title(looks.label(agent), fontsize="medium")
            if column == 0:
                steps = f"{part['start'].iloc[0] + 1} to {part['end'].iloc[0]}"
                grid[row, column].set_ylabel(f"{(FIRST, LAST)[row]} window\nsteps {steps}\n\naction")
        grid[1, column].set_xlabel("state (goal: last)")
    figure.colorbar(image, ax=grid, label="share of visits in the window\n(shade: square root)", shrink=0.8)
    title = f"State-action visits on DeepSea {N}, first and last 5 % of the run ({scale.remark()}, mean over seeds)"
    figure.suptitle(title, fontsize="medium")
    return {"occupancy": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Heatmaps with a slider over windows."""
    table = tables["visits"]
    edges = table[["window", "start", "end"]].drop_duplicates().sort_values("window")
    return [
        {
            "type": "heat",
            "title": TITLE,
            "size": scale.remark(),
            "frames": [f"steps {a + 1} to {b}" for a, b in zip(edges["start"], edges["end"], strict=True)],
            "rows": list(ACTIONS),
            "columns": [str(s + 1) for s in range(N)],
            "xlabel": "state (the goal is the last)",
            "ylabel": "action",
            "top": float(table["share"].max()),
            "panels": [
                {
                    "title": looks.label(agent),
                    "frames": [
                        frame.pivot(index="action", columns="state", values="share").to_numpy().tolist()
                        for _, frame in table[table["agent"] == agent].groupby("window")
                    ],
                }
                for agent in NAMES
            ],
        }
    ]


CHAPTER = Chapter(
    name="occupancy",
    title=TITLE,
    paper="Figure 5",
    text="Share of visits to every state and action on DeepSea 15. An agent that has found the way is spread evenly "
    "over right actions; one that has not stays near the start.",
    needs=blocks,
    data=data,
    draw=figures,
    charts=charts,
    claims=claims,
    topic=Topic.DIRECTED,
)
