"""Convergence of the DSD for optimal and suboptimal actions (the paper's appendix; 5 seeds, states 3 and 4).

The paper shows states s = 3 and s = 4 at two levels of sparsity; N = 4 and 8, those of its other appendix figures, are
used here. D(s, a) is the Stein information that the agent itself plans with. Right is the optimal action.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from steering.paper import looks, panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.directed import dsd_claims
from steering.paper.scale import VARIANTS, Block, Scale, traced
from steering.paper.source import Source, stacked
from steering.runs.drawing import new_figure
from steering.runs.statistics import curve_interval

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


def needs(scale: Scale) -> list[Block]:
    """Both sizes."""
    return [block for n in SIZES for block in blocks(n, scale)]


def data(source: Source) -> Tables:
    """D over time: variant, n, state, action, x, mean, low, high."""
    frames = []
    for n in SIZES:
        for variant in VARIANTS:
            traces = source.traces(blocks(n, source.scale), VARIANTS[variant])
            times = traces[0].plan_times
            kept = np.unique(np.linspace(0, times.size - 1, min(POINTS, times.size)).round().astype(int))
            tables = stacked(traces, "information")[:, kept]
            for state in STATES:
                for action, name in enumerate(COLOURS):
                    mean, low, high = curve_interval(tables[:, :, state - 1, action])
                    fixed = {"variant": variant, "n": n, "state": state, "action": name, "seeds": len(traces)}
                    frames.append(pd.DataFrame({**fixed, "x": times[kept], "mean": mean, "low": low, "high": high}))
    return {"dsd": pd.concat(frames, ignore_index=True)}


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """Left and right action of one state."""
    for action, rows in table.groupby("action", sort=False):
        axes.plot(rows["x"], rows["mean"], color=COLOURS[str(action)], label=NAMES[str(action)], linewidth=1.5)
        axes.fill_between(rows["x"], rows["low"], rows["high"], color=COLOURS[str(action)], alpha=0.2, linewidth=0)
    axes.set_yscale("log")
    axes.grid(alpha=0.25)
    axes.margins(x=0.01)


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Variants in rows; sizes and states in columns."""
    table = tables["dsd"]
    places = [(n, state) for n in SIZES for state in STATES]
    figure = new_figure(3.1 * len(places), 2.7 * len(VARIANTS) + 0.9)
    figure.set_layout_engine("none")  # a computed layout of twelve logarithmic panels takes seconds
    layout = {"left": 0.075, "right": 0.975, "top": 0.92, "bottom": 0.1, "hspace": 0.07, "wspace": 0.12}
    grid = figure.subplots(len(VARIANTS), len(places), sharex="col", sharey="row", gridspec_kw=layout)
    for row, variant in enumerate(VARIANTS):
        for column, (n, state) in enumerate(places):
            axes = grid[row, column]
            chosen = (table["variant"] == variant) & (table["n"] == n) & (table["state"] == state)
            draw(axes, table[chosen])
            if row == 0:
                axes.set_title(f"N = {n}, state {state}", fontsize="medium")
            if row == len(VARIANTS) - 1:
                axes.set_xlabel("step")
                axes.xaxis.set_major_locator(MaxNLocator(3))
        label = looks.label(VARIANTS[variant]).replace("STEERING, ", "")
        grid[row, 0].set_ylabel(f"{label}\nD(s, a)")
    seeds = int(table["seeds"].max())
    title = f"Stein information D(s, a) on DeepSea ({scale.remark(seeds)}; band: 95 % interval of the mean)"
    figure.suptitle(title, fontsize="medium")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="lower center", ncols=2, frameon=False)
    return {"dsd": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Variants to choose from."""
    table = tables["dsd"]
    return [
        {
            "type": "choice",
            "label": "STEERING",
            "options": [looks.label(VARIANTS[variant]).replace("STEERING, ", "") for variant in VARIANTS],
            "charts": [_chart(table[table["variant"] == variant], scale) for variant in VARIANTS],
        }
    ]


def _chart(table: pd.DataFrame, scale: Scale) -> Chart:
    nothing = pd.DataFrame({"panel": [], "agent": []})
    size = scale.remark(int(table["seeds"].max()))
    chart = panels.chart(nothing, TITLE, ylabel="D(s, a)", size=size, log="y", share_y=True)
    for (n, state), part in table.groupby(["n", "state"]):
        lines = [
            panels.series(NAMES[str(action)], rows, COLOURS[str(action)])
            for action, rows in part.groupby("action", sort=False)
        ]
        chart["panels"].append({"title": f"N = {n}, state {state}", "series": lines})
    return {**chart, "columns": 2}


CHAPTER = Chapter(
    name="dsd",
    title=TITLE,
    paper="Appendix, DSD convergence",
    text="The discrepancy that the agent plans with, for the optimal and the other action. The literal operator does "
    "not vanish on rows with few possible outcomes, however much data there is.",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: dsd_claims(
        {
            (n, variant): stacked(source.traces(blocks(n, source.scale), VARIANTS[variant]), "information")
            for n in SIZES
            for variant in VARIANTS
        },
        STATES,
    ),
)
