"""The store: a cell is done if and only if its row is in a whole shard."""

import errno
import multiprocessing
import os
import resource
import shutil
import signal
import stat
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from store_helpers import fill, shard

import steering
from steering.errors import DiskFull, Unreachable
from steering.runs.tables import thinned_steps
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store, StoreError
from steering.sweeps.store.load import ProblemWarning


def test_what_is_written_is_found(tmp_path):
    store, keys = fill(tmp_path, 5, 3)
    found = store.scan()
    assert found.keys == set(keys)
    assert (found.shards, found.rows, found.problems) == (3, 15, [])
    assert found.bytes == sum(path.stat().st_size for path in store.shards.iterdir())


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-7])


def _tear(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path):
    """One bit, in numbers that a look at the keys does not touch and that any bits are valid for."""
    content = bytearray(path.read_bytes())
    chunk = pq.read_metadata(path).row_group(0).column(schema.SCHEMA.names.index("seconds"))
    content[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 1
    path.write_bytes(bytes(content))


def _empty(path):
    path.write_bytes(b"")


def _rename(path):
    path.rename(path.with_name("cells-0-0.parquet"))


def _foreign(path):
    import zlib

    import pandas as pd

    other = path.with_name("other.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(other)
    content = other.read_bytes()
    other.unlink()
    path.unlink()
    name = f"cells-{'0' * 16}-1-{len(content)}-{zlib.crc32(content):08x}.parquet"
    path.with_name(name).write_bytes(content)


def _link(path):
    elsewhere = path.parent.parent / "elsewhere.parquet"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def _fifo(path):
    path.unlink()
    os.mkfifo(path)


def _directory(path):
    path.unlink()
    path.mkdir()


DAMAGE = [_truncate, _tear, _flip, _empty, _rename, _foreign, _link, _fifo, _directory]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_not_a_whole_shard_is_reported_and_never_read(damage, tmp_path):
    store, _ = fill(tmp_path, 4, 2)
    damage(sorted(store.shards.iterdir())[0])
    found = store.scan()
    assert len(found.problems) == 1
    assert len(found.keys) == 4
    results = steering.load(tmp_path)
    with pytest.warns(ProblemWarning, match="not whole shards"):
        finals = results.finals
    assert len(finals) == 4
    assert results.problems == found.problems
    store.set_aside(found.problems)
    assert len(list((tmp_path / "set-aside").iterdir())) == 1
    clean = store.scan()
    assert clean.problems == []
    assert clean.keys == found.keys


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_sweep_sets_damage_aside_and_computes_its_cells_again(damage, tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 30, "seeds": 3}
    steering.sweep(wanted, tmp_path, workers=0)
    before = steering.load(tmp_path).finals
    shard = next((tmp_path / "shards").iterdir())  # the only one, unless the machine was held up
    rows = int(shard.name.split("-")[2])
    damage(shard)
    report = steering.sweep(wanted, tmp_path, workers=0)
    assert len(report.set_aside) == 1
    assert report.computed == rows > 0
    assert steering.load(tmp_path).finals.equals(before)


def test_an_unfinished_write_is_not_data_and_goes_away_later(tmp_path):
    store, keys = fill(tmp_path, 2, 1)
    left = store.shards / ".writing-0123456789abcdef"
    left.write_bytes(b"half a shard")
    assert store.scan().problems == []
    store.tidy()
    assert left.exists()  # somebody may still be writing it
    old = time.time() - 7200
    os.utime(left, (old, old))
    store.tidy()
    assert not left.exists()
    assert store.scan().keys == set(keys)


def test_merging_keeps_every_cell_once(tmp_path):
    store, keys = fill(tmp_path, 3, 70)
    content, _ = shard(range(6))
    store.write(content, 6)  # cells 0..5 a second time
    assert store.scan().rows == 216
    before = {name: getattr(steering.load(tmp_path), name) for name in ("finals", "curves", "visits")}
    assert store.merge() == 70
    found = store.scan()
    assert (found.shards, found.rows, found.keys) == (1, 210, set(keys))
    for name, table in before.items():
        assert getattr(steering.load(tmp_path), name).equals(table)
    assert store.merge() == 0


def test_a_merge_that_cannot_be_written_loses_nothing(tmp_path):
    """Parts go only when the merged shard is on disk: with files limited to less than its size, all of them stay."""
    store, keys = fill(tmp_path, 3, 70)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (max(path.stat().st_size for path in store.shards.iterdir()), usual[1])
        )
        with pytest.raises(DiskFull):
            store.merge()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, handler)
    found = store.scan()
    assert (found.shards, found.keys, found.problems) == (70, set(keys), [])


