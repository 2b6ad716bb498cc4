"""The weight lambda of the regularised objective: regret against it, and the theorem's own (Theorem 4.6).

The theorem gives lambda = sqrt(K Gamma* / sum_k K_k), which is known after a run only; the paper's experiments use 0.5.
Every STEERING is run on a grid of weights around the fixed point, where the weight of a run is the theorem's lambda of
that run (see `claims.weight`), and with the ratio objective, which needs no weight. All on DeepSea 8.

The proof of theorem 4.6 gives K Gamma / (2 lambda) + lambda sum K_k, which at the printed lambda is 3/2 times the bound
of theorem 4.1 rather than sqrt(3/2); its minimum, at lambda / sqrt(2), is sqrt(2) times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.paper import looks, panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.weight import WeightRuns, weight_claims
from steering.paper.scale import VARIANTS, Block, Scale, traced
from steering.paper.source import Source
from steering.runs.drawing import new_figure
from steering.runs.statistics import mean_interval

N = 8
WEIGHTS = {
    "default": (0.1, 0.5, 2.5, 8.0, 16.0, 32.0),
    "sound": (0.1, 0.5, 2.0, 4.0, 12.5),
    "literal": (0.001, 0.01, 0.03, 0.1, 0.5),
}
"""Weights that are run: from below the one in use to above the theorem's."""
LEAST = 1e-12
"""No sum of value gaps is counted as less than this, so that it has a logarithm."""
TITLE = "Theory: the weight of the information"


def with_option(variant: str, option: str) -> str:
    """A variant with one more option."""
    agent = VARIANTS[variant]
    return f"{agent}{',' if ':' in agent else ':'}{option}"


def with_weight(variant: str, weight: float) -> str:
    """A variant with another weight."""
    return with_option(variant, f"info_weight={weight:g}")


def blocks(scale: Scale) -> list[Block]:
    """All variants at every weight, with diagnostics."""
    agents = tuple(with_weight(variant, weight) for variant, weights in WEIGHTS.items() for weight in weights)
    return [traced(f"deepsea:{N}", agents, scale.steps, tuple(range(scale.trace_seeds)))]


def ratio_blocks(scale: Scale) -> list[Block]:
    """All variants with the ratio objective."""
    agents = tuple(with_option(variant, "objective=ratio") for variant in VARIANTS)
    return [Block((f"deepsea:{N}",), agents, scale.steps, tuple(range(scale.trace_seeds)))]


def needs(scale: Scale) -> list[Block]:
    """The grid and the ratio."""
    return [*blocks(scale), *ratio_blocks(scale)]


def runs(source: Source, variant: str) -> WeightRuns:
    """What the runs of one variant gave, at each of its weights."""
    part = blocks(source.scale)
    agents = [with_weight(variant, weight) for weight in WEIGHTS[variant]]
    traces = [source.traces(part, agent) for agent in agents]
    excess = [[np.log10(max(float(one.value_gap.sum()), LEAST) / one.bound) for one in row] for row in traces]
    return WeightRuns(
        weights=np.array(WEIGHTS[variant]),
        regret=np.array([source.regret(part, agent) for agent in agents]),
        theory=np.array([[one.theory_weight for one in row] for row in traces]),
        excess=np.array(excess),
        ratio=source.regret(ratio_blocks(source.scale), with_option(variant, "objective=ratio")),
    )


def data(source: Source) -> Tables:
    """Regret against weight; the theorem's weight and the regret of the ratio, NaN where the weight is off the grid."""
    rows, lines = [], []
    for variant, agent in VARIANTS.items():
        found = runs(source, variant)
        fixed: dict[str, Any] = {"agent": agent, "panel": f"DeepSea {N}"}
        for weight, scores in zip(found.weights, found.regret, strict=True):
            mean, low, high = mean_interval(scores)
            rows.append({**fixed, "x": weight, "mean": mean, "low": low, "high": high})
        points = found.fixed_points()
        mean, low, high = mean_interval(points) if np.isfinite(points).all() else (np.nan,) * 3
        ratio = dict(zip(("ratio_mean", "ratio_low", "ratio_high"), mean_interval(found.ratio), strict=True))
        lines.append({**fixed, "mean": mean, "low": low, "high": high, **ratio})
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
        if not np.isfinite(line["mean"]):
            continue
        axes.axvline(
            line["mean"], color="#555555", linestyle=style["linestyle"], linewidth=1.2, label=_name(str(agent))
        )
        if np.isfinite(line["low"]):
            axes.axvspan(line["low"], line["high"], color="#555555", alpha=0.12, linewidth=0)
    axes.set_xscale("log")
    axes.set_xlabel("weight of the Stein information, lambda")
    axes.set_ylabel("regret / oracle's total reward")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def _name(agent: str) -> str:
    return f"the theorem's weight, {looks.label(agent).removeprefix('STEERING, ')}"


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """One panel."""
    figure = new_figure(7.2, 5.2)
    axes = figure.add_subplot()
    draw(axes, tables["regret"], tables["theory"])
    size = scale.remark(scale.trace_seeds)
    axes.set_title(f"DeepSea {N} ({size}; bars and bands: 95 % interval of the mean)", fontsize="medium")
    return {"weight": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Regret against the weight, interactive; the theorem's weights are vertical lines with a legend."""
    size = scale.remark(scale.trace_seeds)
    height = "regret / oracle's reward"
    chart = panels.chart(tables["regret"], TITLE, xlabel="weight lambda", ylabel=height, size=size, log="x")
    for panel in chart["panels"]:
        panel["lines"] = [
            {
                "name": _name(str(row["agent"])),
                "colour": looks.INK,
                "dash": looks.dash(str(row["agent"])),
                **dict(zip(("x", "low", "high"), panels.short([row["mean"], row["low"], row["high"]]), strict=True)),
            }
            for _, row in tables["theory"].dropna(subset="mean").iterrows()
        ]
    return [chart]


CHAPTER = Chapter(
    name="weight",
    title=TITLE,
    paper="Theorem 4.6; hyperparameters",
    text="Regret for a grid of weights. The vertical lines are where the weight of a run is the one that the theorem "
    "prescribes for it (which is known only after the run).",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: weight_claims({variant: runs(source, variant) for variant in VARIANTS}),
)
