"""Charts in the page: legends, panels and places for Bokeh's drawings, and the drawings themselves, compressed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from steering.paper import looks
from steering.paper.charts import Chart
from steering.paper.report import plots
from steering.paper.report.answer import Row

LAYOUTS = {1: "one", 2: "two", 4: "two"}
"""How panels stand side by side on a wide screen, by their number; else three."""
HINT = "Point at a line for its numbers; names switch lines on and off."


def headline_part(rows: Sequence[Row]) -> str:
    """The headline figure."""
    return _place("headline", 0, plots.ROW * len(rows) + 60) + block("headline", [plots.headline_drawing(rows)])


def chart_part(name: str, chart: Chart) -> str:
    """A chart with all that belongs to it; `name` tells it from the others of the page."""
    if chart["type"] != "choice":
        return f'<div class="chart">{_one(name, chart)}</div>'
    buttons = "".join(
        f'<button type="button" class="option" data-option="{number}" aria-pressed="{str(number == 0).lower()}">'
        f"{escape(option)}</button>"
        for number, option in enumerate(chart["options"])
    )
    parts = "".join(
        f'<div class="choice"{" hidden" if number else ""}>{_one(f"{name}-{number}", one)}</div>'
        for number, one in enumerate(chart["charts"])
    )
    label = escape(chart["label"])
    options = f'<div class="options" role="group" aria-label="{label}">{label}: {buttons}</div>'
    return f'<div class="chart">{options}{parts}</div>'


def _one(name: str, chart: Chart) -> str:
    heat = chart["type"] == "heat"
    layout = "four" if chart.get("columns") == plots.MANY else LAYOUTS.get(len(chart["panels"]), "three")
    height = plots.LOW_HEIGHT if heat or layout == "four" else plots.HEIGHT
    panels = "".join(
        f'<div class="panel"><h3>{escape(panel["title"])}</h3>{_place(name, number, height)}</div>'
        for number, panel in enumerate(chart["panels"])
    )
    more = {"frames": [plots.heat_values(chart, panel) for panel in chart["panels"]]} if heat else {}
    return (
        (_slider(chart["frames"]) if heat else _legend(chart))
        + f'<div class="panels {layout}">{panels}</div><p class="note">{escape(_note(chart))}</p>'
        + block(name, plots.drawings(chart), **more)
    )


def _place(name: str, number: int, height: int) -> str:
    return f'<div class="plot" data-plot="{escape(name)}" data-number="{number}" style="min-height:{height}px"></div>'


def block(name: str, items: Sequence[Mapping[str, Any]], **more: Any) -> str:
    """Drawings as text in the page, compressed: they are mostly numbers."""
    content = json.dumps({"items": list(items), **more}, separators=(",", ":"), allow_nan=False).encode()
    data = base64.b64encode(zlib.compress(content, 9)).decode()
    return f'<script type="application/octet-stream" id="plots-{escape(name)}">{data}</script>'


def _note(chart: Chart) -> str:
    if chart["type"] == "heat":
        shade = "Shade: square root of the share of visits in the window, mean over seeds"
        return f"Size: {chart['size']}. {shade}. Drag the slider through time."
    parts = [f"Size: {chart['size']}", chart.get("note", ""), f"Band: {chart['band']}" if chart["band"] else ""]
    return ". ".join(part for part in parts if part) + f". {HINT}"


def _slider(frames: Sequence[str]) -> str:
    last = len(frames) - 1
    titles = escape(json.dumps(list(frames)))
    return (
        f'<div class="slider"><label>time <input type="range" min="0" max="{last}" value="{last}" '
        f'data-frames="{titles}"></label> <output>{escape(frames[last])}</output></div>'
    )


def _entries(chart: Chart) -> Iterable[Mapping[str, Any]]:
    """What can be switched on and off, once each: series and vertical lines."""
    found: dict[str, Mapping[str, Any]] = {}
    for panel in chart["panels"]:
        for line in (*panel["series"], *panel.get("lines", ())):
            found.setdefault(line["name"], line)
    return found.values()


def _legend(chart: Chart) -> str:
    buttons = []
    for line in _entries(chart):
        colour = "currentColor" if line["colour"] == looks.INK else line["colour"]
        dash = f' stroke-dasharray="{line["dash"]}"' if line["dash"] else ""
        mark = (
            f'<circle cx="13" cy="4" r="4" fill="{colour}"/>'
            if line.get("points")
            else f'<path d="M0 4H26" stroke="{colour}" stroke-width="3"{dash}/>'
        )
        pressed = str(not line.get("hidden", False)).lower()
        buttons.append(
            f'<button type="button" class="line" data-line="{escape(line["name"])}" aria-pressed="{pressed}">'
            f'<svg viewBox="0 0 26 8" aria-hidden="true">{mark}</svg>{escape(line["name"])}</button>'
        )
    return f'<div class="legend" role="group" aria-label="lines">{"".join(buttons)}</div>'
