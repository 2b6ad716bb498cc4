"""Kills, interrupts and full disks, with real processes, real signals and a real small filesystem.

What is asserted each time: nothing finished is lost and nothing is there twice. What a kill repeats is counted in
test_kills.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import distributed
import numpy as np
import pytest
from engine_helpers import FAULTY, alive, command, descendants, digests, faulty, start_dask, stop

import steering
from steering.errors import DiskFull
from steering.sweeps.journal import read_events
from steering.sweeps.status import status_of
from steering.sweeps.store.directory import Store

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def gone(pids):
    """Whether processes end by themselves, within ten seconds."""
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


@pytest.fixture
def slow_sweep():
    """Forty cells of some 40 ms: long enough to be hit by a signal."""
    return {"environments": ["deepsea:12"], "agents": ["psrl"], "steps": 3000, "seeds": 40, "record": {"points": 10}}


def write_toml(path, wanted):
    lines = [f"{key} = {json.dumps(value)}" for key, value in wanted.items() if key != "record"]
    lines += ["[record]", *(f"{key} = {json.dumps(value)}" for key, value in wanted.get("record", {}).items())]
    path.write_text("\n".join(lines))
    return path


def workers_of(directory):
    """Process ids of all workers of a directory: grandchildren of the processes that write its journal."""
    owners = {int(path.name.split("-")[3]) for path in (directory / "journal").glob("*.jsonl")}
    return descendants(descendants(owners))


def test_twenty_killed_workers_cost_only_time(slow_sweep, tmp_path):
    slow_sweep = {**slow_sweep, "seeds": 200}  # some seconds, so that all twenty are hit while there is work
    steering.sweep(slow_sweep, tmp_path / "peace", workers=0)
    rng = np.random.default_rng(1)
    killed = []
    done = threading.Event()

    def assassin():
        while not done.is_set() and len(killed) < 20:
            time.sleep(float(rng.uniform(0.0, 0.05)))
            for pid in workers_of(tmp_path / "war")[:1] if (tmp_path / "war" / "journal").is_dir() else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=assassin)
    thread.start()
    try:
        report = steering.sweep(slow_sweep, tmp_path / "war", workers=2, retries=100)
    finally:
        done.set()
        thread.join()
    assert len(killed) == 20
    assert (report.done, report.failed) == (200, {})
    assert report.computed == 200  # no cell was stored twice
    assert digests(tmp_path / "war", tmp_path) == digests(tmp_path / "peace", tmp_path)


def test_a_kill_of_the_owner_leaves_nobody_behind_and_changes_no_number(slow_sweep, tmp_path):
    """SIGKILL for the owner alone, three times: its workers end by themselves, and the tables are as without kills."""
    rng = np.random.default_rng(0)
    wanted = {**slow_sweep, "seeds": 300}
    path = write_toml(tmp_path / "sweep.toml", wanted)
    directory = tmp_path / "out"
    arguments = ("sweep", path, "--out", directory, "--workers", 2)
    below = []
    # Once while it starts, then some time after the first batch: it must have work left on any machine.
    for sign, longest in (("journal/*", 1.0), ("shards/cells-*", 0.1), ("shards/cells-*", 0.5)):
        before = set(directory.glob(sign))
        process = command(*arguments, start_new_session=True)
        began = time.monotonic()
        while set(directory.glob(sign)) <= before:
            assert time.monotonic() - began < 60
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, longest)))
        assert process.poll() is None
        below += descendants([process.pid])
        process.kill()
        process.communicate()
    last = command(*arguments)
    _, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    steering.sweep(wanted, tmp_path / "peace", workers=0)
    assert digests(directory, tmp_path) == digests(tmp_path / "peace", tmp_path)
    assert below
    assert gone(below)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_stops_cleanly(number, code, slow_sweep, tmp_path):
    path = write_toml(tmp_path / "sweep.toml", {**slow_sweep, "seeds": 2000})
    process = command("sweep", path, "--out", tmp_path / "out", "--workers", 2)
    while not list((tmp_path / "out").glob("shards/cells-*")):
        assert process.poll() is None
        time.sleep(0.02)
    below = descendants([process.pid])
    began = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert process.returncode == code
    assert err.endswith("interrupted; finished cells are in " + f"{tmp_path / 'out'}. Start again to continue.\n")
    assert "Traceback" not in err
    now = status_of(tmp_path / "out")
    assert 0 < now["done"] < 2000
    assert now["problems"] == []
    assert read_events(tmp_path / "out")[-1]["event"] == "end"
    assert len(below) >= 3  # two workers and the nursery
    assert gone(below)


def test_ctrl_c_at_a_terminal_is_one_line_with_a_cluster_of_our_own(slow_sweep, tmp_path):
    """A terminal sends the signal to every process of the group, the cluster's too."""
    path = write_toml(tmp_path / "sweep.toml", {**slow_sweep, "seeds": 5000})
    line = ("sweep", path, "--out", tmp_path / "out", "--scheduler", "local", "--workers", 1)
    process = command(*line, start_new_session=True)
    while not list((tmp_path / "out").glob("shards/cells-*")):
        assert process.poll() is None
        time.sleep(0.02)
    below = descendants([process.pid])
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.endswith("Start again to continue.\n")
    assert below
    assert gone(below)


