"""The weight lambda of the regularised objective: regret against it, and the theorem's own (Theorem 4.6).

The theorem gives lambda = sqrt(K Gamma* / sum_k K_k), which is known after the run only; the paper's experiments use
0.5. Regret is measured for a grid of weights, for the default and for the paper made sound, on DeepSea 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.figures.files import new_figure
from steering.reproduction import looks, panels
from steering.reproduction.chapter import Chapter, Chart, Tables
from steering.reproduction.claims.theory import weight_claims
from steering.reproduction.figures import rates
from steering.reproduction.scale import VARIANTS, Block, Scale
from steering.reproduction.source import Source
from steering.results import mean_interval

N = 8
WEIGHTS = (0.02, 0.1, 0.5, 2.5, 12.5)
CHOSEN = ("default", "sound")
TITLE = "Theory: the weight of the information"


def with_weight(variant: str, weight: float) -> str:
    """A variant with another weight."""
    agent = VARIANTS[variant]
    return f"{agent}{',' if ':' in agent else ':'}info_weight={weight:g}"


def blocks(scale: Scale) -> list[Block]:
    """Both variants at every weight."""
    agents = tuple(with_weight(variant, weight) for variant in CHOSEN for weight in WEIGHTS)
    return [Block((f"deepsea:{N}",), agents, scale.steps, tuple(range(scale.trace_seeds)))]


def needs(scale: Scale) -> list[Block]:
    """Runs of the grid, and traced runs for the theorem's lambda."""
    return [*blocks(scale), *rates.blocks(scale)]


def theory_weights(source: Source, variant: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The theorem's lambda of every traced run."""
    return np.array([one.theory_weight for one in source.traces(rates.blocks(source.scale), VARIANTS[variant])])


def data(source: Source) -> Tables:
    """Regret against weight, and the theorem's weight: agent, x, mean, low, high."""
    rows, lines = [], []
    for variant in CHOSEN:
        fixed = {"agent": VARIANTS[variant], "panel": f"DeepSea {N}"}
        for weight in WEIGHTS:
            mean, low, high = mean_interval(source.regret(blocks(source.scale), with_weight(variant, weight)))
            rows.append({**fixed, "x": weight, "mean": mean, "low": low, "high": high})
        mean, low, high = mean_interval(theory_weights(source, variant))
        lines.append({**fixed, "mean": mean, "low": low, "high": high})
    return {"regret": pd.DataFrame(rows), "theory": pd.DataFrame(lines)}


def draw(axes: Axes, regret: pd.DataFrame, theory: pd.DataFrame) -> None:
    """Regret against the weight, the theorem's weight as a vertical band."""
    for agent, rows in regret.groupby("agent", sort=False):
        style: dict[str, Any] = {"color": looks.colour(str(agent)), "linestyle": looks.line(str(agent))}
        errors = np.array([rows["mean"] - rows["low"], rows["high"] - rows["mean"]])
        axes.errorbar(
            rows["x"], rows["mean"], yerr=errors, marker="o", capsize=3, label=looks.label(str(agent)), **style
        )
        line = theory[theory["agent"] == agent].iloc[0]
        name = f"the theorem's weight, {looks.label(str(agent)).removeprefix('STEERING, ')}"
        axes.axvline(line["mean"], color="#555555", linestyle=style["linestyle"], linewidth=1.2, label=name)
        axes.axvspan(line["low"], line["high"], color="#555555", alpha=0.12, linewidth=0)
    axes.set_xscale("log")
    axes.set_xlabel("weight of the Stein information, lambda")
    axes.set_ylabel("regret / oracle's total reward")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """One panel."""
    figure = new_figure(7.2, 5.2)
    axes = figure.add_subplot()
    draw(axes, tables["regret"], tables["theory"])
    size = scale.remark(scale.trace_seeds)
    axes.set_title(f"DeepSea {N} ({size}; bars and bands: 95 % bootstrap of the mean)", fontsize="medium")
    return {"weight": figure}


def charts(tables: Tables) -> list[Chart]:
    """Regret against the weight, interactive."""
    chart = panels.chart(tables["regret"], TITLE, xlabel="weight lambda", ylabel="regret / oracle's reward", log="x")
    for panel in chart["panels"]:
        panel["lines"] = [
            {"x": float(row["mean"]), "name": f"theorem's weight, {looks.label(str(row['agent']))}"}
            for _, row in tables["theory"].iterrows()
        ]
    return [chart]


CHAPTER = Chapter(
    name="weight",
    title=TITLE,
    paper="Theorem 4.6; hyperparameters",
    text="Regret for a grid of weights, and the weight that the theorem prescribes (it is known only after a run).",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: weight_claims(
        WEIGHTS,
        {v: [source.regret(blocks(source.scale), with_weight(v, w)) for w in WEIGHTS] for v in CHOSEN},
        {variant: theory_weights(source, variant) for variant in CHOSEN},
    ),
)
