r"""Vectors of d categorical coordinates, y = (y_1, ..., y_d) with y_i out of n_i values.

``difference`` has one vector for each coordinate, v_i the cyclic successor in coordinate i alone,

    w_i(z) = p(v_i z) - p(z) q(v_i z) / q(z),      DSD = sum_i w_i' L w_i,

and the reversible operators exchange mass between vectors that differ in one coordinate (`hamming_graph`).
The kernels are
products over coordinates, ``exp(-H)``, ``exp(-H/d)`` or delta, so L is applied one axis at a time: O(d^2 n_1
... n_d).

Two ways in: tables p, counts and q with one axis for each coordinate (`vector_discrepancy`,
`vector_discrepancy_from_counts`), or samples and an unnormalised log pmf for spaces too large to list
(`vector_discrepancy_from_samples`), where only pairs of distinct samples are visited, in blocks, with

    kappa(x, x') = sum_i l_-i [ f(x_i, x'_i) (1 + r_i(x) r_i(x')) - r_i(x') f(v^-1 x_i, x'_i) - r_i(x) f(x_i,
    v^-1 x'_i) ],

f the factor of one coordinate, l_-i the product of the others, r_i(x) = q(v_i x) / q(x). Zero if and only if
p = q for q > 0
(``difference``, ``sqrt``) and for every q whose support is connected by single-coordinate moves (``barker``,
``min``, ``gibbs``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from steering.errors import InvalidOption
from steering.stein.checks import Array, as_counts, as_floats, as_pmf, finite, first_where
from steering.stein.discrepancy import warn_stuck
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import TwoParameter, get_kernel
from steering.stein.operators import Operator, Reversible, get_operator

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
    p: ArrayLike, q: ArrayLike, operator: str | Operator = "difference", kernel: str | TwoParameter = "exp-hamming"
) -> float:
    """Population discrepancy of tables p and q, one axis for each coordinate."""
    table, model = _tables(p, q, "p")
    as_pmf(table.ravel(), "p")
    return _form(table, model, operator, kernel, "the discrepancy")


def vector_discrepancy_from_counts(
    counts: ArrayLike,
    q: ArrayLike,
    operator: str | Operator = "difference",
    kernel: str | TwoParameter = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
) -> float:
    """V- or U-statistic (U for ``difference`` only) from a table of counts, one axis for each coordinate."""
    table, model = _tables(as_counts(counts), q, "counts")
    n = _enough(float(table.sum()), statistic)
    total = _form(table, model, operator, kernel, f"the {statistic}-statistic")
    if statistic == "V":
        return total / n**2
    if get_operator(operator).name != "difference":
        raise InvalidOption("the U-statistic of vectors is there for operator='difference'; use statistic='V'.")
    factor = _factor(kernel, table.ndim)
    own = np.zeros(table.shape)
    for axis, size in enumerate(table.shape):
        ratio = np.roll(model, -1, axis) / model
        own += _own_term(factor, table.ndim, size, ratio)
    return float(finite((total - float((table * own).sum())) / (n * (n - 1.0)), "the U-statistic"))


def vector_discrepancy_from_samples(
    samples: ArrayLike,
    log_pmf: Callable[[NDArray[np.int64]], ArrayLike],
    sizes: Sequence[int],
    kernel: str | TwoParameter = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
) -> float:
    """V- or U-statistic of the ``difference`` operator for samples (n, d) and an unnormalised log pmf.

    Parameters
    ----------
    samples
        Whole numbers, coordinate i from 0 to sizes[i] - 1.
    log_pmf
        Takes (m, d) vectors, returns m values of log q up to a constant; finite everywhere it is asked.
    """
    points, weight = _distinct(samples, sizes)
    n = _enough(float(weight.sum()), statistic)
    d = points.shape[1]
    factor = _factor(kernel, d)
    ratio = _ratios(points, log_pmf, sizes)
    total = 0.0
    step = max(1, _BLOCK // len(points))
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        kappa = _pairs(points[block], ratio[block], points, ratio, sizes, factor)
        total += float(weight[block] @ kappa @ weight)
    finite(total, f"the {statistic}-statistic")
    if statistic == "V":
        return total / n**2
    own = sum(_own_term(factor, d, sizes[i], ratio[:, i]) for i in range(d))
    return float((total - weight @ np.asarray(own)) / (n * (n - 1.0)))


def _tables(p: ArrayLike, q: ArrayLike, name: str) -> tuple[Array, Array]:
    table, model = as_floats(p, name), as_floats(q, "q")
    if table.shape != model.shape:
        raise InvalidDistribution(
            f"{name} has shape {table.shape} and q {model.shape}; give one axis a coordinate in both."
        )
    as_pmf(model.ravel(), "q")
    return table, model


def _factor(kernel: str | TwoParameter, d: int) -> TwoParameter:
    factor = get_kernel(kernel, d)
    if not isinstance(factor, TwoParameter):
        raise InvalidOption("vectors need a named kernel such as 'exp-hamming'; a Gram matrix has no coordinates.")
    return factor


def _enough(n: float, statistic: str) -> float:
    if statistic not in ("V", "U"):
        raise InvalidOption(f"statistic must be 'V' or 'U', not '{statistic}'.")
    need = 1 if statistic == "V" else 2
    if n < need:
        raise InvalidDistribution(f"there are {int(n)} samples and the {statistic}-statistic needs {need}; add some.")
    return n


def _form(p: Array, q: Array, operator: str | Operator, kernel: str | TwoParameter, what: str) -> float:
    op = get_operator(operator)
    op.check(q.ravel())
    factor = _factor(kernel, p.ndim)
    if op.name == "difference":
        if any(((p == 0) & (np.roll(p, -1, axis) > 0)).any() for axis in range(p.ndim)):
            warn_stuck(op.name, "")
        flows = [_difference_flow(p, q, axis) for axis in range(p.ndim)]
    elif isinstance(op, Reversible):
        local = op if op.edges is not None else op.on(hamming_graph(p.shape))
        flows = [local.flow(p.ravel(), q.ravel()).reshape(p.shape)]
    else:
        raise InvalidOption(
            f"operator '{op.name}' has no form for vectors; use difference, barker, min, sqrt or gibbs."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return float(finite(sum(_quadratic(w, factor) for w in flows), what))


def _difference_flow(p: Array, q: Array, axis: int) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(np.roll(p, -1, axis) - p * (np.roll(q, -1, axis) / q))


def _quadratic(w: Array, factor: TwoParameter) -> float:
    image = w
    for axis in range(w.ndim):
        image = np.moveaxis(factor.apply(np.moveaxis(image, axis, -1)), -1, axis)
    return float(np.vdot(w, image))


def _own_term(factor: TwoParameter, d: int, size: int, ratio: Array) -> Array:
    """Share of one coordinate in kappa(x, x)."""
    same = factor.a + factor.b
    shifted = same if size == 1 else factor.b
    return np.asarray(same ** (d - 1) * (same * (1.0 + ratio**2) - 2.0 * ratio * shifted))


def _distinct(samples: ArrayLike, sizes: Sequence[int]) -> tuple[NDArray[np.int64], Array]:
    x = np.asarray(samples)
    if x.ndim != 2 or x.dtype.kind not in "iu" or x.shape[1] != len(sizes) or not len(x):
        raise InvalidDistribution(
            f"samples must be whole numbers of shape (n, {len(sizes)}), at least one row of them."
        )
    bad = (x < 0) | (x >= np.asarray(sizes))
    if bad.any():
        raise InvalidDistribution(f"samples{first_where(bad)} is {x[bad][0]}, outside its coordinate; count from 0.")
    points, weight = np.unique(x.astype(np.int64), axis=0, return_counts=True)
    return points, weight.astype(float)


def _ratios(
    points: NDArray[np.int64], log_pmf: Callable[[NDArray[np.int64]], ArrayLike], sizes: Sequence[int]
) -> Array:
    """``r_i(x) = q(v_i x) / q(x)`` for every point and coordinate."""
    here = np.asarray(log_pmf(points), float)
    logs = np.empty(points.shape)
    for i, n in enumerate(sizes):
        ahead = points.copy()
        ahead[:, i] = (ahead[:, i] + 1) % n
        with np.errstate(invalid="ignore"):  # infinities are refused below
            logs[:, i] = np.asarray(log_pmf(ahead), float) - here
    if not np.isfinite(logs).all():
        raise InvalidDistribution("log_pmf is not finite at a sample or next to one; this operator needs q > 0.")
    with np.errstate(over="ignore"):
        return np.exp(logs)


def _pairs(
    x: NDArray[np.int64], rx: Array, y: NDArray[np.int64], ry: Array, sizes: Sequence[int], factor: TwoParameter
) -> Array:
    same = [factor.b + factor.a * (x[:, None, i] == y[None, :, i]) for i in range(len(sizes))]
    before: list[Array] = [np.ones((len(x), len(y)))]
    for f in same[:-1]:
        before.append(before[-1] * f)
    out, after = np.zeros((len(x), len(y))), np.ones((len(x), len(y)))
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(len(sizes) - 1, -1, -1):
            back = factor.b + factor.a * ((x[:, None, i] - 1) % sizes[i] == y[None, :, i])
            forth = factor.b + factor.a * (x[:, None, i] == (y[None, :, i] - 1) % sizes[i])
            a, b = rx[:, None, i], ry[None, :, i]
            out += before[i] * after * (same[i] * (1.0 + a * b) - b * back - a * forth)
            after = after * same[i]
    return out
