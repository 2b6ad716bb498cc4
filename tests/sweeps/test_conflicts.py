"""Rows of one key with different numbers, and workers with other code: told by name, never chosen silently."""

import json
import os
import shutil

import pyarrow as pa
import pytest
from engine_helpers import PLUGIN, SOURCE, call, start_dask, stop
from store_helpers import fill, key

import steering
from steering.errors import NotAvailable
from steering.sweeps.journal import read_events
from steering.sweeps.status import status_of
from steering.sweeps.store import directory, schema
from steering.sweeps.store.directory import Store
from steering.sweeps.store.load import ProblemWarning
from steering.sweeps.summary import summarise

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def forge(store, column="reward", cell=0):
    """Add a shard in which a cell that is there has another number; returns its name."""
    path = next(iter(sorted(store.shards.iterdir())))
    rows = schema.read_rows(path.read_bytes()).slice(cell, 1)
    index = rows.column_names.index(column)
    changed = [
        [value + 1.0 for value in one] if isinstance(one, list) else one + 1.0 for one in rows[column].to_pylist()
    ]
    rows = rows.set_column(index, column, pa.array(changed, rows.schema.field(column).type))
    return store.write(schema.to_bytes(rows), 1).name


@pytest.mark.parametrize("column", ["reward", "curve_reward"])
def test_rows_that_differ_are_told_with_their_origins_and_none_is_taken(column, tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["psrl"], "steps": 20, "seeds": 5}
    steering.sweep(wanted, tmp_path / "a", workers=0)
    store = Store(tmp_path / "a")
    name = forge(store, column)
    results = steering.load(tmp_path / "a")
    with pytest.warns(ProblemWarning, match="1 cell.* rows with different numbers, of which none is taken"):
        assert len(results.finals) == 4
    (origins,) = results.conflicts.values()
    assert name in origins
    assert "version" in origins
    assert len(results.curves["cell"].unique()) == 4
    assert any("different numbers" in note for note in summarise(results).notes)
    now = status_of(tmp_path / "a")
    assert (now["done"], now["failed"], now["pending"]) == (4, 1, 0)
    assert name in now["conflicts"][0]["origins"]
    assert json.loads(call("status", tmp_path / "a", "--json"))["conflicts"]
    assert f"in conflict: cell {now['conflicts'][0]['key']}" in call("status", tmp_path / "a")
    again = steering.sweep(wanted, tmp_path / "a", workers=0)
    assert (again.computed, again.done, len(again.failed)) == (0, 4, 1)
    assert [e["key"] for e in read_events(tmp_path / "a") if e["event"] == "conflict"] == list(again.failed)
    # The way out that the sentence names.
    (store.shards / name).unlink()
    assert steering.sweep(wanted, tmp_path / "a", workers=0).complete


def test_equal_rows_are_no_conflict(tmp_path):
    store, _ = fill(tmp_path / "a", 3, 2)
    first = next(iter(store.shards.iterdir()))
    store.write(first.read_bytes(), 3)
    assert store.scan().conflicts == {}
    assert len(steering.load(tmp_path / "a").finals) == 6


def test_merging_chooses_none(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "MANY_SMALL", 2)
    store, keys = fill(tmp_path / "a", 2, 6)
    forge(store)
    before = store.scan()
    assert len(before.conflicts) == 1
    store.merge()
    after = store.scan()
    assert after.conflicts.keys() == before.conflicts.keys()
    assert after.keys == before.keys == set(keys) - before.conflicts.keys()
    assert after.shards < before.shards
    assert key(0) in keys


def test_a_dask_worker_with_other_source_is_refused_by_name(small, tmp_path, monkeypatch):
    """The same version and revision, but one more line in one file."""
    shutil.copytree(SOURCE / "steering", tmp_path / "other" / "steering", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / "steering" / "spec.py").open("a") as file:
        file.write("\n# edited on one machine\n")
    processes, address = start_dask(tmp_path, 1, path=os.pathsep.join([str(PLUGIN), str(tmp_path / "other")]))
    try:
        with pytest.raises(NotAvailable, match=r"worker .* at tcp://\S+ has version .*source"):
            steering.sweep(small, tmp_path / "a", scheduler=address)
    finally:
        stop(processes)
    assert Store(tmp_path / "a").scan().rows == 0


def test_imported_modules_must_have_the_owners_source(tmp_path, monkeypatch):
    from steering.sweeps.codes import prepare, sources_of

    (tmp_path / "helper_module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sources = sources_of(["helper_module"])
    prepare(["helper_module"], [], (), sources)
    (tmp_path / "helper_module.py").write_text("VALUE = 2\n")
    with pytest.raises(steering.SteeringError, match="the source of the module 'helper_module' is not the one"):
        prepare(["helper_module"], [], (), sources)
