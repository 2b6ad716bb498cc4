"""DeepSea and WideNarrow as drawings, computed from their tables (the paper's Fig. 4 and its appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path

from steering.envs import make_env
from steering.paper.chapter import Chapter
from steering.paper.scale import Scale
from steering.paper.source import Source
from steering.paper.tables import Tables
from steering.runs.drawing import new_figure

DEEPSEA = "deepsea:5"
WIDENARROW = "widenarrow:2,4"
LEFT, RIGHT, GOAL = "#D55E00", "#0072B2", "#009E73"
RADIUS = 0.17


def transitions(environment: str) -> pd.DataFrame:
    """Every possible transition of an environment: state, action, next, probability, mean reward."""
    mdp = make_env(environment).table
    s, a, y = np.nonzero(mdp.P * mdp.allowed[:, :, None])
    columns = {"state": s, "action": a, "next": y, "probability": mdp.P[s, a, y]}
    return pd.DataFrame({**columns, "reward": np.broadcast_to(mdp.reward_mean, mdp.P.shape)[s, a, y]})


def data(source: Source, scale: Scale) -> Tables:
    """Transitions of both environments."""
    return {"deepsea": transitions(DEEPSEA), "widenarrow": transitions(WIDENARROW)}


def draw_deepsea(axes: Axes, table: pd.DataFrame) -> None:
    """Right above the chain, left and failed right below it, the return from the goal in a wide arc."""
    n = int(table["state"].max()) + 1
    for start, action, end in table[["state", "action", "next"]].to_numpy().tolist():
        right = action == 1
        returns = right and start == n - 1 and end == 0
        failed = right and end <= start and not returns
        height = 1.0 if returns else 0.34 if right and not failed else -0.30 if not right else -0.62
        colour = GOAL if returns else RIGHT if right else LEFT
        _arc(axes, start, end, height, colour, "--" if failed else "-")
    _chain(axes, n)
    axes.text((n - 1) / 2, 1.1, f"r = 1, probability 1 - 1/{n}", ha="center", va="bottom", color=GOAL)
    lines = [
        Line2D([], [], color=LEFT, label="left: r about 0"),
        Line2D([], [], color=RIGHT, label=f"right succeeds, probability 1 - 1/{n}: r about -d"),
        Line2D([], [], color=RIGHT, linestyle="--", label=f"right fails, probability 1/{n}: r about -d"),
    ]
    axes.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=1, frameon=False)
    axes.set_title(f"DeepSea, N = {n} states, start in state 1", fontsize="medium")


def draw_widenarrow(axes: Axes, table: pd.DataFrame) -> None:
    """Every action is an arc to the next state; the last state returns to the first."""
    n = int(table["state"].max()) + 1
    high = table["reward"].max()
    for state, rows in table.groupby("state"):
        heights = np.linspace(0.62, -0.42, len(rows)) if len(rows) > 1 else [0.0]
        start = int(str(state))
        last = start == n - 1
        for end, reward, height in zip(rows["next"].tolist(), rows["reward"].tolist(), heights, strict=True):
            colour = "#6E6E6E" if last else GOAL if reward == high else LEFT
            _arc(axes, start, end, -0.95 if last else float(height), colour, "-")
    _chain(axes, n)
    lines = [
        Line2D([], [], color=GOAL, label="reward N(0.5, 1)"),
        Line2D([], [], color=LEFT, label="reward N(0, 1)"),
        Line2D([], [], color="#6E6E6E", label="back to the start: reward 0"),
    ]
    axes.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=1, frameon=False)
    widest = int(table.groupby("state").size().max())
    axes.set_title(f"WideNarrow, N = {n // 2}, W = {widest} actions in a wide state", fontsize="medium")


def _chain(axes: Axes, n: int) -> None:
    for x in range(n):
        axes.add_patch(Circle((x, 0), RADIUS, facecolor="white", edgecolor="black", linewidth=1.3, zorder=3))
        axes.text(x, 0, str(x + 1), ha="center", va="center", zorder=4)
    axes.set_xlim(-0.55, n - 0.45)
    axes.set_ylim(-1.2, 1.45)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _arc(axes: Axes, start: int, end: int, height: float, colour: str, line: str) -> None:
    """A curved arrow whose highest point is at `height`; a loop where it ends in the state it starts from."""
    side = float(np.sign(height))
    if start == end:
        width, foot = 1.3 * abs(height) - 0.1, 0.04 + 0.1 * abs(height)
        points = [(start + foot, side * RADIUS), (start + width, 1.6 * height), (start - width, 1.6 * height)]
        points.append((start - foot, side * RADIUS))
        codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    else:
        way = float(np.sign(end - start))
        edge = RADIUS if height == 0 else RADIUS * 0.72
        lift = 0.0 if height == 0 else side * RADIUS * 0.72
        first, last = (start + way * edge, lift), (end - way * edge, lift)
        if abs(end - start) > 1:
            first, last = (start, side * RADIUS), (end, side * RADIUS)
        points = [first, ((start + end) / 2, 2 * height - lift), last]
        codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3]
    style: dict[str, Any] = {
        "arrowstyle": "-|>",
        "mutation_scale": 11,
        "color": colour,
        "linestyle": line,
        "linewidth": 1.3,
    }
    axes.add_patch(FancyArrowPatch(path=Path(points, codes), zorder=2, **style))


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """An environment a figure, so narrow that a phone shows its text; no library draws chains with arcs as charts."""
    drawn = {}
    for name, draw in (("deepsea", draw_deepsea), ("widenarrow", draw_widenarrow)):
        with rc_context({"font.size": 11}):
            figure = new_figure(4.6, 4.0)
            draw(figure.subplots(), tables[name])
        drawn[f"schematics_{name}"] = figure
    return drawn


CHAPTER = Chapter(
    name="schematics",
    title="The environments",
    paper="Figures 4, 8 and 9",
    text="Drawn from the tables of the environments, without a run. DeepSea pays only for swimming right all the way, "
    "against the current. In WideNarrow every action leads on; "
    "only rewards differ. In the wide states the code that the paper builds on has one good action (drawn here), the "
    "paper's text one bad one.",
    data=data,
    draw=figures,
)
