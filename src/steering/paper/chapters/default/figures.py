"""The two figures of the study: how often better, tied or worse; and the scores in every task."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.paper.chapters.default.details import with_labels
from steering.paper.chapters.default.stages import CONF, MINE, SINGLE, TUNED
from steering.paper.tables import Tables
from steering.runs.drawing import new_figure
from steering.runs.style import LABELS, colour

SHADES = {"better": "#0072B2", "tied": "#CCCCCC", "worse": "#D55E00"}
TITLES = {SINGLE: "each rival at its one best setting", TUNED: "each rival tuned in every task"}
LEAST = 1e-3


def figures(tables: Tables) -> Mapping[str, Figure]:
    """Both figures; none without a confirmation."""
    study = with_labels(tables["study"])
    conf = study[study["stage"] == CONF]
    if conf.empty:
        return {}
    return {"study_verdicts": draw_verdicts(conf), "study_tasks": draw_tasks(conf)}


def draw_verdicts(conf: pd.DataFrame) -> Figure:
    """A bar for each rival, divided into tasks in which ours is better, tied and worse."""
    single = conf[conf["how"] == SINGLE]
    order = single.groupby("rival")["score"].mean().sort_values().index
    figure = new_figure(9.0, 1.2 + 0.26 * len(order))
    axes = figure.subplots(1, 2, sharey=True)
    for one, (how, title) in zip(axes, TITLES.items(), strict=True):
        _bars(one, conf[conf["how"] == how], list(order), title)
    axes[0].set_yticks(range(len(order)), [LABELS.get(name, name) for name in order])
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("STEERING's default, one setting, in tasks that it was not made on", fontsize="medium")
    return figure


def _bars(axes: Axes, part: pd.DataFrame, order: list[str], title: str) -> None:
    left = np.zeros(len(order))
    for name, shade in SHADES.items():
        counts = part[part["verdict"] == name]["rival"].value_counts()
        width = np.array([float(counts.get(rival, 0)) for rival in order])
        axes.barh(range(len(order)), width, left=left, color=shade, label=f"the default is {name}")
        left += width
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("confirmation tasks")
    axes.spines[["top", "right"]].set_visible(False)


def draw_tasks(conf: pd.DataFrame) -> Figure:
    """One line for each task, one point for each rival at its one setting, ours on top."""
    tasks = list(dict.fromkeys(conf["task"]))
    figure = new_figure(9.0, 1.4 + 0.26 * len(tasks))
    axes = figure.add_subplot()
    shown = conf[conf["how"].isin((SINGLE, MINE))]
    for (how, rival), part in shown.groupby(["how", "rival"], sort=True):
        ours = how == MINE
        axes.plot(
            np.maximum(part["score"], LEAST),
            [tasks.index(task) for task in part["task"]],
            linestyle="none",
            marker="D" if ours else "o",
            markersize=8 if ours else 4,
            color=colour(str(rival)),
            markerfacecolor=colour(str(rival)) if ours else "none",
            label=f"{LABELS.get(str(rival), rival)}{' (default)' if ours else ''}",
            zorder=3 if ours else 2,
        )
    axes.axvline(0.5, color="black", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel(f"score, mean over runs (below {LEAST} drawn there; 0 is optimal, 1 as bad as random)")
    axes.set_yticks(range(len(tasks)), tasks)
    axes.invert_yaxis()
    axes.grid(axis="both", color="#DDDDDD", linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return figure
