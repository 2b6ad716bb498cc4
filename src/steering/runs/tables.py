"""What one run, a comparison and a results directory have in common: a table, a summary, a figure and a short text.

Each gives one row for each run (`table`) and the curves of these runs (`curves`); the rest is made of the two, here and
in `figure`. Measures of a run, the first one that every row has being the headline:

    normalised_regret   regret / oracle's expected total reward,
    score               regret / (oracle's - uniformly random policy's expected total reward): 0 is optimal, 1 as bad
                        as random; costs and rewards alike,
    realised_regret     in units of reward,
    reward              where the MDP is not known.

A run has *failed* when its score is above 0.5: it lost more than half of what there was to gain over random.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from steering._files import refusing_places
from steering._types import Ints
from steering.runs.statistics import BAND, mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "normalised_regret": "cumulative regret / oracle's total reward",
    "score": "score: cumulative regret / (optimal - random)",
    "realised_regret": "cumulative regret (reward units)",
    "reward": "cumulative reward",
}
UNITS = {"normalised_regret": "oracle_total", "score": "random_gap"}
"""Columns by which regret is divided; what has a unit can be pooled over environments."""

MEANS = (
    "score",
    "failed",
    "reward",
    "realised_regret",
    "expected_regret",
    "normalised_regret",
    "normalised_expected_regret",
)
FAILED = 0.5
"""Score above which a run has failed."""

SHOWN = ("environment", "agent", "seeds", "mean", "low", "high", "score", "failed", "reward")
POINTS = 200
MOST_ROWS = 20


class Tabled(ABC):
    """Something with runs of agents on environments: one row each in `table`, several each in `curves`."""

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """One row for each run."""

    @property
    @abstractmethod
    def curves(self) -> pd.DataFrame:
        """Cumulative reward and regret of the runs: columns cell (row of `table`), environment, agent, steps, step."""

    @abstractmethod
    def __repr__(self) -> str:
        """One to three lines."""

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the curves, a panel for each environment: mean over seeds and its 95 % interval.

        Parameters
        ----------
        path
            File to write as well; its ending says the format (png, svg, pdf).
        """
        from steering.runs import figure
        from steering.runs.drawing import save_figure

        sheet = figure.figure(figure.data(self))
        if path is not None:
            with refusing_places(path):
                save_figure(sheet, path)
        return sheet

    def _repr_html_(self) -> str:
        rows = summary_of(self.table())
        head = rows[[name for name in SHOWN if name in rows]].head(MOST_ROWS)
        more = f"<p>... and {len(rows) - MOST_ROWS} more rows in summary()</p>" if len(rows) > MOST_ROWS else ""
        note = f"<p>mean: {rows['measure'].iloc[0].replace('_', ' ')}; low, high: {BAND}</p>" if len(rows) else ""
        return head.to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="-") + note + more


def headline(table: pd.DataFrame) -> str:
    """The first measure that every row has."""
    return next(name for name in MEASURES if name in table and bool(table[name].notna().all()))


def summary_of(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each environment, number of steps and agent: headline measure with its interval, means of all.

    `failed` is the share of runs with a score above 0.5; `seconds`, where known, the median (the first run of a process
    may have waited for the compiler).
    """
    if table.empty:
        return pd.DataFrame(columns=["environment", "agent", "seeds", "steps", "measure", "mean", "low", "high"])
    measure = headline(table)
    if "score" in table:
        table = table.assign(failed=np.where(table["score"].isna(), np.nan, table["score"] > FAILED))
    rows = []
    for (environment, steps, agent), part in table.groupby(["environment", "steps", "agent"], sort=False):
        mean, low, high = mean_interval(part[measure].to_numpy(dtype=np.float64))
        row = {"environment": environment, "agent": agent, "seeds": len(part), "steps": steps, "measure": measure}
        row |= {"mean": mean, "low": low, "high": high}
        row |= {name: float(part[name].mean(skipna=False)) for name in MEANS if name in part}
        if "seconds" in part:
            row["seconds"] = float(part["seconds"].median())
        rows.append(row)
    return pd.DataFrame(rows)


def thinned_steps(steps: int, points: int) -> Ints:
    """Steps (1, ..., T) at which curves are kept: up to `points` of them, evenly spaced, the last always T."""
    at = np.linspace(1, steps, min(points, steps)).round().astype(np.int64)
    at[-1] = steps
    return np.unique(at)


def count(number: int, noun: str) -> str:
    """A number with its noun: 1 seed, 2 seeds."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sentence(row: dict[str, Any]) -> str:
    """The headline of a row of a summary, as text."""
    text = f"{str(row['measure']).replace('_', ' ')} {number(row['mean'])}"
    if row["low"] is not None and math.isfinite(row["low"]):
        text += f" (95 % interval {number(row['low'])} to {number(row['high'])})"
    if math.isfinite(row.get("failed", math.nan)):
        score = "" if row["measure"] == "score" else f", score {number(row['score'])}"
        text += f"{score}, {share(row['failed'])} of runs failed"
    return text


def share(value: float | None) -> str:
    """A share as printed tables show it."""
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:.0f} %"


def number(value: float | None) -> str:
    """A number as printed tables show it; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"
