"""The table of contents: one line a chapter, and the names that the paper has for it.

A chapter is a folder of `chapters/` with the name of its line. Nothing heavy is loaded to know the names; a chapter is
imported when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steering.errors import unknown_name

if TYPE_CHECKING:
    from steering.paper.chapter import Chapter, Study

ALL = "all"
PAPER: dict[str, tuple[str, ...]] = {
    "concept": ("fig1",),
    "schematics": ("fig4", "fig8", "fig9"),
    "dense_sparse": ("fig2", "fig2a", "fig2b"),
    "psrl_sparsity": ("fig2", "fig2c"),
    "regret": ("fig3",),
    "occupancy": ("fig5",),
    "prior_belief": ("fig6",),
    "environments": ("fig7", "fig22"),
    "q_posterior": tuple(f"fig{number}" for number in range(10, 21)),
    "dsd": ("fig21", "dsd-convergence"),
    "rates": ("lemma4.2",),
    "bounds": ("theorem4.1", "lemma4.3", "corollary4.5"),
    "weight": ("theorem4.6",),
    "bayesian": ("theorem4.4",),
}
"""Chapters of the reproduction in the order of the report, each with its names in the paper."""
STUDIES = ("default", "ladder")
"""Chapters with a question of ours, run by `steering study`."""
NAMES = tuple(PAPER)
ALIASES = tuple(sorted({alias for aliases in PAPER.values() for alias in aliases}))


def resolve(names: Sequence[str]) -> list[str]:
    """Names of chapters, in the order of the report, for names of ours or of the paper; none, or "all", means all."""
    for name in names:
        if name not in (ALL, *NAMES, *ALIASES):
            raise unknown_name("figure", name, (ALL, *NAMES, *ALIASES))
    if not names or ALL in names:
        return list(NAMES)
    return [name for name, aliases in PAPER.items() if {name, *aliases} & set(names)]


def chapter(name: str) -> Chapter:
    """A chapter of the reproduction."""
    found: Chapter = importlib.import_module(f"steering.paper.chapters.{name}").CHAPTER
    return found


def study(name: str) -> Study:
    """A study."""
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    found: Study = importlib.import_module(f"steering.paper.chapters.{name}").STUDY
    return found
