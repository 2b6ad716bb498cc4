"""SIGKILL for everything at random moments, with every run counted by the environment itself.

A kill repeats the cells that workers were in and those finished so shortly before that they were not stored yet: a
worker gives its results away after HOLD x BATCH_SECONDS. Nothing else is ever run twice.
"""

import contextlib
import os
import signal
import time

import numpy as np
import pytest
from engine_helpers import command, descendants

import steering
from steering.experiments.engine import BATCH_SECONDS, HOLD
from steering.results.store import Store

WORKERS = 2
SLACK = 3.0
"""Seconds for handing over and storing on a machine that does other things as well."""


def kill_tree(process):
    """SIGKILL for a process and all below it, first stopped so that none can act on the death of another."""
    pids = [process.pid, *descendants([process.pid])]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    moment = time.time()
    process.communicate()
    return moment


def runs_in(log):
    return [(int(seed), float(when)) for seed, when in (line.split() for line in log.read_text().splitlines())]


def sweep_under_fire(tmp_path, ms, seeds, kills, rng):
    """Kill a sweep so many times, checking each time, then let it end; returns its log."""
    log, directory, file = tmp_path / "log", tmp_path / "out", tmp_path / "sweep.toml"
    log.touch()
    file.write_text(
        f'environments = ["gym:Counted-v0,log={log},ms={ms}"]\nagents = ["q_learning"]\nsteps = 20\nseeds = {seeds}\n'
        "record = { points = 5 }\n"
    )
    arguments = ("sweep", file, "--out", directory, "--workers", WORKERS, "--import", "counted_envs")
    window = HOLD * BATCH_SECONDS + ms / 1000 + SLACK
    before = stored = 0
    for _ in range(kills):
        process = command(*arguments, start_new_session=True)
        while len(runs_in(log)) == before:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 3.0)))
        moment = kill_tree(process)
        runs, found = runs_in(log), Store(directory).scan()
        assert found.problems == []  # whatever the moment, every file is whole
        assert found.rows == len(found.keys)
        due = {seed for seed, when in runs[before:] if when < moment - window}
        assert len(found.keys) - stored >= len(due)
        before, stored = len(runs), len(found.keys)
    last = command(*arguments)
    _, err = last.communicate(timeout=150)
    assert last.returncode == 0, err
    assert len(steering.load(directory).finals) == seeds
    return runs_in(log)


def repeated(runs):
    return len(runs) - len({seed for seed, _ in runs})


def test_cells_slower_than_a_batch_are_stored_one_by_one(tmp_path):
    """Two kills of cells of 1.2 s, of which a batch was guessed to hold hundreds: each kill repeats at most what two
    workers were in and had in their hands."""
    runs = sweep_under_fire(tmp_path, ms=1200, seeds=10, kills=2, rng=np.random.default_rng(0))
    in_hand = int(HOLD * BATCH_SECONDS / 1.2) + 2  # finished within the hold, the one it is in, one on its way
    assert repeated(runs) <= 2 * WORKERS * in_hand


@pytest.mark.slow
def test_twenty_kills_repeat_only_what_was_in_flight(tmp_path):
    kills, ms = 20, 150
    runs = sweep_under_fire(tmp_path, ms, seeds=500, kills=kills, rng=np.random.default_rng(1))
    in_hand = int(HOLD * BATCH_SECONDS / (ms / 1000)) + 2
    assert len({seed for seed, _ in runs}) == 500
    assert repeated(runs) <= kills * WORKERS * in_hand
