"""`mdp.plot()`: the map of an MDP as a figure, with values as shades and a policy as arrows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from steering._figures import new_figure, save_figure
from steering._files import refusing_places
from steering._types import Ints
from steering.envs.drawing import centres_of, picture, shade_range
from steering.envs.layout import layout_of_mdp
from steering.errors import InvalidOption
from steering.mdp import _arrays
from steering.mdp.tabular import TabularMDP

CELL = 48
NAMED = 60
"""States up to which names are written."""


def plot(
    mdp: TabularMDP, values: ArrayLike | None = None, *, policy: Any = None, path: str | Path | None = None
) -> Figure:
    """Draw an MDP: a grid, a chain, a graph or rows of cells.

    Parameters
    ----------
    mdp
        The MDP; ``mdp.plot(...)`` is the same.
    values
        One number for each state, such as V or visits: the darker the larger. Without them, what pays is green, what
        costs is red and where runs start is blue.
    policy
        An action for each state (-1 for none), or a number for each state and action, such as Q: arrows.
    path
        File to write as well; its ending says the format (png, svg, pdf).
    """
    if isinstance(values, str | Path):
        raise InvalidOption(f"values is '{values}', a text; if it is the file to write, use plot(path='{values}').")
    place = layout_of_mdp(mdp)
    moves = None if policy is None else likely_moves(mdp, policy)
    image = picture(mdp, values, cell=CELL, layout=place, moves=moves)
    height, width = image.shape[:2]
    wide = float(np.clip(width / 90, 3.5, 10.0))
    figure = new_figure(wide + (1.0 if values is not None else 0.0), max(wide * height / width, 0.8) + 0.9)
    axes = figure.subplots()
    axes.imshow(image)
    axes.set_axis_off()
    if mdp.n_states <= NAMED:
        for name, (row, column) in zip(_names(mdp), centres_of(place, mdp.n_states, CELL), strict=True):
            dark = image[int(row + 0.3 * CELL) - 3, int(column)].mean() < 110
            size = 9 if len(name) < 5 else 6
            axes.text(
                column, row + 0.3 * CELL, name, ha="center", va="center", fontsize=size, color="w" if dark else "k"
            )
    words = "shade: values" if values is not None else "green pays, red costs, blue is the start"
    words += ", arrows: the policy" if policy is not None else ""
    axes.set_title(f"{mdp.n_states} states, {mdp.n_actions} actions\n{words}", fontsize="small")
    if values is not None:
        _bar(figure, axes, _arrays.numbers("values", values))
    if path is not None:
        with refusing_places(path):
            save_figure(figure, path)
    return figure


def likely_moves(mdp: TabularMDP, policy: Any) -> Ints:
    """For each state the likeliest successor of its action; -1 for an action of -1 and where it is not allowed.

    Parameters
    ----------
    policy
        An action for each state, (S,), or probabilities or preferences of actions, (S, A), of which the largest counts.
    """
    numbers = _arrays.numbers("policy", policy)
    if numbers.shape == (mdp.n_states, mdp.n_actions):
        numbers = np.where(mdp.allowed, numbers, -np.inf).argmax(axis=1).astype(np.float64)
    wanted = (
        f"give an action (0 to {mdp.n_actions - 1}, or -1 for none) for each of {mdp.n_states} states, or a number for "
        "each state and action."
    )
    if numbers.shape != (mdp.n_states,):
        raise InvalidOption(f"policy has shape {numbers.shape}; {wanted}")
    odd = np.flatnonzero((numbers != np.round(numbers)) | (numbers < -1) | (numbers >= mdp.n_actions))
    if odd.size:
        raise InvalidOption(f"policy[{odd[0]}] is {numbers[odd[0]]:g}, which is no action; {wanted}")
    moves = np.full(mdp.n_states, -1, dtype=np.int64)
    for s, a in enumerate(numbers.astype(np.int64)):
        if a >= 0 and mdp.allowed[s, a]:
            successors, probabilities, _, _ = mdp.row(s, int(a))
            moves[s] = successors[int(np.argmax(probabilities))]
    return moves


def _names(mdp: TabularMDP) -> list[str]:
    """Names of states; a cell needs none."""
    names = list(mdp.state_names) or [str(s) for s in range(mdp.n_states)]
    return ["" if name.startswith("(") else name for name in names]


def _bar(figure: Figure, axes: Any, values: Any) -> None:
    from matplotlib.cm import ScalarMappable

    low, high = shade_range(values)
    shades = LinearSegmentedColormap.from_list("values", ["#ffffff", "#08306b"])
    norm = PowerNorm(0.5, vmin=low, vmax=high if high > low else low + 1)
    figure.colorbar(ScalarMappable(norm, shades), ax=axes, shrink=0.8)
