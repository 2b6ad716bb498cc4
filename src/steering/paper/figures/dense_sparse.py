"""Dense against sparse rewards on DeepSea, all algorithms (the paper's Fig. 2a and 2b).

The paper does not print the N of its figure; N = 8, the lowest of its sparsity levels, is used here. How dense rewards
are shaped is said in `steering.envs.deepsea`.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from steering.paper import panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.sparsity import dense_sparse_claims
from steering.paper.figures.regret import deepsea
from steering.paper.scale import AGENTS, MEAN_IDS, VARIANTS, Block, Scale
from steering.paper.source import Source

N = 8
TITLE = "Dense and sparse rewards"


def blocks(scale: Scale) -> dict[str, list[Block]]:
    """The two panels."""
    return {
        f"dense rewards, N = {N}": [deepsea(N, scale, ",reward=dense")],
        f"sparse rewards, N = {N}": [deepsea(N, scale)],
    }


def needs(scale: Scale) -> list[Block]:
    """All agents on both."""
    return [block for part in blocks(scale).values() for block in part]


def data(source: Source) -> Tables:
    """Regret over time."""
    return {"curves": panels.curves(source, blocks(source.scale), AGENTS)}


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Two panels."""
    title = f"DeepSea with dense and sparse rewards ({scale.remark()}; band: 95 % interval of the mean)"
    return {"dense_sparse": panels.sheet(tables["curves"], title, columns=2, width=4.6, share_y=True)}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same, interactive."""
    hidden = (VARIANTS["literal"], VARIANTS["sound"], MEAN_IDS)
    return [panels.chart(tables["curves"], TITLE, size=scale.remark(), share_y=True, hidden=hidden)]


CHAPTER = Chapter(
    name="dense_sparse",
    title=TITLE,
    paper="Figure 2a, 2b",
    text="With dense rewards progress pays at every step; with sparse ones only the last successful swim to the right "
    "does. Does regret become linear, and for whom?",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: dense_sparse_claims(source, blocks(source.scale)),
)
