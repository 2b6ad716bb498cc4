"""Several processes on one directory, of one machine or of several with clocks of their own."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from engine_helpers import command, digests
from store_helpers import key, shard

import steering
from steering.sweeps import sharing
from steering.sweeps.journal import Journal, host_name, recent_rate
from steering.sweeps.sharing import Others, at_work, from_another_place
from steering.sweeps.status import status_of
from steering.sweeps.store.directory import STALE_SECONDS, Store

HOST = """
import socket, sys, time
name, ahead = sys.argv[1], float(sys.argv[2])
now, calendar = time.time, time.gmtime
socket.gethostname = lambda: name
time.time = lambda: now() + ahead
time.gmtime = lambda seconds=None: calendar(time.time() if seconds is None else seconds)
from steering.cli import main
main(sys.argv[3:])
"""


def started_on(host, ahead, *arguments):
    """The command line on a machine of that name, whose clock is so many seconds ahead."""
    line = [sys.executable, "-c", HOST, host, str(ahead), *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_three_hosts_with_wrong_clocks_lose_nothing_and_double_nothing(tmp_path):
    """One is two hours ahead, one two hours behind and killed on its way; a third, a day ahead, does the rest."""
    wanted = {"environments": ["deepsea:8", "riverswim:6"], "agents": ["psrl"], "steps": 2000, "seeds": 60}
    file = tmp_path / "sweep.toml"
    file.write_text('environments = ["deepsea:8", "riverswim:6"]\nagents = ["psrl"]\nsteps = 2000\nseeds = 60\n')
    out = tmp_path / "out"
    line = ("sweep", file, "--out", out, "--workers", 1)
    ahead, behind = started_on("alpha", 7200, *line), started_on("beta", -7200, *line)
    while not list(out.glob("journal/*-beta-*")) or not list(out.glob("shards/cells-*")):
        assert behind.poll() is None
        time.sleep(0.02)
    behind.kill()
    behind.communicate()
    last = started_on("gamma", 86400, *line)
    for process in (ahead, last):
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    now = status_of(out)
    assert (now["cells"], now["done"], now["failed"], now["pending"]) == (120, 120, 0, 0)
    assert (now["problems"], now["conflicts"]) == ([], [])
    assert {path.name.split("-")[2] for path in out.glob("journal/*")} == {"alpha", "beta", "gamma"}
    steering.sweep(wanted, tmp_path / "peace", workers=0)
    assert digests(out, tmp_path) == digests(tmp_path / "peace", tmp_path)


def test_three_equal_sweeps_share_the_work(tmp_path):
    """300 cells of 0.1 s: each alone would run them all; what is run twice was in flight at the same time."""
    log, out, file = tmp_path / "log", tmp_path / "out", tmp_path / "sweep.toml"
    log.touch()
    file.write_text(
        f'environments = ["gym:Counted-v0,log={log},ms=100"]\nagents = ["q_learning"]\nsteps = 20\nseeds = 300\n'
    )
    line = ("sweep", file, "--out", out, "--workers", 1, "--import", "counted_envs", "--json")
    processes = [command(*line) for _ in range(3)]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    runs = [int(text) for text in log.read_text().split()]
    assert len(set(runs)) == 300
    assert len(runs) < 600, "without sharing they are 900"
    found = Store(out).scan()
    assert len(found.keys) == 300
    assert found.conflicts == {}
    assert len(steering.load(out).finals) == 300


def add(store, cells):
    """Another shard; returns its path."""
    return store.write(shard(cells)[0], len(cells))


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_only_what_others_add_is_looked_at(tmp_path):
    store, clock = Store(tmp_path, create=True), Clock()
    add(store, [1])
    others = Others(store, clock)
    others.not_theirs(add(store, [2]).name)
    add(store, [3, 4])
    (store.shards / "cells-of-somebody-else").write_bytes(b"no shard")
    assert others.look() == set()  # too early
    clock.now = sharing.LOOK_SECONDS
    assert others.look() == {key(3), key(4)}
    clock.now *= 2
    assert others.look() == set()


def test_looking_takes_a_small_part_of_the_time(tmp_path):
    store, clock = Store(tmp_path, create=True), Clock()
    others = Others(store, clock)
    slow = store.rows

    def rows(name, columns):
        clock.now += 3.0  # a slow disk
        return slow(name, columns)

    store.rows = rows
    add(store, [1])
    clock.now = 10.0
    assert others.look() == {key(1)}
    add(store, [2])
    clock.now = 13.0 + 3.0 / sharing.SHARE - 0.1
    assert others.look() == set()
    clock.now += 0.2
    assert others.look() == {key(2)}


def test_others_at_work_are_counted(tmp_path):
    """Those that ended, those that were killed on this machine, and old ones elsewhere are not."""
    store = Store(tmp_path, create=True)
    own, ended = Journal(store), Journal(store)
    ended.write("start")
    ended.write("end")
    folder = tmp_path / "journal"
    here = host_name(socket.gethostname())
    start = '{"time": 1, "event": "start"}\n'
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        (folder / f"20260101-000000-{here}-{sleeper.pid}-abcdef.jsonl").write_text(start)
        (folder / "20260101-000000-elsewhere-12-abcdef.jsonl").write_text(start)
        old = folder / "20260101-000000-elsewhere-13-abcdef.jsonl"
        old.write_text(start)
        os.utime(old, (time.time() - 3600,) * 2)
        assert at_work(folder, own.path) == 2
    finally:
        sleeper.kill()
        sleeper.wait()
    assert at_work(folder, own.path) == 1
    own.close()
    ended.close()


def test_the_place_to_go_on_from_keeps_all_cells():
    cells = list(range(10))
    found = [from_another_place(cells) for _ in range(200)]
    assert all(sorted(one) == cells for one in found)
    assert all(one[i + 1] == (one[i] + 1) % 10 for one in found for i in range(9))
    assert len({one[0] for one in found}) == 10
    assert from_another_place([]) == []


@pytest.mark.parametrize("hours", [-30, 30])
def test_a_wrong_clock_removes_nobodys_unfinished_file(hours, tmp_path, monkeypatch):
    store = Store(tmp_path, create=True)
    fresh, stale = store.shards / ".writing-1", store.shards / ".writing-2"
    fresh.touch()
    stale.touch()
    os.utime(stale, (time.time() - STALE_SECONDS - 60,) * 2)
    usual = time.time
    monkeypatch.setattr(time, "time", lambda: usual() + 3600 * hours)
    store.tidy()
    assert fresh.exists()
    assert not stale.exists()


def test_the_rate_of_a_machine_whose_clock_is_ahead():
    events = [{"time": 8000.0 + 10 * i, "event": "batch", "cells": 5, "journal": "a"} for i in range(4)]
    assert recent_rate(events, 1000.0) == pytest.approx(20 / 30)


def test_merging_what_another_process_merges_on_keeps_the_parts(tmp_path, monkeypatch):
    """Between the writing of a merged shard and its check somebody else merges it into a larger one."""
    from steering.sweeps.store import directory

    store = Store(tmp_path, create=True)
    monkeypatch.setattr(directory, "MANY_SMALL", 2)
    parts = [add(store, [seed]) for seed in range(3)]
    write = Store.write

    def merged_on(self, content, rows):
        path = write(self, content, rows)
        path.unlink()
        return path

    monkeypatch.setattr(Store, "write", merged_on)
    assert store.merge() == 0
    assert all(path.exists() for path in parts)


def test_a_stopped_owner_blames_no_cell(tmp_path):
    """Ctrl-Z for longer than the time limit of a cell, then on: its workers were stopped too, or waited for it."""
    out, file = tmp_path / "out", tmp_path / "sweep.toml"
    file.write_text('environments = ["deepsea:8"]\nagents = ["psrl"]\nsteps = 2000\nseeds = 200\n')
    process = command("sweep", file, "--out", out, "--workers", 1, "--time-limit", 2, "--retries", 0, "--json")
    while not list(out.glob("shards/cells-*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGSTOP)
    time.sleep(5.0)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    now = status_of(out)
    assert (now["done"], now["failed"]) == (200, 0)
