"""Small faults that a hostile test found, one test each."""

import os
import signal
import time

import pytest
from engine_helpers import FAULTY, alive, descendants, faulty

import steering
from steering.errors import SteeringError
from steering.sweeps.store.directory import STALE_SECONDS, Store
from steering.sweeps.sweep_file import parse_toml, read_sweep

SMALL = 'environments = ["deepsea:4"]\nagents = ["psrl"]\nsteps = 20\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('"" = 1\n', "unknown key"),
        (".".join(["a"] * 900) + " = 1\n", "unknown key|nested too deeply"),
        (SMALL + "seeds = { first = 9223372036854775807, count = 2 }\n", "less than or equal to"),
    ],
)
def test_sweep_files_at_the_edges(text, says):
    with pytest.raises(SteeringError, match=says):
        parse_toml(text)


def test_the_largest_seed_runs(tmp_path):
    report = steering.sweep(parse_toml(SMALL + "seeds = [9223372036854775807]\n"), tmp_path / "a", workers=0)
    assert report.complete
    assert steering.load(tmp_path / "a").finals["seed"].tolist() == [2**63 - 1]


def test_a_stale_folder_of_a_write_is_not_in_the_way(tmp_path):
    store = Store(tmp_path / "a", create=True)
    left = store.shards / ".writing-0123456789abcdef"
    left.mkdir()
    os.utime(left, (time.time() - 2 * STALE_SECONDS,) * 2)
    store.tidy()
    assert steering.sweep(parse_toml(SMALL + "seeds = 2\n"), tmp_path / "a", workers=0).complete


def test_a_worker_that_hangs_does_not_outlive_the_nursery(tmp_path):
    """The nursery is killed, so that it cannot end its workers; one of them is in a call that never returns."""
    import faulty_envs  # noqa: F401

    from steering.sweeps.compute import pack_batch
    from steering.sweeps.executors.base import Limits, Setup
    from steering.sweeps.executors.local import LocalExecutor

    plan = read_sweep({"environments": [faulty("hang")], "agents": ["psrl"], "steps": 20, "seeds": 1}).plan
    executor = LocalExecutor(1, Limits(), Setup(FAULTY))
    try:
        executor.submit(0, pack_batch(plan.pieces([0])), 1)
        executor.wait(1.0)
        (worker,) = executor.pids
        (nursery,) = set(descendants([os.getpid()])) & {executor._nursery._process.pid}
        os.kill(nursery, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while alive(worker) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(worker)
    finally:
        executor.close()
