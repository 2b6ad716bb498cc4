"""How fast the Stein discrepancy falls (the paper's Lemma 4.2: E[DSD^2] = O(S^2 A / k), so the Stein information too).

Two checks. *Rows*: n samples of one known row, the posterior after them, and the discrepancy between the row and a
posterior draw; no agent is involved. One row has 8 outcomes of positive probability, the other is DeepSea's: 2 of 8.
*Runs*: the Stein information gain K_k of the k-th plan along runs of STEERING on DeepSea 8.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering._types import Floats
from steering.paper import looks, panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.theory import rate_claims
from steering.paper.scale import VARIANTS, Block, Scale, traced
from steering.paper.source import Source, stacked
from steering.runs.drawing import new_figure
from steering.runs.statistics import curve_interval
from steering.stein import SteinSupportWarning, discrepancy

N = 8
SAMPLES = np.unique(np.geomspace(10, 10_000, 13).astype(int))
REPETITIONS = 200
OPERATORS = {"barker": "sound operator (barker)", "difference": "literal operator (difference)"}
ROWS = {"full": "8 of 8 outcomes possible", "sparse": "2 of 8 outcomes possible"}
SHOWN = 100
SLOPE = "slope -1"
SEED = 20230


def blocks(scale: Scale) -> list[Block]:
    """All variants on DeepSea 8."""
    return [traced(f"deepsea:{N}", tuple(VARIANTS.values()), scale.steps, tuple(range(scale.trace_seeds)))]


def row_discrepancies(operator: str, row: str) -> Floats:
    """DSD(p, q) between a row p and posterior draws q after n samples of it, (repetitions, numbers of samples)."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(SEED, spawn_key=(list(ROWS).index(row),))))
    p = rng.dirichlet(np.ones(N)) if row == "full" else np.eye(N)[0] / N + np.eye(N)[2] * (1 - 1 / N)
    counts = np.stack([rng.multinomial(n, p, size=REPETITIONS) for n in SAMPLES], axis=1)
    gammas = rng.standard_gamma(1.0 + counts)
    q = np.maximum(gammas / gammas.sum(axis=-1, keepdims=True), 1e-300)
    with warnings.catch_warnings():
        # That the literal operator does not vanish on sparse rows is what is shown here.
        warnings.simplefilter("ignore", SteinSupportWarning)
        value: Floats = np.asarray(discrepancy(p, q / q.sum(axis=-1, keepdims=True), operator=operator))
    return value


def gains(source: Source, variant: str) -> Floats:
    """Stein information gain of every plan, (runs, plans)."""
    return stacked(source.traces(blocks(source.scale), VARIANTS[variant]), "gain")


def data(source: Source) -> Tables:
    """Rows: operator, row, x (samples), mean, low, high. Runs: agent, x (plan), mean, low, high."""
    rows = []
    for operator in OPERATORS:
        for row in ROWS:
            mean, low, high = curve_interval(row_discrepancies(operator, row))
            fixed = {"operator": operator, "row": row}
            rows.append(pd.DataFrame({**fixed, "x": SAMPLES, "mean": mean, "low": low, "high": high}))
    runs = []
    for variant, agent in VARIANTS.items():
        values = gains(source, variant)
        at = np.unique(np.geomspace(1, values.shape[1], min(SHOWN, values.shape[1])).round().astype(int))
        runs.append(panels.rows_of("Stein information gain of a plan", agent, at, values[:, at - 1]))
    return {"rows": pd.concat(rows, ignore_index=True), "runs": pd.concat(runs, ignore_index=True)}


def _row_style(operator: str, row: str) -> dict[str, Any]:
    return {
        "color": looks.SHADES["default" if operator == "barker" else "literal"],
        "linestyle": "-" if row == "full" else "--",
        "label": f"{OPERATORS[operator]}, {ROWS[row]}",
    }


