"""Hostile input: mutated shards with a matching name and checksum, and mutated sweep files.

Whatever the bytes are, the answer is a table, a listed problem or a `SteeringError`; never another exception, never a
hang, never more than a gigabyte: the process may not have more, and no file may be said to need it. Mutations are
seeded, so a failure can be seen again. The quick suite tries 2,000 inputs, the slow one 20,000.
"""

import resource
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from store_helpers import key, shard

import steering
from steering.errors import SteeringError
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.store.load import TABLES
from steering.sweeps.sweep_file import parse_toml

SLOWEST = 20.0
MOST = 1 << 30
"""Memory that reading may take."""


@pytest.fixture(autouse=True)
def _a_gigabyte():
    """Allocations beyond it fail; and what was really used at the most is looked at afterwards."""
    usual = resource.getrlimit(resource.RLIMIT_DATA)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest use until now
    resource.setrlimit(resource.RLIMIT_DATA, (status("VmData") + MOST, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, usual)
    assert status("VmHWM") - before < MOST


def status(name):
    """Memory of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def rich_shard():
    """A shard in which every column has content."""
    record = ["value_gap", "q_posterior", "diagnostics"]
    results = steering.run("deepsea:3", "steering", steps=30, seeds=2, record=record, snapshots=2)
    return schema.to_bytes(schema.rows_of(results, [key(0), key(1)], "{}", 4))


def mutate(content, rng):
    """Flip, overwrite, cut, repeat or move some bytes; numbers at the edges of their range are tried often."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(changed)))
        if rng.random() < 0.5:  # the footer is where sizes and types are
            at = len(changed) - 1 - int(rng.integers(min(len(changed), 4000)))
        kind = rng.integers(6)
        if kind == 0:
            changed[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            changed[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF]))
        elif kind == 2:
            word = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1])).to_bytes(8, "little")
            changed[at : at + 8] = word[: len(changed[at : at + 8])]
        elif kind == 3:
            del changed[at : at + int(rng.integers(1, 64))]
        elif kind == 4:
            changed[at:at] = changed[at : at + int(rng.integers(1, 64))]
        else:
            changed[at : at + 16] = rng.bytes(len(changed[at : at + 16]))
        if not changed:
            break
    return bytes(changed)


def read_tables(store, names):
    results = steering.load(store.directory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            try:
                table = getattr(results, name)
            except SteeringError:
                continue
            assert len(table) >= 0
    return results


def fuzz_shards(directory, start, count):
    whole = rich_shard()
    store = Store(directory, create=True)
    good, _ = shard([100])
    store.write(good, 1)
    survived = 0
    for number in range(start, start + count):
        rng = np.random.default_rng(number)
        content = mutate(whole, rng)
        name = f"cells-{number:016x}-2-{len(content)}-{zlib.crc32(content):08x}.parquet"
        path = store.shards / name
        path.write_bytes(content)
        began = time.monotonic()
        found = store.scan()
        # Tables share their first columns, so a few of them, chosen by the mutation, are enough for one file.
        results = read_tables(store, ["finals", *rng.choice(TABLES[1:], 2, replace=False)])
        assert time.monotonic() - began < SLOWEST, f"mutation {number}"
        assert not any("memory" in reason for _, reason in found.problems), f"mutation {number}"
        assert key(100) in found.keys  # the good neighbour is never lost
        assert 100 in set(results.finals["seed"])
        survived += len(found.keys) > 1
        path.unlink()
    return survived


TOML = """
name = "fuzz"
environments = ["deepsea:4", { name = "deepsea", n = [5, 6], reward = ["sparse", "dense"] }, "gym:FrozenLake-v1"]
agents = ["psrl", { name = "ids", planning = ["mean", "sampled"], eta = [0.1, 1.0] }, "q_learning"]
steps = 40
seeds = { first = 10, count = 3 }
[record]
points = 5
extra = ["value_gap"]
[[blocks]]
steps = 50
[[blocks]]
environments = ["priormdp:3,2,seed=1", "widenarrow:1,3"]
"""
SNIPPETS = (
    "[", "]", "{", "}", '"', "=", ",", "\n", "[[blocks]]", "[record]", "-1", "1e999", "nan", "true", "[[[[[[[[",
    "a.b.c.d", "\x00", "é", "99999999999999999999", '"file:../../etc/passwd"', '"gym:os:system"', "seeds = 0", "'",
    '{ name = "psrl" }', "1979-05-27", "0x10", '"""', "name = [1]", '"deepsea:' + "9" * 30 + '"', "(((((",
)  # fmt: skip


def fuzz_toml(start, count):
    good = 0
    for number in range(start, start + count):
        rng = np.random.default_rng(number)
        text = TOML
        for _ in range(int(rng.integers(1, 5))):
            at, end = int(rng.integers(len(text))), int(rng.integers(1, 20))
            kind = rng.integers(3)
            if kind == 0:
                text = text[:at] + text[at + end :]
            elif kind == 1:
                text = text[:at] + str(rng.choice(SNIPPETS)) + text[at:]
            else:
                other = int(rng.integers(len(text)))
                text = text[:at] + text[other : other + end] + text[at + end :]
        began = time.monotonic()
        try:
            sweep = parse_toml(text)
            assert len(sweep.plan) > 0
            good += 1
        except SteeringError:
            pass
        assert time.monotonic() - began < SLOWEST, f"mutation {number}"
    return good


def test_mutated_shards(tmp_path):
    fuzz_shards(tmp_path, 0, 400)


def test_mutated_sweeps():
    assert 0 < fuzz_toml(0, 1600) < 1600  # some mutations are harmless, most are not


@pytest.mark.slow
def test_many_mutated_shards(tmp_path):
    fuzz_shards(tmp_path, 1000, 5000)


@pytest.mark.slow
def test_many_mutated_sweeps():
    assert fuzz_toml(2000, 15_000) > 0


def test_mutated_shards_that_are_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "PIECE_BYTES", 2000)
    fuzz_shards(tmp_path, 100_000, 200)
