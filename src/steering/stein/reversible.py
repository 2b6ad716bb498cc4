"""Reversible Stein operators: symmetric exchange of mass over all pairs of outcomes or along the edges of a graph.

``w(z) = sum_y c(y, z) (p(y) q(z) - p(z) q(y))``; see `steering.stein.operators` for the choices of c, and for when w is
zero only for p = q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.checks import least
from steering.stein.kernels import BaseKernel, TwoParameter
from steering.stein.operator_base import TINY, Operator, in_blocks, product

#: Where a probability is tiny, scale-free conductances see q times this: 1 / q is then finite for every number.
_LIFT = 2.0**500

#: A resistance between two outcomes as a function of their probabilities.
Resistance = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Reversible(Operator):
    """``w(z) = sum_y c(y, z) (p(y) q(z) - p(z) q(y))`` over all pairs or the edges of a graph.

    Parameters
    ----------
    name
        What users write.
    resistance
        The symmetric function ``1 / c(q(y), q(z))``; it returns a new array, zero only where no flow is meant.
    scale_free
        The resistance is proportional to the scale of q: true for the locally balanced ones. Tried out at a few points,
        as is the symmetry.
    needs_full_support
        Whether the resistance is zero where only one probability is.
    shortcut
        Optional O(S) formula for ``w`` over all pairs.
    edges, size
        Pairs (i, j), i < j, that exchange mass, and the number of outcomes; None for all pairs of any number.
    """

    name: str
    resistance: Resistance
    scale_free: bool = True
    needs_full_support: bool = False
    shortcut: Callable[[Floats, Floats], Floats] | None = None
    edges: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        a, b = np.array([0.2, 1e-5, 0.7]), np.array([0.5, 0.3, 0.7])
        there, back, half = (
            np.asarray(self.resistance(x.copy(), y.copy())) for x, y in ((a, b), (b, a), (a / 2, b / 2))
        )
        what = f"the resistance of operator '{self.name}'"
        if there.shape != a.shape or there.dtype != np.float64:
            raise InvalidOption(f"{what} must return an array of floats in the shape of its arguments, q(y) and q(z).")
        if not (np.isfinite(there) & (there > 0)).all():
            raise InvalidOption(f"{what} is {there[~(there > 0)][:1]} for positive probabilities; it must be positive.")
        if not np.allclose(there, back, rtol=1e-9, atol=0.0):
            raise InvalidOption(f"{what} is not symmetric, so Stein's identity would fail; make r(a, b) = r(b, a).")
        if self.scale_free and not np.allclose(half, there / 2, rtol=1e-9, atol=0.0):
            raise InvalidOption(f"{what} does not halve when both probabilities do; pass scale_free=False.")

    @property
    def alpha_above(self) -> float:  # type: ignore[override]
        """Twice the k with which ``T[y, z] = q(z) c(y, z)`` grows as ``(q(y) / q(z))^-k``; 0 for bounded operators."""
        if not self.scale_free:
            return 0.0
        small = np.array([1e-200])
        power = float(np.log(self.resistance(small, np.ones(1)))[0] / np.log(small)[0])
        return round(2.0 * power, 3)

    def on(self, graph: Any) -> Reversible:
        """The same operator with flow only between neighbours.

        Parameters
        ----------
        graph
            Symmetric adjacency matrix (array or SciPy sparse); non-zero means neighbour, the diagonal is ignored.
        """
        matrix: Any = sp.csr_array(graph)  # the stubs of SciPy know too little of sparse comparisons
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidOption(f"a neighbourhood graph must be a square matrix, not of shape {matrix.shape}.")
        pattern = (matrix != 0).astype(np.int8)
        if (pattern != pattern.T).nnz:
            raise InvalidOption("the neighbourhood graph is not symmetric; add the missing reverse edges.")
        upper = sp.triu(pattern, k=1, format="coo")
        i, j = upper.row.astype(np.intp), upper.col.astype(np.intp)
        return replace(self, edges=(i, j), size=int(matrix.shape[0]))

    def check(self, q: Floats) -> None:
        """Refuse zeros where not allowed, and a graph of another size."""
        super().check(q)
        if self.size is not None and q.shape[-1] != self.size:
            raise InvalidOption(
                f"the neighbourhood graph has {self.size} nodes and q has {q.shape[-1]} outcomes; make them equal."
            )

    def _weights(self, qy: Floats, qz: Floats, zeros: bool) -> Floats:
        """Conductances ``1 / resistance``, in place because this is where the time goes."""
        c = self.resistance(qy, qz)
        if zeros:
            return np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)  # both probabilities zero: no flow
        return np.reciprocal(c, out=c)

    def _lifted(self, q: Floats) -> tuple[Floats, bool]:
        smallest = least(q)
        return (q * _LIFT if self.scale_free and smallest < TINY else q), not smallest > 0.0

    def flow(self, p: Floats, q: Floats) -> Floats:
        """``w = q * (C p) - p * (C q)``, in blocks of rows (all pairs) or edge by edge (graph)."""
        if self.edges is not None:
            return self._edge_flow(p, q)
        if self.shortcut is not None:
            return self.shortcut(p, q)
        if q.ndim == 1:  # many rows share one matrix
            return self._pair_flow(p, q) if p.ndim == 1 else np.asarray(p @ self.generator(q))
        p, q = np.broadcast_arrays(p, q)
        return in_blocks(self._pair_flow, p, q)

    def _flow_of_tiny(self, p: Floats, log_q: Floats, q: Floats) -> Floats:
        """``w`` from differences of log q, for operators that depend on ratios of q only; in blocks of rows."""
        if not self.scale_free:
            return super()._flow_of_tiny(p, log_q, q)
        p, log_q = np.broadcast_arrays(p, log_q)
        if self.edges is None:
            return in_blocks(self._pair_flow_from_logs, p, log_q)
        i, j = self.edges
        out, back = self._rates(log_q[..., j] - log_q[..., i])
        return self._gather(product(p[..., i], out) - product(p[..., j], back))

    def _pair_flow_from_logs(self, p: Floats, log_q: Floats) -> Floats:
        out, _ = self._rates(log_q[..., None, :] - log_q[..., :, None])
        moved = product(p[..., :, None], out)  # [y, z]: from y to z
        return np.asarray(moved.sum(-2) - moved.sum(-1))

    def _rates(self, gap: Floats) -> tuple[Floats, Floats]:
        """``T[y, z] = q(z) c(y, z)`` and ``T[z, y]`` for ``gap = log q(z) - log q(y)``, the resistance at scale one."""
        small = np.exp(-np.abs(gap))  # the smaller of the two probabilities, the larger being one
        resistance = self.resistance(small, np.ones_like(small))
        with np.errstate(divide="ignore"):
            up = 1.0 / resistance
        down = np.divide(small, resistance, out=np.zeros_like(small), where=resistance > 0)
        return np.where(gap >= 0, up, down), np.where(gap >= 0, down, up)

    def pair_weights(self, q: Floats) -> tuple[Floats, Floats]:
        """``c(y, z)`` for all pairs of one or more q, and the q (perhaps rescaled) that it belongs to."""
        q, zeros = self._lifted(q)
        return self._weights(q[..., :, None], q[..., None, :], zeros), q

    def _pair_flow(self, p: Floats, q: Floats) -> Floats:
        c, q = self.pair_weights(q)
        if p.ndim == 1:
            return np.asarray(q * (c @ p) - p * (c @ q))
        both = c @ np.stack([p, q], -1)
        return np.asarray(q * both[..., 0] - p * both[..., 1])

    def _edge_flow(self, p: Floats, q: Floats) -> Floats:
        assert self.edges is not None
        i, j = self.edges
        q, zeros = self._lifted(q)
        weights = self._weights(q[..., i], q[..., j], zeros)
        return self._gather((p[..., i] * q[..., j] - p[..., j] * q[..., i]) * weights)

    def _gather(self, mass: Floats) -> Floats:
        """``w`` from what moves along each edge."""
        assert self.edges is not None
        assert self.size is not None
        edges = len(self.edges[0])
        e = np.arange(edges)
        signs = np.repeat([-1.0, 1.0], edges)
        incidence = sp.csr_array(
            (signs, (np.concatenate([e, e]), np.concatenate(self.edges))), shape=(edges, self.size)
        )
        rows = math.prod(mass.shape[:-1])
        return np.asarray((mass.reshape(rows, edges) @ incidence).reshape(*mass.shape[:-1], self.size))

    def generator(self, q: Floats) -> Floats:
        """``T[y, z] = q(z) c(y, z)`` off the diagonal, rows sum to zero."""
        n = q.shape[-1]
        t, q = self.pair_weights(q)
        t *= q[..., None, :]
        if self.edges is not None:
            neighbours = np.zeros((n, n), dtype=bool)
            neighbours[self.edges] = True
            t *= neighbours | neighbours.T
        # a view of the diagonal that can be written to
        diagonal = t.reshape(-1)[:: n + 1] if t.ndim == 2 else np.einsum("...ii->...i", t)
        diagonal[...] = 0.0
        diagonal -= np.add.reduce(t, -1)
        return t

    def sums(self, counts: Floats, q: Floats, kernel: BaseKernel) -> tuple[Floats, Floats]:
        """As in `Operator.sums`; rows of T and w sum to zero, so only the part ``a I`` of a named kernel counts."""
        if q.ndim > 1 or not isinstance(kernel, TwoParameter):
            return super().sums(counts, q, kernel)
        t = self.generator(q)
        own = counts @ np.einsum("ij,ij->i", t, t)
        return self.form(counts @ t, kernel), np.asarray(kernel.a * own)

    def form(self, w: Floats, kernel: BaseKernel) -> Floats:
        """``a |w|^2`` for named kernels: what flows in somewhere has flowed out elsewhere, so w sums to zero."""
        if not isinstance(kernel, TwoParameter):
            return kernel.quadratic(w)
        return np.asarray(kernel.a * (w @ w if w.ndim == 1 else np.vecdot(w, w)))

    def row(self, q: Floats, y: int) -> Floats:
        """One row of the generator in O(S)."""
        n = len(q)
        q, zeros = self._lifted(q)
        t = np.array(self._weights(np.full(n, q[y]), q, zeros) * q)
        if self.edges is not None:
            i, j = self.edges
            keep = np.zeros(n, dtype=bool)
            keep[j[i == y]] = keep[i[j == y]] = True
            t[~keep] = 0.0
        t[y] = 0.0
        t[y] = -t.sum()
        return t

    def rows(self, q: Floats, y: NDArray[np.int64]) -> Floats:
        """As `row`, number by number, whatever the other rows are."""
        if self.edges is not None:
            return super().rows(q, y)
        smallest, i = q.min(-1, keepdims=True), np.arange(len(q))
        if self.scale_free and (smallest < TINY).any():
            q = np.where(smallest < TINY, q * _LIFT, q)
        t = self._weights(np.repeat(q[i, y][:, None], q.shape[-1], axis=1), q, not (smallest > 0.0).all()) * q
        t[i, y] = 0.0
        t[i, y] = -t.sum(-1)
        return t

    def identifies(self, q: Floats) -> bool:
        """Whether ``w = 0`` happens only for p = q, for this single q (always true over all pairs)."""
        if self.edges is None:
            return True
        i, j = self.edges
        n = len(q)
        a = sp.csr_array((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        seen = np.flatnonzero(q > 0)
        parts = sp.csgraph.connected_components(a[seen][:, seen], directed=False)[0]
        reached = (a @ (q > 0).astype(float)) > 0
        return bool(parts == 1 and reached[q <= 0].all())
