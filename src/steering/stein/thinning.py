r"""Greedy Stein thinning: m points of a sample that together look most like the model.

Step by step take the point that minimises ``kappa(x, x) + 2 sum over the points taken of kappa(x, .)``; a point may be
taken again (``replace=True``), as in the method's definition.

Categorical samples: the objective depends on the outcome only (with inputs such as (s, a): on the cell (s, a, s')), so
the search is over the K different cells in the sample, O(m K S) after one row of the operator for each, whatever the
number of samples. Continuous points with the score of the model: the inverse multiquadric Stein kernel
``k(x, y) = (1 + (x - y)' G (x - y))^(-1/2)`` with preconditioner G, one pass over the sample a step:

    u(x, y) = -3 (d' G G d) / Q^(5/2) + (tr G + (s_x - s_y)' G d) / Q^(3/2) + s_x . s_y / Q^(1/2),
    Q = 1 + d' G d,  d = x - y.

Preconditioners: ``"id"`` (identity), ``"med"`` (identity / squared median distance), ``"sclmed"`` (times log min(n,
1000)), ``"smpcov"`` (inverse sample covariance), or a length l (identity / l^2). With ``standardise`` each coordinate
is first divided by its mean absolute deviation.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import as_floats, as_pmf, as_samples, as_whole, finite
from steering.stein.continuous import Score, points_and_scores
from steering.stein.discrepancy import KernelLike
from steering.stein.errors import InvalidDistribution
from steering.stein.joint import InputKernel, input_kernels, model_rows
from steering.stein.kernels import get_kernel
from steering.stein.operators import Operator, get_operator

Preconditioner = Literal["id", "med", "sclmed", "smpcov"] | float


def thin(
    samples: ArrayLike,
    m: int,
    q: ArrayLike | None = None,
    score: Score | None = None,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    standardise: bool = True,
    preconditioner: Preconditioner = "id",
    replace: bool = True,
    input_kernel: InputKernel = "exp-hamming",
) -> NDArray[np.int64]:
    """Places in the sample of m points that together minimise the Stein discrepancy, greedily.

    Parameters
    ----------
    samples
        Outcomes 0..S-1 or rows (s, a, s') (with `q`), or points (n, D) (with `score`).
    m
        How many to take.
    q
        Model of categorical samples: one pmf, or an array (S, A, S) of them for rows (s, a, s').
    score
        ``grad log q`` at each point (array or function) for continuous samples.
    operator, kernel, input_kernel
        For categorical samples, as in `joint_discrepancy`.
    standardise, preconditioner
        For continuous samples.
    replace
        Whether a sample may be taken more than once.

    Returns
    -------
    array of m integers
    """
    if (q is None) == (score is None):
        raise InvalidOption("give either q= (categorical samples) or score= (continuous ones) to thin().")
    m = as_whole(m, "m", 1)
    size = np.shape(samples)[0] if np.ndim(samples) else 0
    if not replace and m > size:
        raise InvalidOption(f"m = {m} points cannot be taken from {size} without replacement; lower m.")
    if q is not None:
        return _thin_categorical(_Cells(samples, q, operator, kernel, input_kernel), m, replace)
    assert score is not None
    x, s = points_and_scores(samples, score)
    return _thin_continuous(x, s, m, standardise, preconditioner, replace)


class _Cells:
    """The distinct samples (x..., y) in order of first appearance, and their Stein kernel with any of them.

    ``kappa((x, y), (x', y')) = k(x, x') T_x[y] L T_x'[y']'``: one row of T is kept for each cell, no table of pairs.
    """

    def __init__(
        self, samples: ArrayLike, q: ArrayLike, operator: str | Operator, kernel: KernelLike, input_kernel: InputKernel
    ) -> None:
        model, op, base = as_floats(q, "q"), get_operator(operator), get_kernel(kernel)
        flat = as_samples(samples, model.shape)
        cells, first, count = np.unique(flat, return_index=True, return_counts=True)
        order = np.argsort(first)  # so that ties go to the earliest sample
        cells, self.first, self.count = cells[order], first[order], count[order]
        self.places = np.argsort(flat, kind="stable")
        self.start = np.searchsorted(flat[self.places], cells)
        counts = np.bincount(flat, minlength=model.size).reshape(model.shape).astype(float)
        model = as_pmf(model, "q") if model.ndim == 1 else model_rows(model, counts)
        op.check(model)
        self.index = np.stack(np.unravel_index(cells, model.shape), -1)
        self.grams = [
            k.gram(n) for k, n in zip(input_kernels(input_kernel, model.shape[:-1]), model.shape, strict=False)
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            self.rows = op.rows(model.reshape(-1, model.shape[-1])[cells // model.shape[-1]], self.index[:, -1])
            self.image = base.apply(self.rows)
            self.own = np.einsum("ij,ij->i", self.rows, self.image)
        for axis, gram in enumerate(self.grams):
            self.own = self.own * np.diagonal(gram)[self.index[:, axis]]
        finite(self.own, "the Stein kernel", not op.needs_full_support)

    def similarity(self, cell: int) -> Floats:
        """kappa of every cell with one of them."""
        value = self.rows @ self.image[cell]
        for axis, gram in enumerate(self.grams):
            value = value * gram[self.index[cell, axis]][self.index[:, axis]]
        return np.asarray(value)


def _thin_categorical(cells: _Cells, m: int, replace: bool) -> NDArray[np.int64]:
    taken = np.zeros(len(cells.count), dtype=np.int64)
    objective = cells.own.copy()
    chosen = np.empty(m, dtype=np.int64)
    for step in range(m):
        best = int(np.argmin(objective))
        chosen[step] = cells.first[best] if replace else cells.places[cells.start[best] + taken[best]]
        taken[best] += 1
        objective += 2.0 * cells.similarity(best)
        if not replace and taken[best] == cells.count[best]:
            objective[best] = np.inf
    return chosen


def _thin_continuous(
    x: Floats, s: Floats, m: int, standardise: bool, preconditioner: Preconditioner, replace: bool
) -> NDArray[np.int64]:
    if standardise:
        spread = np.mean(np.abs(x - x.mean(0)), axis=0)
        if not spread.min() > 0:
            raise InvalidDistribution(
                "a coordinate of the samples never changes; leave it out or set standardise=False."
            )
        x, s = x / spread, s * spread
    points = _Points(x, s, _preconditioner(x, preconditioner))
    objective = points.own.copy()
    chosen = np.empty(m, dtype=np.int64)
    for step in range(m):
        best = int(np.argmin(objective))
        chosen[step] = best
        if step + 1 < m:
            objective += points.twice_similarity(best)
        if not replace:
            objective[best] = np.inf
    return chosen


class _Points:
    """Continuous points with their scores, one row for each coordinate: every step runs along contiguous memory."""

    def __init__(self, x: Floats, s: Floats, g: Floats) -> None:
        self.x, self.s, self.g = np.ascontiguousarray(x.T), np.ascontiguousarray(s.T), g
        self.gs, self.gx = g @ self.s, g @ self.x
        self.trace = float(np.trace(g))
        self.isotropic = bool(np.all(g == g[0, 0] * np.eye(len(g))))
        self.own = self.trace + np.einsum("ij,ij->j", self.s, self.s)
        self.work = [np.empty(len(x)) for _ in range(5)]

    def twice_similarity(self, best: int) -> Floats:
        """``2 u(x_i, x_best)`` for every i, without allocating."""
        x, gs, gx = self.x, self.gs, self.gx
        form, along, cubic, part, diff = self.work
        form[:] = 0.0
        along[:] = self.trace
        cubic[:] = 0.0
        for k in range(len(x)):
            np.subtract(x[k], x[k, best], out=diff)
            np.subtract(gs[k], gs[k, best], out=part)
            part *= diff
            along += part
            np.subtract(gx[k], gx[k, best], out=part)
            if not self.isotropic:
                cubic += part * part
            part *= diff
            form += part
        if self.isotropic:
            np.multiply(form, self.g[0, 0], out=cubic)
        form += 1.0
        np.divide(1.0, form, out=form)  # 1 / Q
        cubic *= -3.0
        cubic *= form
        cubic += along
        cubic *= form
        cubic += self.s[:, best] @ self.s
        np.sqrt(form, out=form)
        cubic *= form
        cubic *= 2.0
        return cubic


def _preconditioner(x: Floats, name: Preconditioner) -> Floats:
    n, d = x.shape
    if isinstance(name, int | float):
        if not name > 0:
            raise InvalidOption(f"the preconditioner length must be positive, not {name}.")
        return np.eye(d) / float(name) ** 2
    if name == "id":
        return np.eye(d)
    if name in ("med", "sclmed"):
        some = x[np.linspace(0, n - 1, 1000, dtype=int)] if n > 1000 else x
        square = float(np.median(pdist(some))) ** 2 if n > 1 else 0.0
        if not square > 0:
            raise InvalidDistribution("more than half of the points coincide; use preconditioner='id'.")
        return np.eye(d) / square * (np.log(min(1000, n)) if name == "sclmed" else 1.0)
    if name == "smpcov":
        covariance = np.atleast_2d(np.cov(x, rowvar=False))
        if not np.linalg.eigvalsh(covariance)[0] > 0:
            raise InvalidDistribution("the sample covariance is singular; use preconditioner='id'.")
        return np.asarray(np.linalg.inv(covariance))
    raise InvalidOption(f"preconditioner must be 'id', 'med', 'sclmed', 'smpcov' or a length, not '{name}'.")
