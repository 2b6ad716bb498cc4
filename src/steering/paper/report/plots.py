"""Charts (`steering.paper.charts`) as Bokeh figures: a figure for each panel, as JSON for Bokeh's own script.

Panels stand in the page by themselves, so that they wrap on a narrow screen; the page's script switches lines of one
name on and off in all panels of a chart. Text is drawn at the size of the page's text at every width.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steering.lab.chart import require
from steering.paper import looks
from steering.paper.charts import Chart, Series
from steering.paper.report.answer import Row

HEIGHT, LOW_HEIGHT, ROW = 300, 190, 27
"""Heights in pixels: a panel, one of four side by side and a heatmap, and a row of the headline."""
MANY = 4
INK = "ink"
DECADES = 1.6
"""A logarithmic axis over less than this has ticks at 1, 2 and 5 too."""
FEW = 6
"""Up to so many places on a logarithmic axis are its ticks."""
BLUES = ("#f0f5fa", "#d6e4f1", "#b4cfe6", "#8bb5d8", "#5f98c7", "#387bb3", "#195f9c", "#08457e", "#062f57")
MARKERS = {"steering": "circle", "ids": "square", "psrl": "triangle"}


def drawings(chart: Chart) -> list[dict[str, Any]]:
    """JSON of every panel of a chart of lines or heatmaps."""
    made = [_heat(chart, panel) if chart["type"] == "heat" else _lines(chart, panel) for panel in chart["panels"]]
    return [_json(figure) for figure in made]


def _json(figure: Any) -> dict[str, Any]:
    (embed,) = require("bokeh.embed")
    item: dict[str, Any] = json.loads(json.dumps(embed.json_item(figure)))
    return item


def _figure(height: int, xlabel: str, ylabel: str, **options: Any) -> Any:
    (plotting,) = require("bokeh.plotting")
    figure = plotting.figure(
        height=height,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_axis_label=xlabel,
        y_axis_label=ylabel,
        min_border=4,
        **options,
    )
    figure.background_fill_color = figure.border_fill_color = figure.outline_line_color = None
    for axis in (figure.xaxis[0], figure.yaxis[0]):
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "13px"
        axis.axis_label_standoff = 4
    return figure


# Lines ---------------------------------------------------------------------------------------------------------------


def _lines(chart: Chart, panel: Mapping[str, Any]) -> Any:
    sharing = chart["panels"] if chart["share_y"] else [panel]
    logs = chart["logx"], chart["logy"]
    x_range = chart.get("xlim") or _limits(_x_values([panel]), log=logs[0], room=0.02)
    y_range = panel.get("ylim") or chart.get("ylim") or _limits(_y_values(sharing), log=logs[1], room=0.05)
    kinds = ["log" if one else "linear" for one in logs]
    figure = _figure(
        LOW_HEIGHT if chart.get("columns") == MANY else HEIGHT,
        chart["xlabel"],
        panel.get("ylabel", chart["ylabel"]),
        x_range=tuple(x_range),
        y_range=tuple(y_range),
        x_axis_type=kinds[0],
        y_axis_type=kinds[1],
    )
    shown = []
    for line in panel["series"]:
        shown += _series(figure, line, log=logs, floor=float(y_range[0]))
    for line in panel.get("lines", ()):
        _vertical(figure, line, y_range)
    for mark in panel.get("marks", ()):
        ink = {"name": mark["name"], "color": "black", "tags": [INK]}
        figure.line(list(x_range), [mark["y"]] * 2, line_dash="dotted", line_width=2, **ink)
    _ticks(figure, panel, logs, (x_range, y_range))
    _hover(figure, shown, chart["xlabel"])
    return figure


def _series(figure: Any, line: Series, *, log: tuple[bool, bool], floor: float) -> list[Any]:
    """Draw one series; the renderers that the pointer finds."""
    banded = "low" in line
    columns = {name: _short(line[name]) for name in ("x", "mean", *(("low", "high") if banded else ()))}
    keep = [i for i, (x, y) in enumerate(zip(columns["x"], columns["mean"], strict=True)) if _drawable(x, y, log)]
    data = {name: [values[i] for i in keep] for name, values in columns.items()}
    if banded and log[1]:  # what reaches below every power of ten ends at the axis
        data["low"] = [max(low, floor) for low in data["low"]]
    look = _look(line)
    source = _source(data)
    if banded and line.get("bars"):
        figure.segment("x", "low", "x", "high", source=source, line_width=2, **look)
    elif banded:
        figure.varea("x", "low", "high", source=source, fill_alpha=0.16, **look)
    found = []
    if line.get("marker"):
        found.append(
            figure.scatter("x", "mean", source=source, size=line.get("size", 7), marker=_marker(line["marker"]), **look)
        )
    if not line.get("points"):
        dash = _dash(line["dash"])
        width = max(line.get("width", 1.4) * 1.25, 1.5)
        found.append(figure.line("x", "mean", source=source, line_width=width, line_dash=dash, **look))
    return found


def _marker(name: str) -> str:
    return {"o": "circle", "s": "square", "^": "triangle", "*": "star"}[name]


def _drawable(x: float, y: float, log: tuple[bool, bool]) -> bool:
    return math.isfinite(x) and math.isfinite(y) and (x > 0 or not log[0]) and (y > 0 or not log[1])


def _vertical(figure: Any, line: Mapping[str, Any], heights: Sequence[float]) -> None:
    """A vertical line with its band."""
    look = _look(line)
    if math.isfinite(line["low"]):
        ends = [line["low"], line["high"]]
        figure.varea(ends, [heights[0]] * 2, [heights[1]] * 2, fill_alpha=0.1, **look)
    dash = _dash(line["dash"])
    figure.line([line["x"]] * 2, list(heights), line_width=1.6, line_dash=dash, **look)


def _x_values(panels: Iterable[Mapping[str, Any]]) -> list[float]:
    lines = [line for panel in panels for line in panel["series"]]
    fixed = [line[key] for panel in panels for line in panel.get("lines", ()) for key in ("low", "x", "high")]
    return [x for line in lines for x in line["x"]] + fixed


def _y_values(panels: Iterable[Mapping[str, Any]]) -> list[float]:
    lines = [line for panel in panels for line in panel["series"]]
    marks = [mark["y"] for panel in panels for mark in panel.get("marks", ())]
    return [y for line in lines for key in ("mean", "low", "high") if key in line for y in line[key]] + marks


def _limits(values: Iterable[float], *, log: bool, room: float) -> tuple[float, float]:
    """Ends of an axis with some room beyond the values."""
    kept = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    low, high = (min(kept), max(kept)) if kept else (1.0, 10.0)
    if low == high:
        return (low / 2, high * 2) if log else (low - 1, high + 1)
    if log:
        factor = (high / low) ** room
        return low / factor, high * factor
    return low - room * (high - low), high + room * (high - low)


def _ticks(figure: Any, panel: Mapping[str, Any], logs: tuple[bool, bool], limits: Sequence[Sequence[float]]) -> None:
    """Few ticks, so that numbers fit a phone; plain numbers on short logarithmic axes."""
    (models,) = require("bokeh.models")
    for axis, log, (low, high) in zip((figure.xaxis[0], figure.yaxis[0]), logs, limits, strict=True):
        if not log:
            axis.ticker.desired_num_ticks = 3
        elif math.log10(high / low) < DECADES:
            axis.ticker = models.LogTicker(mantissas=[1, 2, 5])
            axis.formatter = models.BasicTickFormatter()
    places = sorted({float(x) for line in panel["series"] if line.get("bars") for x in line["x"]})
    if logs[0] and places and len(places) <= FEW:
        figure.xaxis[0].ticker = models.FixedTicker(ticks=places)
        figure.xaxis[0].formatter = models.BasicTickFormatter()


def _hover(figure: Any, renderers: list[Any], xlabel: str) -> None:
    """The name and the numbers of the line under the pointer."""
    (models,) = require("bokeh.models")
    for banded in (True, False):
        chosen = [one for one in renderers if ("low" in one.data_source.data) == banded]
        interval = " [@low{0.[000]}, @high{0.[000]}]" if banded else ""
        texts = [("", "$name"), (xlabel, "@x{0.[000]}"), ("", "@mean{0.[000]}" + interval)]
        if chosen:
            figure.add_tools(models.HoverTool(renderers=chosen, tooltips=texts, line_policy="nearest"))


# Heatmaps ------------------------------------------------------------------------------------------------------------


def _heat(chart: Chart, panel: Mapping[str, Any]) -> Any:
    """The last window; the page puts the others into its source."""
    models, transform = require("bokeh.models", "bokeh.transform")
    rows, columns = chart["rows"], chart["columns"]
    ends = (-0.5, len(columns) - 0.5)
    figure = _figure(LOW_HEIGHT, chart["xlabel"], chart["ylabel"], x_range=ends, y_range=list(reversed(rows)))
    places = [(number, row) for row in rows for number in range(len(columns))]
    shades = heat_values(chart, panel)
    source = _source(
        {
            "x": [x for x, _ in places],
            "y": [y for _, y in places],
            "column": [columns[x] for x, _ in places],
            "share": shades[-1],
            "shade": _roots(shades[-1]),
        }
    )
    colours = transform.linear_cmap("shade", BLUES, 0, math.sqrt(chart["top"]))
    cells = figure.rect("x", "y", 0.94, 0.94, source=source, line_color=None, fill_color=colours)
    tips = [("state", "@column"), ("action", "@y"), ("share of visits", "@share{0.0 %}")]
    figure.add_tools(models.HoverTool(renderers=[cells], tooltips=tips))
    shown = range(0, len(columns), 2)
    figure.xaxis[0].ticker = models.FixedTicker(ticks=list(shown))
    figure.xaxis[0].major_label_overrides = {number: columns[number] for number in shown}
    return figure


def heat_values(chart: Chart, panel: Mapping[str, Any]) -> list[list[float]]:
    """Values of every window, row by row."""
    return [_short([value for row in frame for value in row]) for frame in panel["frames"]]


def _roots(values: Iterable[float]) -> list[float]:
    return _short([math.sqrt(value) for value in values])


# The headline --------------------------------------------------------------------------------------------------------


def headline_drawing(rows: Sequence[Row]) -> dict[str, Any]:
    """A point with its interval for every agent, from the paper's own STEERING down to the baselines."""
    (models,) = require("bokeh.models")
    names = [row.label for row in rows]
    ends = [0.0, *(end for row in rows for end in (row.effect.low, row.effect.high) if math.isfinite(end)), 1.0]
    figure = _figure(
        ROW * len(rows) + 60,
        "share of reward lost",
        "",
        x_range=(min(ends) - 0.06, max(ends) + 0.06),
        y_range=models.FactorRange(factors=list(reversed(names)), range_padding=0.4, range_padding_units="absolute"),
    )
    for row in rows:
        family = row.agent.partition(":")[0]
        low, high = ((end if math.isfinite(end) else row.effect.value) for end in (row.effect.low, row.effect.high))
        data: dict[str, list[Any]] = {
            "y": [row.label],
            "mean": [row.effect.value],
            "low": [low],
            "high": [high],
            "agent": [row.agent],
        }
        source, look = _source(data), {"color": looks.colour(row.agent), "name": row.label}
        figure.segment("low", "y", "high", "y", source=source, line_width=4, **look)
        figure.scatter("mean", "y", source=source, size=13, marker=MARKERS.get(family, "diamond"), **look)
    tips = [("", "@agent"), ("lost", "@mean{0.000} [@low{0.000}, @high{0.000}]")]
    figure.add_tools(models.HoverTool(tooltips=tips))
    figure.yaxis[0].axis_line_color = figure.yaxis[0].major_tick_line_color = None
    figure.xaxis[0].ticker.desired_num_ticks = 5
    return _json(figure)


# Values --------------------------------------------------------------------------------------------------------------


def _source(data: Mapping[str, Sequence[Any]]) -> Any:
    (models,) = require("bokeh.models")
    return models.ColumnDataSource(dict(data))


def _short(values: Iterable[Any]) -> list[float]:
    """Numbers to four digits, as a page needs them."""
    return [float(f"{float(value):.4g}") for value in values]


def _dash(pattern: str) -> Any:
    """A pattern of SVG for Bokeh, which has whole pixels."""
    return [math.ceil(float(part)) for part in pattern.split()] or "solid"


def _look(line: Mapping[str, Any]) -> dict[str, Any]:
    """Name and colour of a line. Ink is black here and marked; the page turns it into that of its theme."""
    ink = line["colour"] == looks.INK
    shown = {"name": line["name"], "visible": not line.get("hidden", False)}
    return {**shown, "color": "black", "tags": [INK]} if ink else {**shown, "color": line["colour"]}
