"""One bound for what is written, merged and unpacked at once: what a sweep stores, it can read again."""

import subprocess
import sys
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_helpers import fill, key, shard

import steering
from steering.errors import Unreachable
from steering.sweeps import batches
from steering.sweeps.cells import Part
from steering.sweeps.compute import Outcome, pack_batch, run_batch
from steering.sweeps.status import status_of
from steering.sweeps.store import directory as store
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.store.footer import read_claims
from steering.sweeps.store.load import TABLES, ProblemWarning
from steering.sweeps.store.pages import row_bytes
from steering.sweeps.sweep_file import read_sweep

BOUND = 30_000
WANTED = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 30, "seeds": 70}


@pytest.fixture
def bound(monkeypatch):
    """The bound of writing, merging and reading, lowered to what about twenty rows take."""
    monkeypatch.setattr(schema, "PIECE_BYTES", BOUND)
    return BOUND


def tables_of(directory):
    results = steering.load(directory)
    return {name: getattr(results, name) for name in TABLES}


def assert_same(tables, others):
    for name, table in tables.items():
        assert table.equals(others[name]), name


def mixed_rows():
    """Rows of two environments and agents, with every kind of record, in a mixed order."""
    record = ["value_gap", "q_posterior"]
    large = steering.run("deepsea:6", "steering", steps=40, seeds=7, record=[*record, "diagnostics"], snapshots=3)
    small = steering.run("deepsea:3", "psrl", steps=20, seeds=30, record=record, snapshots=2)
    tables = [
        schema.rows_of(large, [key(i) for i in range(7)], '{"a": 1}', 9),
        schema.rows_of(small, [key(100 + i) for i in range(30)], '{"b": 2}', 5),
    ]
    rows = pa.concat_tables(tables).combine_chunks()
    return rows.take(np.random.default_rng(0).permutation(rows.num_rows))


def test_merged_shards_stay_within_the_bound_of_reading(tmp_path, bound):
    directory, keys = fill(tmp_path, 3, 70)
    before = tables_of(tmp_path)
    sizes = [schema.size_of(path.read_bytes()) for path in directory.shards.iterdir()]
    assert sum(sizes) > 3 * bound  # one merged shard would be far above
    gone = directory.merge()
    assert gone > 50
    found = directory.scan()
    assert (found.keys, found.problems, found.shards) == (set(keys), [], 70 - gone)
    assert all(schema.size_of(path.read_bytes()) <= bound for path in directory.shards.iterdir())
    assert_same(before, tables_of(tmp_path))


def test_no_more_than_the_bound_is_held_while_merging(tmp_path, bound, monkeypatch):
    directory, _ = fill(tmp_path, 3, 70)
    real, held = Store._merge_parts, []

    def merge_parts(self, parts, tables):
        held.append(sum(schema.size_of((self.shards / name).read_bytes()) for name in parts))
        return real(self, parts, tables)

    monkeypatch.setattr(Store, "_merge_parts", merge_parts)
    directory.merge()
    assert len(held) > 3
    assert max(held) <= bound


def test_merged_shards_that_are_full_are_not_merged_again(tmp_path, bound, monkeypatch):
    directory, keys = fill(tmp_path, 3, 70)
    directory.merge()
    monkeypatch.setattr(store, "MANY_SMALL", 2)
    directory.merge()
    before = {path.name for path in directory.shards.iterdir()}
    assert directory.merge() == 0
    assert {path.name for path in directory.shards.iterdir()} == before
    assert directory.scan().keys == set(keys)


def test_a_sweep_whose_shards_together_are_above_the_bound_keeps_its_results(tmp_path, bound, monkeypatch):
    monkeypatch.setattr(batches, "MAX_BATCH_CELLS", 1)
    report = steering.sweep(WANTED, tmp_path, workers=0)
    assert (report.done, report.computed) == (70, 70)
    now = status_of(tmp_path)
    assert (now["done"], now["pending"], now["problems"]) == (70, 0, [])
    assert 1 < now["shards"] < 70
    assert len(steering.load(tmp_path).finals) == 70
    assert steering.sweep(WANTED, tmp_path, workers=0).computed == 0


