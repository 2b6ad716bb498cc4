"""Tables and figures of a study, from the scores and the verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from steering._files import write_atomically
from steering.paper.studies.design import OURS, Design
from steering.paper.studies.verdicts import VERDICTS
from steering.runs.drawing import new_figure, save_figure
from steering.runs.statistics import Interval, interval_of_mean
from steering.runs.style import LABELS, colour

MARKS = {"better": "+", "tied": "=", "worse": "-", "too few": "?"}
DIGITS = {"ours": 4, "theirs": 4, "difference": 4, "low": 4, "high": 4, "p_lower": 2}
MARKERS = {"": "o", "learned": "s", "ratio": "^", "paper-sound": "D", "paper": "x"}


def write_study(design: Design, finals: pd.DataFrame, table: pd.DataFrame, directory: str | Path) -> list[Path]:
    """Write study.csv, study.md and the two figures; returns their paths."""
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    files = {"study.csv": table.round(DIGITS).to_csv(index=False), "study.md": markdown(design, finals, table)}
    for name, text in files.items():
        write_atomically(target / name, text.encode())
    paths = [target / name for name in files]
    paths.append(save_figure(draw_cells(cells_data(design, finals)), target / "study_cells.png"))
    sizes = sizes_data(finals)
    if len(sizes):
        paths.append(save_figure(draw_sizes(sizes), target / "study_deepsea.png"))
    return paths


def markdown(design: Design, finals: pd.DataFrame, table: pd.DataFrame) -> str:
    """The matrix of cells and families, the count of verdicts, and every cell where ours is worse."""
    parts = [_matrix(design, finals, table), _counts(table), _worse(table)]
    return "\n\n".join(parts) + "\n"


def _matrix(design: Design, finals: pd.DataFrame, table: pd.DataFrame) -> str:
    others = [one.name for one in design.families if one.name in set(table["family"])]
    rows = ["| cell | pairs | " + " | ".join(["ours, 95 % interval", *others]) + " |", "|---" * (len(others) + 3) + "|"]
    known = {(row["cell"], row["family"]): row for row in table.to_dict("records")}
    for cell in design.cells:
        mine = interval(finals[(finals["cell"] == cell.name) & (finals["family"] == OURS)])
        ends = f" ({_number(mine.low)} to {_number(mine.high)})" if np.isfinite(mine.low) else ""
        shown = [_pairs(table, cell.name), f"**{_number(mine.mean)}**{ends}"]
        for family in others:
            one = known.get((cell.name, family))
            shown.append(f"{_number(one['theirs'])} {MARKS[one['verdict']]}" if one else "")
        star = "" if cell.developed else " *"
        rows.append(f"| {cell.name}{star} | " + " | ".join(shown) + " |")
    return "\n".join(rows)


def interval(part: pd.DataFrame, level: float = 0.95) -> Interval:
    """Mean score of some runs with its interval, of the kind that verdicts rest on."""
    strata = [one["score"].to_numpy(dtype=np.float64) for _, one in part.groupby("environment")]
    return interval_of_mean(strata, level)


def _pairs(table: pd.DataFrame, cell: str) -> str:
    """Number of pairs of each comparison of a cell, as 30, or 6 to 30 where they differ."""
    counts = table[table["cell"] == cell]["pairs"]
    least, most = int(counts.min()), int(counts.max())
    return str(least) if least == most else f"{least} to {most}"


def _counts(table: pd.DataFrame) -> str:
    shown = [one for one in VERDICTS if one in VERDICTS[:3] or (table["verdict"] == one).any()]
    rows = ["| " + " | ".join(["compared with", "cells", "pairs", *shown]) + " |", "|---" * (len(shown) + 3) + "|"]
    for family, part in table.groupby("family", sort=False):
        counts = part["verdict"].value_counts()
        numbers = [len(part), int(part["pairs"].sum()), *(counts.get(one, 0) for one in shown)]
        rows.append(f"| {family} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join(rows)


def _worse(table: pd.DataFrame) -> str:
    worse = table[table["verdict"] == "worse"]
    if worse.empty:
        return "Nowhere worse."
    names = ["worse in", "than", "setting", "pairs", "ours", "theirs", "difference, 99 % interval"]
    rows = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for _, one in worse.iterrows():
        gap = f"{one['difference']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        who = [one["cell"], one["family"], f"`{one['setting']}`", str(one["pairs"])]
        rows.append("| " + " | ".join([*who, _number(one["ours"]), _number(one["theirs"]), gap]) + " |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def cells_data(design: Design, finals: pd.DataFrame) -> pd.DataFrame:
    """Mean score of every family in every cell with normalised scores, in the order of the design."""
    kept = finals[finals["normalised"]]
    table = kept.groupby(["cell", "family"], sort=False)["score"].mean().reset_index()
    order = {cell.name: i for i, cell in enumerate(design.cells)}
    table["order"] = table["cell"].map(order)
    return table.sort_values(["order", "family"], ignore_index=True)


def draw_cells(data: pd.DataFrame) -> Figure:
    """One line for each cell, one point for each family."""
    cells = list(dict.fromkeys(data["cell"]))
    figure = new_figure(8.0, 1.4 + 0.24 * len(cells))
    axes = figure.add_subplot()
    for family, part in data.groupby("family", sort=True):
        ours = family == OURS
        axes.plot(
            np.maximum(part["score"], 1e-3),
            [cells.index(cell) for cell in part["cell"]],
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
    axes.set_yticks(range(len(cells)), cells)
    axes.invert_yaxis()
    axes.grid(axis="both", color="#DDDDDD", linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return figure


def sizes_data(finals: pd.DataFrame) -> pd.DataFrame:
    """Mean and 95 % interval on DeepSea without a changed prior, by size and family."""
    rows = []
    for (cell, family), part in finals.groupby(["cell", "family"], sort=False):
        words = str(cell).split()
        if words[0] == "DeepSea" and len(words) == 2 and words[1].isdigit():
            one = interval(part)
            rows.append({"size": int(words[1]), "family": family, "mean": one.mean, "low": one.low, "high": one.high})
    return pd.DataFrame(rows)


def draw_sizes(data: pd.DataFrame) -> Figure:
    """Regret against the size of DeepSea."""
    figure = new_figure(8.0, 4.6)
    axes = figure.add_subplot()
    for family, part in data.groupby("family", sort=False):
        name = str(family)
        shade, wide = colour(_agent(name)), 2.4 if name == OURS else 1.2
        axes.plot(part["size"], part["mean"], label=_label(name), linewidth=wide, color=shade, marker=_marker(name))
        axes.fill_between(part["size"], part["low"], part["high"], color=shade, alpha=0.12, linewidth=0)
    axes.set_xlabel("N, states of DeepSea")
    axes.set_ylabel("regret / oracle's reward")
    axes.set_ylim(bottom=0)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small", title="band: 95 % interval"
    )
    return figure


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
