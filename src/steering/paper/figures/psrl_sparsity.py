"""PSRL as sparsity grows (the paper's Fig. 2c)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.paper import panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.sparsity import psrl_claims
from steering.paper.figures.regret import deepsea
from steering.paper.scale import Block, Scale
from steering.paper.source import Source
from steering.runs.drawing import new_figure

SIZES = (4, 6, 8, 10, 12, 14, 15, 20)
AGENT = "psrl"
TITLE = "PSRL with growing sparsity"
SHADES = ("#8CC8F0", "#6FB3E6", "#539DDA", "#3A87CB", "#2F72B9", "#335FAA", "#364C9B", "#3A398C")
"""From light to dark as N grows: one hue, so that the order is seen without telling colours apart."""


def blocks(scale: Scale) -> dict[int, list[Block]]:
    """One block for each N."""
    return {n: [deepsea(n, scale, agents=(AGENT,))] for n in SIZES}


def needs(scale: Scale) -> list[Block]:
    """PSRL at every size."""
    return [block for part in blocks(scale).values() for block in part]


def data(source: Source) -> Tables:
    """Regret over time for each N."""
    frames = []
    for n, part in blocks(source.scale).items():
        frame = panels.rows_of(f"N = {n}", AGENT, *source.curves(part, AGENT))
        frames.append(frame.assign(n=n))
    return {"curves": pd.concat(frames, ignore_index=True)}


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """One line for each N, darker as N grows."""
    for (n, rows), shade in zip(table.groupby("n"), SHADES, strict=True):
        axes.plot(rows["x"], rows["mean"], color=shade, label=f"N = {n}", linewidth=1.6)
        axes.fill_between(rows["x"], rows["low"], rows["high"], color=shade, alpha=0.2, linewidth=0)
    axes.plot([0, table["x"].max()], [0, 1], color="#888888", linestyle=":", linewidth=1, label="earns nothing")
    axes.set_xlabel("step")
    axes.set_ylabel(panels.NORMALISED)
    axes.grid(alpha=0.25)
    axes.margins(x=0.01)
    axes.legend(frameon=False, fontsize="small", ncols=2)


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """One panel."""
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    draw(axes, tables["curves"])
    axes.set_title(f"PSRL on DeepSea N ({scale.remark()}; band: 95 % interval of the mean)", fontsize="medium")
    return {"psrl_sparsity": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same, interactive."""
    table = tables["curves"]
    lines = [
        panels.series(f"N = {n}", rows, shade) for (n, rows), shade in zip(table.groupby("n"), SHADES, strict=True)
    ]
    lines.append(panels.reference("earns nothing", [0, table["x"].max()], [0, 1]))
    chart = panels.chart(table.iloc[:0], TITLE, size=scale.remark())
    return [{**chart, "panels": [{"title": "PSRL", "series": lines}]}]


CHAPTER = Chapter(
    name="psrl_sparsity",
    title=TITLE,
    paper="Figure 2c",
    text="More states between the start and the only reward: how long does posterior sampling cope?",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: psrl_claims(
        np.array(SIZES, dtype=np.float64), [source.regret(part, AGENT) for part in blocks(source.scale).values()]
    ),
)
