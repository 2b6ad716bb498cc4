"""Tables and figures of the study, from the scores and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from steering.paper.chapters.default.design import OURS
from steering.paper.charts import chart, series
from steering.paper.drawing import sheet
from steering.paper.fits import Effect, strata_effect
from steering.paper.report.text import markdown_table
from steering.paper.rule import STANDINGS
from steering.paper.tables import groups
from steering.runs.drawing import new_figure
from steering.runs.style import LABELS, colour

MARKS = {"better": "+", "tied": "=", "worse": "-", "too few": "?"}
MARKERS = {"": "o", "learned": "s", "ratio": "^", "paper-sound": "D", "paper": "x"}


def markdown(finals: pd.DataFrame, table: pd.DataFrame) -> str:
    """The matrix of tasks and families, the count of verdicts, and every task where ours is worse."""
    return "\n\n".join([_matrix(finals, table), _counts(table), _worse(table)]) + "\n"


def summary(table: pd.DataFrame) -> list[str]:
    """How many comparisons got which verdict."""
    counts = table["verdict"].value_counts()
    return [f"{one}: {counts.get(one, 0)} of {len(table)} comparisons" for one in STANDINGS]


def _matrix(finals: pd.DataFrame, table: pd.DataFrame) -> str:
    others = [name for name in dict.fromkeys(finals["family"]) if name != OURS]
    known = {(row["task"], row["family"]): row for row in table.to_dict("records")}
    rows = []
    for task, part in finals.groupby("task", sort=False):
        mine = interval(part[part["family"] == OURS])
        counts = table[table["task"] == task]["pairs"]
        pairs = f"{counts.min()} to {counts.max()}" if counts.min() < counts.max() else str(counts.min())
        star = "" if part["developed"].all() else " *"
        ends = f" ({_number(mine.low)} to {_number(mine.high)})" if mine.known else ""
        shown = [f"{task}{star}", pairs, f"**{_number(mine.value)}**{ends}"]
        for family in others:
            one = known.get((task, family))
            shown.append(f"{_number(one['theirs'])} {MARKS[one['verdict']]}" if one else "")
        rows.append(shown)
    return markdown_table(["task", "pairs", "ours, 95 % interval", *others], rows)


def interval(part: pd.DataFrame) -> Effect:
    """Mean score of some runs with its 95 % interval, of the kind that verdicts rest on."""
    return strata_effect([one["score"].to_numpy(dtype=np.float64) for _, one in part.groupby("environment")])


def _counts(table: pd.DataFrame) -> str:
    shown = [one for one in STANDINGS if one in STANDINGS[:3] or (table["verdict"] == one).any()]
    rows = []
    for family, part in table.groupby("family", sort=False):
        counts = part["verdict"].value_counts()
        rows.append([family, len(part), part["pairs"].sum(), *(counts.get(one, 0) for one in shown)])
    return markdown_table(["compared with", "tasks", "pairs", *shown], rows)


def _worse(table: pd.DataFrame) -> str:
    rows = []
    for one in table[table["verdict"] == "worse"].to_dict("records"):
        gap = f"{one['difference']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        who = [one["task"], one["family"], f"`{one['setting']}`", one["pairs"]]
        rows.append([*who, _number(one["ours"]), _number(one["theirs"]), gap])
    names = ["worse in", "than", "setting", "pairs", "ours", "theirs", "difference, 99 % interval"]
    return markdown_table(names, rows) if rows else "Nowhere worse."


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def figures(finals: pd.DataFrame) -> Mapping[str, Figure]:
    """Every task, and regret against the size of DeepSea."""
    sizes = sizes_data(finals)
    drawn = {"study_tasks": draw_tasks(tasks_data(finals))}
    return {**drawn, "study_deepsea": draw_sizes(sizes)} if len(sizes) else drawn


def tasks_data(finals: pd.DataFrame) -> pd.DataFrame:
    """Mean score of every family in every task with normalised scores, in the order of the tasks."""
    kept = finals[finals["normalised"]]
    return kept.groupby(["task", "family"], sort=False)["score"].mean().reset_index()


def draw_tasks(data: pd.DataFrame) -> Figure:
    """One line for each task, one point for each family."""
    tasks = list(dict.fromkeys(data["task"]))
    figure = new_figure(8.0, 1.4 + 0.24 * len(tasks))
    axes = figure.add_subplot()
    for family, part in data.groupby("family", sort=True):
        ours = family == OURS
        axes.plot(
            np.maximum(part["score"], 1e-3),
            [tasks.index(task) for task in part["task"]],
            linestyle="none",
            marker=_marker(str(family)),
            markersize=8 if ours else 5,
            color=colour(_agent(str(family))),
            markerfacecolor=colour(_agent(str(family))) if ours else "none",
            label=_label(str(family)),
            zorder=3 if ours else 2,
        )
    axes.set_xscale("log")
    axes.set_xlabel("regret / oracle's reward, mean over seeds (below 0.001 drawn at 0.001; less is better)")
    axes.set_yticks(range(len(tasks)), tasks)
    axes.invert_yaxis()
    axes.grid(axis="both", color="#DDDDDD", linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return figure


def sizes_data(finals: pd.DataFrame) -> pd.DataFrame:
    """Mean and 95 % interval on DeepSea without a changed prior, by size and family."""
    rows = []
    for (task, family), part in finals.groupby(["task", "family"], sort=False):
        words = str(task).split()
        if words[0] == "DeepSea" and len(words) == 2 and words[1].isdigit():
            one = interval(part)
            rows.append({"x": int(words[1]), "family": family, "mean": one.value, "low": one.low, "high": one.high})
    return pd.DataFrame(rows)


def draw_sizes(data: pd.DataFrame) -> Figure:
    """Regret against the size of DeepSea."""
    made = chart(None, "DeepSea", xlabel="N, states of DeepSea", ylabel="regret / oracle's reward", size="")
    lines = [
        series(_label(name), rows, colour(_agent(name)), width=2.4 if name == OURS else 1.2, marker=_marker(name))
        for name, rows in groups(data, "family").items()
    ]
    made["panels"] = [{"title": "", "series": lines}]
    return sheet(made, title="Regret against the size of DeepSea (band: 95 % interval)")


def _agent(family: str) -> str:
    return family.partition(",")[0].partition(" ")[0]


def _marker(family: str) -> str:
    return MARKERS.get(family.partition(", ")[2], "o")


def _label(family: str) -> str:
    name, _, rest = family.partition(", ")
    shown = LABELS.get(name, name)
    if family == OURS:
        return f"{shown} (default)"
    return f"{shown}, {rest}" if rest else shown
