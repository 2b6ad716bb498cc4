"""What a chapter is: a figure of the paper or a group of theory checks, or a study of ours, from runs to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from steering.paper.charts import Chart
from steering.paper.rule import Claim
from steering.paper.scale import Block, Scale
from steering.paper.source import Source
from steering.paper.tables import Tables


def _nothing_needed(scale: Scale) -> list[Block]:
    return []


def _no_claims(tables: Tables) -> list[Claim]:
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
        Tables that are drawn and that claims are judged by; they are published as CSV files.
    figures
        Drawings of the tables, by file name.
    charts
        Interactive drawings of the tables (see `charts`); without them the report shows the figures.
    claims
        Claims of the paper that the published tables decide.
    """

    name: str
    title: str
    paper: str
    text: str
    data: Callable[[Source, Scale], Tables]
    figures: Callable[[Tables, Scale], Mapping[str, Figure]]
    needs: Callable[[Scale], list[Block]] = _nothing_needed
    charts: Callable[[Tables, Scale], list[Chart]] = _no_charts
    claims: Callable[[Tables], list[Claim]] = _no_claims


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
        Name of the files that are written: FILE.csv (the answer), FILE_runs.csv (what it follows from), FILE.md.
    runs
        Makes the runs; the table of their scores, a row for each.
    answer
        The answer, from the table of runs alone.
    page
        Runs and answer as Markdown.
    summary
        Lines for the command line.
    figures
        Drawings by file name.
    """

    name: str
    title: str
    file: str
    runs: Callable[[Run, bool], pd.DataFrame]
    answer: Callable[[pd.DataFrame], pd.DataFrame]
    page: Callable[[pd.DataFrame, pd.DataFrame], str]
    summary: Callable[[pd.DataFrame], list[str]]
    figures: Callable[[pd.DataFrame], Mapping[str, Figure]] = lambda runs: {}
