"""Speed of the Stein library, as ratios measured in one run.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks stein

Both sides of a comparison take turns, and the fastest of 25 repeats counts for each: what other processes take away
is not a property of the code. `pairwise` is what a careful user would write from the definition: arrays over all n x n
pairs of samples, one for each base kernel matrix in it. `one matrix product` is the best that can be done with pairs.
Thinning is compared with the package stein_thinning, which must select the same points.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import steering.stein as stein
from steering._compiled.stein import barker_information_rows

INSTALL = "python -m pip install stein_thinning"
A_HAMMING = 1.0 - np.exp(-1.0)


def _seconds(function: Callable[[], object], times: int = 1) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - begin) / times


def _compare(case: str, ours: Callable[[], object], other: Callable[[], object], times: int, target: str) -> dict:
    """Row of the table; `times` calls of ours against one of the other in each of 25 repeats."""
    ours()
    mine, theirs = np.inf, np.inf
    for _ in range(25):
        mine = min(mine, _seconds(ours, times))
        theirs = min(theirs, _seconds(other))
    return {
        "case": case,
        "ours ms": 1e3 * mine,
        "other ms": 1e3 * theirs,
        "times faster": theirs / mine,
        "target": target,
    }


def _alone(case: str, function: Callable[[], object], limit_ms: float, repeats: int = 15, times: int = 1) -> dict:
    function()
    best = min(_seconds(function, times) for _ in range(repeats))
    return {"case": case, "ours ms": 1e3 * best, "target": f"< {limit_ms:g} ms"}


def pairwise_difference(y: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """V and U of the literal operator from its definition on all pairs."""
    states, n = len(q), len(y)
    back = (y - 1) % states
    score = 1.0 - q[(y + 1) % states] / q[y]

    def base(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-(a[:, None] != b[None, :]).astype(float))

    here, shifted, both = base(y, y), base(y, back), base(back, back)
    kappa = score[:, None] * score * here - score[:, None] * (here - shifted) - score * (here - shifted.T)
    kappa += here - shifted - shifted.T + both
    return float(kappa.mean()), float((kappa.sum() - np.trace(kappa)) / (n * (n - 1)))


def pairwise_barker(y: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """V and U of barker from its definition, ``sum_z r(y, z) (l(z, .) - l(y, .))`` on both sides, on all pairs."""
    states, n = len(q), len(y)
    z = np.arange(states)
    rate = q[None, :] / (q[y][:, None] + q[None, :])
    total = rate.sum(1)

    def base(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-(a[:, None] != b[None, :]).astype(float))

    moved, across, here = rate @ base(z, z) @ rate.T, base(y, z) @ rate.T, base(y, y)
    kappa = moved - total[:, None] * across - total * across.T + total[:, None] * total * here
    return float(kappa.mean()), float((kappa.sum() - np.trace(kappa)) / (n * (n - 1)))


def matrix_barker(y: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """The same by somebody who has found the rows of the operator: one product of n x S matrices."""
    states, n = len(q), len(y)
    rows = q[None, :] / (q[y][:, None] + q[None, :])
    rows[np.arange(n), y] -= rows.sum(1)
    base = np.exp(-(np.arange(states)[:, None] != np.arange(states)).astype(float))
    kappa = rows @ base @ rows.T
    return float(kappa.mean()), float((kappa.sum() - np.trace(kappa)) / (n * (n - 1)))


def statistics_of_samples() -> list[dict[str, Any]]:
    """V and U of 1000 samples over 16 states, the counting of the samples included."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.full(16, 5.0))
    y = rng.choice(16, 1000, p=q)
    rows = []
    others = (
        ("difference", pairwise_difference, "pairwise", ">= 1000"),
        ("barker", pairwise_barker, "pairwise", ">= 1000"),
        ("barker", matrix_barker, "one matrix product", ""),
    )
    for operator, pairwise, name, target in others:
        for statistic, place in (("V", 0), ("U", 1)):

            def ours(operator: str = operator, statistic: str = statistic) -> Any:
                return stein.discrepancy_from_counts(np.bincount(y, minlength=16), q, operator, statistic=statistic)

            assert np.isclose(ours(), pairwise(y, q)[place], rtol=1e-8)
            case = f"{statistic}-statistic of 1000 samples over 16 states, {operator}, against {name}"
            rows.append(_compare(case, ours, lambda pairwise=pairwise: pairwise(y, q), 100, target))
    return rows


