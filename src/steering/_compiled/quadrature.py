"""Quadrature that compiled functions are prepared with; itself not compiled, so that it loads without the compiler."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from steering._types import Floats


def gauss_laguerre(alpha: float, points: int) -> tuple[Floats, Floats]:
    """Golub-Welsch rule for the Gamma(alpha) density."""
    k = np.arange(points)
    nodes, vectors = linalg.eigh_tridiagonal(2.0 * k + alpha, np.sqrt(k[1:] * (k[1:] + alpha - 1.0)))
    return np.asarray(nodes), np.asarray(vectors[0] ** 2)
