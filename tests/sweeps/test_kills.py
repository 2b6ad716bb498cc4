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
from steering.sweeps.batches import BATCH_SECONDS
from steering.sweeps.engine import HOLD
from steering.sweeps.store.directory import Store

WORKERS = 2
HANDING_OVER = 1.0
"""Seconds for sending and storing on a machine that does other things as well."""


def kill_tree(process):
    """SIGKILL for a process and all below it, first stopped so that none can act on the death of another."""
    pids = [process.pid, *descendants([process.pid])]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    process.communicate()


class Fire:
    """A sweep of cells of `ms` milliseconds that is killed again and again."""

    def __init__(self, tmp_path, ms, seeds):
        self.log, self.directory, file = tmp_path / "log", tmp_path / "out", tmp_path / "sweep.toml"
        self.log.touch()
        file.write_text(
            f'environments = ["gym:Counted-v0,log={self.log},ms={ms}"]\nagents = ["q_learning"]\nsteps = 20\n'
            f"seeds = {seeds}\nrecord = {{ points = 5 }}\n"
        )
        self.arguments = ("sweep", file, "--out", self.directory, "--workers", WORKERS, "--import", "counted_envs")
        # What a worker finished within its time, what it is in, and what is on its way.
        self.in_flight = WORKERS * (int((HOLD * BATCH_SECONDS + HANDING_OVER) / (ms / 1000)) + 2)
        self.stored = 0

    def runs(self):
        """Seeds of all runs that were ever begun."""
        return [int(line.split()[0]) for line in self.log.read_text().splitlines()]

    def start_and_kill(self, seconds):
        """Kill everything so many seconds after the first run of a new start; returns how many runs it had begun."""
        before = len(self.runs())
        process = command(*self.arguments, start_new_session=True)
        while len(self.runs()) == before:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(seconds)
        kill_tree(process)
        begun = len(self.runs()) - before
        found = Store(self.directory).scan()
        assert found.problems == []  # whatever the moment, every file is whole
        assert found.rows == len(found.keys)
        assert begun - (len(found.keys) - self.stored) <= self.in_flight
        self.stored = len(found.keys)
        return begun


def test_cells_slower_than_was_guessed_are_stored_on_the_way(tmp_path):
    """A batch of these cells is guessed to take some milliseconds and takes 20 seconds; the kills come after six."""
    fire = Fire(tmp_path, ms=400, seeds=200)
    for _ in range(2):
        assert fire.start_and_kill(6.0) > fire.in_flight
    runs = fire.runs()
    assert len(runs) - len(set(runs)) <= fire.in_flight


@pytest.mark.slow
def test_twenty_kills_repeat_only_what_was_in_flight(tmp_path):
    rng = np.random.default_rng(1)
    fire = Fire(tmp_path, ms=150, seeds=900)
    for _ in range(20):
        fire.start_and_kill(float(rng.uniform(0.0, 6.0)))
    last = command(*fire.arguments)
    _, err = last.communicate(timeout=150)
    assert last.returncode == 0, err
    runs = fire.runs()
    assert len(set(runs)) == len(steering.load(fire.directory).finals) == 900
    assert len(runs) - 900 <= 20 * fire.in_flight
