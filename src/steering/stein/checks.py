"""Validation of what users hand in: probabilities, counts, positive parameters. One sentence for each
mistake.

Every public function of `steering.stein` passes its arrays through here once; the code behind trusts them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution

Array = NDArray[np.float64]

#: Rows of probabilities may miss one by this much (single-precision input passes).
SUM_TOLERANCE = 1e-6


def as_floats(values: ArrayLike, name: str) -> Array:
    """Array of doubles with at least one axis; anything that is not numeric is refused."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDistribution(f"{name} is not an array of numbers; give a list or array of numbers.") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidDistribution(
            f"{name} has shape {array.shape}; its last axis must run over the outcomes, at least one of them."
        )
    return array


def first_where(bad: NDArray[np.bool_]) -> str:
    """Index of the first offending entry as text, e.g. ``[2, 0]``."""
    index = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return "[" + ", ".join(str(int(i)) for i in index) + "]"


def as_pmf(values: ArrayLike, name: str) -> Array:
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
        miss = float(np.abs(total - 1.0).max())
    if not (miss <= SUM_TOLERANCE and least(p) >= 0.0):
        _refuse_pmf(p, total, name)
    return p


def _refuse_pmf(p: Array, total: Any, name: str) -> None:
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


def as_counts(values: ArrayLike, name: str = "counts") -> Array:
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
    """Smallest entry of an array without NaN; for single rows a list is several times faster than `ndarray.min`."""
    if values.ndim == 1 and values.size <= 64:
        return float(min(values.tolist()))
    return float(np.minimum.reduce(values, None))


def ahead(values: NDArray[Any]) -> NDArray[Any]:
    """Value at the cyclic successor, ``values[..., z + 1]`` (a lean `numpy.roll`)."""
    out = np.empty_like(values)
    out[..., :-1] = values[..., 1:]
    out[..., -1] = values[..., 0]
    return out


def as_positive(values: ArrayLike, name: str) -> Array:
    """Finite positive parameters (Dirichlet, Normal-Gamma, length scales)."""
    array = as_floats(np.atleast_1d(np.asarray(values)), name)
    good = (array > 0) & np.isfinite(array)
    if not good.all():
        where = first_where(~good)
        raise InvalidDistribution(
            f"{name}{where} is {array[~good][0]:g}; it must be a positive finite number, so change that entry."
        )
    return array


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


def same_outcomes(a: Array, b: Array, name_a: str, name_b: str) -> None:
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


def finite(value: Any, what: str) -> Any:
    """Refuse a result that overflowed instead of returning it."""
    if not (math.isfinite(value) if np.ndim(value) == 0 else np.isfinite(value).all()):
        raise InvalidDistribution(
            f"{what} is too large for double precision because the model has extremely small"
            f" probabilities where"
            " the data has mass; use operator='barker', which is bounded."
        )
    return value
