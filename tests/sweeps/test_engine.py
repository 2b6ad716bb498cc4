"""What a start of a sweep does with what it finds: events, old failures, other versions, long runs of small shards."""

import pyarrow as pa
import pytest
from engine_helpers import command

import steering
from steering._version import __version__
from steering.sweeps import engine
from steering.sweeps.engine import VersionWarning
from steering.sweeps.journal import read_events
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.sweep_file import read_sweep

WANTED = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 30, "seeds": 3}


def test_a_file_set_aside_is_in_the_journal(tmp_path):
    Store(tmp_path, create=True)
    (tmp_path / "shards" / "stray").write_text("x")
    steering.sweep(WANTED, tmp_path, workers=0)
    (event,) = [event for event in read_events(tmp_path) if event["event"] == "set_aside"]
    assert (event["file"], event["reason"]) == ("stray", "its name is not that of a shard")


def test_a_failure_of_a_cell_that_is_done_is_forgotten(tmp_path):
    steering.sweep(WANTED, tmp_path, workers=0)
    store = Store(tmp_path)
    store.record_failure(read_sweep(WANTED).plan.key(1), {"message": "it failed elsewhere"})
    report = steering.sweep(WANTED, tmp_path, workers=0)
    assert (report.done, report.failed, store.failures()) == (3, {}, {})


def make_old(directory):
    """Turn the shards of a directory into some that another version of the package wrote."""
    for path in list((directory / "shards").iterdir()):
        rows = schema.read_rows(path.read_bytes())
        place = rows.column_names.index("version")
        old = rows.set_column(place, "version", pa.array(["0.0.1"] * len(rows))).cast(schema.SCHEMA)
        path.unlink()
        Store(directory).write(schema.to_bytes(old), len(rows))


def test_cells_of_another_version_are_kept_with_a_warning(tmp_path):
    steering.sweep(WANTED, tmp_path, workers=0)
    make_old(tmp_path)
    assert steering.sweep(WANTED, tmp_path, workers=0).versions == ["0.0.1"]  # nothing to run: nothing to warn of
    with pytest.warns(VersionWarning, match=rf"version 0\.0\.1 of steering, and this is {__version__}") as caught:
        report = steering.sweep({**WANTED, "seeds": 4}, tmp_path, workers=0)
    assert caught[0].filename == __file__
    assert (report.done, report.computed) == (4, 1)
    assert [event["others"] for event in read_events(tmp_path) if event["event"] == "versions"] == [["0.0.1"]]
    assert sorted(steering.load(tmp_path).settings["version"].unique()) == sorted(["0.0.1", __version__])


def test_the_command_line_warns_of_another_version_in_one_line(tmp_path):
    steering.sweep(WANTED, tmp_path / "out", workers=0)
    make_old(tmp_path / "out")
    (tmp_path / "sweep.toml").write_text(
        'environments = ["deepsea:4"]\nagents = ["q_learning"]\nsteps = 30\nseeds = 4\n'
    )
    process = command("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out", "--workers", 0)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    (line,) = [line for line in err.splitlines() if "arning" in line]
    assert line.startswith("warning: ")
    assert "version 0.0.1 of steering" in line


def test_a_long_sweep_merges_its_shards_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "MERGE_EVERY", 64)
    monkeypatch.setattr(engine, "HOLD", 0.0)  # every cell a batch of its own
    most = 0

    def watch(report):
        nonlocal most
        most = max(most, len(list((tmp_path / "shards").iterdir())))

    report = steering.sweep({**WANTED, "seeds": 150}, tmp_path, workers=0, watch=watch)
    assert (report.done, report.computed) == (150, 150)
    assert 60 <= most <= 70
    assert len(steering.load(tmp_path).finals) == 150


def test_a_journal_line_with_an_impossible_time_is_left_out(tmp_path):
    steering.sweep(WANTED, tmp_path, workers=0)
    known = read_events(tmp_path)
    lines = [f'{{"time": {time}, "event": "batch", "cells": 1}}' for time in ("1" + "0" * 400, "-1", "NaN", "Infinity")]
    (tmp_path / "journal" / "stranger.jsonl").write_text("\n".join([*lines, '{"time": 1, "ev']))
    assert read_events(tmp_path) == known
