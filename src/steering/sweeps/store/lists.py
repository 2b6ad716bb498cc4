"""Lists inside the rows of a shard: checks that those of a row fit together, and long tables made of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from steering._types import Ints
from steering.sweeps.store.schema import LISTS, BadShard

ORDER = ("environment", "agent", "steps", "seed")
NULLABLE = ("oracle_reward", "realised_regret", "expected_regret", "oracle_total", "random_gap")
MAX_ROWS = 1 << 29
"""Most rows of a long table; beyond, read one environment or agent at a time."""


def most_values(rows: pa.Table) -> int:
    """Values of the list column that has most."""
    lists = [rows.column(name) for name in rows.column_names if name in LISTS]
    return max((pc.sum(pc.list_value_length(column)).as_py() or 0 for column in lists), default=0)


def without_zeros(rows: pa.Table) -> pa.Table:
    """Visits other than zero with the place of each among all visits of its cell, whichever way they were stored."""
    counts, lengths = values_of(rows, "visits"), lengths_of(rows, "visits")
    ends, stored = np.cumsum(lengths), lengths_of(rows, "visit_place") > 0
    kept = np.flatnonzero(counts)
    offsets = pa.array(np.concatenate([[0], np.searchsorted(kept, ends)]), pa.int32())
    made = np.diff(offsets)
    within = kept - np.repeat(ends - lengths, made)
    if stored.any():
        given = np.repeat(stored, made)
        every = np.zeros(counts.size, dtype=np.int64)
        every[np.repeat(stored, lengths)] = values_of(rows, "visit_place")
        within[given] = every[kept[given]]
    for name, values in (("visits", counts[kept]), ("visit_place", within.astype(np.int32))):
        column = pa.ListArray.from_arrays(offsets, pa.array(values))
        rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def check_nulls(rows: pa.Table) -> None:
    """Refuse missing values where a cell always has one."""
    for name in rows.column_names:
        column = rows.column(name)
        missing = 0 if name in NULLABLE else column.null_count
        if name in LISTS:
            missing += sum(chunk.values.null_count for chunk in column.chunks)
        if missing:
            raise BadShard(f"its column {name} has holes")


def check_claims(rows: pa.Table) -> None:
    """Refuse rows whose environment, agent and steps are not those of the configuration that they claim."""
    names = ["environment", "agent", "steps", "config"]
    for row in rows.select(names).group_by(names).aggregate([]).to_pylist():
        try:
            config = json.loads(row["config"])
        except (TypeError, ValueError, RecursionError):
            config = None
        for name in names[:3] if isinstance(config, dict) else ():
            if config.get(name, row[name]) != row[name]:
                raise BadShard(f"it has a row of {name} {row[name]!r:.60}, but its configuration says another")


def lengths_of(rows: pa.Table, name: str) -> Ints:
    """Length of the list of each row."""
    lengths: Ints = pc.list_value_length(rows.column(name)).to_numpy().astype(np.int64)
    return lengths


def values_of(rows: pa.Table, name: str) -> NDArray[Any]:
    """Values of all lists of a column, one after the other."""
    values: NDArray[Any] = rows.column(name).combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return values


def shapes_of(rows: pa.Table, name: str) -> Ints:
    """Shapes as (cells, 3); zeros where a cell has none."""
    shapes = np.zeros((rows.num_rows, 3), dtype=np.int64)
    shapes[lengths_of(rows, name) == 3] = values_of(rows, name).reshape(-1, 3)
    return shapes


def check_lengths(rows: pa.Table, first: str, others: Any, *, empty: bool = True) -> None:
    """Lists that belong together have one length; with `empty`, a list that was not recorded may be empty."""
    lengths = lengths_of(rows, first)
    for name in others:
        other = lengths_of(rows, name)
        if not np.all((other == lengths) | (empty & (other == 0))):
            raise BadShard(f"its columns {first} and {name} do not fit together")


def check_shapes(rows: pa.Table, name: str) -> Ints:
    """Shapes as (cells, 3), each possible."""
    lengths = lengths_of(rows, name)
    if not np.all((lengths == 3) | (lengths == 0)):
        raise BadShard(f"its column {name} does not hold shapes")
    shapes = shapes_of(rows, name)
    if np.any(shapes[lengths == 3] < 1) or np.any(shapes.astype(np.float64).prod(axis=1) > MAX_ROWS):
        raise BadShard(f"its column {name} holds impossible shapes")
    return shapes


def check_visits(rows: pa.Table) -> None:
    """Refuse visits that do not have their shape, their places in it or their windows."""
    shapes = check_shapes(rows, "visit_shape")
    edges = lengths_of(rows, "window_edges")
    size, made, placed = shapes.prod(axis=1), lengths_of(rows, "visits"), lengths_of(rows, "visit_place")
    if np.any(made != np.where(placed > 0, placed, size)) or np.any((edges != shapes[:, 0] + 1) & (edges > 0)):
        raise BadShard("its visits do not fit their shape")
    if np.any((edges == 0) & (shapes[:, 0] > 0)):
        raise BadShard("its visits have no windows")
    places, owner = values_of(rows, "visit_place"), np.repeat(np.arange(len(placed)), placed)
    if np.any((places < 0) | (places >= size[owner])) or np.any((np.diff(places) <= 0) & (np.diff(owner) == 0)):
        raise BadShard("its visits have impossible places")


def check_stacked(rows: pa.Table, step: str, shape: str, values: str) -> None:
    """Refuse arrays that do not have their shape at each of their steps."""
    size = check_shapes(rows, shape).prod(axis=1)
    if not np.all(lengths_of(rows, step) * size == lengths_of(rows, values)):
        raise BadShard(f"its column {values} does not fit its shape")


def check_posterior(rows: pa.Table) -> None:
    """Refuse beliefs about Q whose parts do not fit together."""
    check_stacked(rows, "posterior_step", "posterior_shape", "posterior_mean")
    check_lengths(rows, "posterior_mean", ["posterior_std"], empty=False)
    size, optimal = shapes_of(rows, "posterior_shape").prod(axis=1), lengths_of(rows, "posterior_optimal")
    if not np.all((optimal == size) | (optimal == 0)):
        raise BadShard("its optimal Q does not fit its shape")


def places_of(lengths: Ints) -> tuple[Ints, Ints]:
    """For each element of lists one after the other: which list it is in, and its place there."""
    owner: Ints = np.repeat(np.arange(len(lengths)), lengths)
    within: Ints = np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]
    return owner, within


def stacked(rows: pa.Table, step: str, shape: str, values: dict[str, str]) -> pd.DataFrame:
    """Long table of arrays (times, layers, S, A): columns step, layer, state, action and the values."""
    lengths = lengths_of(rows, next(iter(values.values())))
    owner, within = places_of(lengths)
    layers, states, actions = shapes_of(rows, shape)[owner].T
    steps = lengths_of(rows, step)
    time = within // np.maximum(layers * states * actions, 1)
    table = repeated(rows, lengths)
    table["step"] = values_of(rows, step)[(np.cumsum(steps) - steps)[owner] + time]
    table["layer"] = within // (states * actions) % layers
    table["state"] = within // actions % states
    table["action"] = within % actions
    for name, column in values.items():
        table[name] = values_of(rows, column)
    return table


def repeated(rows: pa.Table, lengths: Ints) -> pd.DataFrame:
    """The columns that say which cell a row belongs to, each cell repeated."""
    table = pd.DataFrame({"cell": np.repeat(rows.column("cell").to_numpy(), lengths)})
    for name in ORDER:
        if name in ("environment", "agent"):
            texts = pd.Categorical(rows.column(name).to_pylist())
            table[name] = pd.Categorical.from_codes(np.repeat(texts.codes, lengths), dtype=texts.dtype)
        else:
            table[name] = np.repeat(rows.column(name).to_numpy(), lengths)
    return table
