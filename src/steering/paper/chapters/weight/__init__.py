"""The weight lambda of the regularised objective: regret against it, and the theorem's own (Theorem 4.6).

The theorem gives lambda = sqrt(K Gamma* / sum_k K_k), which is known after a run only; the paper's experiments use 0.5.
Every STEERING is run on a grid of weights around the fixed point, where the weight of a run is the theorem's lambda of
that run (see `claims`), and with the ratio objective, which needs no weight. All on DeepSea 8.

The proof of theorem 4.6 gives K Gamma / (2 lambda) + lambda sum K_k, which at the printed lambda is 3/2 times the bound
of theorem 4.1 rather than sqrt(3/2); its minimum, at lambda / sqrt(2), is sqrt(2) times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.weight.claims import claims, runs_by_variant
from steering.paper.charts import Chart, chart, with_bars
from steering.paper.scale import VARIANTS, Block, Scale, traced, with_options
from steering.paper.source import Source
from steering.paper.tables import Tables, per_run, point
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


def with_weight(variant: str, weight: float) -> str:
    """A variant with another weight."""
    return with_options(VARIANTS[variant], info_weight=f"{weight:g}")


def with_ratio(variant: str) -> str:
    """A variant with the ratio objective."""
    return with_options(VARIANTS[variant], objective="ratio")


def blocks(scale: Scale) -> list[Block]:
    """All variants at every weight, with diagnostics."""
    agents = tuple(with_weight(variant, weight) for variant, weights in WEIGHTS.items() for weight in weights)
    return [traced(f"deepsea:{N}", agents, scale.steps, tuple(range(scale.trace_seeds)))]


def ratio_blocks(scale: Scale) -> list[Block]:
    """All variants with the ratio objective."""
    agents = tuple(with_ratio(variant) for variant in VARIANTS)
    return [Block((f"deepsea:{N}",), agents, scale.steps, tuple(range(scale.trace_seeds)))]


def data(source: Source, scale: Scale) -> Tables:
    """Every run (x is its weight); regret against weight; the theorem's weight, NaN where it is off the grid."""
    runs, ratio, rows, lines = [], [], [], []
    for variant, weights in WEIGHTS.items():
        for weight in weights:
            agent = with_weight(variant, weight)
            traces = source.traces(blocks(scale), agent)
            regret = source.regret(blocks(scale), agent)
            runs.append(
                per_run(
                    {"variant": variant, "x": weight},
                    regret=regret,
                    theory=[one.theory_weight for one in traces],
                    excess=[np.log10(max(float(one.value_gap.sum()), LEAST) / one.bound) for one in traces],
                )
            )
            rows.append(point({"agent": VARIANTS[variant], "panel": f"DeepSea {N}"}, weight, regret))
        ratio.append(per_run({"variant": variant}, regret=source.regret(ratio_blocks(scale), with_ratio(variant))))
    tables = {"runs": pd.concat(runs, ignore_index=True), "ratio": pd.concat(ratio, ignore_index=True)}
    for variant, found in runs_by_variant(tables).items():
        points = found.fixed_points()
        interval = mean_interval(points) if np.isfinite(points).all() else (np.nan,) * 3
        lines.append({"agent": VARIANTS[variant], **dict(zip(("mean", "low", "high"), interval, strict=True))})
    return {**tables, "regret": pd.DataFrame(rows), "theory": pd.DataFrame(lines)}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Regret against the weight; the theorem's weights are vertical lines with a legend."""
    size = scale.remark(scale.trace_seeds)
    height = "regret / oracle's total reward"
    one = chart(tables["regret"], TITLE, xlabel="weight lambda", ylabel=height, size=size, log="x")
    for panel in one["panels"]:
        panel["series"] = with_bars(panel["series"])
        panel["lines"] = [_line(row) for row in tables["theory"].dropna(subset="mean").to_dict("records")]
    return [one]


def _line(row: dict[Any, Any]) -> dict[str, Any]:
    name = f"the theorem's weight, {looks.label(row['agent']).removeprefix('STEERING, ')}"
    known = {"name": name, "colour": looks.INK, "dash": looks.dash(row["agent"])}
    return {**known, "x": row["mean"], "low": row["low"], "high": row["high"]}


CHAPTER = Chapter(
    name="weight",
    title=TITLE,
    paper="Theorem 4.6; hyperparameters",
    text="Regret for a grid of weights. The vertical lines are where the weight of a run is the one that the theorem "
    "prescribes for it (which is known only after the run).",
    needs=lambda scale: [*blocks(scale), *ratio_blocks(scale)],
    data=data,
    charts=charts,
    claims=claims,
    topic=Topic.THEORY,
)
