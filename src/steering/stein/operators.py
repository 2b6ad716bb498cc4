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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steering._types import Floats
from steering.errors import unknown_name
from steering.stein.checks import ahead
from steering.stein.kernels import BaseKernel, TwoParameter
from steering.stein.operator_base import Operator, product
from steering.stein.reversible import Reversible

__all__ = [
    "OPERATORS",
    "Difference",
    "Operator",
    "Reversible",
    "barker",
    "get_operator",
    "gibbs",
    "minimum",
    "operator_names",
    "register_operator",
    "square_root",
]


@dataclass(frozen=True)
class Difference(Operator):
    """The literal operator: ``w(z) = p(v z) - p(z) q(v z) / q(z)``, v z = z + 1 around the cycle."""

    name: str = "difference"
    needs_full_support: bool = True
    vanishes_on_sparse: bool = False
    alpha_above: float = 2.0

    def flow(self, p: Floats, q: Floats) -> Floats:
        """``w`` in O(S)."""
        ratio = self._ratio(q)
        overflow = not math.isfinite(float(np.add.reduce(ratio, None)))
        return np.asarray(ahead(p) - (product(p, ratio) if overflow else p * ratio))

    def _flow_of_tiny(self, p: Floats, log_q: Floats, q: Floats) -> Floats:
        """As `flow`; a ratio that overflows plays no role where p = 0."""
        with np.errstate(over="ignore"):
            ratio = np.exp(ahead(log_q) - log_q)
        return np.asarray(ahead(p) - product(p, ratio))

    def generator(self, q: Floats) -> Floats:
        """``T[y, v^-1 y] = 1`` plus ``T[y, y] = -q(v y) / q(y)``."""
        n = q.shape[-1]
        y = np.arange(n)
        t = np.zeros((*q.shape, n))
        t[..., y, y - 1] = 1.0
        t[..., y, y] -= self._ratio(q)
        return t

    def row(self, q: Floats, y: int) -> Floats:
        """One row of the generator in O(S)."""
        n = len(q)
        t = np.zeros(n)
        t[y - 1] = 1.0
        t[y] -= self._ratio(q)[y]
        return t

    def rows(self, q: Floats, y: NDArray[np.int64]) -> Floats:
        """As `row`: two entries each."""
        t, i = np.zeros(q.shape), np.arange(len(q))
        t[i, y - 1] = 1.0
        t[i, y] -= self._ratio(q)[i, y]
        return t

    def self_similarity(self, q: Floats, kernel: BaseKernel) -> Floats:
        """``a (1 + r^2) + b (1 - r)^2`` with r = q(v y) / q(y): a row of T has two entries."""
        if not isinstance(kernel, TwoParameter) or q.shape[-1] == 1:
            return super().self_similarity(q, kernel)
        return self._own(self._ratio(q), kernel)

    def sums(self, counts: Floats, q: Floats, kernel: BaseKernel) -> tuple[Floats, Floats]:
        """Both sums in O(S) for one q and a named kernel."""
        if q.ndim > 1 or not isinstance(kernel, TwoParameter) or q.shape[-1] == 1:
            return super().sums(counts, q, kernel)
        ratio = self._ratio(q)
        own = self._own(ratio, kernel)
        if not math.isfinite(float(np.add.reduce(own))):
            return kernel.quadratic(self.flow(counts, q)), np.asarray(product(counts, own).sum(-1))
        return kernel.quadratic(ahead(counts) - counts * ratio), np.asarray(counts @ own)

    @staticmethod
    def _own(r: Floats, kernel: TwoParameter) -> Floats:
        return np.asarray(kernel.a * (1.0 + r * r) + kernel.b * (1.0 - r) ** 2)

    @staticmethod
    def _ratio(q: Floats) -> Floats:
        with np.errstate(over="ignore"):  # an overflow is refused where the result is known
            return np.asarray(ahead(q) / q)


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


def _sqrt_all_pairs(p: Floats, q: Floats) -> Floats:
    root = np.sqrt(q)
    with np.errstate(over="ignore"):
        out = root * (p / root).sum(-1, keepdims=True) - p / root * root.sum(-1, keepdims=True)
    return np.asarray(out)


def _gibbs_all_pairs(p: Floats, q: Floats) -> Floats:
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
