"""The first theorem's inequality, the information ratio and the information gain, on every run.

    Theorem 4.1    sum_k (V* - V_k)  <=  sqrt(Gamma* K sum_k K_k),        Gamma* the largest ratio of the run
    Lemma 4.3 (1)  E[Gamma_k]  <=  S A H^3
    Lemma 4.3 (2)  sum_k E[K_k]  <=  H S^2 A log K
    Corollary 4.5  sum_k E[K_k]  <=  H S A log K,                         under more assumptions

The left side of the theorem is the true value gap, which no agent knows. In the continuing setting H is the effective
horizon 1 / (1 - gamma) = 10. Theorem 4.6 is about runs at its own weight: see the chapter `weight`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from steering.envs import make_env
from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.bounds.claims import claims
from steering.paper.charts import Chart, chart, reference, series
from steering.paper.scale import VARIANTS, Block, Scale, prior_environment, traced
from steering.paper.source import Source, Trace
from steering.paper.tables import Tables
from steering.runs.drawing import new_figure

MARKERS = {"DeepSea 8, continuing": "o", "DeepSea 8, episodes of 16": "s", "PriorMDP 4 x 2, episodes of 5": "^"}
SHAPES = {"o": "circle", "s": "square", "^": "triangle"}
EPISODES = 100
TITLE = "Theory: the inequalities, run by run"


def blocks(scale: Scale) -> dict[str, list[Block]]:
    """Runs of all variants by setting; PriorMDP is a new MDP for every seed."""
    agents, seeds = tuple(VARIANTS.values()), tuple(range(scale.trace_seeds))
    names = list(MARKERS)
    priors = [traced(prior_environment(4, 2, 5, i), agents, min(scale.steps, EPISODES * 5), (i,)) for i in seeds]
    return {
        names[0]: [traced("deepsea:8", agents, scale.steps, seeds)],
        names[1]: [traced("deepsea:8,horizon=16", agents, min(scale.steps, EPISODES * 16), seeds)],
        names[2]: priors,
    }


def data(source: Source, scale: Scale) -> Tables:
    """One row for each run: both sides of the inequality, ratios and gains with their bounds, and lambda."""
    rows = []
    for variant, agent in VARIANTS.items():
        for name, part in blocks(scale).items():
            env = make_env(part[0].environments[0])
            size = env.n_states, env.n_actions, float(env.horizon or 1.0 / (1.0 - env.discount))
            for run, trace in enumerate(source.traces(part, agent)):
                rows.append({"variant": variant, "setting": name, "run": run, **_row(trace, *size)})
    return {"runs": pd.DataFrame(rows)}


def _row(trace: Trace, S: int, A: int, H: float) -> dict[str, float]:
    gap, ratio, plans = trace.value_gap, trace.ratio, trace.plans
    total = float(trace.gain.sum())
    return {
        "plans": plans,
        "regret": float(gap.sum()),
        "bound": trace.bound,
        "ratio_max": float(ratio.max()),
        "ratio_bound": S * A * H**3,
        "gain": total,
        "gain_bound": H * S**2 * A * float(np.log(max(plans, 2))),
        "gain_bound_improved": H * S * A * float(np.log(max(plans, 2))),
        "info_weight": float(trace.info_weight.mean()),
        "theory_weight": trace.theory_weight,
    }


PAIRS = {
    "Theorem 4.1: regret and its bound": ("regret", "bound", "sum of true value gaps"),
    "Lemma 4.3: information ratio": ("ratio_max", "ratio_bound", "largest information ratio of the run"),
    "Lemma 4.3: total information": ("gain", "gain_bound", "total Stein information gain"),
}


def draw(axes: Axes, table: pd.DataFrame, value: str, bound: str) -> None:
    """Every run as a point; points below the diagonal fulfil the bound."""
    for (variant, setting), rows in table.groupby(["variant", "setting"], sort=False):
        style: dict[str, Any] = {"color": looks.SHADES[str(variant)], "marker": MARKERS[str(setting)]}
        axes.scatter(rows[bound], np.maximum(rows[value], 1e-6), s=26, alpha=0.7, linewidths=0, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = float(table[bound].min()), float(table[bound].max())
    # At least a decade, so that a power of ten is in sight; only those are named.
    pad = max(1.6, np.sqrt(10.5 * low / high))
    low, high = low / pad, high * pad
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.plot([low, high], [low, high], color="black", linestyle=":", linewidth=1)
    # Limits from the points, not from the line; but the line stays in sight where all points are far below it.
    axes.set_xlim(low, high)
    values = np.maximum(table[value], 1e-6)
    axes.set_ylim(float(values.min()) / 1.6, 2 * max(float(values.max()), float(table[bound].min())))
    axes.grid(alpha=0.25)


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Three panels with one legend."""
    figure = new_figure(12.0, 4.9)
    grid = figure.subplots(1, len(PAIRS))
    for axes, (title, (value, bound, name)) in zip(grid, PAIRS.items(), strict=True):
        draw(axes, tables["runs"], value, bound)
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("bound")
        axes.set_ylabel(name)
    for variant, colour in looks.SHADES.items():
        grid[0].plot([], [], color=colour, linewidth=4, label=looks.label(VARIANTS[variant]))
    for setting, marker in MARKERS.items():
        grid[0].scatter([], [], color="#555555", marker=marker, label=setting)
    grid[0].plot([], [], color="black", linestyle=":", label="equality")
    title = f"Both sides of the bounds; a point is a run ({scale.remark(scale.trace_seeds)}; no bands)"
    figure.suptitle(title, fontsize="medium")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return {"bounds": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same, with the variants to switch on and off; markers are the settings."""
    table = tables["runs"]
    words = ", ".join(f"{SHAPES[marker]}: {setting}" for setting, marker in MARKERS.items())
    note = f"A point is a run ({words}); below the dotted line the bound holds"
    one = chart(None, TITLE, xlabel="bound", size=scale.remark(scale.trace_seeds), band="", log="xy", note=note)
    for title, (value, bound, name) in PAIRS.items():
        lines = [
            series(
                looks.label(VARIANTS[str(variant)]),
                pd.DataFrame({"x": rows[bound], "mean": np.maximum(rows[value], 1e-6)}),
                looks.SHADES[str(variant)],
                marker=MARKERS[str(setting)],
                points=True,
            )
            for (variant, setting), rows in table.groupby(["variant", "setting"], sort=False)
        ]
        ends = [float(table[bound].min()), float(table[bound].max())]
        one["panels"].append({"title": title, "series": [*lines, reference("equality", ends, ends)], "ylabel": name})
    return [one]


CHAPTER = Chapter(
    name="bounds",
    title=TITLE,
    paper="Theorem 4.1, Lemma 4.3, Corollary 4.5",
    text="A point below the dotted line is a run on which the bound holds. The bounds are far from tight.",
    needs=lambda scale: [block for part in blocks(scale).values() for block in part],
    data=data,
    draw=figures,
    charts=charts,
    claims=claims,
    topic=Topic.THEORY,
)
