"""Charts of lines (`charts`) as figures in files: all panels, one legend below."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from steering.paper import looks
from steering.paper.charts import Chart, Series
from steering.runs.drawing import new_figure

if TYPE_CHECKING:
    from steering.paper.report.answer import Row

LINES: dict[str, Any] = {dash: line for line, dash in looks.DASHES.items()} | {looks.REFERENCE_DASH: (0, (1, 1.5))}
WIDTHS = {1: 7.2, 2: 4.8, 3: 4.0, 4: 3.2}
"""Width of a panel in inches, by the number of panels side by side."""
CHARACTER = 0.078
"""Mean width of a character in inches."""
MANY = 6
"""A layout that is computed takes seconds for more panels than this; they have a fixed one."""
DECADES = 1.6
"""A logarithmic axis over less than this has ticks at 1, 2 and 5 too, as plain numbers."""
FEW_PLACES, FEW_PANELS = 6, 3
"""Up to so many places on a logarithmic axis are its ticks; more panels than this are narrow, and have fewer ticks."""


def sheet(*charts: Chart, title: str = "", columns: int = 4) -> Figure:
    """The panels of some charts, each chart with its own axes.

    Parameters
    ----------
    charts
        Charts of type "lines".
    title
        Heading; by default that of the first chart with its size and what its bands are.
    columns
        Most panels side by side.
    """
    panels = [(one, panel) for one in charts for panel in one["panels"]]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    width = WIDTHS[columns] * columns
    entries = {line["name"]: line for _, panel in panels for line in (*panel["series"], *panel.get("lines", ()))}
    across = max(1, min(5, int(width / (CHARACTER * max(map(len, entries)) + 0.6))))
    below = 0.25 * -(-len(entries) // across)
    height = (3.2 if rows == 1 else 2.6) * rows + 1.0 + below
    figure = new_figure(width, height)
    fixed = len(panels) > MANY
    if fixed:
        figure.set_layout_engine("none")
    grid = figure.add_gridspec(rows, columns, **(_margins(width, height, below) if fixed else {}))
    first: dict[int, Axes] = {}
    for number, (one, panel) in enumerate(panels):
        shared = first.get(id(one)) if one["share_y"] else None
        axes = figure.add_subplot(grid[number // columns, number % columns], sharey=shared)
        _draw(axes, one, panel)
        if number % columns == 0 or id(one) not in first:
            axes.set_ylabel(one["ylabel"])
        elif fixed:
            axes.tick_params(labelleft=False)
        if number + columns >= len(panels) or not fixed:
            axes.set_xlabel(one["xlabel"])
        else:
            axes.tick_params(labelbottom=False)
        first.setdefault(id(one), axes)
    heading = title or f"{charts[0]['title']} ({charts[0]['size']}; band: {charts[0]['band']})"
    lines = [part for line in heading.splitlines() for part in textwrap.wrap(line, int(width / CHARACTER * 0.95))]
    figure.suptitle("\n".join(lines), fontsize="medium")
    handles = [_handle(figure.axes[0], line) for line in entries.values()]
    # The fixed layout has kept room; the computed one makes it.
    figure.legend(
        handles, list(entries), loc="lower center" if fixed else "outside lower center", ncols=across, frameon=False
    )
    return figure


def headline_figure(rows: Sequence[Row]) -> Figure:
    """The headline of a report: a point with its interval for every agent, on the sparsest DeepSea."""
    figure = new_figure(7.2, 0.42 * len(rows) + 1.3)
    axes = figure.subplots()
    markers = {"steering": "o", "ids": "s", "psrl": "^"}
    for place, row in enumerate(rows):
        effect, name = row.effect, row.agent.partition(":")[0]
        ends = [[effect.value - effect.low], [effect.high - effect.value]] if effect.known else None
        style: dict[str, Any] = {"color": looks.colour(row.agent), "marker": markers.get(name, "D")}
        axes.errorbar([effect.value], [-place], xerr=ends, capsize=3, markersize=8, linewidth=2, **style)
    axes.set_yticks([-place for place in range(len(rows))], [row.label for row in rows])
    axes.set_xlabel("share of the oracle's reward that is lost on DeepSea 15\n(0 is best; mean, 95 % interval)")
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.grid(axis="x", alpha=0.25)
    return figure


def _margins(width: float, height: float, below: float) -> dict[str, float]:
    """Room in inches: labels at the left, a heading of two lines above, ticks, a label and the legend below."""
    edges = {"left": 0.8 / width, "right": 1 - 0.2 / width, "top": 1 - 0.85 / height}
    return {**edges, "bottom": (0.55 + below) / height, "hspace": 0.2, "wspace": 0.06}


def _style(line: Mapping[str, Any]) -> dict[str, Any]:
    colour = "black" if line["colour"] == looks.INK else line["colour"]
    look = {"linewidth": line.get("width", 1.4), "marker": line.get("marker", "")}
    return {"color": colour, "linestyle": LINES[line["dash"]], **look}


def _handle(axes: Axes, line: Series) -> Any:
    return axes.plot([], [], **_style(line))[0]


def _draw(axes: Axes, chart: Chart, panel: Mapping[str, Any]) -> None:
    for line in panel["series"]:
        style = _style(line)
        if line.get("bars"):
            mean = np.array(line["mean"])
            errors = np.array([mean - line["low"], line["high"] - mean]) if "low" in line else None
            axes.errorbar(line["x"], mean, yerr=errors, capsize=3, **style)
            continue
        axes.plot(line["x"], line["mean"], **style)
        if "low" in line:
            axes.fill_between(line["x"], line["low"], line["high"], color=style["color"], alpha=0.16, linewidth=0)
    for line in panel.get("lines", ()):
        style = _style(line)
        axes.axvline(line["x"], **style)
        if np.isfinite(line["low"]):
            axes.axvspan(line["low"], line["high"], color=style["color"], alpha=0.1, linewidth=0)
    for mark in panel.get("marks", ()):
        axes.axhline(mark["y"], color="black", linestyle=LINES[looks.REFERENCE_DASH], linewidth=1.2)
    axes.set_title(panel["title"], fontsize="medium")
    axes.margins(x=0.01)
    axes.grid(alpha=0.25)
    _scale(axes, chart, panel)


def _scale(axes: Axes, chart: Chart, panel: Mapping[str, Any]) -> None:
    """Logarithmic axes with readable ticks, and limits where the chart has them."""
    if chart["logx"]:
        axes.set_xscale("log")
        places = sorted({float(x) for line in panel["series"] for x in line["x"]})
        if len(places) <= FEW_PLACES:
            axes.margins(x=0.05)
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xticks(places, [f"{x:g}" for x in places])
    elif len(chart["panels"]) > FEW_PANELS:
        axes.xaxis.set_major_locator(MaxNLocator(3))
    if chart["logy"]:
        axes.set_yscale("log")
        sharing = chart["panels"] if chart["share_y"] else [panel]
        heights = [y for one in sharing for line in one["series"] for y in line["mean"] if y > 0]
        low, high = min(heights), max(heights)
        axes.set_ylim(bottom=low / 2)
        if np.log10(high / low) < DECADES:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter("{x:g}")
    limits: Sequence[float] | None = panel.get("ylim") or chart.get("ylim")
    if limits:
        axes.set_ylim(limits[0], limits[1])
