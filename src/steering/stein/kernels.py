r"""Base kernels on one categorical coordinate.

A Stein discrepancy is a quadratic form ``w' L w`` with the Gram matrix ``L`` of a base kernel over the outcomes.
Kernels that only ask whether two outcomes are equal have ``L = a I + b 11'``, so the form costs O(S):

    w' L w = a |w|^2 + b (sum w)^2

===========================  =============================  ==============  =========
name                         l(y, y')                       a               b
===========================  =============================  ==============  =========
``exp-hamming``              exp(-[y != y'])                1 - 1/e         1/e
``exp-hamming-normalised``   exp(-[y != y'] / d), d = 1     1 - 1/e         1/e
``delta``                    [y == y']                      1               0
a Gram matrix                any positive semi-definite     --              --
===========================  =============================  ==============  =========

Kernels of a function of the outcomes, and mixtures, are in `steering.stein.value_kernels`. The normalised kernel
differs from the plain one only on vectors of d > 1 coordinates (`steering.stein.vectors`) and on state-action pairs
(`steering.stein.joint`). A new kernel is one function decorated with `register_kernel`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from steering._types import Floats
from steering.errors import InvalidOption, unknown_name


class BaseKernel(ABC):
    """Gram matrix ``L`` of a positive semi-definite kernel on the outcomes, known through what it does to vectors."""

    @abstractmethod
    def apply(self, w: Floats) -> Floats:
        """``L w`` along the last axis."""

    @abstractmethod
    def gram(self, n: int) -> Floats:
        """The matrix ``L`` for n outcomes."""

    def diagonal(self, n: int) -> Floats:
        """``l(y, y)`` for n outcomes."""
        return np.ascontiguousarray(np.diagonal(self.gram(n)))

    def quadratic(self, w: Floats) -> Floats:
        """``w' L w`` along the last axis."""
        return np.asarray(np.einsum("...i,...i->...", w, self.apply(w)))

    def scatter(self, m: Floats) -> Floats:
        """``tr L (diag m - m m') = sum_y m_y l(y, y) - m' L m``, the covariance of one sample of m seen by L."""
        return np.asarray(m @ self.diagonal(m.shape[-1]) - self.quadratic(m))

    @property
    def size(self) -> int | None:
        """Number of outcomes that the kernel is for; None for any."""
        return None

    def fits(self, n: int) -> None:
        """Refuse n outcomes if the kernel is for another number of them."""
        if self.size not in (None, n):
            raise InvalidOption(
                f"the {type(self).__name__} is for {self.size} outcomes and the distributions have {n};"
                " give one of matching size."
            )

    @property
    def strictly_positive(self) -> bool:
        """Whether ``w' L w = 0`` only for ``w = 0``."""
        return False


@dataclass(frozen=True)
class TwoParameter(BaseKernel):
    """``L = a I + b 11'`` with a >= 0 and b >= 0."""

    a: float
    b: float

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if not (math.isfinite(value) and value >= 0):
                raise InvalidOption(f"{name} = {value} makes a I + b 11' no kernel; give finite a >= 0 and b >= 0.")

    def apply(self, w: Floats) -> Floats:
        """``a w + b (sum w) 1``."""
        if self.b == 0.0:
            return np.asarray(self.a * w)
        return np.asarray(self.a * w + self.b * w.sum(-1, keepdims=True))

    def gram(self, n: int) -> Floats:
        """``a I + b 11'``."""
        return self.a * np.eye(n) + self.b

    def diagonal(self, n: int) -> Floats:
        """``a + b`` everywhere."""
        return np.full(n, self.a + self.b)

    def quadratic(self, w: Floats) -> Floats:
        """``a |w|^2 + b (sum w)^2``."""
        if w.ndim == 1:  # the common single row, without the cost of general indexing
            total = float(np.add.reduce(w))
            return np.asarray(self.a * float(w @ w) + self.b * total * total)
        return np.asarray(self.a * np.einsum("...i,...i->...", w, w) + self.b * w.sum(-1) ** 2)

    @property
    def strictly_positive(self) -> bool:
        """True when a > 0."""
        return self.a > 0


