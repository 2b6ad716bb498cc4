"""Published tables: how they are written and read again to the bit, how they are made of runs, how claims read them.

Claims are judged by the tables alone, so these hold a row for each run where a claim needs it. CSV files have the
shortest text that gives the same number again, and are read that way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steering._files import write_atomically
from steering._types import Floats
from steering.errors import NotAvailable
from steering.paper.fits import fit_points
from steering.paper.scale import Block
from steering.paper.source import Source
from steering.runs.statistics import curve_interval, mean_interval

Tables = dict[str, pd.DataFrame]
Panels = Mapping[str, Sequence[Block]]
TIMES = "times"
"""The table of this name holds wall times, which differ from run to run."""


# Files ---------------------------------------------------------------------------------------------------------------


def csv(table: pd.DataFrame, digits: int | None = None) -> bytes:
    """A table as the bytes of its file; with `digits`, numbers are rounded to so many, and short."""
    if digits is None:
        return table.to_csv(index=False).encode()
    short = {name: [_short(value, digits) for value in table[name]] for name in table.select_dtypes("float").columns}
    return table.assign(**short).to_csv(index=False).encode()


def _short(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    text = f"{value:.{digits}f}"
    if digits > 0:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def read_csv(path: Path) -> pd.DataFrame:
    """The table of a file, with the numbers that were written."""
    try:
        # Arrow rounds every number correctly, in all versions of pandas.
        return pd.read_csv(path, engine="pyarrow")
    except (OSError, ValueError) as error:
        raise NotAvailable(f"the table {path} cannot be read ({error}); make it again.") from None


def write_tables(directory: Path, chapter: str, tables: Tables) -> None:
    """Write DIR/data/CHAPTER_TABLE.csv for every table."""
    (directory / "data").mkdir(exist_ok=True)
    for name, table in tables.items():
        write_atomically(directory / "data" / f"{chapter}_{name}.csv", csv(table))


def read_tables(directory: Path, chapter: str, names: Iterable[str]) -> Tables:
    """Some published tables of a chapter, with the numbers that were written."""
    return {name: read_csv(directory / "data" / f"{chapter}_{name}.csv") for name in names}


# Making tables -------------------------------------------------------------------------------------------------------


def band(fixed: Mapping[str, Any], x: NDArray[Any], heights: Floats) -> pd.DataFrame:
    """Rows of one curve: mean over runs and its 95 % band at every x."""
    mean, low, high = curve_interval(heights)
    return pd.DataFrame({**fixed, "seeds": len(heights), "x": x, "mean": mean, "low": low, "high": high})


def point(fixed: Mapping[str, Any], x: float, values: Floats) -> dict[str, Any]:
    """One row of a curve: the mean of some values at x with its 95 % interval."""
    mean, low, high = mean_interval(values)
    return {**fixed, "x": x, "mean": mean, "low": low, "high": high}


def curves(source: Source, panels: Panels, agents: Iterable[str], *, normalised: bool = True) -> pd.DataFrame:
    """Regret over time: a table with columns panel, agent, seeds, x (step), mean, low, high."""
    chosen = list(agents)
    frames = [
        band({"panel": panel, "agent": agent}, *source.curves(blocks, agent, normalised=normalised))
        for panel, blocks in panels.items()
        for agent in chosen
    ]
    return pd.concat(frames, ignore_index=True)


def per_run(fixed: Mapping[str, Any], **values: Any) -> pd.DataFrame:
    """A row for each run: `run` counts them, `values` has a number for each."""
    count = len(next(iter(values.values())))
    return pd.DataFrame({**fixed, "run": np.arange(count), **values})


def finals(source: Source, panels: Panels, agents: Iterable[str], *, normalised: bool = True) -> pd.DataFrame:
    """Regret at the end, a row for each panel, agent and run."""
    chosen = list(agents)
    frames = [
        per_run({"panel": panel, "agent": agent}, regret=source.regret(blocks, agent, normalised=normalised))
        for panel, blocks in panels.items()
        for agent in chosen
    ]
    return pd.concat(frames, ignore_index=True)


def fitted(fixed: Mapping[str, Any], x: Any, heights: Floats, *, first: float) -> pd.DataFrame:
    """Curves (runs, points) at the places where their exponent is fitted, from `first` on: columns run, x, value."""
    places = np.asarray(x, dtype=np.float64)
    kept = fit_points(places, first)
    runs, at = np.indices((len(heights), kept.size)).reshape(2, -1)
    return pd.DataFrame({**fixed, "run": runs, "x": places[kept][at], "value": heights[:, kept].ravel()})


def growth(source: Source, panels: Panels, agents: Iterable[str]) -> pd.DataFrame:
    """Expected regret of every run over the last 90 % of the steps, at the places where its growth is fitted."""
    frames = []
    chosen = list(agents)
    for panel, blocks in panels.items():
        for agent in chosen:
            steps, heights = source.curves(blocks, agent, kind="expected_regret")
            frames.append(fitted({"panel": panel, "agent": agent}, steps, heights, first=steps[-1] / 10))
    return pd.concat(frames, ignore_index=True)


# Reading tables ------------------------------------------------------------------------------------------------------


def groups(table: pd.DataFrame, column: str) -> dict[Any, pd.DataFrame]:
    """Parts of a table by the values of a column, in their order."""
    return dict(iter(table.groupby(column, sort=False)))


def scores(table: pd.DataFrame, by: str = "agent", value: str = "regret") -> dict[str, Floats]:
    """A number for each run, by agent (or another column)."""
    return {str(key): part[value].to_numpy(dtype=np.float64) for key, part in groups(table, by).items()}


def runs_by_x(table: pd.DataFrame, value: str = "value") -> tuple[Floats, Floats]:
    """Places and values (runs, places) of one curve for each run."""
    wide = table.pivot(index="run", columns="x", values=value)
    return wide.columns.to_numpy(dtype=np.float64), wide.to_numpy(dtype=np.float64)