@pytest.mark.slow
def test_a_killed_dask_worker_loses_nothing(slow_sweep, tmp_path):
    steering.sweep(slow_sweep, tmp_path / "peace", workers=0)
    processes, address = start_dask(tmp_path)
    done = threading.Event()
    killed = []

    def assassin():
        with distributed.Client(address, set_as_default=False) as client:
            while not done.is_set() and len(killed) < 2:
                time.sleep(0.5)
                if client.nthreads() and (tmp_path / "war" / "journal").is_dir():
                    pids = client.run(os.getpid)
                    for pid in list(pids.values())[:1]:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

    thread = threading.Thread(target=assassin)
    try:
        thread.start()
        report = steering.sweep({**slow_sweep}, tmp_path / "war", scheduler=address)
    finally:
        done.set()
        thread.join()
        stop(processes)
    assert killed
    assert (report.done, report.failed) == (40, {})
    assert digests(tmp_path / "war", tmp_path) == digests(tmp_path / "peace", tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    """A filesystem of 256 kB where mounting is permitted, else a limit on the size of files."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    mounted = shutil.which("mount") is not None and subprocess.run(mounting, capture_output=True).returncode == 0
    yield place, mounted
    if mounted:
        subprocess.run(["umount", str(place)], check=True)


def limited(process_limit):
    """Forbid files beyond a size, in a child process, and turn the signal that comes with it into an error."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (process_limit, process_limit))


@pytest.mark.parametrize("way", ["disk", "rlimit"])
def test_a_full_disk_stops_with_a_sentence_and_loses_nothing(way, small_disk, tmp_path):
    place, mounted = small_disk
    wanted = {"environments": ["deepsea:8"], "agents": ["q_learning"], "steps": 4000, "seeds": 150}
    path = write_toml(tmp_path / "sweep.toml", wanted)
    options = {}
    if way == "rlimit" or not mounted:
        place = tmp_path / "plain"
        options = {"preexec_fn": lambda: limited(120_000)}
    process = command("sweep", path, "--out", place / "out", "--workers", 1, **options)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 4, out + err
    assert "no space left" in err
    assert "start the same command again" in err
    assert "Traceback" not in err
    found = Store(place / "out").scan()
    assert found.problems == []
    assert not any(name.startswith(".writing") for name in os.listdir(place / "out" / "shards"))
    moved = tmp_path / "more-space"
    shutil.copytree(place / "out", moved)
    before = steering.load(moved).finals
    report = steering.sweep(wanted, moved, workers=1)
    assert report.complete
    assert report.computed == 150 - len(before)
    after = steering.load(moved).finals
    assert after[after["key"].isin(before["key"])].reset_index(drop=True).equals(before)


def test_a_full_disk_in_python(small_disk):
    place, mounted = small_disk
    if not mounted:
        return
    store = Store(place / "out", create=True)
    with pytest.raises(DiskFull, match="free some space"):
        [store.write(b"x" * 50_000, 1) for _ in range(100)]
    assert not any(name.startswith(".writing") for name in os.listdir(store.shards))


def test_blame_goes_to_the_cell_that_did_it(tmp_path):
    """All cells in one batch: only the faulty one loses attempts, and the innocent are not retried by name."""
    wanted = {"environments": ["deepsea:4", faulty("kill"), "riverswim:3"], "agents": ["psrl"], "steps": 30, "seeds": 1}
    report = steering.sweep(wanted, tmp_path / "a", workers=1, retries=2, imports=FAULTY)
    retries = [event for event in read_events(tmp_path / "a") if event["event"] == "retry"]
    assert len(retries) == 2
    assert len({event["key"] for event in retries}) == 1
    assert (report.done, len(report.failed)) == (2, 1)