def test_what_is_done_at_the_end_is_counted_on_the_disk(tmp_path, monkeypatch):
    real = Store.write

    def lossy(self, content, rows):
        path = real(self, content, rows)
        path.write_bytes(b"")  # a disk that keeps names only
        return path

    monkeypatch.setattr(Store, "write", lossy)
    report = steering.sweep({**WANTED, "seeds": 3}, tmp_path, workers=0)
    assert (report.computed, report.done, report.pending, report.complete) == (3, 0, 3, False)


def test_a_part_of_a_sweep_counts_its_own_cells(tmp_path):
    first = steering.sweep(WANTED, tmp_path, workers=0, part=Part(1, 2))
    second = steering.sweep(WANTED, tmp_path, workers=0, part=Part(2, 2))
    assert [(one.cells, one.done, one.pending) for one in (first, second)] == [(35, 35, 0)] * 2


LOSSY = """
import sys
from steering.cli import main
from steering.sweeps.store.directory import Store
real = Store.write
Store.write = lambda self, content, rows: (path := real(self, content, rows)).unlink() or path
sys.argv = ["steering", *sys.argv[1:]]
main()
"""


def test_the_command_line_says_that_cells_are_not_on_the_disk(tmp_path):
    (tmp_path / "sweep.toml").write_text('environments = ["deepsea:4"]\nagents = ["psrl"]\nsteps = 20\nseeds = 2\n')
    arguments = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"), "--workers", "0"]
    done = subprocess.run([sys.executable, "-c", LOSSY, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "0 of 2 cells done (2 now)" in done.stdout
    assert "error: 2 cells were run" in done.stderr
    assert "Traceback" not in done.stderr


def test_parts_stay_when_the_merged_shard_is_another_on_the_disk(tmp_path, monkeypatch):
    directory, keys = fill(tmp_path, 3, 70)
    names = {path.name for path in directory.shards.iterdir()}
    real = store.write_atomically

    def damaged(path, content):
        real(path, content[:-100] + bytes(100))

    monkeypatch.setattr(store, "write_atomically", damaged)
    with pytest.raises(Unreachable, match=r"its checksum is not the one in its name.*kept in their parts"):
        directory.merge()
    assert {path.name for path in directory.shards.iterdir()} == names
    assert directory.scan().keys == set(keys)


def test_parts_stay_when_the_merged_shard_lacks_a_cell(tmp_path, monkeypatch):
    directory, keys = fill(tmp_path, 3, 70)
    real = schema.to_shards
    monkeypatch.setattr(schema, "to_shards", lambda rows: real(rows.slice(1)))
    with pytest.raises(Unreachable, match="does not hold the cells of its parts"):
        directory.merge()
    assert len(list(directory.shards.iterdir())) == 70
    assert directory.scan().keys == set(keys)


def test_rows_of_one_batch_above_the_bound_become_several_shards(tmp_path, bound):
    content, keys = shard(range(100))
    rows = schema.read_rows(content)
    shards = schema.to_shards(rows)
    assert len(shards) > 1
    assert sum(count for count, _ in shards) == 100
    assert all(schema.size_of(content) <= bound for _, content in shards)
    assert pa.concat_tables([schema.read_rows(content) for _, content in shards]).equals(rows)
    directory = Store(tmp_path, create=True)
    for count, content in shards:
        directory.write(content, count)
    assert directory.scan().keys == set(keys)


def test_a_row_above_the_bound_is_a_shard_of_its_own(monkeypatch):
    monkeypatch.setattr(schema, "PIECE_BYTES", 1000)
    content, _ = shard(range(3))
    rows = schema.read_rows(content)
    shards = schema.to_shards(rows)
    assert [count for count, _ in shards] == [1, 1, 1]
    assert pa.concat_tables([schema.read_rows(content) for _, content in shards]).equals(rows)


def test_a_worker_gives_a_batch_back_when_it_fills_a_shard(bound):
    plan = read_sweep(WANTED).plan
    outcome = run_batch(pack_batch(plan.pieces(range(70))))
    assert 1 < outcome.rows < 70
    assert outcome.lost == list(range(outcome.rows, 70))
    keys = [key for _, content in outcome.shards for key in schema.read_rows(content)["key"].to_pylist()]
    assert keys == [plan.key(i) for i in range(outcome.rows)]


def test_an_outcome_with_several_shards_travels():
    outcome = Outcome(shards=[(2, b"ab\ncd"), (1, b""), (3, b"\n")], rows=6, lost=[1])
    assert Outcome.unpack(outcome.pack()) == outcome


def test_a_cell_whose_row_could_not_be_read_again_fails_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "MAX_ROW_BYTES", 10_000)
    wanted = {**WANTED, "environments": ["deepsea:4", "deepsea:200"], "seeds": 2}
    report = steering.sweep(wanted, tmp_path, workers=0, retries=0)
    assert (report.done, len(report.failed)) == (2, 2)
    assert "above the limit of 10,000; count visits in fewer windows" in next(iter(report.failed.values()))


def test_a_shard_that_an_older_version_left_above_the_bound_is_read(tmp_path, monkeypatch):
    rows = mixed_rows()
    directory = Store(tmp_path, create=True)
    directory.write(schema.to_bytes(rows), rows.num_rows)
    before = tables_of(tmp_path)
    monkeypatch.setattr(schema, "PIECE_BYTES", schema.size_of(schema.to_bytes(rows)) // 10)
    found = directory.scan()
    assert (len(found.keys), found.problems) == (37, [])
    assert_same(before, tables_of(tmp_path))
    pieces = list(schema.read_pieces(schema.to_bytes(rows)))
    assert len(pieces) > 4
    assert pa.concat_tables(pieces).equals(rows)
    one = max(schema._size(rows.slice(i, 1)) for i in range(37))
    assert all(schema._size(piece) <= schema.PIECE_BYTES + one for piece in pieces)


def test_a_shard_that_an_older_version_set_aside_comes_back(tmp_path, bound):
    steering.sweep({**WANTED, "seeds": 40}, tmp_path, workers=0)
    paths = list((tmp_path / "shards").iterdir())
    before = tables_of(tmp_path)
    rows = pa.concat_tables([schema.read_rows(path.read_bytes()) for path in paths]).combine_chunks()
    for path in paths:
        path.unlink()
    large = Store(tmp_path).write(schema.to_bytes(rows), 40)
    assert schema.size_of(large.read_bytes()) > bound
    aside = tmp_path / "set-aside"
    large.rename(aside / f"0123abcd-{large.name}")
    (aside / f"0123abce-{large.name}").write_bytes(b"torn")
    (aside / "0123abcf-what.parquet").write_bytes(b"something else")
    report = steering.sweep({**WANTED, "seeds": 40}, tmp_path, workers=0)
    assert (report.done, report.computed, report.set_aside) == (40, 0, [])
    assert {path.name[:8] for path in aside.iterdir()} == {"0123abce", "0123abcf"}
    assert_same(before, tables_of(tmp_path))


def large_row(values):
    """A shard of two rows, the second with so many visits, all zero: it packs to almost nothing."""
    rows = schema.read_rows(shard([0, 1])[0])
    visits = np.zeros(320 + values, dtype=np.int32)
    column = pa.ListArray.from_arrays(pa.array([0, 320, 320 + values], pa.int32()), pa.array(visits))
    return schema.to_bytes(rows.set_column(schema.SCHEMA.names.index("visits"), "visits", column).cast(schema.SCHEMA))


READING = """
import sys, warnings
import pyarrow as pa
import steering
from steering.sweeps.store import schema
schema.PIECE_BYTES, schema.MAX_ROW_BYTES = 1_000_000, int(sys.argv[2])
warnings.simplefilter("ignore")
results = steering.load(sys.argv[1])
print(results.visits["cell"].nunique(), pa.default_memory_pool().max_memory(), *results.problems)
"""


def test_a_row_that_is_too_large_is_refused_before_memory_is_taken(tmp_path):
    content = large_row(8_000_000)
    assert len(content) < 20_000
    directory, _ = fill(tmp_path, 4, 1)
    directory.write(content, 2)

    def read(limit):
        command = [sys.executable, "-c", READING, str(tmp_path), str(limit)]
        cells, memory, problem = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(
            " ", 2
        )
        return int(cells), int(memory), problem

    cells, memory, problem = read(2_000_000)
    assert (cells, "a row of 64" in problem) == (4, True)
    assert memory < 8_000_000
    assert read(1 << 30)[1] > 32_000_000  # what it would have taken


def test_a_table_that_would_be_too_long_is_refused_before_it_is_read_whole(tmp_path, monkeypatch):
    fill(tmp_path, 50, 1)
    monkeypatch.setattr(schema, "PIECE_BYTES", 5000)
    monkeypatch.setattr(sys.modules["steering.sweeps.store.load"], "MAX_ROWS", 40)
    read = []
    real = schema._checked
    monkeypatch.setattr(schema, "_checked", lambda table, wanted: read.append(table.num_rows) or real(table, wanted))
    with pytest.raises(steering.errors.NotAvailable, match="more than 40 rows"):
        steering.load(tmp_path).curves  # noqa: B018
    assert sum(read) < 50


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 12), st.sampled_from([63, 64, 504, 2000, 40_000])), min_size=1, max_size=80))
def test_sizes_of_rows_are_those_of_their_lists(lengths):
    """Levels in runs, in groups of bits and in several pages: bytes of a row are 8 for each value, 8 for none."""
    n = len(lengths)
    rows = schema.read_rows(shard(range(n))[0])
    values = np.random.default_rng(n).integers(0, 1 << 30, sum(lengths)).astype(np.int32)
    column = pa.ListArray.from_arrays(pa.array(np.cumsum([0, *lengths]), pa.int32()), pa.array(values))
    at = schema.SCHEMA.names.index("visits")
    content = schema.to_bytes(rows.set_column(at, "visits", column).cast(schema.SCHEMA))
    sizes = row_bytes(content, read_claims(content).chunks[at], n, is_list=True, is_text=False)
    assert sizes.tolist() == [8 * max(length, 1) for length in lengths]


