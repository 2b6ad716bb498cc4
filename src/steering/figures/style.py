"""How figures look: one colour and line for each algorithm, everywhere, safe for colour-blind readers.

Colours are those of Okabe and Ito; agents of one name with different options share the colour and differ in line style.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

COLOURS = {
    "steering": "#D55E00",
    "psrl": "#0072B2",
    "ids": "#009E73",
    "ube": "#CC79A7",
    "mm": "#E69F00",
    "bayesian_q": "#56B4E9",
    "q_learning": "#6E6E6E",
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
}

EXACT_IDS = "IDS"
"""IDS with the exact information gain; `ids` itself takes the variance for it."""

LINES = ("-", "--", ":", "-.")


def colour(agent: str) -> str:
    """Colour of an agent given by its text, such as ``"ids:planning=mean"``."""
    return COLOURS.get(agent.partition(":")[0], OTHER)


def label(agent: str) -> str:
    """Name of an agent for a legend; changed options follow in brackets."""
    name, _, options = agent.partition(":")
    shown = EXACT_IDS if name == "ids" and "information=gain" in options else LABELS.get(name, name)
    return f"{shown} ({options.replace(',', ', ')})" if options else shown


def lines(agents: list[str]) -> list[str]:
    """A line style for each agent: the first of a name is solid, the next dashed, and so on."""
    seen: dict[str, int] = {}
    styles = []
    for agent in agents:
        name = agent.partition(":")[0]
        styles.append(LINES[seen.get(name, 0) % len(LINES)])
        seen[name] = seen.get(name, 0) + 1
    return styles


def draw_curves(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the mean of every agent over steps with its band, from columns agent, step, mean, low and high."""
    agents = list(dict.fromkeys(table["agent"]))
    for agent, line in zip(agents, lines(agents), strict=True):
        rows = table[table["agent"] == agent]
        shade = colour(agent)
        axes.plot(rows["step"], rows["mean"], color=shade, linestyle=line, label=label(agent), linewidth=1.6)
        axes.fill_between(rows["step"], rows["low"], rows["high"], color=shade, alpha=0.15, linewidth=0)
