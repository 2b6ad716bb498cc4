r"""Vectors of categorical coordinates from samples and an unnormalised log pmf, for spaces too large to list.

Only pairs of distinct samples x, x' are visited, in blocks. The kernel is a product of factors ``f(u, v) = b + a [u =
v]``. For ``difference`` (r_i(x) = q(v_i x) / q(x), l_-i the product of the other factors)

    kappa(x, x') = sum_i l_-i [ f(x_i, x'_i) (1 + r_i(x) r_i(x'))
                                - r_i(x') f(v^-1 x_i, x'_i) - r_i(x) f(x_i, v^-1 x'_i) ].

A locally balanced operator moves x to u in coordinate i at the rate r_i(x, u) = q(y) c(x, y), y the vector with u in
place of x_i; R_i(x) is the sum over u. The constant b drops out of every difference, and with [] one where true

    g_i(x, x') = a (r_i(x, x'_i) - R_i(x) [x_i = x'_i]),
    h_i        = a (sum_u r_i(x, u) r_i(x', u) - r_i(x, x'_i) R_i(x') - R_i(x) r_i(x', x_i)
                    + R_i(x) R_i(x') [x_i = x'_i]),
    kappa      = sum_i l_-i h_i + sum_{i != j} l_-ij g_i(x, x') g_j(x', x),

which takes one pass over the coordinates for all pairs: products with none, one and two factors replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import enough_samples, finite, first_where
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import TwoParameter
from steering.stein.operators import Operator, Reversible, get_operator
from steering.stein.vectors import vector_factor

LogPmf = Callable[[NDArray[np.int64]], ArrayLike]
_BLOCK = 200_000


def vector_discrepancy_from_samples(
    samples: ArrayLike,
    log_pmf: Callable[[NDArray[np.int64]], ArrayLike],
    sizes: Sequence[int],
    operator: str | Operator = "barker",
    kernel: str | TwoParameter = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
) -> float:
    """V- or U-statistic for samples (n, d) and an unnormalised log pmf; nothing of the size of the space is built.

    Parameters
    ----------
    samples
        Whole numbers, coordinate i from 0 to sizes[i] - 1.
    log_pmf
        Takes (m, d) vectors, returns m values of log q up to a constant; minus infinity where q is zero, which
        ``difference`` and ``sqrt`` refuse.
    sizes
        Number of values of each coordinate.
    operator
        ``barker``, ``min``, ``sqrt`` or ``difference``.
    kernel, statistic
        As in `vector_discrepancy_from_counts`.
    """
    points, weight = _distinct(samples, sizes)
    n = float(weight.sum())
    enough_samples(n, statistic)
    factor, op = vector_factor(kernel, points.shape[1]), get_operator(operator)
    pairs: _Difference | _Exchange
    if op.name == "difference":
        pairs = _Difference(points, log_pmf, sizes, factor)
    else:
        pairs = _Exchange(points, log_pmf, sizes, factor, op)
    total, own = 0.0, 0.0
    step = max(1, _BLOCK // len(points))
    for start in range(0, len(points), step):
        block = np.arange(start, min(start + step, len(points)))
        kappa = pairs.kappa(block)
        total += float(weight[block] @ kappa @ weight)
        own += float(weight[block] @ kappa[np.arange(len(block)), block])
    finite(total, f"the {statistic}-statistic")
    return total / n**2 if statistic == "V" else (total - own) / (n * (n - 1.0))


class _Difference:
    """kappa of the literal operator."""

    def __init__(self, points: NDArray[np.int64], log_pmf: LogPmf, sizes: Sequence[int], factor: TwoParameter) -> None:
        self.points, self.sizes, self.factor = points, sizes, factor
        self.ratio = _ratios(points, log_pmf, sizes)

    def kappa(self, block: NDArray[np.intp]) -> Floats:
        """kappa of some points with all."""
        return _pairs(self.points[block], self.ratio[block], self.points, self.ratio, self.sizes, self.factor)


class _Exchange:
    """kappa of a locally balanced operator between vectors that differ in one coordinate."""

    def __init__(
        self, points: NDArray[np.int64], log_pmf: LogPmf, sizes: Sequence[int], factor: TwoParameter, op: Operator
    ) -> None:
        if not isinstance(op, Reversible) or not op.scale_free or op.edges is not None:
            raise InvalidOption(
                f"operator '{op.name}' has no form for samples of vectors; use barker, min, sqrt or difference."
            )
        self.points, self.factor = points, factor
        self.rates = [_rates(points, log_pmf, axis, size, op) for axis, size in enumerate(sizes)]
        stuck = sum(rate.sum(axis=1) for rate in self.rates) == 0
        if max(sizes) > 1 and np.any(stuck & ~np.isfinite(_logs(log_pmf, points, op))):
            raise InvalidDistribution(
                "log_pmf is not finite at a sample and everywhere next to it; q must have mass there."
            )

    def kappa(self, block: NDArray[np.intp]) -> Floats:
        """kappa of some points with all."""
        x, a, b = self.points, self.factor.a, self.factor.b
        shape = (len(block), len(x))
        none, mine, theirs, both = np.ones(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for axis, rate in enumerate(self.rates):
            same = x[block, None, axis] == x[None, :, axis]
            total = rate.sum(axis=1)
            there = rate[block][:, x[:, axis]]
            back = rate[:, x[block, axis]].T
            g = a * (there - total[block, None] * same)
            g_back = a * (back - total[None, :] * same)
            crossed = rate[block] @ rate.T - there * total[None, :] - total[block, None] * back
            h = a * (crossed + total[block, None] * total[None, :] * same)
            f = b + a * same
            both = both * f + mine * g_back + theirs * g + none * h
            mine, theirs, none = mine * f + none * g, theirs * f + none * g_back, none * f
        return both


def _rates(points: NDArray[np.int64], log_pmf: LogPmf, axis: int, size: int, op: Reversible) -> Floats:
    """``q(y) c(x, y)`` for every point x and every value of one coordinate; zero at its own."""
    here = _logs(log_pmf, points, op)
    rates = np.zeros((len(points), size))
    for value in range(size):
        moved = points.copy()
        moved[:, axis] = value
        there = _logs(log_pmf, moved, op)
        top = np.maximum(here, there)
        known = np.isfinite(top)  # where neither has mass nothing moves
        p, q = (np.exp(logs[known] - top[known]) for logs in (here, there))
        with np.errstate(over="ignore", divide="ignore"):
            rates[known, value] = q / op.resistance(p.copy(), q.copy())
    rates[np.arange(len(points)), points[:, axis]] = 0.0
    return rates


def _logs(log_pmf: LogPmf, points: NDArray[np.int64], op: Reversible) -> Floats:
    logs = np.asarray(log_pmf(points), dtype=np.float64)
    if logs.shape != (len(points),) or np.isnan(logs).any() or (logs == np.inf).any():
        raise InvalidDistribution("log_pmf must return one number below infinity for each vector.")
    if op.needs_full_support and not np.isfinite(logs).all():
        raise InvalidDistribution("log_pmf is not finite at a sample or next to one; this operator needs q > 0.")
    return logs


def _distinct(samples: ArrayLike, sizes: Sequence[int]) -> tuple[NDArray[np.int64], Floats]:
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
) -> Floats:
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
    x: NDArray[np.int64], rx: Floats, y: NDArray[np.int64], ry: Floats, sizes: Sequence[int], factor: TwoParameter
) -> Floats:
    same = [factor.b + factor.a * (x[:, None, i] == y[None, :, i]) for i in range(len(sizes))]
    before: list[Floats] = [np.ones((len(x), len(y)))]
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