def test_a_merge_of_some_leaves_the_others(tmp_path):
    store, keys = fill(tmp_path, 2, 100)
    names = sorted(path.name for path in store.shards.iterdir())
    assert store.merge(names[:70]) == 69
    found = store.scan()
    assert (found.shards, found.keys) == (31, set(keys))
    assert set(names[70:]) <= {path.name for path in store.shards.iterdir()}


def test_a_write_is_flushed_before_its_name_appears_and_the_name_after(tmp_path, monkeypatch):
    store = Store(tmp_path, create=True)
    content, _ = shard([1])
    flushed = []
    real = os.fsync

    def fsync(descriptor):
        real(descriptor)
        directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        flushed.append((directory, any(name.startswith("cells-") for name in os.listdir(store.shards))))

    monkeypatch.setattr(os, "fsync", fsync)
    store.write(content, 1)
    assert flushed == [(False, False), (True, True)]


def test_a_shard_that_cannot_be_read_now_is_not_moved_away(tmp_path, monkeypatch):
    """A network directory may be stale for a minute: that proves nothing about a file."""
    store, keys = fill(tmp_path, 4, 2)
    first = min(path.name for path in store.shards.iterdir())
    real = os.open

    def stale(path, *arguments, **options):
        if str(path).endswith(first):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        return real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", stale)
        found = store.scan()
        with pytest.raises(Unreachable, match=r"may be a whole shard, but it cannot be read \(Stale"):
            store.set_aside(found.problems)
    assert list((tmp_path / "set-aside").iterdir()) == []
    assert store.scan().keys == set(keys)


def test_a_shard_of_a_newer_schema_is_not_moved_away(tmp_path, monkeypatch):
    store, keys = fill(tmp_path, 4, 1)
    with monkeypatch.context() as patch:
        patch.setitem(schema.METADATA, b"steering_schema", b"4")
        content, _ = shard([99])
    store.write(content, 1)
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 30, "seeds": 3}
    with pytest.raises(StoreError, match=r"schema version b'4'"):
        steering.sweep(wanted, tmp_path, workers=0)
    assert len(list(store.shards.iterdir())) == 2
    with pytest.warns(ProblemWarning) as caught:
        assert len(steering.load(tmp_path).finals) == len(keys)
    assert "Start the sweep again" not in str(caught[0].message)


def old_shard(cells, version=1):
    """A shard as an older version of the schema wrote it: without the columns that came later."""
    content, keys = shard(cells)
    rows = schema.read_rows(content)
    rows = rows.drop_columns([name for name, since in schema.ADDED.items() if since > version])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "SCHEMA", rows.schema)
        patch.setitem(schema.METADATA, b"steering_schema", str(version).encode())
        return schema.to_bytes(rows), keys


def test_shards_of_the_second_schema_are_read_with_their_visits(tmp_path):
    """They keep all visits, without places; beside new ones of other cells they make one table, and no conflict."""
    store, _ = fill(tmp_path, 4, 1)
    for content, count in ((old_shard([10, 11], 2)[0], 2), (old_shard([0], 2)[0], 1)):
        store.write(content, count)
    results = steering.load(tmp_path)
    totals = results.visits.groupby("seed")["visits"].sum()
    assert totals.tolist() == [20] * 6
    assert not results.conflicts
    assert not results.problems


def test_shards_of_the_first_schema_are_read_without_a_score(tmp_path):
    store, keys = fill(tmp_path, 4, 1)
    content, old = old_shard([10, 11])
    store.write(content, 2)
    assert store.scan().keys == {*keys, *old}
    finals = steering.load(tmp_path).finals
    assert finals["score"].isna().tolist() == [False] * 4 + [True] * 2
    assert finals["normalised_regret"].notna().all()
    assert schema.read_rows(content, ["seed", "random_gap"]).column("random_gap").null_count == 2
    summary = steering.load(tmp_path).summary()
    assert np.isnan(summary["score"].iloc[0])
    assert summary["mean"].notna().all()


