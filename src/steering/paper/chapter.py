"""A chapter of the reproduction: one figure of the paper or one group of theory checks, from runs to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from steering.paper.claims.rule import Claim
from steering.paper.scale import Block, Scale
from steering.paper.source import Source

Tables = dict[str, pd.DataFrame]
Chart = dict[str, Any]


def _nothing_needed(scale: Scale) -> list[Block]:
    return []


def _no_claims(source: Source, tables: Tables) -> list[Claim]:
    return []


def _no_charts(tables: Tables, scale: Scale) -> list[Chart]:
    return []


@dataclass(frozen=True)
class Chapter:
    """How one figure comes about; all functions are pure.

    Attributes
    ----------
    name, title, paper, text
        Name on the command line, heading, the place in the paper, and what to see, in a sentence or two.
    needs
        The runs that the figure rests on, as blocks of the sweep.
    data
        Tables that can be checked.
    figures
        Drawings of the tables, by file name.
    charts
        Interactive drawings of the tables (see `panels.chart`); without them the report shows the figures.
    claims
        Claims of the paper that these runs decide.
    """

    name: str
    title: str
    paper: str
    text: str
    data: Callable[[Source], Tables]
    figures: Callable[[Tables, Scale], Mapping[str, Figure]]
    needs: Callable[[Scale], list[Block]] = _nothing_needed
    charts: Callable[[Tables, Scale], list[Chart]] = _no_charts
    claims: Callable[[Source, Tables], list[Claim]] = _no_claims
