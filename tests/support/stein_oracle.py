"""Slow definitions to test against: operators from their formulas, discrepancies as double sums over samples."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

BALANCING = {
    "barker": lambda t: 1.0 / (1.0 + 1.0 / t) if t > 0 else 0.0,
    "sqrt": math.sqrt,
    "min": lambda t: min(1.0, t),
}
OPERATORS = ["difference", "barker", "sqrt", "min", "gibbs"]
KERNELS = ["exp-hamming", "exp-hamming-normalised", "delta"]


def base_kernel(name: str, y: int, z: int) -> float:
    if name == "delta":
        return float(y == z)
    return math.exp(-float(y != z))


def gram(name: str, n: int) -> np.ndarray:
    return np.array([[base_kernel(name, y, z) for z in range(n)] for y in range(n)])


def operator_image(name: str, q: np.ndarray, y: int) -> np.ndarray:
    """Coefficients of T_q l(y, .) in the functions l(z, .), from the definition of each operator."""
    n = len(q)
    out = np.zeros(n)
    if name == "difference":
        score = 1.0 - q[(y + 1) % n] / q[y]
        out[y] += score  # s_q(y) l(y, .)
        out[y] -= 1.0  # - (l(y, .) - l(v^-1 y, .))
        out[(y - 1) % n] += 1.0
        return out
    for z in range(n):
        rate = q[z] if name == "gibbs" else BALANCING[name](q[z] / q[y])
        out[z] += rate
        out[y] -= rate
    return out


def stein_kernel(name: str, kernel: str, q: np.ndarray) -> np.ndarray:
    t = np.array([operator_image(name, q, y) for y in range(len(q))])
    return t @ gram(kernel, len(q)) @ t.T


def double_sums(kappa: np.ndarray, samples: np.ndarray) -> tuple[float, float, float]:
    """V, U and the mean absolute kernel value (the scale of rounding errors) by looking at every pair of samples."""
    pairs = kappa[np.ix_(samples, samples)]
    n = len(samples)
    total = math.fsum(pairs.ravel())
    u = (total - math.fsum(np.diagonal(pairs))) / (n * (n - 1)) if n > 1 else math.nan
    return total / n**2, u, float(np.abs(pairs).mean())


def rounding(name: str, q: np.ndarray, samples: np.ndarray) -> float:
    """How far a norm of w may be off in the fast formulas of reversible operators: they sum over all z, y too.

    What y gives to itself cancels only up to rounding: n terms, each right to a few units in the last place. It matters
    where y has nearly all of the mass, so that little flows out of it.
    """
    if name == "difference":
        return 0.0
    to_all = [sum(q[z] if name == "gibbs" else BALANCING[name](q[z] / q[y]) for z in range(len(q))) for y in samples]
    return float(4 * len(q) * np.finfo(float).eps * np.mean(to_all))


@st.composite
def pmfs(draw: st.DrawFn, smallest: float = 1e-8, sizes: tuple[int, int] = (1, 40)) -> np.ndarray:
    """Pmfs of 1 to 40 outcomes whose probabilities span many orders of magnitude."""
    n = draw(st.integers(*sizes))
    logs = draw(st.lists(st.floats(math.log(smallest), 0.0), min_size=n, max_size=n))
    q = np.exp(np.array(logs))
    return q / q.sum()


@st.composite
def counts_and_pmf(draw: st.DrawFn, smallest: float = 1e-8) -> tuple[np.ndarray, np.ndarray]:
    """Counts with many zeros (at least two samples) and a model of the same size."""
    q = draw(pmfs(smallest))
    counts = np.array(draw(st.lists(st.sampled_from([0, 0, 1, 2, 7]), min_size=len(q), max_size=len(q))))
    counts[draw(st.integers(0, len(q) - 1))] += 2
    return counts, q
