r"""A growing and shrinking dictionary of samples whose discrepancy is always at hand.

Kept: the counts, ``F_x = sum_i T_x[y_i]`` (so ``n^2 V = sum_{x,x'} k(x,x') F_x' L F_x'``), its sums over input axes,
and, once asked for, the two totals n^2 V and sum_i kappa(i, i). One sample (x, y) changes them by one row of T_x:

    n^2 V  ->  n^2 V + 2 sim(x, y) + kappa,
    sim(x, y) = T_x[y] L (sum_x' k(x, x') F_x'),      kappa = k(x, x) T_x[y] L T_x[y]'

in O(S), whatever n: the sum over x' for product kernels ``prod (a_j I + b_j 11')`` needs only the sums of F over each
subset of input axes (one array for no inputs, four for (s, a)). No pair of samples is ever looked at.

Selection (`Dictionary.select`) is the step of the paper's Algorithm 1: of a batch take the sample with the least
``kappa + 2 sim``; `Dictionary.select_many` does a whole sequence of batches in one compiled call. `Dictionary.shrink`
removes, one by one, the sample whose absence changes V least.

Rounding: totals are sums of n terms; after a million updates they agree with a fresh computation to about 1e-10.
`Dictionary.refresh` recomputes them from the counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.stein.checks import as_floats, as_pmf, as_samples, as_whole, enough_samples, finite
from steering.stein.discrepancy import KernelLike, overflow_is_refused, warn_if_stuck
from steering.stein.errors import InvalidDistribution
from steering.stein.joint import InputKernel, input_kernels, model_rows
from steering.stein.kernels import apply_factors, get_kernel, two_parameter
from steering.stein.operator_base import product
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
        self.counts: NDArray[np.int64] = np.zeros(table.shape, dtype=np.int64)
        self._set_model(table)
        self.kernel.fits(table.shape[-1])
        factors = input_kernels(input_kernel, self.q.shape[:-1])
        self._factors = [two_parameter(f, "the inputs of a Dictionary need") for f in factors]
        self._self_weight = float(np.prod([f.a + f.b for f in self._factors]))
        inputs = len(factors)
        self._subsets = [c for k in range(inputs + 1) for c in itertools.combinations(range(inputs), k)]
        self._weights = np.array(
            [math.prod(f.b if i in axes else f.a for i, f in enumerate(self._factors)) for axes in self._subsets]
        )
        self._lines = self._places()
        self.refresh()

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        samples = "1 sample" if self.n == 1 else f"{self.n} samples"
        model = f"a model of shape {self.q.shape}" if self.q.ndim > 1 else f"a pmf of {self.q.size} outcomes"
        return f"Dictionary: {samples} against {model}, operator {self.operator.name}; v_statistic, select(batch)"

    def change_model(self, q: ArrayLike) -> None:
        """Take another model of the same shape; the samples stay, and all sums are computed anew."""
        self._set_model(as_floats(q, "q"))
        self.refresh()

    def _set_model(self, table: Floats) -> None:
        model = as_pmf(table, "q") if table.ndim == 1 else table
        model = model_rows(model, self.counts)
        self.operator.check(model)
        self.q = model
        #: Rows without a model (actions that are not allowed): nothing can be added there.
        self._blank = ~(table != 0).any(-1)

    def refresh(self) -> None:
        """Recompute all running totals from the counts."""
        self.n = int(self.counts.sum())
        counts = self.counts.astype(float)
        flow = self.operator.flow(counts, self.q) if self.n else np.zeros_like(counts)
        sums = [flow.sum(axes) if axes else flow for axes in self._subsets]
        #: F and its sums over each subset of input axes, one below the other; `_lines` finds those of an input.
        self._sums = np.concatenate([each.reshape(-1, flow.shape[-1]) for each in sums])
        self._known: tuple[float, float] | None = None

    def _places(self) -> NDArray[np.int64]:
        """For each input x (flat) and each subset of axes, the line of `_sums` with the sum that x is part of."""
        inputs, begin, lines = self.q.shape[:-1], 0, []
        for axes in self._subsets:
            shape = [1 if i in axes else n for i, n in enumerate(inputs)]
            size = math.prod(shape)
            lines.append(np.broadcast_to(np.arange(begin, begin + size).reshape(shape), inputs).ravel())
            begin += size
        return np.stack(lines, -1)

    def _totals(self) -> tuple[float, float]:
        """``n^2 V`` and ``sum_i kappa(i, i)``, computed when first asked for and kept up to date from then on."""
        if self._known is None:
            flow = self._sums[: len(self._lines)].reshape(self.q.shape)
            total = float(np.vdot(self.kernel.apply(flow), apply_factors(flow, self._factors)))
            own = 0.0
            if self.n:
                cells = product(self.counts.astype(float), self.operator.self_similarity(self.q, self.kernel))
                own = self._self_weight * float(cells.sum())
            self._known = total, own
        return self._known

    @property
    def v_statistic(self) -> float:
        """V-statistic of what is in the dictionary."""
        enough_samples(self.n, "V")
        warn_if_stuck(self.operator, self.counts)
        return float(finite(self._totals()[0] / self.n**2, "the V-statistic"))

    @property
    def u_statistic(self) -> float:
        """U-statistic of what is in the dictionary."""
        enough_samples(self.n, "U")
        warn_if_stuck(self.operator, self.counts)
        total, own = self._totals()
        return float(finite((total - own) / (self.n * (self.n - 1)), "the U-statistic"))

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

    def select_many(self, samples: ArrayLike, batch: int) -> NDArray[np.int64]:
        """`select` from each of the consecutive batches of a sequence, compiled; a refusal leaves all as it was.

        Parameters
        ----------
        samples
            Whole numbers, one row (inputs, then outcome) for each sample.
        batch
            Size of a batch; the last one may be smaller.

        Returns
        -------
        array of integers
            Place in `samples` of the one taken from each batch.
        """
        from steering._compiled.selection import select_batches  # Numba is only loaded when it is used

        batch = as_whole(batch, "batch", 1)
        flat = as_samples(samples, self.q.shape)
        # In a long sequence samples repeat: one row of T serves all that are alike.
        few = len(flat) <= self.q.size
        cells, cell = (flat, np.arange(len(flat))) if few else np.unique(flat, return_inverse=True)
        x, y = np.divmod(cells, self.q.shape[-1])
        for blank in cells[np.ravel(self._blank)[x]]:
            self._index([int(i) for i in np.unravel_index(blank, self.q.shape)])  # refuses the sample
        with overflow_is_refused(self.operator, self.kernel):
            rows = self.operator.rows(self.q.reshape(-1, self.q.shape[-1])[x], y)
            images = self.kernel.apply(rows)
            own = self._self_weight * np.vecdot(images, rows)
        sums = self._sums.copy()
        chosen, largest = select_batches(cell, batch, self._lines[x], self._weights, rows, images, own, sums)
        finite(largest, "the Stein kernel of a sample", not self.operator.needs_full_support)
        self._sums, self._known = sums, None
        self.n += len(chosen)
        np.add.at(self.counts.reshape(-1), flat[chosen], 1)
        return np.asarray(chosen, dtype=np.int64)

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
        total, _ = self._totals()
        v = total / self.n**2
        best: tuple[int, ...] = (0,)
        least = np.inf
        for cell in np.argwhere(self.counts):
            index = tuple(int(i) for i in cell)
            similar, own = self._similarity(*self._row(index))
            change = abs((total - 2.0 * similar + own) / (self.n - 1) ** 2 - v)
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

    def _row(self, index: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
        """Lines of `_sums` that the sample is part of, and its row of T."""
        x = int(np.ravel_multi_index(index, self.q.shape)) // self.q.shape[-1]
        return self._lines[x], self.operator.row(self.q[index[:-1]], index[-1])

    def _similarity(self, lines: NDArray[np.int64], row: Floats) -> tuple[float, float]:
        image = self.kernel.apply(row)
        near = np.zeros_like(row)
        for weight, line in zip(self._weights, lines, strict=True):
            near += weight * self._sums[line]
        with overflow_is_refused(self.operator, self.kernel):
            similar, own = float(image @ near), self._self_weight * float(image @ row)
        finite(similar + own, "the Stein kernel of a sample", not self.operator.needs_full_support)
        return similar, own

    def _change(self, index: tuple[int, ...], times: int) -> None:
        lines, row = self._row(index)
        similar, own = self._similarity(lines, row)
        total, sum_own = self._totals()
        total = total + 2.0 * times * similar + times * times * own
        sum_own += times * own
        finite(total + sum_own, f"the discrepancy with sample {index}")  # before anything is written
        self._known = total, sum_own
        self.n += times
        self.counts[index] += times
        self._sums[lines] += times * row
