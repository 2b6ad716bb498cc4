r"""Discrete Stein discrepancies from probabilities or counts, exactly and without pairs of samples.

With ``w = p T_q`` (`steering.stein.operators`) and the Gram matrix L of the base kernel:

    population:    DSD(p, q) = w' L w
    V-statistic:   the same at p = counts / n
    U-statistic:   (n^2 V - sum_y counts(y) kappa(y, y)) / (n (n - 1)),   unbiased, may be negative
    Stein kernel:  kappa(y, y') = T_q[y] L T_q[y']'

All functions take the outcomes on the last axis; leading axes of p (or counts) and q broadcast, so the conditional
discrepancy of every row (s, a) of an MDP is one call with arrays of shape (S, A, S).

Zero only if p = q? For ``barker``, ``min``, ``gibbs`` (every q) and ``sqrt``, ``difference`` (q > 0) with a strictly
positive kernel, yes; ``difference`` is never zero on a row with an unseen outcome whose cyclic successor was seen, and
then a `SteinSupportWarning` is given. See `steering.stein.operators` for the reasons.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.stein.checks import (
    ahead,
    as_counts,
    as_pmf,
    counts_of,
    enough_samples,
    filled,
    finite,
    least,
    rows_with_enough,
    same_outcomes,
)
from steering.stein.errors import SteinSupportWarning
from steering.stein.kernels import BaseKernel, get_kernel
from steering.stein.operators import Operator, get_operator

KernelLike = str | BaseKernel | ArrayLike
_NOTHING = nullcontext()


def discrepancy(
    p: ArrayLike, q: ArrayLike, operator: str | Operator = "barker", kernel: KernelLike = "exp-hamming"
) -> Floats | float:
    """Discrete Stein discrepancy ``w' L w`` between data distributions p and models q.

    Parameters
    ----------
    p, q
        Probabilities along the last axis; leading axes broadcast.
    operator
        Name (``barker``, ``difference``, ``gibbs``, ``sqrt``, ``min``) or `Operator`.
    kernel
        Name (``exp-hamming``, ``exp-hamming-normalised``, ``delta``), `BaseKernel` (`ValueKernel`, `MixedKernel`) or
        Gram matrix.

    Returns
    -------
    float or array
        A float for single vectors, else one value for each leading index.

    Warns
    -----
    SteinSupportWarning
        With ``difference`` on a row p that the operator cannot vanish on.
    """
    op, base = get_operator(operator), get_kernel(kernel)
    p, q = as_pmf(p, "p"), as_pmf(q, "q")
    same_outcomes(p, q, "p", "q")
    op.check(q)
    warn_if_stuck(op, p)
    with overflow_is_refused(op, base):
        value = op.form(op.flow(p, q), base)
    return _scalar(finite(value, "the discrepancy", not op.needs_full_support))


def discrepancy_from_counts(
    counts: ArrayLike | None = None,
    q: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
    empty: Literal["error", "nan", "zero"] = "error",
    *,
    samples: ArrayLike | None = None,
) -> Floats | float:
    """V- or U-statistic of samples, which are given as such or as counts.

    Equal to the double sum over all pairs of samples (V) or all pairs of different ones (U), at O(S) to O(S^2) whatever
    n.

    Parameters
    ----------
    counts
        Number of samples of each outcome along the last axis.
    q
        Models; leading axes broadcast with those of counts.
    statistic
        ``"V"`` needs one sample a row, ``"U"`` two.
    empty
        What rows with fewer get: an error for all, NaN, or zero.
    samples
        Raw samples instead of counts: outcomes 0, 1, ... of a single q, or rows (inputs, then outcome) of a table.
    """
    op, base = get_operator(operator), get_kernel(kernel)
    table = counts
    if samples is not None or counts is None or q is None or np.shape(counts) != np.shape(q):
        table = counts_of(counts, samples, q)
    counts, q = as_counts(cast("ArrayLike", table)), as_pmf(cast("ArrayLike", q), "q")
    same_outcomes(counts, q, "counts", "q")
    op.check(q)
    n = np.add.reduce(counts, -1)
    few = None
    if counts.ndim > 1 or empty != "error":
        n, few = rows_with_enough(np.asarray(n), statistic, empty)
    else:
        enough_samples(n, statistic)
    warn_if_stuck(op, counts)
    with overflow_is_refused(op, base):
        if statistic == "V":
            value = op.form(op.flow(counts, q), base) / (n * n)
        else:
            total, own = op.sums(counts, q, base)
            value = (total - own) / (n * (n - 1.0))
    finite(value, f"the {statistic}-statistic", not op.needs_full_support)
    return _scalar(filled(value, few, empty))


def stein_kernel(q: ArrayLike, operator: str | Operator = "barker", kernel: KernelLike = "exp-hamming") -> Floats:
    """The matrices ``kappa(y, y') = T_q[y] L T_q[y']'`` of shape (..., S, S), positive semi-definite."""
    op, base = get_operator(operator), get_kernel(kernel)
    q = as_pmf(q, "q")
    op.check(q)
    t = op.generator(q)
    with np.errstate(over="ignore", invalid="ignore"):
        kappa = base.apply(t) @ np.swapaxes(t, -1, -2)
    kappa = (kappa + np.swapaxes(kappa, -1, -2)) / 2
    return np.asarray(finite(kappa, "the Stein kernel", not op.needs_full_support))


def warn_if_stuck(operator: Operator, p: NDArray[Any]) -> None:
    """Give the `SteinSupportWarning` when the literal operator cannot vanish on some row p."""
    if operator.vanishes_on_sparse or least(p) > 0:
        return
    if ((p == 0) & (ahead(p) > 0)).any():
        warn_stuck(operator.name)


def warn_stuck(name: str) -> None:
    """Give the `SteinSupportWarning`; its text never changes, so Python shows it once for each place that calls."""
    warnings.warn(
        f"operator '{name}' cannot vanish on data that misses an outcome whose cyclic successor it has: the"
        " discrepancy stays away from zero for every model; use operator='barker' on sparse rows.",
        SteinSupportWarning,
        stacklevel=4,
    )


def overflow_is_refused(operator: Operator, kernel: BaseKernel) -> AbstractContextManager[object]:
    """No floating-point warnings where `finite` looks at the result; nothing to do where none can arise."""
    return _NOTHING if operator.bounded(kernel) else np.errstate(over="ignore", invalid="ignore")


def _scalar(value: Floats) -> Floats | float:
    return float(value) if np.ndim(value) == 0 else value
