"""Small faults that a hostile test found, one test each."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cli_tools import call
from engine_helpers import FAULTY, alive, descendants, faulty

import steering
from steering.agents import list_agents
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


@pytest.mark.parametrize("value", ["nan", "(1,nan)", "-inf"])
def test_an_option_that_is_no_number_is_written_as_text(value, tmp_path):
    text = faulty("none", marker=value)
    wanted = {"environments": [text], "agents": ["psrl"], "steps": 20, "seeds": 2}
    assert steering.sweep(wanted, tmp_path / "a", workers=0, imports=FAULTY).done == 2
    assert set(steering.load(tmp_path / "a").finals["environment"]) == {text}


def test_options_that_no_text_describes_are_refused_by_what_they_are():
    import faulty_envs  # noqa: F401

    text = 'environments = [{ name = "gym:Faulty-v0", marker = "1" }]\nagents = ["psrl"]\nsteps = 20\nseeds = 2\n'
    with pytest.raises(SteeringError, match="the options of 'gym:Faulty-v0' cannot be written as text"):
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


def test_a_copy_of_a_worker_that_hangs_does_not_outlive_it(tmp_path):
    """An environment copies its process, and the copy is in a call that never returns."""
    wanted = {"environments": [faulty("orphan", marker=tmp_path / "pids")], "agents": ["psrl"], "steps": 20, "seeds": 2}
    report = steering.sweep(wanted, tmp_path / "a", workers=1, retries=0, imports=FAULTY)
    assert len(report.failed) == 2
    assert all("copied the process (fork) in step" in reason for reason in report.failed.values())
    copies = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert copies
    deadline = time.monotonic() + 10
    while any(map(alive, copies)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [pid for pid in copies if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def test_too_little_memory_is_no_bad_input(capsys):
    """A cluster should try again elsewhere: code 1, while 2 is for what would fail everywhere."""
    done = call(capsys, "run", "deepsea:4", "-a", "psrl", "-t", "1e15", "-k", "1")
    assert (done.code, done.out) == (1, "")
    assert "of memory" in done.err
    assert done.err.count("\n") == 1


def test_helpers_that_go_away_are_no_bad_input(capsys, tmp_path, monkeypatch):
    """Somebody kills the process that forks workers, and the one that replaces it."""
    from steering.sweeps.executors import local

    monkeypatch.setattr(local, "NURSERY", "keyword")  # a module that ends at once
    (tmp_path / "sweep.toml").write_text(SMALL + "seeds = 2\n")
    done = call(capsys, "sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "a"), "--workers", "1")
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("\nerror: worker processes cannot be started; run with workers=0 to see why.\n")


CLUSTER = """
import sys, distributed
start = distributed.LocalCluster
def slow(*arguments, **options):
    print("starting", file=sys.stderr, flush=True)
    return start(*arguments, **options)
distributed.LocalCluster = slow
from steering.cli import main
main(sys.argv[1:])
"""


def test_sigterm_while_a_local_cluster_starts_leaves_nobody_behind(tmp_path):
    (tmp_path / "sweep.toml").write_text(SMALL + "seeds = 2\n")
    options = ("sweep", "sweep.toml", "--out", "a", "--scheduler", "local", "--workers", "1")
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, *options], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    ) as process:
        line = ""
        while "starting" not in line:
            line = process.stderr.readline()
            assert line
        process.send_signal(signal.SIGTERM)
        below = set()
        while process.poll() is None:
            below |= set(descendants([process.pid]))
            time.sleep(0.05)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (143, "")
    assert err == "interrupted; finished cells are in a. Start again to continue.\n"
    deadline = time.monotonic() + 30
    while any(map(alive, below)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, below))


@pytest.mark.parametrize("eta", [1e-200, 1e200])
@pytest.mark.parametrize("agent", [one["name"] for one in list_agents() if "eta" in one["options"]])
def test_extreme_priors_are_finite_or_refused_in_a_sentence(agent, eta):
    refused = ""
    try:
        found = steering.run("deepsea:4", agent, eta=eta, steps=60, seeds=1, record=["value_gap"])
    except SteeringError as error:
        refused = str(error)
    if refused:
        assert len(refused.splitlines()) == 1
        return
    assert np.isfinite(found.rewards).all()
    numbers = (value for value in found.summary().values() if isinstance(value, float))
    assert all(map(np.isfinite, numbers))