def test_a_column_in_the_wrong_version_is_refused(tmp_path):
    content, _ = shard([1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(schema.METADATA, b"steering_schema", b"1")
        content = schema.to_bytes(schema.read_rows(content))
    with pytest.raises(schema.BadShard, match="columns are not those"):
        schema.read_rows(content)


def test_a_directory_that_is_gone_is_told_in_a_sentence(tmp_path):
    store, _ = fill(tmp_path / "a", 1, 1)
    shutil.rmtree(tmp_path / "a")
    content, _ = shard([1])
    with pytest.raises(Unreachable, match=r"cannot be written: No such file"):
        store.write(content, 1)


def _write_many(directory, start, count):
    store = Store(directory, create=True)
    for i in range(start, start + count):
        content, _ = shard([i])
        store.write(content, 1)
    store.merge()


def test_writers_of_one_directory_do_not_disturb_each_other(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(tmp_path, 50 * i, 80)) for i in range(3)]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        if (tmp_path / "shards").is_dir():
            found = Store(tmp_path).scan()
            assert found.problems == []
            assert len(found.keys) >= seen  # a reader never loses a cell, not even while shards are merged
            seen = len(found.keys)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    found = Store(tmp_path).scan()
    assert len(found.keys) == 180
    assert found.problems == []
    assert len(steering.load(tmp_path).finals) == 180


@pytest.mark.parametrize("name", ["shards", "failed", "journal", "set-aside"])
def test_a_folder_that_is_a_link_is_refused(name, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = tmp_path / "results"
    inside.mkdir()
    (inside / name).symlink_to(outside)
    with pytest.raises(StoreError, match=r"a link or a file|no folder"):
        Store(inside, create=True)
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 30, "seeds": 3}
    with pytest.raises(StoreError):
        steering.sweep(wanted, inside, workers=0)
    assert list(outside.iterdir()) == []


def test_names_of_failures_stay_inside(tmp_path):
    store = Store(tmp_path / "a", create=True)
    (tmp_path / "secret.json").write_text('{"message": "outside"}')
    (tmp_path / "a" / "failed" / f"{'0' * 32}.json").symlink_to(tmp_path / "secret.json")
    (tmp_path / "a" / "failed" / "nonsense.json").write_text("{}")
    (tmp_path / "a" / "failed" / f"{'1' * 32}.json").write_text("[" * 100_000)
    assert store.failures() == {}
    store.record_failure(b"\x02" * 16, {"message": "real"})
    assert store.failures() == {b"\x02" * 16: {"message": "real"}}
    store.forget_failures([b"\x02" * 16, b"\x03" * 16])
    assert store.failures() == {}
    store.record_failure(b"\x04" * 16, {"message": "\x1b]0;title\x07\x1b[2J and\ntext"})
    assert store.failures() == {b"\x04" * 16: {"message": "?]0;title??[2J and\ntext"}}


def test_places_that_are_no_store(tmp_path):
    with pytest.raises(StoreError, match="not a results directory"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="missing or not readable"):
        Store(tmp_path / "a", create=True).read_sweep()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "file" / "x", create=True)


def test_bytes_and_rows_round_trip():
    results = steering.run("deepsea:4", "psrl", steps=50, seeds=3, record=["value_gap", "q_posterior"], snapshots=4)
    rows = schema.rows_of(results, [bytes([i]) * 16 for i in range(3)], "{}", 7)
    content = schema.to_bytes(rows)
    assert schema.read_rows(content).equals(rows)
    assert schema.read_rows(content, ["seed", "visits"]).column_names == ["seed", "visits"]
    assert schema.to_bytes(rows) == content


@pytest.mark.parametrize(("steps", "points"), [(1, 2), (5, 2), (5, 5), (5, 100), (1000, 7), (999, 200)])
def test_thinned_steps_are_even_and_end_at_the_last(steps, points):
    at = thinned_steps(steps, points)
    assert at[-1] == steps
    assert len(at) == min(points, steps)
    if len(at) > 1:
        assert at[0] == 1
        gaps = np.diff(at)
        assert gaps.max() - gaps.min() <= 1 + (steps - 1) / (len(at) - 1) % 1
