r"""Discrete Stein operators in closed form.

An operator turns a model pmf ``q`` into a linear map of data distributions ``p``:

    E_{y ~ p}[T_q l(y, .)] = sum_z w(z) l(z, .),     w(z) = sum_y p(y) T_q[y, z],     w = 0 for p = q

(Stein's identity). Everything else in this package is a quadratic form in ``w``.

``difference`` (the literal operator; v the cyclic successor, v^-1 its inverse). From
``T_q l(y, .) = s_q(y) l(y, .) - D* l(y, .)`` with ``s_q(y) = 1 - q(v y) / q(y)`` and
``D* l(y, .) = l(y, .) - l(v^-1 y, .)``:

    w(z) = p(v z) - p(z) q(v z) / q(z)

Using v where v^-1 belongs gives ``p(v^-1 z) - p(z) q(v z) / q(z)``, which is not zero at p = q for more than two
outcomes.

Reversible operators: ``w(z) = sum_y c(y, z) (p(y) q(z) - p(z) q(y))`` with a symmetric conductance c > 0 over all pairs
or over the edges of a graph. The locally balanced ones have ``q(z) c(y, z) = g(q(z) / q(y))`` with ``g(t) = t g(1/t)``:

=========  ====================  ===========================  =========================
name       g(t)                  resistance 1 / c(y, z)       zero probabilities
=========  ====================  ===========================  =========================
barker     t / (1 + t)           q(y) + q(z)                  allowed
sqrt       sqrt(t)               sqrt(q(y) q(z))              refused
min        min(1, t)             max(q(y), q(z))              allowed
gibbs      --                    1, so ``w = q - p``          allowed
=========  ====================  ===========================  =========================

When is ``w = 0`` only for p = q? ``difference``: for every q > 0 (p/q is constant around the cycle). All-pairs
reversible operators: for every q, zeros included: a pair with q(y) = q(z) = 0 carries no flow (0/0 is read as 0), but
mass of p where q = 0 flows out to every outcome that q allows, so ``w(y) = -p(y) #{z: q(z) > 0}`` there (barker, min).
On a graph: when the outcomes with q > 0 are connected in it and every outcome with q = 0 has a neighbour with q > 0
(`Reversible.identifies`).

Reversible operators do not depend on how outcomes are numbered; ``difference`` does. On a sparse row ``difference``
cannot vanish: if p(z) = 0 < p(v z) then ``w(z) = p(v z)`` whatever q is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import special

from steering.errors import InvalidOption, unknown_name
from steering.stein.checks import Array, ahead, first_where, least
from steering.stein.errors import InvalidDistribution
from steering.stein.kernels import BaseKernel, TwoParameter

#: Where a probability is tiny, scale-free conductances see q times this: 1 / q is then finite for every number.
_LIFT = 2.0**500
_TINY = 1e-280
#: Pairwise blocks are built for so many doubles at a time, about the size of a second-level cache.
_BLOCK = 131_072

#: A resistance between two outcomes as a function of their probabilities.
Resistance = Callable[[Array, Array], Array]


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

    def generator(self, q: Array) -> Array:
        """``T_q`` of shape (..., S, S): row y is what one sample y adds to ``w``."""
        raise NotImplementedError

    def row(self, q: Array, y: int) -> Array:
        """One row of ``T_q`` for a single q."""
        return np.asarray(self.generator(q)[y])

    def flow(self, p: Array, q: Array) -> Array:
        """``w = p T_q`` along the last axis, leading axes broadcast."""
        return np.asarray((p[..., None, :] @ self.generator(q))[..., 0, :])

    def flow_from_logs(self, p: Array, log_q: Array) -> Array:
        """``w`` for unnormalised log q: posterior draws may lie below the smallest number, their ratios need not."""
        q = np.asarray(special.softmax(log_q, -1))
        if least(q) > _TINY:
            return self.flow(p, q)
        return self._flow_of_tiny(p, log_q, q)

    def _flow_of_tiny(self, p: Array, log_q: Array, q: Array) -> Array:
        """`flow_from_logs` where some q are too small to be told from zero, or to be divided by."""
        if self.needs_full_support and not least(q) > 0.0:
            raise InvalidDistribution(
                f"a posterior draw has a probability below the smallest number, and operator '{self.name}' divides by"
                " it; use operator='barker'."
            )
        return self.flow(p, q)

    def self_similarity(self, q: Array, kernel: BaseKernel) -> Array:
        """``kappa(y, y) = T_q[y] L T_q[y]'`` for every y, in blocks of rows."""
        return _in_blocks(lambda block: kernel.quadratic(self.generator(block)), q)

    def sums(self, counts: Array, q: Array, kernel: BaseKernel) -> tuple[Array, Array]:
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

    def form(self, w: Array, kernel: BaseKernel) -> Array:
        """``w' L w`` for a w that this operator made."""
        return kernel.quadratic(w)

    def check(self, q: Array) -> None:
        """Refuse a q that the operator is not defined for."""
        if self.needs_full_support and not least(q) > 0.0:
            raise InvalidDistribution(
                f"q{first_where(q <= 0)} is zero and operator '{self.name}' divides by q; use operator='barker' or give"
                " every outcome a positive probability."
            )


