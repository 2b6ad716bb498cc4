"""Regret over time of several agents on one environment: mean over seeds and its 95 % bootstrap band."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering._files import write_atomically
from steering.errors import InvalidOption, NotAvailable
from steering.runs import style
from steering.runs.results import RunResults
from steering.runs.statistics import curve_interval

POINTS = 200
DOTS_PER_INCH = 120
FORMATS: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""File formats and the metadata that keeps dates out of them."""


def data(runs: Sequence[RunResults]) -> pd.DataFrame:
    """Tidy table with columns agent, seeds (their number), step, mean, low, high, at up to 200 evenly spaced steps.

    Curves are normalised regret where it exists, else raw regret, else received reward; `attrs["measure"]` says which,
    and `attrs` also holds the environment.
    """
    if not runs:
        raise InvalidOption("a regret figure needs at least one run.")
    measure = runs[0].summary()["measure"]
    frames = []
    for one in runs:
        if measure == "reward":
            curves = np.cumsum(one.rewards, axis=1)
        else:
            curves = one.regret_curve(normalised=measure == "normalised_regret")
        at = np.unique(np.linspace(0, one.steps - 1, min(POINTS, one.steps)).round().astype(int))
        mean, low, high = curve_interval(curves[:, at])
        columns = {"agent": one.agent, "seeds": len(one.seeds), "step": at + 1, "mean": mean, "low": low, "high": high}
        frames.append(pd.DataFrame(columns))
    table = pd.concat(frames, ignore_index=True)
    table.attrs = {"measure": measure, "environment": runs[0].environment}
    return table


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """Draw what `data` returns."""
    style.draw_curves(axes, table)
    names = {
        "normalised_regret": "cumulative regret / oracle's total reward",
        "realised_regret": "cumulative regret (reward units)",
        "reward": "cumulative reward",
    }
    axes.set_xlabel("step")
    axes.set_ylabel(names[table.attrs["measure"]])
    least, most = int(table["seeds"].min()), int(table["seeds"].max())  # they differ after an interruption
    seeds = f"{least} to {most} seeds" if least < most else f"{most} seed{'s' if most > 1 else ''}"
    axes.set_title(f"{table.attrs['environment']}, {seeds}, band: 95 % bootstrap of the mean")
    axes.margins(x=0.01)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small")


def save(runs: Sequence[RunResults], path: str | Path) -> Path:
    """Write the figure to a file, whole or not at all; its ending says the format (png, svg, pdf)."""
    target = Path(path)
    kind = target.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise NotAvailable(f"figures cannot be written as '{target.suffix}'; use .png, .svg or .pdf.")
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    draw(figure.add_subplot(), data(runs))
    content = io.BytesIO()
    # No date and no random names in the file: the same results give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "steering"}):
        figure.savefig(content, format=kind, dpi=DOTS_PER_INCH, metadata=FORMATS[kind])
    write_atomically(target, content.getvalue())
    return target