def all_rows() -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(200), (200, 4)), rng.dirichlet(np.ones(200), (200, 4))
    counts = rng.integers(1, 20, (20_000, 5)).astype(float)
    support = rng.integers(0, 1000, (20_000, 5)) + 1000 * np.arange(5)
    where = (np.repeat(np.arange(20_000), 5), support.ravel())
    table = sp.csr_array((counts.ravel(), where), shape=(20_000, 5000))
    return [
        _alone("all rows, S = 200, A = 4, dense, barker", lambda: stein.discrepancy(p, q), 100),
        _alone(
            "all rows, S = 5000, A = 4, 5 observed next states a row, barker",
            lambda: stein.discrepancy_sparse(*stein.sparse_rows(table, 1.0)),
            1000,
        ),
    ]


def incremental() -> dict[str, Any]:
    """One update with a hundred samples in the dictionary and with a million."""
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.ones(16))
    small, large = stein.Dictionary(q), stein.Dictionary(q)
    for y in range(16):
        small.add(y, times=6)
        large.add(y, times=62_500)

    def update(kept: stein.Dictionary) -> None:
        kept.add(3)
        kept.remove(3)

    return _compare(
        "incremental update, n = 1,000,000 against n = 100", lambda: update(large), lambda: update(small), 1, "about 1"
    )


def deepsea_counts(states: int, visits: int) -> np.ndarray:
    """Counts as they look in DeepSea: one or two successors a row."""
    rng = np.random.default_rng(3)
    counts = np.zeros((2 * states, states))
    for s in range(states):
        counts[2 * s, max(s - 1, 0)] = rng.integers(0, visits)
        counts[2 * s + 1, max(s - 1, 0)] = rng.integers(0, visits)
        counts[2 * s + 1, min(s + 1, states - 1)] += rng.integers(1, 10 * visits)
    return counts


def posterior_rows() -> list[dict[str, Any]]:
    rows = []
    for states in (15, 40):
        counts = deepsea_counts(states, 30)
        rows.append(
            _alone(
                f"posterior information of all rows, compiled, DeepSea {states}",
                lambda counts=counts: barker_information_rows(counts, 1.0, A_HAMMING, False),
                0.06 if states == 15 else 0.25,
                times=100,
            )
        )
    counts = deepsea_counts(15, 30)
    row = _compare(
        "the same, compiled against exact quadrature",
        lambda: barker_information_rows(counts, 1.0, A_HAMMING, False),
        lambda: stein.posterior_information(counts + 1.0),
        100,
        ">= 100",
    )
    return [*rows, row]


def thinning() -> dict[str, Any] | None:
    try:
        from stein_thinning.thinning import thin as other
    except ImportError:
        print(f"stein_thinning is not installed; for the comparison run: {INSTALL}")
        return None
    x = np.random.default_rng(4).standard_normal((10_000, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]])
    score = -x @ np.linalg.inv(np.cov(x, rowvar=False))
    assert np.array_equal(stein.thin(x, 100, score=score), other(x, score, 100)), "other points were selected"
    case = "thinning 100 of 10,000 points in two dimensions against stein_thinning, same points"
    return _compare(case, lambda: stein.thin(x, 100, score=score), lambda: other(x, score, 100), 1, ">= 1")


def main() -> list[dict[str, Any]]:
    """Measure every case and return the rows of the table."""
    rows = [*statistics_of_samples(), *all_rows(), incremental(), *posterior_rows()]
    thinned = thinning()
    return rows if thinned is None else [*rows, thinned]


if __name__ == "__main__":
    from benchmarks.agents import print_table

    print_table(main())
