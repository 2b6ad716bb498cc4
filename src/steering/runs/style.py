"""How figures look: one colour and line for each algorithm, everywhere, safe for colour-blind readers.

The agents of the paper have the colours of Okabe and Ito and solid lines. The others have those of Tol; so many cannot
differ in colour alone, and have line styles in turn. Agents of one name with different options differ in shade and line
style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from steering.errors import NotAvailable

COLOURS = {
    "steering": "#D55E00",
    "psrl": "#0072B2",
    "ids": "#009E73",
    "ube": "#CC79A7",
    "mm": "#E69F00",
    "bayesian_q": "#56B4E9",
    "q_learning": "#6E6E6E",
    "ucrl2b": "#332288",
    "ucbvi": "#88CCEE",
    "mbie_eb": "#44AA99",
    "rmax": "#117733",
    "opsrl": "#999933",
    "rlsvi": "#DDCC77",
    "eubrl": "#CC6677",
    "k_learning": "#882255",
    "vapor": "#AA4499",
    "ucb_q": "#222255",
    "beb": "#225555",
    "vbrb": "#666633",
    "bamcp": "#663333",
}
OTHER = "#000000"

LABELS = {
    "steering": "STEERING",
    "psrl": "PSRL",
    "ids": "Var-IDS",
    "ube": "UBE",
    "mm": "Moment matching",
    "bayesian_q": "Bayesian Q-learning",
    "q_learning": "Q-learning",
    "ucrl2b": "UCRL2B",
    "ucbvi": "UCBVI",
    "mbie_eb": "MBIE-EB",
    "rmax": "R-MAX",
    "opsrl": "OPSRL",
    "rlsvi": "RLSVI",
    "eubrl": "EUBRL",
    "k_learning": "K-learning",
    "vapor": "VAPOR",
    "ucb_q": "UCB-Q",
    "beb": "BEB",
    "vbrb": "VBRB",
    "bamcp": "BAMCP",
}
OF_THE_PAPER = 7
"""How many of these are compared in the paper."""

EXACT_IDS = "IDS"
"""IDS with the exact information gain; `ids` itself takes the variance for it."""

LINES = ("-", "--", ":", "-.")
MOST_ALONE = 12
MOST_VARIANTS = 8
"""Most variants of a name that can be told apart, if it is the only name in a figure and if not."""

Look = tuple[str, str]
"""Colour and line style."""


def colour(agent: str) -> str:
    """Colour of an agent given by its text, such as ``"ids:planning=mean"``."""
    return COLOURS.get(agent.partition(":")[0], OTHER)


def label(agent: str) -> str:
    """Name of an agent for a legend; changed options follow in brackets."""
    name, _, options = agent.partition(":")
    shown = EXACT_IDS if name == "ids" and "information=gain" in options else LABELS.get(name, name)
    return f"{shown} ({options.replace(',', ', ')})" if options else shown


def looks(agents: Sequence[str]) -> dict[str, Look]:
    """A colour and a line style for every agent of a figure, no two alike.

    The only agent of its name has the colour and the line of the name. Variants of a name go from dark to light,
    over several hues if nothing else is in the figure, with four line styles in turn: neighbours in shade differ in
    style too.
    """
    variants: dict[str, list[str]] = {}
    for agent in dict.fromkeys(agents):
        name = agent.partition(":")[0]
        variants.setdefault(name if name in COLOURS else "", []).append(agent)  # others share one colour
    most = MOST_VARIANTS if len(variants) > 1 else MOST_ALONE
    found: dict[str, Look] = {}
    for name, same in variants.items():
        if len(same) > most:
            raise NotAvailable(
                f"{len(same)} agents of the kind '{name or 'other'}' cannot be told apart in one figure (at most "
                f"{most}); choose some with --agent, or load(DIR, agent=[...]) in Python."
            )
        shades = _shades(colour(name), len(same), alone=len(variants) == 1)
        for number, agent in enumerate(same):
            found[agent] = shades[number], LINES[(_first_line(name) + number) % len(LINES)]
    return {agent: found[agent] for agent in agents}


def _first_line(name: str) -> int:
    """Line style of the first agent of a name: solid, and for agents beyond those of the paper 1, 2, 3, 0, 1, ..."""
    place = list(COLOURS).index(name) if name in COLOURS else 0
    return max(place - OF_THE_PAPER + 1, 0)


def _shades(base: str, count: int, *, alone: bool) -> list[str]:
    """Colours from dark to light: of one hue, or with `alone` from violet to yellow green."""
    if count == 1:
        return [base]
    if alone:
        return [to_hex(colormaps["viridis"](at)) for at in np.linspace(0.0, 0.88, count)]
    shades = []
    for at in np.linspace(0.0 if base == OTHER else -0.55, 0.5, count):
        end = np.full(3, float(at > 0))
        shades.append(to_hex((1 - abs(at)) * np.array(to_rgb(base)) + abs(at) * end))
    return shades


def draw_curves(axes: Axes, table: pd.DataFrame, chosen: Mapping[str, Look] | None = None) -> None:
    """Draw the mean of every agent over steps with its band, from columns agent, step, mean, low and high.

    Where the ends are NaN, because of too few seeds, there is no band.

    Panels of one figure share the looks of all its agents; those of the table are the default.
    """
    agents = list(dict.fromkeys(table["agent"]))
    chosen = chosen or looks(agents)
    for agent in agents:
        rows = table[table["agent"] == agent]
        shade, line = chosen[agent]
        axes.plot(rows["step"], rows["mean"], color=shade, linestyle=line, label=label(agent), linewidth=1.6)
        if rows["low"].notna().any():
            axes.fill_between(rows["step"], rows["low"], rows["high"], color=shade, alpha=0.15, linewidth=0)
