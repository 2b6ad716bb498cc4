"""Names, colours and line styles of the agents of the reproduction: one look for each, in every figure."""

from __future__ import annotations

from steering.paper.scale import LEARNED_IDS, LEARNED_PSRL, MEAN_IDS, VARIANTS
from steering.runs import style

LABELS = {
    VARIANTS["default"]: "STEERING, default",
    VARIANTS["sound"]: "STEERING, paper made sound",
    VARIANTS["literal"]: "STEERING, literal paper",
    MEAN_IDS: "Var-IDS, mean model",
    LEARNED_IDS: "Var-IDS, learned priors",
    LEARNED_PSRL: "PSRL, learned priors",
}
LINES = {VARIANTS["sound"]: "--", VARIANTS["literal"]: ":", MEAN_IDS: "--"}
DASHES = {"-": "", "--": "6 4", ":": "1.5 3", "-.": "8 3 2 3"}
"""Line styles of matplotlib as `stroke-dasharray` of SVG."""

SHADES = {"default": "#D55E00", "sound": "#F2A277", "literal": "#8A3B12"}
"""Variants of STEERING where there are points instead of lines: shades of its own hue, which no baseline has."""
INK = "currentColor"
"""The colour of text in the interactive report, light or dark."""
REFERENCE_DASH = "2 3"

BAND = "95 % interval of the mean over seeds"


def label(agent: str) -> str:
    """Name for a legend."""
    return LABELS.get(agent, style.label(agent))


def colour(agent: str) -> str:
    """Colour of an agent (Okabe and Ito: safe for colour-blind readers)."""
    return style.colour(agent)


def line(agent: str) -> str:
    """Line style of an agent: variants of one algorithm share the colour and differ in it."""
    return LINES.get(agent, "-")


def dash(agent: str) -> str:
    """Line style of an agent as `stroke-dasharray`."""
    return DASHES[line(agent)]
