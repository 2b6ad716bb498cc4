"""Dense against sparse rewards on DeepSea, all algorithms (the paper's Fig. 2a and 2b).

The paper does not print the N of its figure; N = 8, the lowest of its sparsity levels, is used here. How dense rewards
are shaped is said in `steering.envs.deepsea`.
"""

from __future__ import annotations

from steering.paper.chapter import Chapter
from steering.paper.chapters.dense_sparse.claims import OTHERS, claims
from steering.paper.charts import Comparison
from steering.paper.scale import AGENTS, MEAN_IDS, VARIANTS, Block, Scale, deepsea
from steering.paper.source import Source
from steering.paper.tables import Tables, growth

N = 8
DENSE, SPARSE = f"dense rewards, N = {N}", f"sparse rewards, N = {N}"


def panels(scale: Scale) -> dict[str, list[Block]]:
    """The two panels."""
    return {DENSE: [deepsea(N, scale, ",reward=dense")], SPARSE: [deepsea(N, scale)]}


COMPARISON = Comparison(
    "Dense and sparse rewards", panels, AGENTS, hidden=(VARIANTS["literal"], VARIANTS["sound"], MEAN_IDS)
)


def data(source: Source, scale: Scale) -> Tables:
    """Regret over time and at the end, and how it grows with sparse rewards."""
    grown = growth(source, {SPARSE: panels(scale)[SPARSE]}, (*OTHERS, "psrl"))
    return {**COMPARISON.data(source, scale), "growth": grown}


CHAPTER = Chapter(
    name="dense_sparse",
    title=COMPARISON.title,
    paper="Figures 2a and 2b",
    text="With dense rewards progress pays at every step; with sparse ones only the last successful swim to the right "
    "does. Does regret become linear, and for whom?",
    needs=COMPARISON.needs,
    data=data,
    charts=COMPARISON.charts,
    claims=claims,
)
