"""Quadrature that compiled functions are prepared with; itself not compiled, so that it loads without the compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.float64]


def gauss_laguerre(alpha: float, points: int) -> tuple[Array, Array]:
    """Golub-Welsch rule for the Gamma(alpha) density."""
    k = np.arange(points)
    nodes, vectors = linalg.eigh_tridiagonal(2.0 * k + alpha, np.sqrt(k[1:] * (k[1:] + alpha - 1.0)))
    return np.asarray(nodes), np.asarray(vectors[0] ** 2)
