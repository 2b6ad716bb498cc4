"""Validation of what users hand in: probabilities, counts, positive parameters. One sentence for each mistake.

Every public function of `steering.stein` passes its arrays through here once; the code behind trusts them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering._types import Floats
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution

#: What rows with too few samples get.
EMPTY = {"error": math.nan, "nan": math.nan, "zero": 0.0}
#: Rows of probabilities may miss one by this much (single-precision input passes).
SUM_TOLERANCE = 1e-6


def as_floats(values: ArrayLike, name: str) -> Floats:
    """Floats of doubles with at least one axis; anything that is not a real number is refused."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError
        array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDistribution(f"{name} is not an array of real numbers; give a list or array of them.") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidDistribution(
            f"{name} has shape {array.shape}; its last axis must run over the outcomes, at least one of them."
        )
    return array


def first_where(bad: NDArray[np.bool_]) -> str:
    """Index of the first offending entry as text, e.g. ``[2, 0]``."""
    index = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return "[" + ", ".join(str(int(i)) for i in index) + "]"


def as_pmf(values: ArrayLike, name: str) -> Floats:
    """Probability vectors along the last axis.

    Raises
    ------
    InvalidDistribution
        For negative or non-finite entries and for rows that do not sum to one (tolerance `SUM_TOLERANCE`).
    """
    p = as_floats(values, name)
    # The good case in two passes: a NaN or infinity spoils the sum, and the least entry finds the negative ones.
    if p.ndim == 1:
        total: Any = np.add.reduce(p)
        miss = abs(float(total) - 1.0)
    else:
        total = np.add.reduce(p, -1)
        miss = float(np.abs(total - 1.0).max(initial=0.0))
    if not (miss <= SUM_TOLERANCE and least(p) >= 0.0):
        _refuse_pmf(p, total, name)
    return p


def _refuse_pmf(p: Floats, total: Any, name: str) -> None:
    for bad, what in ((~np.isfinite(p), "is not finite"), (p < 0, "is negative")):
        if bad.any():
            where = first_where(bad)
            raise InvalidDistribution(f"{name}{where} {what}; give probabilities, which lie between 0 and 1.")
    off = np.abs(np.atleast_1d(total) - 1.0) > SUM_TOLERANCE
    where = first_where(off) if np.ndim(total) else ""
    value = float(np.atleast_1d(total)[off][0])
    raise InvalidDistribution(
        f"{name}{where} sums to {value:.10g} over the last axis instead of 1; divide each row by its sum"
        " and check that outcomes run along the last axis."
    )


