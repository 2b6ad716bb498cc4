"""PSRL as sparsity grows (the paper's Fig. 2c)."""

from __future__ import annotations

import numpy as np

from steering.paper.chapter import Chapter
from steering.paper.charts import Chart, chart, reference, series
from steering.paper.fits import mean_effect
from steering.paper.rule import ALL, Claim, above
from steering.paper.scale import Block, Scale, deepsea
from steering.paper.source import Source
from steering.paper.tables import Tables, curves, finals, groups, runs_by_x

SIZES = (4, 6, 8, 10, 12, 14, 15, 20)
AGENT = "psrl"
TITLE = "PSRL with growing sparsity"
SHADES = ("#8CC8F0", "#6FB3E6", "#539DDA", "#3A87CB", "#2F72B9", "#335FAA", "#364C9B", "#3A398C")
"""From light to dark as N grows: one hue, so that the order is seen without telling colours apart."""
SUFFERS = 0.9
"""Who loses more than this share of the oracle's reward suffers badly."""


def panels(scale: Scale) -> dict[str, list[Block]]:
    """PSRL at each N."""
    return {f"N = {n}": [deepsea(n, scale, agents=(AGENT,))] for n in SIZES}


def data(source: Source, scale: Scale) -> Tables:
    """Regret over time and at the end for each N (x)."""
    runs = finals(source, panels(scale), (AGENT,))
    places = dict(zip(panels(scale), SIZES, strict=True))
    return {"curves": curves(source, panels(scale), (AGENT,)), "runs": runs.assign(x=runs["panel"].map(places))}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """One panel, darker as N grows."""
    table = tables["curves"]
    sizes = zip(groups(table, "panel").items(), SHADES, strict=True)
    lines = [series(name, rows, shade) for (name, rows), shade in sizes]
    lines.append(reference("earns nothing", [0, table["x"].max()], [0, 1]))
    one = chart(None, TITLE, size=scale.remark())
    return [{**one, "panels": [{"title": "PSRL", "series": lines}]}]


def claims(tables: Tables) -> list[Claim]:
    """PSRL at growing N."""
    sizes, regret = runs_by_x(tables["runs"], "regret")
    slopes = np.polynomial.polynomial.polyfit(sizes, regret.T, 1)[1]
    return [
        Claim(
            "psrl-degrades",
            "PSRL degrades as sparsity grows.",
            "Fig. 2c",
            f"slope of normalised regret against N, mean over seeds, N = {sizes[0]:g} to {sizes[-1]:g}",
            above(0),
            {ALL: mean_effect(slopes)},
        ),
        Claim(
            "psrl-suffers",
            "Even PSRL suffers badly in very sparse settings.",
            "Section 2",
            f"normalised regret at the largest N (1: earns nothing); badly: above {SUFFERS:g}",
            above(SUFFERS),
            {ALL: mean_effect(regret[:, -1])},
        ),
    ]


CHAPTER = Chapter(
    name="psrl_sparsity",
    title=TITLE,
    paper="Figure 2c",
    text="More states between the start and the only reward: how long does posterior sampling cope?",
    needs=lambda scale: [block for part in panels(scale).values() for block in part],
    data=data,
    charts=charts,
    claims=claims,
)
