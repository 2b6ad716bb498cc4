"""Learning curves of agents, a panel for each environment: mean over seeds and its 95 % interval at every step."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.errors import NotAvailable
from steering.runs import style
from steering.runs.drawing import new_figure
from steering.runs.statistics import BAND, curve_interval
from steering.runs.tables import MEASURES, UNITS, Tabled, count, headline

PANELS = 24
COLUMNS = 3
LINE = 80
"""Usual characters of a label in one line of the legend."""
LINE_HEIGHT = 0.2
"""Inches."""


def data(runs: Tabled) -> pd.DataFrame:
    """Tidy table: environment, steps, agent, seeds (their number), step, mean, low, high.

    Curves are of the headline measure; `attrs["measure"]` says which. Below 3 seeds low and high are NaN.
    """
    finals, curves = runs.table(), runs.curves
    measure = headline(finals)
    curves = curves[curves["cell"].isin(finals.index)]
    value = "reward" if measure == "reward" else "regret"
    frames = []
    groups = curves.groupby(["environment", "steps", "agent"], observed=True, sort=False)
    for (environment, steps, agent), part in groups:
        heights = part.pivot(index="cell", columns="step", values=value).dropna(axis=1)
        if measure in UNITS:
            heights = heights.div(finals[UNITS[measure]].loc[heights.index], axis=0)
        mean, low, high = curve_interval(heights.to_numpy(dtype=np.float64))
        frame = {"environment": environment, "steps": steps, "agent": agent, "seeds": len(heights)}
        frames.append(pd.DataFrame({**frame, "step": heights.columns, "mean": mean, "low": low, "high": high}))
    table = pd.concat(frames, ignore_index=True)
    table.attrs = {"measure": measure}
    return table


def draw(axes: Axes, table: pd.DataFrame, looks: Mapping[str, style.Look] | None = None) -> None:
    """Draw the curves of one environment; `looks` are those of all agents of the figure."""
    style.draw_curves(axes, table, looks)
    least, most = int(table["seeds"].min()), int(table["seeds"].max())  # they differ after an interruption
    seeds = f"{least} to {most} seeds" if least < most else count(most, "seed")
    axes.set_title(f"{table['environment'].iloc[0]}, {seeds}", fontsize="medium")
    axes.set_xlabel("step")
    axes.margins(x=0.01)
    axes.grid(alpha=0.25)


def figure(table: pd.DataFrame) -> Figure:
    """One panel for each environment and number of steps."""
    panels = [part for _, part in table.groupby(["environment", "steps"], sort=False)]
    if len(panels) > PANELS:
        raise NotAvailable(f"{len(panels)} panels do not fit in a figure; load one environment at a time.")
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    looks = style.looks(list(dict.fromkeys(table["agent"])))
    sheet = new_figure(max(4.2 * columns, 7.2), 3.4 * rows + 0.8)
    handles: dict[str, Artist] = {}
    for place, part in enumerate(panels):
        axes = sheet.add_subplot(rows, columns, place + 1)
        draw(axes, part, looks)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    sheet.supylabel(MEASURES[table.attrs["measure"]], fontsize="medium")
    banded = bool(table["low"].notna().any())
    sheet.suptitle(f"Mean over seeds{f', band: {BAND}' if banded else ''}", fontsize="medium")
    _add_legend(sheet, handles)
    return sheet


def _add_legend(sheet: Figure, handles: Mapping[str, Artist]) -> None:
    """Legend below the panels, in as many columns as its labels leave room for; the figure grows by its lines."""
    labels = ["\n".join(wrap(label, LINE)) for label in handles]
    for columns in range(min(len(handles), COLUMNS), 0, -1):
        legend = sheet.legend(list(handles.values()), labels, loc="outside lower center", ncols=columns, frameon=False)
        extent = legend.get_window_extent(sheet.canvas.get_renderer())  # type: ignore[attr-defined]
        if extent.width <= sheet.bbox.width or columns == 1:
            lines = -(-len(labels) // columns) + sum(label.count("\n") for label in labels)
            sheet.set_figheight(sheet.get_figheight() + LINE_HEIGHT * lines)
            return
        legend.remove()
