"""Line panels that several figures share: mean over seeds of a curve, with its band, for several agents.

`curves` makes the table (panel, agent, seeds, x, mean, low, high), `draw` draws one panel of it, `sheet` all of them
with one legend, `chart` describes them for the interactive report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from steering._types import Floats
from steering.paper import looks
from steering.paper.scale import Block
from steering.paper.source import Source
from steering.runs.drawing import new_figure
from steering.runs.statistics import curve_interval

NORMALISED = "cumulative regret / oracle's total reward"
RAW = "cumulative regret (reward units)"


def curves(
    source: Source, panels: Mapping[str, Sequence[Block]], agents: Iterable[str], *, normalised: bool = True
) -> pd.DataFrame:
    """Regret over time: a table with columns panel, agent, seeds, x (step), mean, low, high."""
    chosen = list(agents)
    frames = [
        rows_of(panel, agent, *source.curves(blocks, agent, normalised=normalised))
        for panel, blocks in panels.items()
        for agent in chosen
    ]
    return pd.concat(frames, ignore_index=True)


def rows_of(panel: str, agent: str, x: NDArray[Any], heights: Floats) -> pd.DataFrame:
    """Rows of one curve: mean over runs and its 95 % band at every x."""
    mean, low, high = curve_interval(heights)
    frame = {"panel": panel, "agent": agent, "seeds": len(heights)}
    return pd.DataFrame({**frame, "x": x, "mean": mean, "low": low, "high": high})


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """Draw one panel."""
    for agent, rows in table.groupby("agent", sort=False):
        colour = looks.colour(str(agent))
        width = 2.0 if str(agent) == "steering" else 1.4
        axes.plot(
            rows["x"],
            rows["mean"],
            color=colour,
            linestyle=looks.line(str(agent)),
            label=looks.label(str(agent)),
            linewidth=width,
        )
        axes.fill_between(rows["x"], rows["low"], rows["high"], color=colour, alpha=0.15, linewidth=0)
    axes.set_title(str(table["panel"].iloc[0]), fontsize="medium")
    axes.margins(x=0.01)
    axes.grid(alpha=0.25)


def sheet(
    table: pd.DataFrame,
    title: str,
    *,
    xlabel: str = "step",
    ylabel: str = NORMALISED,
    columns: int = 3,
    width: float = 4.0,
    share_y: bool = False,
) -> Figure:
    """All panels with one legend below."""
    panels = [part for _, part in table.groupby("panel", sort=False)]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(max(width * columns, 7.0), 3.2 * rows + 1.5)
    first: Axes | None = None
    for number, part in enumerate(panels):
        axes = figure.add_subplot(rows, columns, number + 1, sharey=first if share_y else None)
        first = first or axes
        draw(axes, part)
        axes.set_xlabel(xlabel)
    assert first is not None
    figure.supylabel(ylabel, fontsize="medium")
    figure.suptitle(title, fontsize="medium")
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), frameon=False)
    return figure


def chart(
    table: pd.DataFrame,
    title: str,
    *,
    xlabel: str = "step",
    ylabel: str = NORMALISED,
    size: str,
    band: str = looks.BAND,
    log: str = "",
    share_y: bool = False,
    hidden: Sequence[str] = (),
) -> dict[str, Any]:
    """The panels for the interactive report; agents in `hidden` are switched off at first.

    `size` says how small the runs are ("quick: 6 seeds"); `log` names the logarithmic axes: "x", "y" or "xy".
    """
    return {
        "type": "lines",
        "title": title,
        "xlabel": xlabel,
        "ylabel": ylabel,
        "size": size,
        "band": band,
        "logx": "x" in log,
        "logy": "y" in log,
        "share_y": share_y,
        "panels": [
            {
                "title": str(panel),
                "series": [_agent(str(a), rows, hidden) for a, rows in part.groupby("agent", sort=False)],
            }
            for panel, part in table.groupby("panel", sort=False)
        ],
    }


def _agent(agent: str, rows: pd.DataFrame, hidden: Sequence[str]) -> dict[str, Any]:
    return series(looks.label(agent), rows, looks.colour(agent), looks.dash(agent), hidden=agent in hidden)


def series(name: str, rows: pd.DataFrame, colour: str, dash: str = "", *, hidden: bool = False) -> dict[str, Any]:
    """One line of an interactive chart, from columns x, mean, low and high (no band without the last two)."""
    columns = [column for column in ("x", "mean") if column in rows]
    columns += [column for column in ("low", "high") if column in rows and rows[column].notna().any()]
    values = {column: short(rows[column]) for column in columns}
    return {"name": name, "colour": colour, "dash": dash, "hidden": hidden, **values}


def reference(name: str, x: Iterable[float], y: Iterable[float]) -> dict[str, Any]:
    """A line to compare with, such as the slope of a bound: in the colour of the text, and dotted more finely."""
    rows = pd.DataFrame({"x": list(x), "mean": list(y)})
    return series(name, rows, looks.INK, looks.REFERENCE_DASH)


def short(values: Iterable[float]) -> list[float | None]:
    """Numbers to four digits, as a page needs them; what is not finite becomes nothing."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]
