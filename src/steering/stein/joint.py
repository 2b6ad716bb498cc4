r"""The joint conditional discrepancy over a dictionary of (x, y), x = (s, a): Proposition 1 in closed form.

With samples (x_i, y_i), n of them, n_x at input x, and ``w_x`` the Stein vector of row x,

    DSD = (1/n^2) sum_{i,j} k(x_i, x_j) kappa_{x_i x_j}(y_i, y_j)
        = (1/n^2) sum_{x,x'} k(x, x') (n_x w_x)' L (n_x' w_x').

The kernel on inputs is a product over coordinates (state, action), each ``a I + b 11'``; so with ``U = n_x w_x`` as an
array of shape (S, A, S) the form is ``<U, (K_S (x) K_A (x) L) U> / n^2`` and each factor costs one sum along its axis:
O(S A S) after U.

Rows without samples play no role; rows of q that are all zero (actions that are not allowed) are accepted there.

Zero if every visited row fits. Only if: the discrepancy weighs rows by how often they were visited, and it is zero
exactly when all visited rows have w_x = 0, provided both kernels are strictly positive (see `steering.stein.operators`
for w = 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import as_counts, as_floats, as_pmf, counts_of, enough_samples, finite, first_where
from steering.stein.discrepancy import KernelLike, warn_if_stuck
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import BaseKernel, apply_factors, get_kernel
from steering.stein.operators import Operator, get_operator

#: A kernel name for all input coordinates, or one kernel for each of them.
InputKernel = str | Sequence[KernelLike]


def joint_discrepancy(
    counts: ArrayLike | None = None,
    q: ArrayLike | None = None,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    input_kernel: InputKernel = "exp-hamming",
    statistic: Literal["V", "U"] = "V",
    *,
    samples: ArrayLike | None = None,
) -> float:
    """Joint conditional discrepancy of all samples, given as such or in a table of counts.

    Parameters
    ----------
    counts, q
        Shape (S, A, S): samples and model probabilities of each next state (last axis) for each state and action. Any
        number of input axes works.
    operator, kernel
        As in `discrepancy`, for the outcomes.
    input_kernel
        Kernel on the inputs: a name, used for each coordinate (the normalised one divides by their number), or one
        kernel or Gram matrix for each input axis.
    statistic
        ``"V"`` or ``"U"``.
    samples
        Raw samples instead of counts: rows (inputs, then outcome).
    """
    op, base = get_operator(operator), get_kernel(kernel)
    table = as_counts(counts_of(counts, samples, q))
    model = model_rows(cast("ArrayLike", q), table)
    op.check(model)
    n = float(table.sum())
    enough_samples(n, statistic)
    warn_if_stuck(op, table)
    factors = input_kernels(input_kernel, table.shape[:-1])
    with np.errstate(over="ignore", invalid="ignore"):
        total = _joint_form(op.flow(table, model), base, factors)
        if statistic == "V":
            return float(finite(total / n**2, "the joint discrepancy"))
        own = np.einsum("...i,...i->...", table, op.self_similarity(model, base))
        for axis, factor in enumerate(factors):
            diagonal = factor.diagonal(table.shape[axis])
            own = own * diagonal.reshape([-1 if i == axis else 1 for i in range(own.ndim)])
        return float(finite((total - own.sum()) / (n * (n - 1.0)), "the joint discrepancy"))


def joint_population(
    p: ArrayLike,
    q: ArrayLike,
    weights: ArrayLike,
    operator: str | Operator = "barker",
    kernel: KernelLike = "exp-hamming",
    input_kernel: InputKernel = "exp-hamming",
) -> float:
    """Population value: inputs x with probabilities `weights`, true rows p, model rows q."""
    op, base = get_operator(operator), get_kernel(kernel)
    data, model = as_pmf(p, "p"), as_pmf(q, "q")
    visits = np.asarray(weights, float)
    if data.shape != model.shape or visits.shape != data.shape[:-1]:
        raise InvalidDistribution(
            f"p {data.shape}, q {model.shape} and weights {visits.shape} do not match; weights need the axes of inputs."
        )
    as_pmf(visits.ravel(), "weights")
    op.check(model)
    warn_if_stuck(op, data)
    u = visits[..., None] * op.flow(data, model)
    return float(finite(_joint_form(u, base, input_kernels(input_kernel, visits.shape)), "the joint discrepancy"))


def model_rows(q: ArrayLike, counts: NDArray[Any]) -> Floats:
    """Validated model rows; rows that are all zero are allowed where nothing was counted (made uniform there)."""
    model = as_floats(q, "q")
    if model.shape != counts.shape:
        raise InvalidDistribution(f"q has shape {model.shape} and counts {counts.shape}; they must be equal.")
    blank = ~(model != 0).any(-1)
    if not blank.any():
        return as_pmf(model, "q")
    wrong = blank & (counts.sum(-1) > 0)
    if wrong.any():
        raise InvalidDistribution(f"q{first_where(wrong)} is all zero but has samples; give that row a model.")
    return as_pmf(np.where(blank[..., None], 1.0 / model.shape[-1], model), "q")


def input_kernels(kernel: InputKernel, shape: tuple[int, ...]) -> list[BaseKernel]:
    """One kernel for each input axis."""
    if isinstance(kernel, str):
        return [get_kernel(kernel, max(len(shape), 1)) for _ in shape]
    if len(kernel) != len(shape):
        raise InvalidOption(f"input_kernel has {len(kernel)} kernels for {len(shape)} input axes; give one for each.")
    factors = [get_kernel(k) for k in kernel]
    for factor, n in zip(factors, shape, strict=True):
        factor.fits(n)
    return factors


def _joint_form(u: Floats, base: BaseKernel, factors: list[BaseKernel]) -> float:
    return float(np.vdot(u, apply_factors(base.apply(u), factors)))