def as_counts(values: ArrayLike, name: str = "counts") -> Floats:
    """Counts of samples along the last axis: whole, finite, not negative."""
    counts = as_floats(values, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and least(values) >= 0:
        return counts
    good = (counts >= 0) & (np.floor(counts) == counts) & (counts < 2.0**53)
    if not good.all():
        where = first_where(~good)
        value = counts[~good][0]
        raise InvalidDistribution(f"{name}{where} is {value:g}; counts are whole numbers, none of them negative.")
    return counts


def least(values: NDArray[Any]) -> float:
    """Smallest entry of an array without NaN (infinity if it is empty); for single rows a list is faster than NumPy."""
    if values.ndim == 1 and 0 < values.size <= 64:
        return float(min(values.tolist()))
    return float(np.minimum.reduce(values, None)) if values.size else math.inf


def ahead(values: NDArray[Any]) -> NDArray[Any]:
    """Value at the cyclic successor, ``values[..., z + 1]`` (a lean `numpy.roll`)."""
    out = np.empty_like(values)
    out[..., :-1] = values[..., 1:]
    out[..., -1] = values[..., 0]
    return out


def as_positive(values: ArrayLike, name: str) -> Floats:
    """Finite positive parameters (Dirichlet, Normal-Gamma, length scales)."""
    array = as_floats(np.atleast_1d(np.asarray(values)), name)
    good = (array > 0) & np.isfinite(array)
    if not good.all():
        where = first_where(~good)
        raise InvalidDistribution(
            f"{name}{where} is {array[~good][0]:g}; it must be a positive finite number, so change that entry."
        )
    return array


def as_samples(samples: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Flat index in a model of this shape of every sample, a row of whole numbers (inputs, then outcome)."""
    y = np.asarray(samples)
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or y.dtype.kind not in "iu" or not y.size or y.shape[1] != len(shape):
        raise InvalidDistribution(
            f"samples must be whole numbers, at least one row of {len(shape)} (inputs, then outcome) for a model q"
            f" of shape {shape}."
        )
    bad = (y < 0) | (y >= np.array(shape))
    if bad.any():
        raise InvalidDistribution(f"samples{first_where(bad)} is {y[bad][0]}, outside q of shape {shape}.")
    return np.asarray(np.ravel_multi_index(tuple(y.T.astype(np.int64)), shape), dtype=np.int64)


def counts_of(counts: ArrayLike | None, samples: ArrayLike | None, q: ArrayLike | None) -> Any:
    """Counts as they were given, or those of raw samples: one of the two, and a model q.

    Samples are outcomes, (n,), for a single model, and rows (inputs, then outcome), (n, d), for a table of d axes.
    """
    if q is None:
        raise InvalidDistribution("the model q is missing; give the probabilities of the outcomes.")
    if (counts is None) == (samples is None):
        given = "neither" if counts is None else "both"
        raise InvalidDistribution(f"{given} of counts and samples are given; give one of them.")
    model = as_floats(q, "q")
    if samples is None:
        _refuse_samples(counts, model.shape)
        return counts
    index = as_samples(samples, model.shape)
    return np.bincount(index, minlength=model.size).reshape(model.shape)


def _refuse_samples(counts: Any, shape: tuple[int, ...]) -> None:
    """Raw samples where counts are expected have another shape; say so, since the two are easily confused."""
    table = np.asarray(counts)
    if table.dtype.kind not in "iu" or table.ndim not in (1, 2) or not table.size or _broadcast(table.shape, shape):
        return
    rows = table[:, None] if table.ndim == 1 else table
    if rows.shape[1] == len(shape) and rows.min() >= 0 and bool((rows < np.array(shape)).all()):
        raise InvalidDistribution(
            f"counts of shape {table.shape} do not fit q of shape {shape} but look like raw samples; if they are, pass"
            " samples=."
        )


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def as_scalar(value: Any, name: str) -> float:
    """One positive finite number."""
    if np.ndim(value) != 0:
        raise InvalidOption(f"{name} must be one number, not an array of shape {np.shape(value)}.")
    return float(as_positive(value, name)[0])


def as_whole(value: Any, name: str, smallest: int) -> int:
    """A whole number from `smallest` on (draws, sizes, times)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < smallest:
        raise InvalidOption(f"{name} must be a whole number of at least {smallest}, not {value!r}.")
    return int(value)


def as_generator(rng: Any) -> np.random.Generator:
    """Generator for a seed or a generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidOption(
            f"rng must be a seed (a whole number from 0 on) or a NumPy Generator, not {rng!r}."
        ) from None


def samples_needed(statistic: str) -> int:
    """One sample for the V-statistic, two for the U-statistic; anything else is refused."""
    if statistic not in ("V", "U"):
        raise InvalidOption(f"statistic must be 'V' or 'U', not {statistic!r}.")
    return 1 if statistic == "V" else 2


def enough_samples(n: float, statistic: str) -> None:
    """Refuse fewer samples than the statistic needs."""
    need = samples_needed(statistic)
    if n < need:
        raise InvalidDistribution(
            f"the data has {int(n)} samples and the {statistic}-statistic needs {need}; add some."
        )


def rows_with_enough(n: Floats, statistic: str, empty: str) -> tuple[Floats, NDArray[np.bool_] | None]:
    """Sample sizes to divide by, and which rows have too few samples for the statistic (None for no row).

    With ``empty="error"`` such rows are refused, with ``"nan"`` and ``"zero"`` the caller fills them in (`filled`).
    """
    need = samples_needed(statistic)
    if empty not in EMPTY:
        raise InvalidOption(f"empty must be 'error', 'nan' or 'zero', not {empty!r}.")
    few = n < need
    if not few.any():
        return n, None
    if empty == "error":
        raise InvalidDistribution(
            f"row {first_where(few)} has {int(n[few][0])} samples and the {statistic}-statistic needs {need};"
            " leave out rows with fewer, or pass empty='nan' or empty='zero'."
        )
    return np.where(few, need, n), few


def filled(value: Floats, few: NDArray[np.bool_] | None, empty: str) -> Floats:
    """The value with NaN or zero in the rows that have too few samples."""
    return value if few is None else np.where(few, EMPTY[empty], value)


def same_outcomes(a: Floats, b: Floats, name_a: str, name_b: str) -> None:
    """Both arrays must have the same number of outcomes and leading axes that broadcast."""
    if a.shape[-1] != b.shape[-1]:
        raise InvalidDistribution(
            f"{name_a} has {a.shape[-1]} outcomes on its last axis and {name_b} has {b.shape[-1]};"
            " put the outcomes of both on the last axis."
        )
    if a.ndim > 1 and b.ndim > 1:
        try:
            np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            raise InvalidDistribution(
                f"the leading axes of {name_a} {a.shape} and {name_b} {b.shape} do not broadcast; make them equal or 1."
            ) from None


def finite(value: Any, what: str, bounded: bool = False) -> Any:
    """Refuse a result that overflowed instead of returning it; `bounded` operators overflow for other reasons."""
    if not (math.isfinite(value) if np.ndim(value) == 0 else np.isfinite(value).all()):
        raise InvalidDistribution(
            f"{what} is too large for double precision; "
            + (
                "give a kernel with smaller entries."
                if bounded
                else "the model has extremely small probabilities there, so use operator='barker', which is bounded."
            )
        )
    return value
