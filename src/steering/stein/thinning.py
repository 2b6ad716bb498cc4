r"""Greedy Stein thinning: m points of a sample that together look most like the model.

Step by step take the point that minimises ``kappa(x, x) + 2 sum over the points taken of kappa(x, .)``; a
point may be
taken again (``replace=True``), as in the method's definition.

Categorical samples: the objective depends on the outcome only, so the search is over S outcomes with one S x
S table, O(m S)
after it, whatever the number of samples. Continuous points with the score of the model: the inverse
multiquadric Stein
kernel ``k(x, y) = (1 + (x - y)' G (x - y))^(-1/2)`` with preconditioner G, one pass over the sample a step:

    u(x, y) = -3 (d' G G d) / Q^(5/2) + (tr G + (s_x - s_y)' G d) / Q^(3/2) + s_x . s_y / Q^(1/2),   Q = 1 +
    d' G d,  d = x - y.

Preconditioners: ``"id"`` (identity), ``"med"`` (identity / squared median distance), ``"sclmed"`` (times log
min(n, 1000)),
``"smpcov"`` (inverse sample covariance), or a length l (identity / l^2). With ``standardise`` each
coordinate is first divided by its
mean absolute deviation.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from steering.errors import InvalidOption
from steering.stein.checks import Array, as_pmf, first_where
from steering.stein.continuous import Score, points_and_scores
from steering.stein.discrepancy import KernelLike, stein_kernel
from steering.stein.errors import InvalidDistribution
from steering.stein.operators import Operator

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
) -> NDArray[np.int64]:
    """Places in the sample of m points that together minimise the Stein discrepancy, greedily.

    Parameters
    ----------
    samples
        Outcomes 0..S-1 (with `q`) or points (n, D) (with `score`).
    m
        How many to take.
    q
        Model pmf for categorical samples.
    score
        ``grad log q`` at each point (array or function) for continuous samples.
    operator, kernel
        For categorical samples, as in `discrepancy`.
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
    if not isinstance(m, int | np.integer) or m < 1:
        raise InvalidOption(f"m must be a whole number of at least 1, not {m!r}.")
    size = np.shape(samples)[0] if np.ndim(samples) else 0
    if not replace and m > size:
        raise InvalidOption(f"m = {m} points cannot be taken from {size} without replacement; lower m.")
    if q is not None:
        return _thin_categorical(samples, int(m), q, operator, kernel, replace)
    assert score is not None
    x, s = points_and_scores(samples, score)
    return _thin_continuous(x, s, int(m), standardise, preconditioner, replace)


def _thin_categorical(
    samples: ArrayLike, m: int, q: ArrayLike, operator: str | Operator, kernel: KernelLike, replace: bool
) -> NDArray[np.int64]:
    y = np.asarray(samples)
    model = as_pmf(q, "q")
    if model.ndim != 1:
        raise InvalidDistribution(f"q must be one pmf to thin towards, not of shape {model.shape}.")
    if y.ndim != 1 or y.dtype.kind not in "iu" or not y.size:
        raise InvalidDistribution("categorical samples must be a one-dimensional array of whole numbers, not empty.")
    bad = (y < 0) | (y >= len(model))
    if bad.any():
        raise InvalidDistribution(f"samples{first_where(bad)} is {y[bad][0]}, outside 0..{len(model) - 1}.")
    kappa = stein_kernel(model, operator, kernel)
    outcomes, first, left = np.unique(y, return_index=True, return_counts=True)
    # Outcomes in order of first appearance, so that ties go to the earliest sample.
    order = np.argsort(first)
    outcomes, first, left = outcomes[order], first[order], left[order]
    places = np.argsort(y, kind="stable")
    start = np.searchsorted(y[places], outcomes)
    taken = np.zeros(len(outcomes), dtype=np.int64)
    table = kappa[np.ix_(outcomes, outcomes)]
    objective = np.diagonal(table).copy()
    chosen = np.empty(m, dtype=np.int64)
    for step in range(m):
        best = int(np.argmin(objective))
        chosen[step] = first[best] if replace else places[start[best] + taken[best]]
        taken[best] += 1
        objective += 2.0 * table[best]
        if not replace and taken[best] == left[best]:
            table[:, best] = np.inf
            objective[best] = np.inf
    return chosen


def _thin_continuous(
    x: Array, s: Array, m: int, standardise: bool, preconditioner: Preconditioner, replace: bool
) -> NDArray[np.int64]:
    if standardise:
        spread = np.mean(np.abs(x - x.mean(0)), axis=0)
        if not spread.min() > 0:
            raise InvalidDistribution(
                "a coordinate of the samples never changes; leave it out or set standardise=False."
            )
        x, s = x / spread, s * spread
    g = _preconditioner(x, preconditioner)
    # One row for each coordinate: every step then runs along contiguous memory.
    x, s = np.ascontiguousarray(x.T), np.ascontiguousarray(s.T)
    scaled, twice = g @ s, g @ x
    trace = float(np.trace(g))
    objective = trace + np.einsum("ij,ij->j", s, s)
    chosen = np.empty(m, dtype=np.int64)
    work = [np.empty(x.shape[1]) for _ in range(5)]
    isotropic = bool(np.all(g == g[0, 0] * np.eye(len(g))))
    for step in range(m):
        best = int(np.argmin(objective))
        chosen[step] = best
        if step + 1 < m:
            objective += _twice_similarity(x, s, scaled, twice, g, trace, best, work, isotropic)
        if not replace:
            objective[best] = np.inf
    return chosen


def _twice_similarity(
    x: Array,
    s: Array,
    scaled: Array,
    twice: Array,
    g: Array,
    trace: float,
    best: int,
    work: list[Array],
    isotropic: bool,
) -> Array:
    """``2 u(x_i, x_best)`` for every i, without allocating."""
    form, along, cubic, part, diff = work
    form[:] = 0.0
    along[:] = trace
    cubic[:] = 0.0
    for k in range(len(x)):
        np.subtract(x[k], x[k, best], out=diff)
        np.subtract(scaled[k], scaled[k, best], out=part)
        part *= diff
        along += part
        np.subtract(twice[k], twice[k, best], out=part)
        if not isotropic:
            cubic += part * part
        part *= diff
        form += part
    if isotropic:
        np.multiply(form, g[0, 0], out=cubic)
    form += 1.0
    np.divide(1.0, form, out=form)  # 1 / Q
    cubic *= -3.0
    cubic *= form
    cubic += along
    cubic *= form
    dot = s[:, best] @ s
    cubic += dot
    np.sqrt(form, out=form)
    cubic *= form
    cubic *= 2.0
    return cubic


def _preconditioner(x: Array, name: Preconditioner) -> Array:
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
