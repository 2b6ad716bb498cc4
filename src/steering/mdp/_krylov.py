r"""Expected rewards of a large sparse chain over many steps, from a small matrix, with a bound on the error.

With :math:`Q = P^k`, Arnoldi's process from r gives an orthonormal basis V of the span of r, Q r, ..., :math:`Q^{m-1}
r` and :math:`Q V = V H + h\, v e_m^T` with one more vector v. Then :math:`Q^j r \approx V y_j, y_j = \lVert r \rVert
H^j e_1`, and the expected reward of step k j + i is :math:`\mu P^i V y_j` up to :math:`\mu P^i e_j`, where

.. math:: e_{j+1} = Q e_j + h\, v\, (e_m^T y_j), \qquad
          \lVert e_j \rVert_\infty \le h \lVert v \rVert_\infty \sum_{i < j} |e_m^T y_i|,

because a stochastic matrix does not make the largest entry larger. The bound is computed, and the basis grows until it
is small. A chain of 10,000 cells of a maze needs 60 to 90 vectors for 100,000 steps: a twentieth of the products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steering._compiled.sparse_chains import FLAT
from steering._types import Floats

WORTH = 2**26
"""Products of entries and steps from which on this is used: below, a plain loop takes a tenth of a second."""

MOST_VECTORS = 160
MOST_BYTES = 2**28
"""Limits of the basis; a chain that would need more is followed step by step."""

BETWEEN = 10
"""Vectors between two looks at the bound."""


def curve(P: Any, r: Floats, mu: Floats, steps: int) -> Floats | None:
    """Expected reward mu P^t r of each step up to rounding and `FLAT` max|r|; None where that takes too long.

    Parameters
    ----------
    P
        Rows of the chain, a scipy array (S, S).
    r, mu
        Rewards and first distribution, (S,).
    steps
        Number of steps.
    """
    size = float(np.linalg.norm(r))
    if size == 0.0:
        return np.zeros(steps)
    k = 2 ** max(round(np.log2(np.sqrt(steps) / 4.0)), 2)
    most = min(MOST_VECTORS, MOST_BYTES // (8 * r.size), steps // (2 * k))
    basis = np.empty((most + 1, r.size))
    H = np.zeros((most + 1, most))
    basis[0] = r / size
    for m in range(1, most + 1):
        H[: m + 1, m - 1] = _extend(P, k, basis, m)
        ended = H[m, m - 1] == 0.0
        if ended or m % BETWEEN == 0:
            y, left = _powers(H[:m, :m], size, -(-steps // k))
            if ended or left * H[m, m - 1] * np.abs(basis[m]).max() <= FLAT * np.abs(r).max():
                return _expected(P, k, basis[:m], mu, y).ravel()[:steps]
    return None


def _extend(P: Any, k: int, basis: Floats, m: int) -> Floats:
    """Make row m of the basis from the last one; its coefficients (m + 1,), the last one 0 if nothing is new."""
    w = basis[m - 1]
    for _ in range(k):
        w = P @ w
    before = float(np.linalg.norm(w))
    known = basis[:m]
    h = np.zeros(m + 1)
    for _ in range(2):  # twice is enough for orthogonality to rounding
        part = known @ w
        w = w - part @ known
        h[:m] += part
    rest = float(np.linalg.norm(w))
    if rest > 1e-15 * before:
        h[m] = rest
        basis[m] = w / rest
    return h


def _powers(H: Floats, size: float, n: int) -> tuple[Floats, float]:
    """Columns size H^j e_1 for j < n, shape (n, m), and the sum of the sizes of their last entries."""
    y = np.empty((n, len(H)))
    y[0] = 0.0
    y[0, 0] = size
    for j in range(1, n):
        np.dot(H, y[j - 1], out=y[j])
    return y, float(np.abs(y[:, -1]).sum())


def _expected(P: Any, k: int, basis: Floats, mu: Floats, y: Floats) -> Floats:
    """Rewards (n, k) of the steps k j + i."""
    back = P.T.tocsr()
    seen = np.empty((k, len(basis)))
    for i in range(k):
        seen[i] = basis @ mu
        mu = back @ mu
    return np.asarray(y @ seen.T)
