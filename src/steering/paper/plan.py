"""The table of contents: which chapters there are, and which runs they need together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steering.errors import unknown_name
from steering.paper.chapter import Chapter
from steering.paper.figures import (
    bayesian,
    bounds,
    concept,
    dense_sparse,
    dsd,
    environments,
    occupancy,
    prior_belief,
    psrl_sparsity,
    q_posterior,
    rates,
    regret,
    schematics,
    weight,
)
from steering.paper.names import ALL, NAMES
from steering.paper.scale import Scale

_MODULES = (
    concept,
    schematics,
    dense_sparse,
    psrl_sparsity,
    regret,
    occupancy,
    prior_belief,
    environments,
    q_posterior,
    dsd,
    rates,
    bounds,
    weight,
    bayesian,
)
CHAPTERS: dict[str, Chapter] = {module.CHAPTER.name: module.CHAPTER for module in _MODULES}
"""All chapters by name, in the order of the report."""


def chosen(names: Sequence[str]) -> list[Chapter]:
    """Chapters by name, in the order of the report; no name or "all" means all of them."""
    for name in names:
        if name != ALL and name not in CHAPTERS:
            raise unknown_name("figure", name, (ALL, *NAMES))
    if not names or ALL in names:
        return list(CHAPTERS.values())
    return [chapter for name, chapter in CHAPTERS.items() if name in names]


def description(chapters: Sequence[Chapter], scale: Scale) -> dict[str, Any]:
    """The sweep that runs what some chapters need, each cell once; empty blocks where they need nothing."""
    blocks = dict.fromkeys(block for chapter in chapters for block in chapter.needs(scale))
    return {"name": f"reproduction, {scale.name}", "blocks": [block.description() for block in blocks]}
