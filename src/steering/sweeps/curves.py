"""Learning curves from a results directory: mean over seeds and its 95 % bootstrap band, a panel an environment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.errors import NotAvailable
from steering.runs import style
from steering.runs.drawing import new_figure
from steering.runs.statistics import curve_interval
from steering.sweeps.store.load import Results
from steering.sweeps.store.selection import select
from steering.sweeps.summary import MEASURES, scores_of

PANELS = 24
COLUMNS = 3


def data(results: Results) -> pd.DataFrame:
    """Tidy table: environment, steps, agent, seeds, step, mean, low, high; `attrs["measure"]` says of what."""
    measure = scores_of(results).measure
    curves = results.curves
    curves = curves[curves["cell"].isin(select(results).finals.index)]
    value = "reward" if measure == "negative_reward" else "regret"
    frames = []
    for (environment, steps, agent), part in curves.groupby(["environment", "steps", "agent"], observed=True):
        heights = part.pivot(index="cell", columns="step", values=value).dropna(axis=1)
        if measure == "normalised_regret":
            heights = heights.div(results.finals["oracle_total"].loc[heights.index], axis=0)
        mean, low, high = curve_interval(heights.to_numpy(dtype=np.float64))
        frame = {"environment": environment, "steps": steps, "agent": agent, "seeds": len(heights)}
        frames.append(pd.DataFrame({**frame, "step": heights.columns, "mean": mean, "low": low, "high": high}))
    table = pd.concat(frames, ignore_index=True)
    table.attrs = {"measure": measure}
    return table


def draw(axes: Axes, table: pd.DataFrame, looks: Mapping[str, style.Look] | None = None) -> None:
    """Draw the curves of one environment; `looks` are those of all agents of the figure."""
    style.draw_curves(axes, table, looks)
    least, most = table["seeds"].min(), table["seeds"].max()
    count = f"{most} seed{'s' if most > 1 else ''}" if least == most else f"{least} to {most} seeds"
    axes.set_title(f"{table['environment'].iloc[0]}, {count}", fontsize="medium")
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
    sheet = new_figure(max(4.2 * columns, 7.2), 3.4 * rows + 0.8)
    measure = table.attrs["measure"]
    name = "cumulative reward" if measure == "negative_reward" else MEASURES[measure]
    looks = style.looks(list(dict.fromkeys(table["agent"])))
    handles: dict[str, Artist] = {}
    for number, part in enumerate(panels):
        axes = sheet.add_subplot(rows, columns, number + 1)
        draw(axes, part, looks)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    sheet.supylabel(name, fontsize="medium")
    sheet.suptitle("Mean over seeds, band: 95 % bootstrap of the mean", fontsize="medium")
    columns = min(len(handles), 3)
    sheet.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns, frameon=False)
    return sheet
