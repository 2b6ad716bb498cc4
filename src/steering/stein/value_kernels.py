r"""Kernels that see value: of one function of the outcomes, and mixtures of kernels.

==========================  ========================  ============================  ====================
kernel                      Gram matrix               ``w' L w``                    cost
==========================  ========================  ============================  ====================
`ValueKernel` (f)           ``f f'``                  ``(w'f)^2``                   O(S)
`MixedKernel` ([(c, L)])    ``sum_i c_i L_i``         ``sum_i c_i w' L_i w``        that of the parts
==========================  ========================  ============================  ====================

The root of a discrepancy is the largest ``w'h`` over the functions h of the kernel's unit ball. For `ValueKernel` that
ball is the one function f (times at most one in size), so the discrepancy says how wrong p is about f and nothing more:
with f = r + gamma V, about the value of an action. It is zero for many p other than q unless f is mixed with a kernel
that is strictly positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.kernels import BaseKernel, get_kernel


@dataclass(frozen=True, eq=False)
class ValueKernel(BaseKernel):
    """``L = f f'``: outcomes differ by as much as the values f(y) do, and by nothing else.

    ``w' L w = (w'f)^2`` in O(S). With ``gibbs`` the discrepancy is ``(E_q f - E_p f)^2``, and its posterior mean
    Var(q'f). Operators whose w sums to zero (all but ``difference``) do not see a constant added to f.

    Parameters
    ----------
    f
        One finite number for each outcome.
    """

    f: Floats

    def __post_init__(self) -> None:
        try:
            f = np.array(self.f, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidOption(
                "f of a ValueKernel is not an array of real numbers; give one for each outcome."
            ) from None
        if f.ndim != 1 or not f.size:
            raise InvalidOption(
                f"f of a ValueKernel must be a vector, not of shape {f.shape}; give a number an outcome."
            )
        if not np.isfinite(f).all():
            where = int(np.argmin(np.isfinite(f)))
            raise InvalidOption(f"f[{where}] of a ValueKernel is {f[where]}; give finite values.")
        f.setflags(write=False)
        object.__setattr__(self, "f", f)

    def apply(self, w: Floats) -> Floats:
        """``(w'f) f``."""
        return np.asarray(self.inner(w)[..., None] * self.f)

    def inner(self, w: Floats) -> Floats:
        """``w'f`` along the last axis."""
        self.fits(w.shape[-1])
        return np.asarray(w @ self.f)

    def gram(self, n: int) -> Floats:
        """``f f'``."""
        self.fits(n)
        return np.outer(self.f, self.f)

    def diagonal(self, n: int) -> Floats:
        """``f^2``."""
        self.fits(n)
        return self.f**2

    def quadratic(self, w: Floats) -> Floats:
        """``(w'f)^2``."""
        return np.asarray(self.inner(w) ** 2)

    def scatter(self, m: Floats) -> Floats:
        """``Var_m f``, about its mean: a large constant in f costs no digits and the result is never negative."""
        away = self.f - self.inner(m)[..., None]
        return np.asarray(np.einsum("...i,...i->...", m, away * away))

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.f)

    @property
    def strictly_positive(self) -> bool:
        """Only for a single outcome, with f not zero."""
        return len(self.f) == 1 and bool(self.f[0] != 0)


@dataclass(frozen=True, eq=False)
class MixedKernel(BaseKernel):
    """``L = sum_i c_i L_i``: the discrepancy is the same mixture of discrepancies.

    Parameters
    ----------
    parts
        Pairs (weight, kernel): a finite weight >= 0 and anything that ``kernel=`` takes, other mixtures included (their
        parts become parts of this one).
    """

    parts: Sequence[tuple[float, str | BaseKernel | ArrayLike]]
    _parts: tuple[tuple[float, BaseKernel], ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        found: list[tuple[float, BaseKernel]] = []
        try:
            pairs = [(float(weight), kernel) for weight, kernel in self.parts]
        except (TypeError, ValueError):
            raise InvalidOption(
                "the parts of a MixedKernel must be pairs (weight, kernel); give a list of them."
            ) from None
        for weight, kernel in pairs:
            if not (math.isfinite(weight) and weight >= 0):
                raise InvalidOption(f"a MixedKernel has the weight {weight}; give finite weights >= 0.")
            found += [(weight * inner, each) for inner, each in summands(get_kernel(kernel))]
        if not found:
            raise InvalidOption("a MixedKernel needs at least one part; give pairs (weight, kernel).")
        sizes = sorted({kernel.size for _, kernel in found if kernel.size is not None})
        if len(sizes) > 1:
            raise InvalidOption(
                f"a MixedKernel has parts for {sizes[0]} and for {sizes[1]} outcomes; give kernels of one size."
            )
        object.__setattr__(self, "_parts", tuple(found))
        object.__setattr__(self, "parts", self._parts)

    def apply(self, w: Floats) -> Floats:
        """``sum_i c_i L_i w``."""
        return np.asarray(sum(c * kernel.apply(w) for c, kernel in self._parts))

    def gram(self, n: int) -> Floats:
        """``sum_i c_i L_i``."""
        return np.asarray(sum(c * kernel.gram(n) for c, kernel in self._parts))

    def diagonal(self, n: int) -> Floats:
        """The sum of the diagonals."""
        return np.asarray(sum(c * kernel.diagonal(n) for c, kernel in self._parts))

    def quadratic(self, w: Floats) -> Floats:
        """``sum_i c_i w' L_i w``."""
        return np.asarray(sum(c * kernel.quadratic(w) for c, kernel in self._parts))

    def scatter(self, m: Floats) -> Floats:
        """The sum of those of the parts."""
        return np.asarray(sum(c * kernel.scatter(m) for c, kernel in self._parts))

    @property
    def size(self) -> int | None:
        """That of the parts."""
        return next((kernel.size for _, kernel in self._parts if kernel.size is not None), None)

    @property
    def strictly_positive(self) -> bool:
        """Whether a part with a positive weight is: enough, though values for every outcome together would do too."""
        return any(c > 0 and kernel.strictly_positive for c, kernel in self._parts)


def summands(kernel: BaseKernel) -> tuple[tuple[float, BaseKernel], ...]:
    """The parts (weight, kernel) that a kernel is the sum of; for all but mixtures the kernel itself."""
    return kernel._parts if isinstance(kernel, MixedKernel) else ((1.0, kernel),)
