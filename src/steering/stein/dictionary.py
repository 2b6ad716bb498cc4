r"""A growing and shrinking dictionary of samples whose discrepancy is always at hand.

Kept: the counts, ``F_x = sum_i T_x[y_i]`` (so ``n^2 V = sum_{x,x'} k(x,x') F_x' L F_x'``), its sums over input axes,
and the two running totals n^2 V and sum_i kappa(i, i). One sample (x, y) changes them by one row of T_x:

    n^2 V  ->  n^2 V + 2 sim(x, y) + kappa,
    sim(x, y) = T_x[y] L (sum_x' k(x, x') F_x'),      kappa = k(x, x) T_x[y] L T_x[y]'

in O(S), whatever n: the sum over x' for product kernels ``prod (a_j I + b_j 11')`` needs only the sums of F over each
subset of input axes (one array for no inputs, four for (s, a)). No pair of samples is ever looked at.

Selection (`Dictionary.select`) is the step of the paper's Algorithm 1: of a batch take the sample with the least
``kappa + 2 sim``. `Dictionary.shrink` removes, one by one, the sample whose absence changes V least.

Rounding: totals are sums of n terms; after a million updates they agree with a fresh computation to about 1e-10.
`Dictionary.refresh` recomputes them from the counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering.errors import InvalidOption
from steering.stein.checks import Array, as_floats, as_pmf, as_whole, enough_samples, finite
from steering.stein.discrepancy import KernelLike, overflow_is_refused, warn_if_stuck
from steering.stein.errors import InvalidDistribution
from steering.stein.joint import InputKernel, input_kernels, model_rows
from steering.stein.kernels import TwoParameter, apply_factors, get_kernel
from steering.stein.operators import Operator, get_operator

Sample = int | Sequence[int]


class Dictionary:
    """Samples y, or (x..., y) with inputs such as (s, a, s'), summarised by counts, with V and U kept up to date.

    Parameters
    ----------
    q
        Model: one pmf, or an array (S, A, S) of them for samples (s, a, s').
    operator, kernel, input_kernel
        As in `joint_discrepancy`; the input kernels must be named ones.
    """

    def __init__(
        self,
        q: ArrayLike,
        operator: str | Operator = "barker",
        kernel: KernelLike = "exp-hamming",
        input_kernel: InputKernel = "exp-hamming",
    ) -> None:
        self.operator, self.kernel = get_operator(operator), get_kernel(kernel)
        table = as_floats(q, "q")
        self.q = as_pmf(table, "q") if table.ndim == 1 else model_rows(table, np.zeros(table.shape))
        self.operator.check(self.q)
        #: Rows without a model (actions that are not allowed): nothing can be added there.
        self._blank = ~(table != 0).any(-1)
        factors = input_kernels(input_kernel, self.q.shape[:-1])
        if not all(isinstance(f, TwoParameter) for f in factors):
            raise InvalidOption("a Dictionary needs a named input kernel, such as 'exp-hamming'; not a Gram matrix.")
        self._factors = [f for f in factors if isinstance(f, TwoParameter)]
        self._self_weight = float(np.prod([f.a + f.b for f in self._factors]))
        inputs = len(factors)
        self._subsets = [c for k in range(inputs + 1) for c in itertools.combinations(range(inputs), k)]
        self.counts: NDArray[np.int64] = np.zeros(self.q.shape, dtype=np.int64)
        self.refresh()

    def __len__(self) -> int:
        return self.n

    def refresh(self) -> None:
        """Recompute all running totals from the counts."""
        self.n = int(self.counts.sum())
        counts = self.counts.astype(float)
        flow = self.operator.flow(counts, self.q) if self.n else np.zeros_like(counts)
        self._sums = {axes: flow.sum(axes, keepdims=True) if axes else flow.copy() for axes in self._subsets}
        self._total = float(np.vdot(self.kernel.apply(flow), apply_factors(flow, self._factors)))
        own = counts * self.operator.self_similarity(self.q, self.kernel) if self.n else counts
        self._own = self._self_weight * float(own.sum())

    @property
    def v_statistic(self) -> float:
        """V-statistic of what is in the dictionary."""
        enough_samples(self.n, "V")
        warn_if_stuck(self.operator, self.counts)
        return float(finite(self._total / self.n**2, "the V-statistic"))

    @property
    def u_statistic(self) -> float:
        """U-statistic of what is in the dictionary."""
        enough_samples(self.n, "U")
        warn_if_stuck(self.operator, self.counts)
        return float(finite((self._total - self._own) / (self.n * (self.n - 1)), "the U-statistic"))

    def similarity(self, sample: Sample) -> tuple[float, float]:
        """``(sum over the dictionary of the Stein kernel with the sample, its kernel with itself)``."""
        return self._similarity(*self._row(self._index(sample)))

    def add(self, sample: Sample, times: int = 1) -> None:
        """Put a sample in, in O(S) whatever n (and whatever `times`); a refusal leaves all as it was."""
        self._change(self._index(sample), as_whole(times, "times", 1))

    def remove(self, sample: Sample) -> None:
        """Take one copy of a sample out."""
        index = self._index(sample)
        if self.counts[index] == 0:
            raise InvalidDistribution(f"sample {index} is not in the dictionary; only what was added can be removed.")
        self._change(index, -1)

    def select(self, batch: Iterable[Sample]) -> int:
        """Add the sample of the batch with the least self-similarity plus twice its similarity; returns its place."""
        samples = [self._index(sample) for sample in batch]
        if not samples:
            raise InvalidDistribution("the batch is empty; give at least one sample to select from.")
        known: dict[tuple[int, ...], float] = {}
        for index in samples:
            if index not in known:
                similar, own = self._similarity(*self._row(index))
                known[index] = own + 2.0 * similar
        best = min(range(len(samples)), key=lambda i: known[samples[i]])
        self._change(samples[best], 1)
        return best

    def shrink(self, budget: int) -> list[tuple[int, ...]]:
        """Remove samples until at most `budget` are left, each time the one that changes V least; returns them."""
        budget = as_whole(budget, "budget", 1)
        removed = []
        while self.n > budget:
            removed.append(self._least_change())
            self._change(removed[-1], -1)
        return removed

    def _least_change(self) -> tuple[int, ...]:
        """Cell whose removal moves V least; ties go to the first."""
        v = self._total / self.n**2
        best: tuple[int, ...] = (0,)
        least = np.inf
        for cell in np.argwhere(self.counts):
            index = tuple(int(i) for i in cell)
            similar, own = self._similarity(*self._row(index))
            change = abs((self._total - 2.0 * similar + own) / (self.n - 1) ** 2 - v)
            if change < least:
                best, least = index, change
        return best

    def _index(self, sample: Sample) -> tuple[int, ...]:
        parts: tuple[Any, ...]
        if isinstance(sample, int | np.integer):
            parts = (sample,)
        elif isinstance(sample, tuple | list):
            parts = tuple(sample)
        else:
            parts = tuple(np.asarray(sample, dtype=object).ravel().tolist())
        if len(parts) != self.q.ndim or not all(isinstance(i, int | np.integer) for i in parts):
            raise InvalidDistribution(
                f"a sample has {self.q.ndim} whole numbers (inputs, then outcome), not {sample!r}."
            )
        if not all(0 <= i < n for i, n in zip(parts, self.q.shape, strict=True)):
            raise InvalidDistribution(f"sample {parts} lies outside the model of shape {self.q.shape}; count from 0.")
        index = tuple(int(i) for i in parts)
        if self._blank[index[:-1]]:
            raise InvalidDistribution(
                f"q{list(index[:-1])} is all zero, so {index} cannot be a sample of it; give that row a model."
            )
        return index

    def _row(self, index: tuple[int, ...]) -> tuple[tuple[int, ...], Array]:
        return index[:-1], self.operator.row(self.q[index[:-1]], index[-1])

    def _similarity(self, x: tuple[int, ...], row: Array) -> tuple[float, float]:
        image = self.kernel.apply(row)
        near = np.zeros_like(row)
        for axes in self._subsets:
            weight = float(np.prod([f.b if i in axes else f.a for i, f in enumerate(self._factors)]))
            where = tuple(0 if i in axes else x[i] for i in range(len(x)))
            near += weight * self._sums[axes][where]
        with overflow_is_refused(self.operator, self.kernel):
            similar, own = float(image @ near), self._self_weight * float(image @ row)
        finite(similar + own, "the Stein kernel of a sample", not self.operator.needs_full_support)
        return similar, own

    def _change(self, index: tuple[int, ...], times: int) -> None:
        x, row = self._row(index)
        similar, own = self._similarity(x, row)
        total = self._total + 2.0 * times * similar + times * times * own
        sum_own = self._own + times * own
        finite(total + sum_own, f"the discrepancy with sample {index}")  # before anything is written
        self._total, self._own = total, sum_own
        self.n += times
        self.counts[index] += times
        for axes in self._subsets:
            self._sums[axes][tuple(0 if i in axes else x[i] for i in range(len(x)))] += times * row
