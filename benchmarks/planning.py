"""Time of exact policy iteration against quantecon's, as ratios measured in one run.

Run with one BLAS thread::

    OMP_NUM_THREADS=1 python benchmarks/planning.py

Dense random MDPs: rows from a flat Dirichlet distribution, rewards standard normal, discount 0.95. Both sides
get the arrays ready made, solve from scratch and must agree; runs alternate, and the median of the repeats
counts.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from steering._compiled import planning as kernels
from steering.mdp import TabularMDP, policy_iteration

DISCOUNT = 0.95
SIZES = ((200, 4, 15), (1000, 4, 7))
"""States, actions, repeats."""

INSTALL = "python -m pip install quantecon"


def random_mdp(S: int, A: int, seed: int = 0) -> TabularMDP:
    rng = np.random.default_rng(seed)
    P = rng.exponential(size=(S, A, S))
    P /= P.sum(axis=2, keepdims=True)
    return TabularMDP(P=P, reward_mean=rng.normal(size=(S, A)))


def _seconds(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def against_quantecon(S: int, A: int, repeats: int) -> dict[str, Any]:
    from quantecon.markov import DiscreteDP

    mdp = random_mdp(S, A)
    theirs = DiscreteDP(np.array(mdp.rewards), np.array(mdp.P), DISCOUNT)
    ours = policy_iteration(mdp, DISCOUNT)
    reference = theirs.solve(method="policy_iteration")
    assert np.array_equal(ours.policy, reference.sigma), "the two solvers disagree"
    ours_s, theirs_s = [], []
    for _ in range(repeats):
        ours_s.append(_seconds(lambda: policy_iteration(mdp, DISCOUNT)))
        theirs_s.append(_seconds(lambda: theirs.solve(method="policy_iteration")))
    mine, other = statistics.median(ours_s), statistics.median(theirs_s)
    return {
        "case": f"policy iteration, S = {S}, A = {A}",
        "ours_ms": 1e3 * mine,
        "quantecon_ms": 1e3 * other,
        "ratio": mine / other,
        "rounds": ours.iterations,
        "quantecon_rounds": int(reference.num_iter),
    }


def warm_start(S: int = 15, A: int = 2, repeats: int = 2000) -> dict[str, Any]:
    """Time of the compiled kernel that agents call at every replan, from the policy of a similar MDP."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(S), size=(repeats, S, A))
    r = rng.normal(size=(S, A))
    mask = np.ones((S, A), dtype=np.bool_)
    policy = np.zeros(S, dtype=np.int64)
    kernels.policy_iteration(P[0], r, mask, 0.9, policy, 100)

    def replan() -> None:
        for model in P:
            kernels.policy_iteration(model, r, mask, 0.9, policy, 100)

    each = statistics.median(_seconds(replan) / repeats for _ in range(5))
    return {
        "case": f"warm-started replan, S = {S}, A = {A} (call from Python included)",
        "ours_ms": 1e3 * each,
    }


def large(S: int = 2000, A: int = 4) -> dict[str, Any]:
    """Time of one large solution, and the memory that it needs beyond the MDP itself."""
    mdp = random_mdp(S, A)
    _ = mdp.rewards
    policy_iteration(random_mdp(kernels.SMALL + 1, A), DISCOUNT)  # compiled, LAPACK loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = _seconds(lambda: policy_iteration(mdp, DISCOUNT))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "case": f"policy iteration, S = {S}, A = {A}",
        "ours_ms": 1e3 * seconds,
        "peak_mb": peak / 1024,
        "peak_growth_mb": (peak - before) / 1024,
    }


def main() -> list[dict[str, Any]]:
    """Measure every case and return the rows of the table."""
    rows = [warm_start(), large()]
    try:
        import quantecon  # noqa: F401
    except ImportError:
        print(f"quantecon is not installed; for the comparison run: {INSTALL}")
        return rows
    return rows + [against_quantecon(*size) for size in SIZES]


def _line(row: dict[str, Any]) -> str:
    parts = (f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}" for key, value in row.items())
    return ", ".join(parts)


if __name__ == "__main__":
    for row in main():
        print(_line(row))
