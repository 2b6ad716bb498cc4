r"""Rows with small support: cost by the support, not by the number of outcomes.

A row lists the outcomes that have values of their own (k of them: where samples fell) and says that all the others, S -
k, share one probability ``q_rest`` in the model and one ``p_rest`` in the data. That is exact for counts under a
symmetric Dirichlet posterior: every unseen outcome has p = 0 and the same q.

Reversible operators depend on (p, q) only, so the rest is one group of S - k equal outcomes. With groups g of size M_g

    w_g = sum_h M_h c(q_g, q_h) (p_h q_g - p_g q_h),       DSD = a sum_g M_g w_g^2 + b (sum_g M_g w_g)^2,

O(k^2) a row. For ``difference``, w differs from zero only on the support and just before it:

    w(s) = p(v s) - p(s) q(v s) / q(s),     w(v^-1 s) = p(s) - p_rest q(s) / q_rest   if v^-1 s is not listed.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import (
    SUM_TOLERANCE,
    as_counts,
    as_scalar,
    as_whole,
    filled,
    finite,
    first_where,
    rows_with_enough,
)
from steering.stein.discrepancy import KernelLike, warn_stuck
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import TwoParameter, get_kernel, two_parameter
from steering.stein.operators import Operator, Reversible, get_operator


class SparseRows(NamedTuple):
    """Rows in padded form: `support` (R, k) with -1 as padding, `counts` (R, k), `q_support` (R, k), `q_rest` (R,)."""

    support: NDArray[np.int64]
    counts: Floats
    q_support: Floats
    q_rest: Floats
    n_states: int


def sparse_rows(counts: Any, eta: float) -> SparseRows:
    """Counts (SciPy sparse or dense, rows x outcomes) with the posterior mean model of a Dirichlet(eta) prior.

    ``q(y) = (n_y + eta) / (n + S eta)``, one value for all unseen outcomes.
    """
    table: Any = sp.csr_array(counts)
    if table.ndim != 2:
        raise InvalidDistribution(f"counts must be a table of rows x outcomes, not of shape {table.shape}.")
    table.sum_duplicates()
    table.eliminate_zeros()
    rows, n_states = table.shape
    data = as_counts(table.data, "counts") if table.nnz else np.empty(0)
    strength = as_scalar(eta, "eta")
    length = np.diff(table.indptr)
    width = max(int(length.max(initial=0)), 1)
    filled = np.arange(width) < length[:, None]
    support = np.full((rows, width), -1, dtype=np.int64)
    padded = np.zeros((rows, width))
    support[filled] = table.indices
    padded[filled] = data
    total = padded.sum(1) + n_states * strength
    q_support = np.where(filled, (padded + strength) / total[:, None], 0.0)
    return SparseRows(support, padded, q_support, strength / total, n_states)


def discrepancy_sparse(
    support: ArrayLike,
    counts: ArrayLike,
    q_support: ArrayLike,
    q_rest: ArrayLike,
    n_states: int,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
    empty: Literal["error", "nan", "zero"] = "error",
) -> Floats:
    """V- or U-statistic of every row from its support.

    Parameters
    ----------
    support
        Outcomes with samples, (R, k) whole numbers; -1 where a row has fewer.
    counts
        Their counts, (R, k); what stands at padded places is ignored.
    q_support
        Model probabilities of the support, (R, k).
    q_rest
        Model probability of each other outcome, (R,).
    n_states
        Number of outcomes S.
    operator, kernel, statistic, empty
        As in `discrepancy_from_counts`; the kernel must be a named (two-parameter) one.
    """
    op, base = get_operator(operator), two_parameter(get_kernel(kernel), "sparse rows need")
    if isinstance(op, Reversible) and op.edges is not None:
        raise InvalidOption(f"operator '{op.name}' on a graph has no groups; use discrepancy_from_counts for it.")
    index, n, q, rest = _validated(support, counts, q_support, q_rest, n_states)
    total, few = rows_with_enough(n.sum(1), statistic, empty)
    if op.needs_full_support and not (q[index >= 0].min(initial=1.0) > 0 and _rest_used(index, n_states, rest) > 0):
        raise InvalidDistribution(f"q has a zero and operator '{op.name}' divides by q; use operator='barker'.")
    if op.name == "difference":
        value = _difference(index, n, q, rest, n_states, base, statistic)
    elif isinstance(op, Reversible):
        value = _reversible(index, n, q, rest, n_states, op, base, statistic)
    else:
        raise InvalidOption(f"operator '{op.name}' has no sparse form; use discrepancy_from_counts.")
    value = value / (total**2 if statistic == "V" else total * (total - 1.0))
    return filled(finite(value, f"the {statistic}-statistic", not op.needs_full_support), few, empty)


def _rest_used(index: NDArray[np.int64], n_states: int, rest: Floats) -> float:
    """Smallest q_rest of the rows that have outcomes outside their support."""
    return float(rest[(index >= 0).sum(1) < n_states].min(initial=1.0))


def _validated(
    support: ArrayLike, counts: ArrayLike, q_support: ArrayLike, q_rest: ArrayLike, n_states: int
) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
    index = np.asarray(support)
    if index.ndim != 2 or index.dtype.kind not in "iu":
        raise InvalidDistribution("support must be a two-dimensional array of whole numbers, one row for each row.")
    index = index.astype(np.int64)
    as_whole(n_states, "n_states", 1)
    given = {"counts": counts, "q_support": q_support}
    for name, values in given.items():
        if np.shape(values) != index.shape:
            raise InvalidDistribution(
                f"{name} has shape {np.shape(values)} and support {index.shape}; make them equal."
            )
    if np.shape(q_rest) not in ((), (len(index),)):
        raise InvalidDistribution(
            f"q_rest has shape {np.shape(q_rest)}; give one number for each of {len(index)} rows."
        )
    if index.size and (index.max() >= n_states or index.min() < -1):
        bad = (index >= n_states) | (index < -1)
        raise InvalidDistribution(
            f"support{first_where(bad)} is {index[bad][0]}; give outcomes from 0 to {n_states - 1}, or -1 for padding."
        )
    used = index >= 0
    n = np.where(used, counts, 0.0)
    n = as_counts(n) if n.size else n
    q = np.where(used, np.asarray(q_support, float), 0.0)
    rest = np.where(used.sum(1) < n_states, np.asarray(q_rest, float), 0.0)
    for name, values in (("q_support", q), ("q_rest", rest)):
        bad = ~(values >= 0) | ~np.isfinite(values)
        if bad.any():
            raise InvalidDistribution(
                f"{name}{first_where(bad)} is {values[bad][0]:g}; give probabilities, which lie between 0 and 1."
            )
    order = np.argsort(np.where(used, index, n_states), axis=1, kind="stable")
    index, n, q = (np.take_along_axis(a, order, 1) for a in (index, n, q))
    twice = (index[:, 1:] == index[:, :-1]) & (index[:, 1:] >= 0)
    if twice.any():
        raise InvalidDistribution(f"row {first_where(twice.any(1))} lists an outcome twice; add up its counts.")
    total = q.sum(1) + (n_states - used.sum(1)) * rest
    off = ~(np.abs(total - 1.0) <= SUM_TOLERANCE)
    if off.any():
        raise InvalidDistribution(
            f"the model of row {first_where(off)} sums to {total[off][0]:.10g} instead of 1, counting q_rest once for"
            " each outcome outside the support; rescale it."
        )
    return index, n, q, rest


def _reversible(
    index: NDArray[np.int64],
    n: Floats,
    q: Floats,
    rest: Floats,
    n_states: int,
    op: Reversible,
    base: TwoParameter,
    statistic: str,
) -> Floats:
    """n^2 V, or n^2 V without the diagonal pairs; the rest is the last group."""
    size = np.concatenate([(index >= 0).astype(float), (n_states - (index >= 0).sum(1, keepdims=True))], 1)
    weight = np.concatenate([n, np.zeros((len(n), 1))], 1)
    model = np.where(size > 0, np.concatenate([q, rest[:, None]], 1), 0.0)
    step = max(1, 200_000 // size.shape[1] ** 2)
    out = np.empty(len(n))
    for start in range(0, len(n), step):
        part = slice(start, start + step)
        out[part] = _grouped(weight[part], model[part], size[part], op, base, statistic)
    return out


def _grouped(p: Floats, q: Floats, size: Floats, op: Reversible, base: TwoParameter, statistic: str) -> Floats:
    c, q = op.pair_weights(q)
    c = c * size[:, None, :]
    both = c @ np.stack([p, q], -1)
    w = q * both[..., 0] - p * both[..., 1]
    value = base.a * (size * w * w).sum(-1) + base.b * (size * w).sum(-1) ** 2
    if statistic == "U":
        # kappa(y, y) = a (sum_{z != y} t_z^2 + (sum_{z != y} t_z)^2) with t_z = q_z c(y, z); rows of T sum to zero.
        groups = np.arange(c.shape[-1])
        t = c / np.maximum(size[:, None, :], 1.0) * q[:, None, :]
        others = size[:, None, :] - np.eye(len(groups)) * (size[:, None, :] > 0)
        own = base.a * ((others * t * t).sum(-1) + (others * t).sum(-1) ** 2)
        value = value - (p * own).sum(-1)
    return np.asarray(value)


def _difference(
    index: NDArray[np.int64], n: Floats, q: Floats, rest: Floats, n_states: int, base: TwoParameter, statistic: str
) -> Floats:
    """n^2 V, or n^2 V without the diagonal pairs, from the support sorted along the cycle."""
    if n_states == 1:
        return np.zeros(len(index))
    used = index >= 0
    rows = np.arange(len(index))
    last = np.maximum(used.sum(1) - 1, 0)

    def successor(values: Floats, otherwise: Floats) -> Floats:
        """Value at v s: of the next listed outcome if it is adjacent, else of the rest."""
        shifted_index = np.concatenate([index[:, 1:], np.full((len(index), 1), -1)], 1)
        shifted = np.concatenate([values[:, 1:], np.zeros((len(index), 1))], 1)
        shifted_index[rows, last] = index[:, 0]
        shifted[rows, last] = values[:, 0]
        adjacent = used & (shifted_index == (index + 1) % n_states)
        return np.where(adjacent, shifted, otherwise[:, None])

    unseen = np.zeros(len(index))
    p_next = successor(n, unseen)
    covered = successor(np.ones_like(n), unseen)  # 1 where the successor is listed too
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.where(used, successor(q, rest), 0.0) / np.where(used, q, 1.0)
        at = np.where(used, p_next - n * ratio, 0.0)
        # w just before s is all of p(s) where that predecessor is not listed
        follows = np.concatenate([covered[rows, last][:, None], covered[:, :-1]], 1)
        before = np.where(used, n * (1.0 - follows), 0.0)
        if (before.max(initial=0.0) > 0) or ((n == 0) & (p_next > 0)).any():
            warn_stuck("difference")
        square = (at**2).sum(1) + (before**2).sum(1)
        value = base.a * square + base.b * (at.sum(1) + before.sum(1)) ** 2
        if statistic == "U":
            own = base.a * (1.0 + ratio**2) + base.b * (1.0 - ratio) ** 2
            value = value - (n * own).sum(1)
    return np.asarray(value)
