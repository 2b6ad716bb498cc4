r"""Vectors of d categorical coordinates, y = (y_1, ..., y_d) with y_i out of n_i values.

``difference`` has one vector for each coordinate, v_i the cyclic successor in coordinate i alone,

    w_i(z) = p(v_i z) - p(z) q(v_i z) / q(z),      DSD = sum_i w_i' L w_i,

and the reversible operators exchange mass between vectors that differ in one coordinate (`hamming_graph`). ``gibbs`` is
the Gibbs sampler: each coordinate is drawn anew from its conditional, ``w(z) = sum_i (q(z_i | z_-i) p(z_-i) - p(z))``;
for one coordinate that is ``q - p``. (`gibbs.on(hamming_graph(sizes))` weighs neighbours by q itself instead.) The
kernels are products over coordinates, ``exp(-H)``, ``exp(-H/d)`` or delta, so L is applied one axis at a time: O(d^2
n_1 ... n_d).

Two ways in: tables p, counts and q with one axis for each coordinate (`vector_discrepancy`,
`vector_discrepancy_from_counts`), or samples and an unnormalised log pmf for spaces too large to list
(`steering.stein.vector_samples`). Zero if and only if p = q for
q > 0 (all operators), and with zeros in q (``barker``, ``min``, ``gibbs``) when its support is connected by
single-coordinate moves and every other vector is one such move away from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import as_counts, as_floats, as_pmf, counts_of, enough_samples, finite
from steering.stein.discrepancy import warn_stuck
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import TwoParameter, apply_factors, get_kernel, two_parameter
from steering.stein.operators import Operator, Reversible, get_operator, gibbs

_BLOCK = 200_000


def hamming_graph(sizes: Sequence[int]) -> sp.csr_array:
    """Adjacency of the vectors (last coordinate fastest) that differ in exactly one coordinate."""
    total = int(np.prod(sizes))
    graph = sp.csr_array((total, total))
    for axis, n in enumerate(sizes):
        before, after = int(np.prod(sizes[:axis])), int(np.prod(sizes[axis + 1 :]))
        clique = sp.csr_array(np.ones((n, n)) - np.eye(n))
        graph = graph + sp.kron(sp.kron(sp.eye_array(before), clique), sp.eye_array(after), format="csr")
    return sp.csr_array(graph)


def vector_discrepancy(
    p: ArrayLike, q: ArrayLike, operator: str | Operator = "barker", kernel: str | TwoParameter = "exp-hamming"
) -> float:
    """Population discrepancy of tables p and q, one axis for each coordinate."""
    table, model = _tables(p, q, "p")
    as_pmf(table.ravel(), "p")
    op = _local(operator, model)
    _warn_if_stuck(op, table)
    value = _form(table, model, op, vector_factor(kernel, table.ndim))
    return float(finite(value, "the discrepancy", not op.needs_full_support))


def vector_discrepancy_from_counts(
    counts: ArrayLike | None = None,
    q: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: str | TwoParameter = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
    *,
    samples: ArrayLike | None = None,
) -> float:
    """V- or U-statistic from a table of counts, one axis for each coordinate, or from raw `samples` (n, d).

    The U-statistic also needs kappa(x, x) of each cell x with samples: k of them cost as much as k V-statistics.
    """
    table, model = _tables(as_counts(counts_of(counts, samples, q)), cast("ArrayLike", q), "counts")
    n = float(table.sum())
    enough_samples(n, statistic)
    op, factor = _local(operator, model), vector_factor(kernel, table.ndim)
    _warn_if_stuck(op, table)
    total = float(_form(table, model, op, factor))
    if statistic == "V":
        value = total / n**2
    else:
        cells = np.argwhere(table)
        own = float(table[tuple(cells.T)] @ _own_terms(cells, model, op, factor))
        value = (total - own) / (n * (n - 1.0))
    return float(finite(value, f"the {statistic}-statistic", not op.needs_full_support))


def vector_form(p: Floats, q: Floats, operator: str | Operator, kernel: str | TwoParameter) -> Floats:
    """``w' L w`` of many tables p (B, ...) against one model q (...), checked already but for the operator."""
    op = _local(operator, q)
    value: Floats = finite(_form(p, q, op, vector_factor(kernel, q.ndim)), "the discrepancy", not op.needs_full_support)
    return value


