"""What a chapter is: a figure of the paper or a group of theory checks, or a study of ours, from runs to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd
from matplotlib.figure import Figure

from steering.paper.charts import Chart
from steering.paper.drawing import sheet
from steering.paper.rule import Claim
from steering.paper.scale import Block, Scale
from steering.paper.source import Source
from steering.paper.tables import Tables


class Topic(StrEnum):
    """The questions about STEERING that a report answers; each has a card."""

    OUTPERFORMS = "outperforms"
    DIRECTED = "directed exploration"
    PRIOR = "prior belief"
    CONVERGENCE = "convergence"
    THEORY = "theory"


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
        Tables that are drawn and that claims are judged by; they are published as CSV files.
    charts
        Interactive drawings of the tables (see `charts`); without them the report shows the figures.
    draw
        Drawings of the tables for files, by name; the charts side by side, where nothing is given.
    claims
        Claims of the paper that the published tables decide.
    topic
        The question that its claims about STEERING answer.
    """

    name: str
    title: str
    paper: str
    text: str
    data: Callable[[Source, Scale], Tables]
    needs: Callable[[Scale], list[Block]] = lambda scale: []
    charts: Callable[[Tables, Scale], list[Chart]] = lambda tables, scale: []
    draw: Callable[[Tables, Scale], Mapping[str, Figure]] | None = None
    claims: Callable[[Tables], list[Claim]] = lambda tables: []
    topic: Topic | None = None

    def figures(self, tables: Tables, scale: Scale) -> Mapping[str, Figure]:
        """Drawings by file name."""
        return self.draw(tables, scale) if self.draw else {self.name: sheet(*self.charts(tables, scale))}


@dataclass(frozen=True)
class Wish:
    """What is wished of a study.

    Attributes
    ----------
    smoke
        A small one of seconds that shows that everything works.
    stage
        The last stage that is run; empty means all.
    agents
        Agents that are compared beside those of the study, by their texts.
    """

    smoke: bool = False
    stage: str = ""
    agents: tuple[str, ...] = ()


Run = Callable[[str, Sequence[Block], str], Source]
"""Runs blocks: (name of the sweep, blocks, folder in the directory of the study)."""


@dataclass(frozen=True)
class Study:
    """A question of ours: runs of which some depend on others, and an answer that follows from a table of runs.

    Attributes
    ----------
    name, title
        Name on the command line and what is asked.
    file
        Name of the page and of the table of runs: FILE.md, FILE_runs.csv.
    stages
        Names of the stages at which it can stop.
    blocks
        What will be run, as far as it is known beforehand, for an estimate.
    runs
        Makes the runs; the table of their scores, a row for each.
    answer
        Tables, by the names of their files, that follow from the table of runs alone; they are published.
    page
        The tables as Markdown.
    summary
        Lines for the command line, from the tables.
    figures
        Drawings of the tables, by file name.
    """

    name: str
    title: str
    file: str
    blocks: Callable[[Wish], list[Block]]
    runs: Callable[[Run, Wish], pd.DataFrame]
    answer: Callable[[pd.DataFrame, Wish], Tables]
    page: Callable[[Tables], str]
    summary: Callable[[Tables], list[str]]
    figures: Callable[[Tables], Mapping[str, Figure]] = lambda tables: {}
    stages: tuple[str, ...] = ()