@dataclass(frozen=True)
class Difference(Operator):
    """The literal operator: ``w(z) = p(v z) - p(z) q(v z) / q(z)``, v z = z + 1 around the cycle."""

    name: str = "difference"
    needs_full_support: bool = True
    vanishes_on_sparse: bool = False
    alpha_above: float = 2.0

    def flow(self, p: Array, q: Array) -> Array:
        """``w`` in O(S)."""
        ratio = self._ratio(q)
        overflow = not math.isfinite(float(np.add.reduce(ratio, None)))
        return np.asarray(ahead(p) - (_product(p, ratio) if overflow else p * ratio))

    def _flow_of_tiny(self, p: Array, log_q: Array, q: Array) -> Array:
        """As `flow`; a ratio that overflows plays no role where p = 0."""
        with np.errstate(over="ignore"):
            ratio = np.exp(ahead(log_q) - log_q)
        return np.asarray(ahead(p) - _product(p, ratio))

    def generator(self, q: Array) -> Array:
        """``T[y, v^-1 y] = 1`` plus ``T[y, y] = -q(v y) / q(y)``."""
        n = q.shape[-1]
        y = np.arange(n)
        t = np.zeros((*q.shape, n))
        t[..., y, y - 1] = 1.0
        t[..., y, y] -= self._ratio(q)
        return t

    def row(self, q: Array, y: int) -> Array:
        """One row of the generator in O(S)."""
        n = len(q)
        t = np.zeros(n)
        t[y - 1] = 1.0
        t[y] -= self._ratio(q)[y]
        return t

    def self_similarity(self, q: Array, kernel: BaseKernel) -> Array:
        """``a (1 + r^2) + b (1 - r)^2`` with r = q(v y) / q(y): a row of T has two entries."""
        if not isinstance(kernel, TwoParameter) or q.shape[-1] == 1:
            return super().self_similarity(q, kernel)
        return self._own(self._ratio(q), kernel)

    def sums(self, counts: Array, q: Array, kernel: BaseKernel) -> tuple[Array, Array]:
        """Both sums in O(S) for one q and a named kernel."""
        if q.ndim > 1 or not isinstance(kernel, TwoParameter) or q.shape[-1] == 1:
            return super().sums(counts, q, kernel)
        ratio = self._ratio(q)
        own = self._own(ratio, kernel)
        if not math.isfinite(float(np.add.reduce(own))):
            return kernel.quadratic(self.flow(counts, q)), np.asarray(_product(counts, own).sum(-1))
        return kernel.quadratic(ahead(counts) - counts * ratio), np.asarray(counts @ own)

    @staticmethod
    def _own(r: Array, kernel: TwoParameter) -> Array:
        return np.asarray(kernel.a * (1.0 + r * r) + kernel.b * (1.0 - r) ** 2)

    @staticmethod
    def _ratio(q: Array) -> Array:
        with np.errstate(over="ignore"):  # an overflow is refused where the result is known
            return np.asarray(ahead(q) / q)


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
    shortcut: Callable[[Array, Array], Array] | None = None
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

    def check(self, q: Array) -> None:
        """Refuse zeros where not allowed, and a graph of another size."""
        super().check(q)
        if self.size is not None and q.shape[-1] != self.size:
            raise InvalidOption(
                f"the neighbourhood graph has {self.size} nodes and q has {q.shape[-1]} outcomes; make them equal."
            )

    def _weights(self, qy: Array, qz: Array, zeros: bool) -> Array:
        """Conductances ``1 / resistance``, in place because this is where the time goes."""
        c = self.resistance(qy, qz)
        if zeros:
            return np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)  # both probabilities zero: no flow
        return np.reciprocal(c, out=c)

    def _lifted(self, q: Array) -> tuple[Array, bool]:
        smallest = least(q)
        return (q * _LIFT if self.scale_free and smallest < _TINY else q), not smallest > 0.0

    def flow(self, p: Array, q: Array) -> Array:
        """``w = q * (C p) - p * (C q)``, in blocks of rows (all pairs) or edge by edge (graph)."""
        if self.edges is not None:
            return self._edge_flow(p, q)
        if self.shortcut is not None:
            return self.shortcut(p, q)
        if q.ndim == 1:  # many rows share one matrix
            return self._pair_flow(p, q) if p.ndim == 1 else np.asarray(p @ self.generator(q))
        p, q = np.broadcast_arrays(p, q)
        return _in_blocks(self._pair_flow, p, q)

    def _flow_of_tiny(self, p: Array, log_q: Array, q: Array) -> Array:
        """``w`` from differences of log q, for operators that depend on ratios of q only; in blocks of rows."""
        if not self.scale_free:
            return super()._flow_of_tiny(p, log_q, q)
        p, log_q = np.broadcast_arrays(p, log_q)
        if self.edges is None:
            return _in_blocks(self._pair_flow_from_logs, p, log_q)
        i, j = self.edges
        out, back = self._rates(log_q[..., j] - log_q[..., i])
        return self._gather(_product(p[..., i], out) - _product(p[..., j], back))

    def _pair_flow_from_logs(self, p: Array, log_q: Array) -> Array:
        out, _ = self._rates(log_q[..., None, :] - log_q[..., :, None])
        moved = _product(p[..., :, None], out)  # [y, z]: from y to z
        return np.asarray(moved.sum(-2) - moved.sum(-1))

    def _rates(self, gap: Array) -> tuple[Array, Array]:
        """``T[y, z] = q(z) c(y, z)`` and ``T[z, y]`` for ``gap = log q(z) - log q(y)``, the resistance at scale one."""
        small = np.exp(-np.abs(gap))  # the smaller of the two probabilities, the larger being one
        resistance = self.resistance(small, np.ones_like(small))
        with np.errstate(divide="ignore"):
            up = 1.0 / resistance
        down = np.divide(small, resistance, out=np.zeros_like(small), where=resistance > 0)
        return np.where(gap >= 0, up, down), np.where(gap >= 0, down, up)

    def pair_weights(self, q: Array) -> tuple[Array, Array]:
        """``c(y, z)`` for all pairs of one or more q, and the q (perhaps rescaled) that it belongs to."""
        q, zeros = self._lifted(q)
        return self._weights(q[..., :, None], q[..., None, :], zeros), q

    def _pair_flow(self, p: Array, q: Array) -> Array:
        c, q = self.pair_weights(q)
        if p.ndim == 1:
            return np.asarray(q * (c @ p) - p * (c @ q))
        both = c @ np.stack([p, q], -1)
        return np.asarray(q * both[..., 0] - p * both[..., 1])

    def _edge_flow(self, p: Array, q: Array) -> Array:
        assert self.edges is not None
        i, j = self.edges
        q, zeros = self._lifted(q)
        weights = self._weights(q[..., i], q[..., j], zeros)
        return self._gather((p[..., i] * q[..., j] - p[..., j] * q[..., i]) * weights)

    def _gather(self, mass: Array) -> Array:
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

    def generator(self, q: Array) -> Array:
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

    def sums(self, counts: Array, q: Array, kernel: BaseKernel) -> tuple[Array, Array]:
        """As in `Operator.sums`; rows of T and w sum to zero, so only the part ``a I`` of a named kernel counts."""
        if q.ndim > 1 or not isinstance(kernel, TwoParameter):
            return super().sums(counts, q, kernel)
        t = self.generator(q)
        own = counts @ np.einsum("ij,ij->i", t, t)
        return self.form(counts @ t, kernel), np.asarray(kernel.a * own)

    def form(self, w: Array, kernel: BaseKernel) -> Array:
        """``a |w|^2`` for named kernels: what flows in somewhere has flowed out elsewhere, so w sums to zero."""
        if not isinstance(kernel, TwoParameter):
            return kernel.quadratic(w)
        return np.asarray(kernel.a * (w @ w if w.ndim == 1 else np.vecdot(w, w)))

    def row(self, q: Array, y: int) -> Array:
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

    def identifies(self, q: Array) -> bool:
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


