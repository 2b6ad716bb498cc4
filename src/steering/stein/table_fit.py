r"""Fit of two-way tables, and of tables with more axes: to a joint pmf, and to independence of two coordinates.

A cell (x, y) is a vector of two categories. The statistic is the V-statistic of `vector_discrepancy_from_counts`, whose
operator moves mass between cells that differ in one coordinate.

Joint pmf q: replicates are tables of n samples drawn from q. Independence: q is the product of the margins that were
seen, and replicates are tables drawn from all with these margins (what independence makes of them, given the margins,
whatever the true ones are). Either way the observed table and the replicates are exchangeable under the null, so that
``P(p <= t) <= t`` exactly, for every n.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from steering._types import Floats
from steering.stein.checks import as_counts, as_floats, as_pmf, as_samples, as_whole, counts_of
from steering.stein.errors import InvalidDistribution
from steering.stein.fit import FitTest, fit_settings, sample_size, share_above
from steering.stein.kernels import TwoParameter
from steering.stein.operators import Operator
from steering.stein.vectors import vector_form

_BLOCK = 2_000_000
"""Cells of replicates at a time."""
PAIRS = 8
"""Rows from which on an n x 2 table with repeated rows is taken for raw pairs."""


def table_goodness_of_fit(
    counts: ArrayLike | None = None,
    q: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: str | TwoParameter = "exp-hamming",
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    *,
    samples: ArrayLike | None = None,
) -> FitTest:
    """Test whether a table of counts comes from the joint pmf q, which sums to 1 over the whole table.

    Parameters
    ----------
    counts, q
        Tables of one shape with at least two axes, one for each coordinate.
    operator, kernel
        As in `vector_discrepancy`.
    draws
        Number of replicates.
    rng
        Seed or generator; the default makes the result repeatable.
    samples
        Raw samples instead of counts: rows (x, y), one category for each axis.
    """
    table = as_counts(counts_of(counts, samples, q))
    model = as_floats(cast("ArrayLike", q), "q")
    if table.shape != model.shape or table.ndim < 2:
        raise InvalidDistribution(
            f"counts {table.shape} and q {model.shape} must be two tables of one shape, with two axes or more."
        )
    if not np.isclose(model.sum(), 1.0, atol=1e-6) and np.allclose(model.sum(axis=-1), 1.0, atol=1e-6):
        raise InvalidDistribution(
            "every row of q sums to 1, but a joint pmf does so over the whole table; divide q by its sum, or use"
            " transition_goodness_of_fit if each row is a distribution of its own."
        )
    flat = as_pmf(model.ravel(), "q")
    generator = fit_settings("multinomial", draws, rng)
    n = sample_size(table, "V")
    drawn = generator.multinomial(int(n), flat / flat.sum(), size=draws).reshape(draws, *model.shape)
    observed, replicates = _statistics(table, drawn.astype(float), model, operator, kernel, n)
    impossible = bool((table[model == 0] > 0).any())
    return FitTest(observed, share_above(observed, replicates, impossible), "multinomial", draws, replicates)


def independence_test(
    counts: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: str | TwoParameter = "exp-hamming",
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    *,
    samples: ArrayLike | None = None,
    sizes: tuple[int, int] | None = None,
) -> FitTest:
    """Test whether the two coordinates of a table of counts are independent, given its margins.

    Parameters
    ----------
    counts
        A table (categories of x, categories of y). Rows and columns without samples say nothing and are left out. What
        looks like raw pairs (n rows of two, at least 8, half of which occur again) is refused: those are `samples`.
    operator, kernel, draws, rng
        As in `table_goodness_of_fit`.
    samples, sizes
        Raw samples instead of counts: rows (x, y); the number of categories of both is what was seen unless given.
    """
    table = _two_way(counts, samples, sizes)
    as_whole(draws, "draws", 1)
    generator = fit_settings("multinomial", draws, rng)
    n = sample_size(table, "V")
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    model = np.outer(rows, columns) / n**2
    drawn = _same_margins(rows, columns, draws, generator)
    observed, replicates = _statistics(table, drawn, model, operator, kernel, n)
    return FitTest(observed, share_above(observed, replicates, False), "margins", draws, replicates)


def _two_way(counts: ArrayLike | None, samples: ArrayLike | None, sizes: tuple[int, int] | None) -> Floats:
    if (counts is None) == (samples is None) or (samples is None and sizes is not None):
        raise InvalidDistribution("give either counts, a table, or samples, rows (x, y), with or without their sizes.")
    if samples is not None:
        if sizes is None:  # categories that nobody saw make no difference here
            seen = np.asarray(samples)
            known = seen.ndim == 2 and seen.shape[1] == 2 and seen.size and np.issubdtype(seen.dtype, np.integer)
            sizes = (int(seen[:, 0].max()) + 1, int(seen[:, 1].max()) + 1) if known else (1, 1)
        shape = (as_whole(sizes[0], "sizes[0]", 1), as_whole(sizes[1], "sizes[1]", 1))
        index = as_samples(samples, shape)
        return np.bincount(index, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    table = as_counts(cast("ArrayLike", counts))
    if table.ndim != 2:
        raise InvalidDistribution(f"counts has shape {table.shape}; independence is a question about a two-way table.")
    _refuse_pairs(table)
    return table


def _refuse_pairs(table: Floats) -> None:
    """Refuse n x 2 numbers of which most rows occur again, as rows of raw pairs do and those of a table rarely do."""
    rows = table[table.sum(axis=1) > 0]  # an empty row of a table says nothing
    different = len(np.unique(rows, axis=0)) if table.shape[1] == 2 else len(rows)
    if len(rows) >= PAIRS and 2 * different <= len(rows):
        raise InvalidDistribution(
            f"counts has shape {table.shape} with {different} different rows: raw pairs (x, y) or a table? Pass pairs "
            "as samples=, and a table with its longer side across: counts.T (the test is the same)."
        )


def _same_margins(rows: Floats, columns: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Tables with these margins, drawn as if samples of one coordinate were paired with the other at random."""
    out = np.empty((draws, rows.size, columns.size))
    for table in out:
        left = columns.astype(np.int64)
        for row, total in enumerate(rows.astype(np.int64)):
            table[row] = rng.multivariate_hypergeometric(left, int(total), method="marginals")
            left = left - table[row].astype(np.int64)
    return out


def _statistics(
    table: Floats, drawn: Floats, q: Floats, operator: str | Operator, kernel: str | TwoParameter, n: float
) -> tuple[float, Floats]:
    """The V-statistic of the table and of every replicate."""
    step = max(1, _BLOCK // q.size)
    parts = [table[None], *(drawn[start : start + step] for start in range(0, len(drawn), step))]
    values = np.concatenate([vector_form(part, q, operator, kernel) for part in parts]) / n**2
    return float(values[0]), values[1:]
