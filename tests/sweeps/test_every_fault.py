"""A fault at every write, fsync, rename, unlink and new file of a sweep of 40 cells: counted, then failed one by one.

Three kinds. *Error*: the call fails as a broken disk does, once. *Crash*: the process ends there; nothing after it is
done. *Power loss*: a crash after which only what was synced is left; names and removals that no fsync of their folder
followed may be gone or not, in three mixtures (see `faulty_disk`). Each time every cell of which the store had said
that it is kept must be there, the sweep is started again, and its tables must be those of a sweep in peace, byte for
byte. The quick suite takes every 29th call here and some on a cluster, the slow one all of them, on each executor.
"""

import os

import pytest
from engine_helpers import digests
from faulty_disk import LOST, Crash, Disk

import steering
from steering import _files
from steering.errors import SteeringError
from steering.sweeps import batches, engine
from steering.sweeps.executors import Limits, Setup
from steering.sweeps.executors.local import LocalExecutor
from steering.sweeps.store import directory as directory_module
from steering.sweeps.store.directory import Store

WANTED = {
    "environments": ["deepsea:3", "riverswim:3"],
    "agents": ["psrl", "q_learning"],
    "steps": 20,
    "seeds": 10,
    "record": {"points": 3},
}
FAULTS = (("error", None), ("crash", None), *(("power", lost) for lost in LOST))

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """Eight shards, whatever the machine does beside, and a merge at the end."""
    monkeypatch.setattr(
        batches.Sizes, "end_of_batch", lambda self, pending, start, workers: min(start + 5, len(pending))
    )
    monkeypatch.setattr(batches.Sizes, "target", lambda self, cells, workers: 60.0)
    monkeypatch.setattr(directory_module, "MANY_SMALL", 3)


def attempt(place, monkeypatch, fault, kind, **how):
    """A sweep with a fault; returns the disk, which knows how many calls there were."""
    with monkeypatch.context() as patch:
        disk = Disk(place, patch, fault, kind)
        try:
            steering.sweep(WANTED, place, **how)
        except Crash:
            assert kind != "error"
        except (SteeringError, OSError):
            assert kind == "error"
    return disk


def left_after(disk, place, lost):
    """Keys of the cells that a fault left; those that were said to be kept must be among them."""
    if lost is not None:
        disk.cut_power(lost)
    left = Store(place).scan().keys if (place / "shards").is_dir() else set()
    assert disk.kept <= left, f"{len(disk.kept - left)} of {len(disk.kept)} cells that were kept are gone"
    return left


def enumerate_faults(tmp_path, monkeypatch, every, faults=FAULTS, **how):
    steering.sweep(WANTED, tmp_path / "peace", workers=0)
    peace = digests(tmp_path / "peace", tmp_path)
    calls = attempt(tmp_path / "count", monkeypatch, None, "error", **how).count
    assert calls > 60
    assert digests(tmp_path / "count", tmp_path) == peace
    tried = 0
    for fault in range(1, calls + 1, every):
        for kind, lost in faults:
            place = tmp_path / f"{fault}-{kind}-{lost}"
            disk = attempt(place, monkeypatch, fault, kind, **how)
            before = left_after(disk, place, lost)
            report = steering.sweep(WANTED, place, workers=0)
            assert report.complete, (fault, kind, lost)
            assert report.computed == 40 - len(before), (fault, kind, lost)
            assert digests(place, tmp_path) == peace, (fault, kind, lost)
            tried += disk.count >= fault
    assert tried >= 0.8 * len(faults) * calls // every


def test_a_fault_at_some_calls_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch):
    enumerate_faults(tmp_path, monkeypatch, every=29, workers=0)


@pytest.mark.slow
def test_a_fault_at_every_call_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch):
    enumerate_faults(tmp_path, monkeypatch, every=1, workers=0)


class Kept(LocalExecutor):
    """Local processes whose nursery stays for the next sweep: starting one takes longer than all the rest."""

    def close(self):
        for worker in list(self._workers):
            self._drop(worker)
        self._waiting, self._ready = [], []


@pytest.mark.slow
def test_a_fault_at_every_call_with_workers_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch):
    executor = Kept(2, Limits(), Setup())
    usual = engine.make_executor
    monkeypatch.setattr(
        engine, "make_executor", lambda workers, *rest: executor if workers == 2 else usual(workers, *rest)
    )
    try:
        enumerate_faults(tmp_path, monkeypatch, every=1, workers=2)
    finally:
        LocalExecutor.close(executor)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fault_at_some_calls_on_a_cluster_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch, cluster):
    enumerate_faults(tmp_path, monkeypatch, every=40, faults=[("error", None), ("power", "all")], scheduler=cluster)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fault_at_every_call_on_a_cluster_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch, cluster):
    enumerate_faults(tmp_path, monkeypatch, every=1, scheduler=cluster)


def careless(*, files, folders):
    """The writer of the store, without the fsync of files or of folders."""

    def write(path, content):
        usual = os.fsync

        def fsync(descriptor):
            is_folder = os.path.isdir(os.readlink(f"/proc/self/fd/{descriptor}"))
            if folders if is_folder else files:
                usual(descriptor)

        os.fsync = fsync
        try:
            _files.write_atomically(path, content)
        finally:
            os.fsync = usual

    return write


@pytest.mark.parametrize("forgets", ["nothing", "files", "folders"])
def test_a_power_cut_finds_a_writer_without_fsync(forgets, tmp_path, monkeypatch):
    """The check can fail: a cut right after a sweep finds whatever was not synced, and nothing in a careful writer."""
    writer = careless(files=forgets != "files", folders=forgets != "folders")
    monkeypatch.setattr(directory_module, "write_atomically", writer)
    lost = []
    for kind in LOST:
        disk = attempt(tmp_path / kind, monkeypatch, None, "power", workers=0)
        assert len(disk.kept) == 40
        try:
            left_after(disk, tmp_path / kind, kind)
        except AssertionError:
            lost.append(kind)
    assert lost == {"nothing": [], "files": list(LOST), "folders": ["all", "new"]}[forgets]
