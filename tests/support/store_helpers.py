"""Shards made from a real run, with as many cells as a test wants."""

import functools

import numpy as np

import steering
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store


@functools.lru_cache(maxsize=1)
def _run():
    return steering.run("deepsea:4", "q_learning", steps=20, seeds=1)


def key(i):
    return i.to_bytes(16, "little")


def shard(cells):
    """Bytes of a shard with these cells (any numbers), and their keys."""
    import dataclasses

    one = _run()
    cells = list(cells)
    n = len(cells)
    repeated = {
        name: np.repeat(getattr(one, name), n, axis=0)
        for name in ("rewards", "expected_rewards", "oracle_rewards", "visits", "seconds")
    }
    results = dataclasses.replace(one, seeds=tuple(cells), **repeated)
    keys = [key(i) for i in cells]
    return schema.to_bytes(schema.rows_of(results, keys, "{}", 5)), keys


def fill(directory, rows, shards):
    """A store with some shards of some cells each."""
    store = Store(directory, create=True)
    keys = []
    for i in range(shards):
        content, own = shard(range(i * rows, (i + 1) * rows))
        store.write(content, rows)
        keys += own
    return store, keys