def draw_rows(axes: Axes, table: pd.DataFrame) -> None:
    """Discrepancy against number of samples, and a line of slope -1."""
    for (operator, row), part in table.groupby(["operator", "row"], sort=False):
        style = _row_style(str(operator), str(row))
        axes.plot(part["x"], part["mean"], linewidth=1.5, **style)
        axes.fill_between(part["x"], part["low"], part["high"], color=style["color"], alpha=0.15, linewidth=0)
    _logarithmic(axes, table, first_sound(table))
    axes.set_xlabel("samples of the row")
    axes.set_ylabel("DSD between the row and a posterior draw")
    axes.set_title("one row, sampled n times", fontsize="medium")
    axes.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16))


def slope_line(table: pd.DataFrame, height: float) -> tuple[list[float], list[float]]:
    """Ends of a line of slope -1 that begins at a height."""
    begin, end = float(table["x"].min()), float(table["x"].max())
    return [begin, end], [height, height * begin / end]


def _logarithmic(axes: Axes, table: pd.DataFrame, height: float) -> None:
    axes.plot(*slope_line(table, height), color="black", linestyle=(0, (1, 1.5)), label=SLOPE)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(alpha=0.25)


def first_sound(rows: pd.DataFrame) -> float:
    """Mean discrepancy of the full row after the fewest samples, sound operator."""
    return float(rows.loc[(rows["operator"] == "barker") & (rows["row"] == "full"), "mean"].iloc[0])


def first_gain(runs: pd.DataFrame) -> float:
    """Mean gain of the first plan of the default."""
    return float(runs.loc[runs["agent"] == "steering", "mean"].iloc[0])


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Rows and runs side by side."""
    figure = new_figure(10.4, 5.6)
    left, right = figure.subplots(1, 2)
    draw_rows(left, tables["rows"])
    runs = tables["runs"]
    panels.draw(right, runs)
    _logarithmic(right, runs, first_gain(runs))
    right.set_xlabel("plan k (one every N + 1 steps)")
    right.set_ylabel("Stein information gain of the plan")
    right.set_title(f"runs on DeepSea {N} ({scale.remark(int(runs['seeds'].max()))})", fontsize="medium")
    right.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16))
    figure.suptitle(
        f"Decay of the Stein discrepancy ({scale.name}; band: 95 % interval of the mean, left over {REPETITIONS} "
        "repetitions, right over seeds)",
        fontsize="medium",
    )
    return {"rates": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Both, interactive."""
    table, gained = tables["rows"], tables["runs"]
    lines = []
    for (operator, row), part in table.groupby(["operator", "row"], sort=False):
        style = _row_style(str(operator), str(row))
        lines.append(panels.series(style["label"], part, style["color"], looks.DASHES[style["linestyle"]]))
    lines.append(panels.reference(SLOPE, *slope_line(table, first_sound(table))))
    size = f"{REPETITIONS} repetitions in every size"
    band = f"95 % interval of the mean over {REPETITIONS} repetitions"
    rows = panels.chart(gained.iloc[:0], "One row", xlabel="samples", ylabel="DSD", size=size, band=band, log="xy")
    rows["panels"] = [{"title": "one row, sampled n times", "series": lines}]
    size = scale.remark(int(gained["seeds"].max()))
    runs = panels.chart(gained, "Runs", xlabel="plan", ylabel="Stein information gain", size=size, log="xy")
    runs["panels"][0]["series"].append(panels.reference(SLOPE, *slope_line(gained, first_gain(gained))))
    return [rows, runs]


CHAPTER = Chapter(
    name="rates",
    title="Theory: how fast the discrepancy falls",
    paper="Lemma 4.2",
    text="The lemma says that the squared discrepancy falls as 1/k. With the sound operator it does, row by row. The "
    "literal operator does not vanish on rows with impossible outcomes, whatever the number of samples.",
    needs=blocks,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: rate_claims(
        SAMPLES.astype(np.float64),
        {(operator, row): row_discrepancies(operator, row) for operator in OPERATORS for row in ROWS},
        {variant: gains(source, variant) for variant in VARIANTS},
    ),
)
