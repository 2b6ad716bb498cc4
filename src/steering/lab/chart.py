"""The chart of regret: Bokeh draws it, with the script that its Python package brings, so nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any

from steering.errors import NotAvailable

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, which people with any kind of colour vision tell apart."""
YOU = "you"
HOW = "the lab needs packages that are not installed; install them with: pip install 'steering-rl[lab]'"


def require(*modules: str) -> list[Any]:
    """Import what the extra `lab` brings, or say how to install it."""
    try:
        return [import_module(name) for name in modules]
    except ImportError:
        raise NotAvailable(HOW) from None


def script() -> str:
    """Bokeh's own script."""
    require("bokeh")
    return (files("bokeh") / "server" / "static" / "js" / "bokeh.min.js").read_text(encoding="utf-8")


def chart(agents: Sequence[str], *, live: bool, label: str = "regret so far") -> dict[str, Any]:
    """A figure with a curve for each agent (and for a person, live), each of one point, as JSON for Bokeh's script."""
    plotting, models, embed = require("bokeh.plotting", "bokeh.models", "bokeh.embed")
    figure = plotting.figure(
        height=260,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_axis_label="step",
        y_axis_label=label,
        min_border=4,
        x_range=models.DataRange1d(start=0, min_interval=10, range_padding=0.02),
        y_range=models.DataRange1d(min_interval=1),
    )
    figure.add_tools(models.HoverTool(tooltips=[("", "$name"), ("step", "@x"), (label, "@y{0.00}")], mode="vline"))
    names = [*agents, YOU] if live else list(agents)
    for number, name in enumerate(names):
        source = models.ColumnDataSource({"x": [0], "y": [0]}, name=f"curve-{number}")
        dash = "solid" if number % 2 == 0 else "dashed"
        line = figure.line("x", "y", source=source, line_width=3, color=colour(number), name=name, line_dash=dash)
        line.visible = name != YOU
    figure.background_fill_color = figure.border_fill_color = None
    figure.outline_line_color = None
    figure.xgrid.grid_line_color = None
    figure.xaxis[0].ticker.desired_num_ticks = 4  # five-digit steps fit a phone
    for axis in (figure.xaxis[0], figure.yaxis[0]):
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "14px"
    item: dict[str, Any] = json.loads(json.dumps(embed.json_item(figure)))
    return item


def colour(number: int) -> str:
    """Colour of the agent with a number."""
    return COLOURS[number % len(COLOURS)]