@dataclass(frozen=True, eq=False)
class GramKernel(BaseKernel):
    """Any symmetric positive semi-definite matrix, checked once."""

    matrix: Floats
    _least: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise InvalidOption(f"a Gram matrix must be square, not of shape {matrix.shape}; give an S x S array.")
        if not np.isfinite(matrix).all():
            raise InvalidOption("the Gram matrix has an entry that is not finite; remove it.")
        scale = max(float(np.abs(matrix).max()), np.finfo(float).tiny)
        if np.abs(matrix - matrix.T).max() > 1e-10 * scale:
            raise InvalidOption("the Gram matrix is not symmetric; give (L + L') / 2.")
        matrix = matrix / 2 + matrix.T / 2
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least < -1e-10 * scale * len(matrix):
            raise InvalidOption(
                f"the Gram matrix has the eigenvalue {least:.3g} < 0; a kernel must be positive semi-definite."
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "_least", least / scale)

    def apply(self, w: Floats) -> Floats:
        """``L w``."""
        self.fits(w.shape[-1])
        return np.asarray(w @ self.matrix)

    def gram(self, n: int) -> Floats:
        """The matrix itself."""
        self.fits(n)
        return self.matrix

    @property
    def size(self) -> int:
        """Rows of the matrix."""
        return len(self.matrix)

    @property
    def strictly_positive(self) -> bool:
        """Smallest eigenvalue clear of rounding."""
        return self._least > 1e-12


def two_parameter(kernel: BaseKernel, who: str) -> TwoParameter:
    """The kernel, if it only asks whether outcomes are equal; refused otherwise on behalf of `who`."""
    if isinstance(kernel, TwoParameter):
        return kernel
    raise InvalidOption(
        f"{who} a kernel that only asks whether outcomes are equal, such as 'exp-hamming' or 'delta'; a"
        f" {type(kernel).__name__} sees more."
    )


def apply_factors(values: Floats, factors: Sequence[BaseKernel], first: int = 0) -> Floats:
    """Product kernel ``K_1 (x) K_2 (x) ...``: factor i applied along axis `first` + i."""
    for axis, factor in enumerate(factors, first):
        values = np.moveaxis(factor.apply(np.moveaxis(values, axis, -1)), -1, axis)
    return values


_KERNELS: dict[str, Callable[[int], TwoParameter]] = {}
_MADE: dict[tuple[str, int], TwoParameter] = {}


def register_kernel(name: str) -> Callable[[Callable[[int], TwoParameter]], Callable[[int], TwoParameter]]:
    """Decorator that adds a kernel: a function of the number of coordinates d, giving the factor of one coordinate."""

    def add(function: Callable[[int], TwoParameter]) -> Callable[[int], TwoParameter]:
        _KERNELS[name] = function
        _MADE.clear()
        return function

    return add


@register_kernel("exp-hamming")
def exp_hamming(dimensions: int = 1) -> TwoParameter:
    """``l(y, y') = exp(-H(y, y'))``, H the number of coordinates that differ; a product over coordinates."""
    return TwoParameter(-math.expm1(-1.0), math.exp(-1.0))


@register_kernel("exp-hamming-normalised")
def exp_hamming_normalised(dimensions: int = 1) -> TwoParameter:
    """``l(y, y') = exp(-H(y, y') / d)``."""
    return TwoParameter(-math.expm1(-1.0 / dimensions), math.exp(-1.0 / dimensions))


@register_kernel("delta")
def delta(dimensions: int = 1) -> TwoParameter:
    """``l(y, y') = [y == y']``."""
    return TwoParameter(1.0, 0.0)


def kernel_names() -> list[str]:
    """Names accepted as ``kernel=``."""
    return sorted(_KERNELS)


def get_kernel(kernel: str | BaseKernel | ArrayLike, dimensions: int = 1) -> BaseKernel:
    """Kernel for a name, a ready kernel, or a Gram matrix.

    Parameters
    ----------
    kernel
        One of `kernel_names`, a `BaseKernel`, or a square positive semi-definite array.
    dimensions
        Number of coordinates d that the normalised kernel divides by.
    """
    if isinstance(kernel, BaseKernel):
        return kernel
    if isinstance(kernel, str):
        key = (kernel, dimensions)
        if key not in _MADE:
            if kernel not in _KERNELS and kernel in ("value", "mixed"):
                raise InvalidOption(
                    f"kernel '{kernel}' is made of numbers that a name does not hold; give ValueKernel(f) or"
                    " MixedKernel([(weight, kernel), ...]) of steering.stein."
                )
            if kernel not in _KERNELS:
                raise unknown_name("kernel", kernel, _KERNELS)
            _MADE[key] = _KERNELS[kernel](dimensions)
        return _MADE[key]
    return GramKernel(np.asarray(kernel, dtype=np.float64))
