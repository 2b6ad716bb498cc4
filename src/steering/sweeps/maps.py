"""Heatmaps of a results directory: visits to the cells of grid worlds, a panel for each world and agent."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from steering.envs import make_env
from steering.envs.grids import NAMED
from steering.errors import NotAvailable, SteeringError
from steering.runs.drawing import new_figure
from steering.runs.tables import count
from steering.sweeps.store.load import Results

PANELS = 24
COLUMNS = 4

GRID = re.compile(r"(?:maze|rooms|griddeepsea):(\d{1,4})(?:,.*)?")
"""Grid worlds of the package. A directory may be anybody's: other texts are not made into environments here."""


def data(results: Results) -> pd.DataFrame:
    """Tidy table: environment, steps, agent, state, visits (mean over seeds, all windows), seeds (their number)."""
    finals = results.table()
    grids = [text for text in finals["environment"].unique() if _is_grid(text)]
    if not grids:
        raise NotAvailable("no environment is a grid of cells (maze, rooms, griddeepsea).")
    finals = finals[finals["environment"].isin(grids)]
    visits = results.visits
    visits = visits[visits["cell"].isin(finals.index)]
    names = ["environment", "steps", "agent"]
    totals = visits.groupby([*names, "state"], observed=True)["visits"].sum().reset_index()
    totals["seeds"] = totals.merge(finals.groupby(names).size().rename("seeds").reset_index(), on=names)["seeds"]
    totals["visits"] = totals["visits"] / totals["seeds"]
    return totals


def figure(table: pd.DataFrame) -> Figure:
    """One picture for each environment and agent, the darker the more visits (by the square root)."""
    panels = [
        (str(environment), str(agent), part)
        for (environment, _, agent), part in table.groupby(["environment", "steps", "agent"], observed=True, sort=False)
    ]
    if len(panels) > PANELS:
        raise NotAvailable(f"{len(panels)} pictures do not fit in a figure; load one environment at a time.")
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    sheet = new_figure(max(3.4 * columns, 5.0), 3.7 * rows + 0.5)
    for place, (environment, agent, part) in enumerate(panels):
        world = make_env(environment)
        values = np.zeros(world.n_states)
        values[part["state"]] = part["visits"]
        axes = sheet.add_subplot(rows, columns, place + 1)
        axes.imshow(world.render(values, cell=4 if world.n_states > 2500 else 12), interpolation="nearest")
        axes.set_title(f"{environment}\n{agent}, {count(int(part['seeds'].iloc[0]), 'seed')}", fontsize="small")
        axes.set_axis_off()
    sheet.suptitle("Visits to each cell, mean over seeds (shade: square root)", fontsize="medium")
    return sheet


def _is_grid(text: str) -> bool:
    match = GRID.fullmatch(text)
    if match is None or int(match[1]) ** 2 > NAMED:
        return False
    try:
        make_env(text)
    except SteeringError:  # options of another version
        return False
    return True
