"""A million cells, on paper: expanded and keyed without being held, and a restart that only looks."""

import time
import tracemalloc

import pytest
from store_helpers import shard

import steering
from steering.sweeps.batches import Sizes
from steering.sweeps.compute import Failure, Outcome
from steering.sweeps.sweep_file import read_sweep

WANTED = {
    "environments": [{"name": "priormdp:4,2", "seed": list(range(100))}],
    "agents": ["psrl"],
    "steps": 1000,
    "seeds": 10_000,
}


def test_a_million_cells_cost_little_memory():
    tracemalloc.start()
    plan = read_sweep(WANTED).plan
    assert len(plan) == 1_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
    began = time.process_time()
    seen = {key for key, _ in zip(plan.keys(), range(100_000), strict=False)}
    assert len(seen) == 100_000
    assert time.process_time() - began < 3.0  # a million in 30 s on a slow core; measured: 1 s
    assert plan.locate(999_999) == (99, 9999)


def test_batches_follow_time_and_end_small():
    plan = read_sweep(WANTED).plan
    sizes = Sizes(plan)
    pending = range(len(plan))
    assert 48 <= sizes.end_of_batch(pending, 0, 2) <= 51  # a second at the 20 ms guessed for a run
    sizes.known = {0: 1e-6}
    assert 998 <= sizes.end_of_batch(pending, 0, 2) <= 1001
    assert sizes.end_of_batch(pending, 0, 100) == 2000  # many workers: longer, but never more than fit in memory
    last = len(plan) - 12
    assert 3 <= sizes.end_of_batch(pending, last, 2) - last <= 6  # the end is shared, but not cut to pieces
    sizes.known = {99: 1.0}
    assert sizes.end_of_batch(pending, last, 2) - last == 1  # a long run travels alone
    sizes.known, sizes.setup = {0: 1e-4}, {0: 5.0}
    assert 48 <= sizes.end_of_batch(pending, 0, 2) <= 51  # five seconds of 0.1 s each, to make the setup worth it
    assert sizes.target([0], 2) == 10.0
    assert sizes.end_of_batch(pending, len(pending), 2) == len(pending)


def test_times_are_learnt_from_the_cells_that_finished():
    plan = read_sweep(WANTED).plan
    sizes = Sizes(plan)
    sizes.learn(
        [0, 1, 2, 3, 10_000], Outcome(rows=2, seconds=5.0, setup=1.0, lost=[3, 4], failures=[Failure(2, "", "")])
    )
    assert (sizes.known, sizes.setup) == ({0: 4.0 / 2000}, {0: 1.0})


def test_a_restart_finds_what_is_there(tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 20, "seeds": 300}
    first = steering.sweep(wanted, tmp_path, workers=0)
    assert first.computed == 300
    content, _ = shard(range(1000))  # cells of somebody else's sweep in the same directory do no harm
    from steering.sweeps.store.directory import Store

    Store(tmp_path).write(content, 1000)
    again = steering.sweep({**wanted, "seeds": 310}, tmp_path, workers=0)
    assert (again.done, again.computed) == (310, 10)


@pytest.mark.slow
def test_a_restart_with_a_hundred_thousand_cells(tmp_path):
    """A tenth of a million in a tenth of the promised thirty seconds, with room for a slow machine."""
    from steering.sweeps.store import schema
    from steering.sweeps.store.directory import Store

    small = {**WANTED, "seeds": 1000}
    keys = list(read_sweep(small).plan.keys())
    store = Store(tmp_path, create=True)
    content, _ = shard(range(1000))
    import pyarrow as pa

    rows = schema.read_rows(content)
    for start in range(0, len(keys), 1000):
        named = rows.set_column(0, "key", pa.array(keys[start : start + 1000], pa.binary(16)))
        store.write(schema.to_bytes(named.cast(schema.SCHEMA)), 1000)
    began = time.monotonic()
    report = steering.sweep(small, tmp_path)
    assert time.monotonic() - began < 10.0
    assert (report.done, report.computed) == (100_000, 0)
