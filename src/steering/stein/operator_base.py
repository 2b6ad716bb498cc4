"""What every discrete Stein operator has in common; the mathematics is in `steering.stein.operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import first_where, least
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import BaseKernel, TwoParameter

#: Probabilities below this are not divided by: their inverse, or a product with it, may overflow.
TINY = 1e-280
#: Pairwise blocks are built for so many doubles at a time, about the size of a second-level cache.
_BLOCK = 131_072


class Operator:
    """A discrete Stein operator; subclasses give `generator` (the matrix ``T_q``), and `flow` where that can be faster.

    Attributes
    ----------
    name
        What users write as ``operator=``.
    needs_full_support
        Refuse q with zeros.
    vanishes_on_sparse
        The discrepancy can reach zero on rows p with zeros.
    alpha_above
        Under a Dirichlet posterior the expected discrepancy is finite where alpha is above this (and its sampling
        variance where alpha is above twice this); 0 for operators that are bounded.
    """

    name: str
    needs_full_support: bool = False
    vanishes_on_sparse: bool = True
    alpha_above: float = 0.0

    def generator(self, q: Floats) -> Floats:
        """``T_q`` of shape (..., S, S): row y is what one sample y adds to ``w``."""
        raise NotImplementedError

    def row(self, q: Floats, y: int) -> Floats:
        """One row of ``T_q`` for a single q."""
        return np.asarray(self.generator(q)[y])

    def rows(self, q: Floats, y: NDArray[np.int64]) -> Floats:
        """`row` for many at once: row y[i] of the generator of q[i], shape (m, S)."""
        return np.array([self.row(model, int(outcome)) for model, outcome in zip(q, y, strict=True)])

    def flow(self, p: Floats, q: Floats) -> Floats:
        """``w = p T_q`` along the last axis, leading axes broadcast."""
        return np.asarray((p[..., None, :] @ self.generator(q))[..., 0, :])

    def flow_from_logs(self, p: Floats, log_q: Floats) -> Floats:
        """``w`` for unnormalised log q: posterior draws may lie below the smallest number, their ratios need not."""
        q = np.asarray(special.softmax(log_q, -1))
        if least(q) > TINY:
            return self.flow(p, q)
        return self._flow_of_tiny(p, log_q, q)

    def _flow_of_tiny(self, p: Floats, log_q: Floats, q: Floats) -> Floats:
        """`flow_from_logs` where some q are too small to be told from zero, or to be divided by."""
        if self.needs_full_support and not least(q) > 0.0:
            raise InvalidDistribution(
                f"a posterior draw has a probability below the smallest number, and operator '{self.name}' divides by"
                " it; use operator='barker'."
            )
        return self.flow(p, q)

    def self_similarity(self, q: Floats, kernel: BaseKernel) -> Floats:
        """``kappa(y, y) = T_q[y] L T_q[y]'`` for every y, in blocks of rows."""
        return in_blocks(lambda block: kernel.quadratic(self.generator(block)), q)

    def sums(self, counts: Floats, q: Floats, kernel: BaseKernel) -> tuple[Floats, Floats]:
        """``n^2 V`` and ``sum_y counts(y) kappa(y, y)``: what the U-statistic needs."""
        if q.ndim == 1:  # one model for all rows: its matrix serves both
            t = self.generator(q)
            return kernel.quadratic(counts @ t), np.asarray(counts @ kernel.quadratic(t))
        own = self.self_similarity(q, kernel)
        return kernel.quadratic(self.flow(counts, q)), np.asarray(np.einsum("...i,...i->...", counts, own))

    def bounded(self, kernel: BaseKernel) -> bool:
        """Whether no discrepancy with this kernel can overflow."""
        return not self.needs_full_support and isinstance(kernel, TwoParameter)

    def on(self, graph: Any) -> Operator:
        """The same operator with flow only between neighbours, for reversible operators."""
        raise InvalidOption(
            f"operator '{self.name}' has no neighbours to choose; use a reversible one, such as barker."
        )

    def form(self, w: Floats, kernel: BaseKernel) -> Floats:
        """``w' L w`` for a w that this operator made."""
        return kernel.quadratic(w)

    def check(self, q: Floats) -> None:
        """Refuse a q that the operator is not defined for."""
        if self.needs_full_support and not least(q) > 0.0:
            raise InvalidDistribution(
                f"q{first_where(q <= 0)} is zero and operator '{self.name}' divides by q; use operator='barker' or give"
                " every outcome a positive probability."
            )


def product(p: Floats, rate: Floats) -> Floats:
    """``p * rate``, zero where p = 0 even if the rate is infinite."""
    p, rate = np.broadcast_arrays(p, rate)
    return np.multiply(p, rate, out=np.zeros(rate.shape), where=p > 0)


def in_blocks(function: Callable[..., Floats], *arrays: Floats) -> Floats:
    """Apply a row-wise function that needs S x S memory a row to blocks of rows that fit a cache."""
    shape, n = arrays[0].shape, arrays[0].shape[-1]
    step = max(1, _BLOCK // (n * n))
    flat = [a.reshape(-1, n) for a in arrays]
    out = np.empty(flat[0].shape)
    for start in range(0, len(out), step):
        out[start : start + step] = function(*(a[start : start + step] for a in flat))
    return out.reshape(shape)