def _product(p: Array, rate: Array) -> Array:
    """``p * rate``, zero where p = 0 even if the rate is infinite."""
    p, rate = np.broadcast_arrays(p, rate)
    return np.multiply(p, rate, out=np.zeros(rate.shape), where=p > 0)


def _in_blocks(function: Callable[..., Array], *arrays: Array) -> Array:
    """Apply a row-wise function that needs S x S memory a row to blocks of rows that fit a cache."""
    shape, n = arrays[0].shape, arrays[0].shape[-1]
    step = max(1, _BLOCK // (n * n))
    flat = [a.reshape(-1, n) for a in arrays]
    out = np.empty(flat[0].shape)
    for start in range(0, len(out), step):
        out[start : start + step] = function(*(a[start : start + step] for a in flat))
    return out.reshape(shape)


OPERATORS: dict[str, Operator] = {"difference": Difference()}


def register_operator(operator: Operator) -> Operator:
    """Add an operator under its name; a reversible one is ``Reversible("name", lambda qy, qz: ...)``."""
    OPERATORS[operator.name] = operator
    return operator


def operator_names() -> list[str]:
    """Names accepted as ``operator=``."""
    return sorted(OPERATORS)


def get_operator(operator: str | Operator) -> Operator:
    """Operator for a name, or the operator itself."""
    if isinstance(operator, Operator):
        return operator
    if operator not in OPERATORS:
        raise unknown_name("operator", str(operator), OPERATORS)
    return OPERATORS[operator]


def _sqrt_all_pairs(p: Array, q: Array) -> Array:
    root = np.sqrt(q)
    with np.errstate(over="ignore"):
        out = root * (p / root).sum(-1, keepdims=True) - p / root * root.sum(-1, keepdims=True)
    return np.asarray(out)


def _gibbs_all_pairs(p: Array, q: Array) -> Array:
    return np.asarray(q * p.sum(-1, keepdims=True) - p * q.sum(-1, keepdims=True))


barker = Reversible("barker", lambda qy, qz: qy + qz)
square_root = Reversible(
    "sqrt",
    lambda qy, qz: np.sqrt(qy) * np.sqrt(qz),
    needs_full_support=True,
    shortcut=_sqrt_all_pairs,
)
minimum = Reversible("min", np.maximum)
gibbs = Reversible("gibbs", lambda qy, qz: np.ones(np.broadcast(qy, qz).shape), False, shortcut=_gibbs_all_pairs)
for _operator in (barker, square_root, minimum, gibbs):
    register_operator(_operator)