def test_pages_that_hold_more_than_the_footer_claims_are_refused():
    content = large_row(1_000_000)
    chunk = read_claims(content).chunks[schema.SCHEMA.names.index("visits")]
    for wrong in (
        {"values": chunk.values - 1},
        {"unpacked": chunk.unpacked // 2},
        {"packed": chunk.packed // 2},
        {"codec": 0},
        {"start": chunk.start + 1},
    ):
        with pytest.raises((ValueError, OSError, pa.ArrowException)):
            row_bytes(content, chunk._replace(**wrong), 2, is_list=True, is_text=False)
    for rows in (1, 3):
        with pytest.raises(ValueError, match="not those that its footer claims"):
            row_bytes(content, chunk, rows, is_list=True, is_text=False)


def test_a_shard_with_another_number_of_rows_than_its_name_says(tmp_path, bound):
    content, _ = shard(range(50))
    directory = Store(tmp_path, create=True)
    name = f"cells-{0:016x}-49-{len(content)}-{zlib.crc32(content):08x}.parquet"
    (directory.shards / name).write_bytes(content)
    assert directory.scan().problems == [(name, "it has 50 rows, its name says 49")]
    with pytest.warns(ProblemWarning, match="50 rows"):
        assert len(steering.load(tmp_path).visits) == 0
