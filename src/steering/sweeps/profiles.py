"""Performance profiles from a results directory: for each tau, the share of runs with a score of at most tau."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.errors import NotAvailable
from steering.runs import style
from steering.runs.drawing import new_figure
from steering.runs.statistics import performance_profile
from steering.runs.tables import UNITS
from steering.sweeps.store.load import Results
from steering.sweeps.summary import MEASURES, scores_of

POINTS = 101


def data(results: Results) -> pd.DataFrame:
    """Tidy table: agent, tau, share, low, high, over the environments that all agents ran."""
    scores = scores_of(results)
    tasks = scores.shared
    if not tasks or (len(tasks) > 1 and scores.measure not in UNITS):
        raise NotAvailable("a profile needs environments with seeds that all agents finished, in one unit.")
    final = scores.common["final"].to_numpy(dtype=np.float64)
    taus = np.linspace(final.min(), final.max(), POINTS)
    frames = []
    for agent in scores.agents:
        share, low, high = performance_profile(scores.strata(agent, "final"), taus)
        frames.append(pd.DataFrame({"agent": agent, "tau": taus, "share": share, "low": low, "high": high}))
    table = pd.concat(frames, ignore_index=True)
    table.attrs = {"measure": scores.measure, "environments": len(tasks)}
    return table


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """Draw what `data` returns."""
    agents = list(dict.fromkeys(table["agent"]))
    for agent, (colour, line) in style.looks(agents).items():
        rows = table[table["agent"] == agent]
        axes.step(rows["tau"], rows["share"], where="post", color=colour, linestyle=line, label=style.label(agent))
        band: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0}
        if rows["low"].notna().any():
            axes.fill_between(rows["tau"], rows["low"], rows["high"], step="post", **band)
    axes.set_xlabel(f"tau: {MEASURES[table.attrs['measure']]}")
    axes.set_ylabel("share of runs with a score of at most tau")
    axes.set_ylim(-0.02, 1.02)
    number = table.attrs["environments"]
    axes.set_title(
        f"Performance profile, {number} environment{'s' if number > 1 else ''}, band: 95 % stratified bootstrap",
        fontsize="medium",
    )
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small")


def figure(table: pd.DataFrame) -> Figure:
    """The profile as a figure of its own."""
    sheet = new_figure()
    draw(sheet.add_subplot(), table)
    return sheet