def _tables(p: ArrayLike, q: ArrayLike, name: str) -> tuple[Floats, Floats]:
    table, model = as_floats(p, name), as_floats(q, "q")
    if table.shape != model.shape:
        raise InvalidDistribution(
            f"{name} has shape {table.shape} and q {model.shape}; give one axis a coordinate in both."
        )
    as_pmf(model.ravel(), "q")
    return table, model


def vector_factor(kernel: str | TwoParameter, d: int) -> TwoParameter:
    """The factor of one of d coordinates."""
    return two_parameter(get_kernel(kernel, d), "each coordinate of a vector needs")


def _local(operator: str | Operator, q: Floats) -> Operator:
    """The operator with flow only between vectors that differ in one coordinate, checked against q."""
    op = get_operator(operator)
    if isinstance(op, Reversible) and op.edges is None and op is not gibbs:
        op = op.on(hamming_graph(q.shape))
    if not isinstance(op, Reversible) and op.name != "difference":
        raise InvalidOption(
            f"operator '{op.name}' has no form for vectors; use difference, barker, min, sqrt or gibbs."
        )
    op.check(q.ravel())
    return op


def _warn_if_stuck(op: Operator, p: Floats) -> None:
    if op.name == "difference" and any(((p == 0) & (np.roll(p, -1, axis) > 0)).any() for axis in range(p.ndim)):
        warn_stuck(op.name)


def _form(p: Floats, q: Floats, op: Operator, factor: TwoParameter) -> Floats:
    """``sum_i w_i' L w_i`` for tables p with any leading axes; what overflows is refused by the caller."""
    first, d = p.ndim - q.ndim, q.ndim
    total = np.zeros(p.shape[:first])
    with np.errstate(over="ignore", invalid="ignore"):
        for w in _flows(p, q, op):
            image = apply_factors(w, [factor] * d, first)
            total += (w * image).reshape(*total.shape, -1).sum(-1)
    return total


def _flows(p: Floats, q: Floats, op: Operator) -> Iterator[Floats]:
    """The vectors w: one for each coordinate (difference), or one for all."""
    axes = range(-q.ndim, 0)
    if op.name == "difference":
        for axis in axes:
            yield np.roll(p, -1, axis) - np.where(p > 0, p * (np.roll(q, -1, axis) / q), 0.0)
    elif op is gibbs:
        w = np.zeros(p.shape)
        for axis in axes:
            line = q.sum(axis, keepdims=True)
            # z_i ~ q(. | z_-i); a line that q forbids has no conditional, so nothing moves along it
            inside = np.divide(q, line, out=np.zeros(q.shape), where=line > 0)
            w += inside * p.sum(axis, keepdims=True) - p * (line > 0)
        yield w
    else:
        flat = p.reshape(*p.shape[: p.ndim - q.ndim], q.size)
        yield op.flow(flat, q.ravel()).reshape(p.shape)


def _own_terms(cells: NDArray[np.int64], q: Floats, op: Operator, factor: TwoParameter) -> Floats:
    """``kappa(x, x)`` of each listed cell: the form at a point mass, in blocks of cells."""
    out = np.empty(len(cells))
    step = max(1, _BLOCK // q.size)
    for start in range(0, len(cells), step):
        part = cells[start : start + step]
        points = np.zeros((len(part), *q.shape))
        points[(np.arange(len(part)), *part.T)] = 1.0
        out[start : start + step] = _form(points, q, op, factor)
    return out
