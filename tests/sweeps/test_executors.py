"""One conformance suite for every executor: in this process, local processes, dask."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import types

import pytest
from engine_helpers import FAULTY, alive, digests, faulty, start_dask, stop

import steering
from steering.errors import InvalidOption, NotAvailable, SteeringError, Unreachable
from steering.mdp import io
from steering.sweeps.compute import pack_batch, run_batch
from steering.sweeps.executors import Limits, Setup, dask, make_executor
from steering.sweeps.journal import read_events
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.sweep_file import read_sweep

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(params=["in_process", "two", "dask"])
def place(request):
    """Options of `sweep` that choose an executor."""
    if request.param == "dask":
        return {"scheduler": request.getfixturevalue("cluster")}
    return {"workers": {"in_process": 0, "two": 2}[request.param]}


def test_every_cell_is_done_once_and_a_second_start_does_nothing(place, small, tmp_path):
    report = steering.sweep(small, tmp_path / "a", **place)
    assert (report.cells, report.done, report.computed, report.pending) == (20, 20, 20, 0)
    assert report.complete
    finals = steering.load(tmp_path / "a").finals
    assert len(finals) == finals["key"].nunique() == 20
    again = steering.sweep(small, tmp_path / "a", **place)
    assert (again.done, again.computed) == (20, 0)


def test_numbers_are_those_of_a_plain_run(place, small, tmp_path):
    steering.sweep({**small, "record": {"points": 7, "extra": ["value_gap"]}}, tmp_path / "a", **place)
    results = steering.load(tmp_path / "a", environment="deepsea:4", agent="psrl")
    plain = steering.run("deepsea:4", "psrl", steps=60, seeds=5, record=["value_gap"])
    assert results.finals["realised_regret"].tolist() == plain.regret().tolist()
    assert results.finals["normalised_regret"].tolist() == plain.regret(normalised=True).tolist()
    at = [int(step) for step in results.curves.query("cell == 0")["step"]]
    assert at[-1] == 60
    assert len(at) == 7
    for seed in range(5):
        kept = results.curves.query("seed == @seed")["regret"].tolist()
        assert kept == plain.regret_curve()[seed, [s - 1 for s in at]].tolist()
        assert results.diagnostics.query("seed == @seed")["value"].tolist() == plain.value_gaps[seed].tolist()
    visits = results.visits.groupby(["seed", "state", "action"])["visits"].sum()
    for (seed, state, action), count in visits.items():
        assert count == plain.visits[seed].sum(axis=0)[state, action]
    assert visits.sum() == 5 * 60


def test_a_cell_that_raises_is_tried_again_then_set_apart_with_its_traceback(place, small, tmp_path):
    broken = {**small, "environments": ["deepsea:4", faulty("crash")], "agents": ["psrl"], "seeds": 3}
    report = steering.sweep(broken, tmp_path / "a", retries=1, imports=FAULTY, **place)
    assert (report.done, len(report.failed), report.retried, report.pending) == (3, 3, 3, 0)
    (message,) = set(report.failed.values())
    assert message.endswith("'gym:Faulty-v0,fault=crash' raised RuntimeError in step: the ship has sunk.")
    for key, record in Store(tmp_path / "a").failures().items():
        assert key.hex() in report.failed
        assert "in _fail" in record["traceback"]
        assert record["kind"] == "error"
        assert record["attempt"] == 2
        assert record["config"]["environment"].startswith("gym:Faulty-v0")
    again = steering.sweep(broken, tmp_path / "a", imports=FAULTY, **place)
    assert (again.computed, again.retried, len(again.failed)) == (0, 0, 3)
    if place == {"workers": 0}:
        third = steering.sweep(broken, tmp_path / "a", retries=1, retry_failed=True, imports=FAULTY, **place)
        assert (third.computed, third.retried, len(third.failed)) == (0, 3, 3)


def test_tables_do_not_depend_on_the_executor(place, small, tmp_path):
    steering.sweep(small, tmp_path / "here", workers=0)
    steering.sweep(small, tmp_path / "there", **place)
    assert digests(tmp_path / "here", tmp_path) == digests(tmp_path / "there", tmp_path)


FAULTS = {
    "hang": ("time", "more than 4 s"),
    "kill": ("killed", "SIGKILL"),
    "exit": ("killed", "code 7"),
    "memory": ("memory", "MemoryError"),
    "crash": ("error", "raised RuntimeError in step: the ship has sunk"),
}


def test_faults_that_take_a_worker_down_hurt_nobody_else(place, small, tmp_path):
    if place == {"workers": 0}:
        with pytest.raises(InvalidOption, match="need a process of their own"):
            steering.sweep(small, tmp_path / "a", time_limit=1, **place)
        return
    environments = ["deepsea:4", *(faulty(fault) for fault in FAULTS), "riverswim:3"]
    broken = {**small, "environments": environments, "agents": ["psrl"], "seeds": 2}
    report = steering.sweep(
        broken, tmp_path / "a", retries=0, imports=FAULTY, time_limit=4.0, memory_limit=300, **place
    )
    assert (report.done, len(report.failed), report.pending) == (4, 10, 0)
    for record in Store(tmp_path / "a").failures().values():
        kind, message = FAULTS[record["config"]["environment"].partition("fault=")[2]]
        assert record["kind"] == kind
        assert message in record["message"]
    finals = steering.load(tmp_path / "a").finals
    assert sorted(finals["environment"].unique()) == ["deepsea:4", "riverswim:3"]


def test_a_fault_that_happens_once_is_forgiven(place, small, tmp_path):
    if place == {"workers": 0}:
        return
    one = faulty("once", marker=tmp_path / "marker")
    wanted = {**small, "environments": [one], "agents": ["psrl"], "seeds": 4}
    report = steering.sweep(wanted, tmp_path / "a", imports=FAULTY, **place)
    assert (report.done, report.retried, report.failed) == (4, 1, {})
    events = [json.loads(line) for line in next((tmp_path / "a" / "journal").iterdir()).read_text().splitlines()]
    assert [event["kind"] for event in events if event["event"] == "retry"] == ["killed"]


def test_closing_ends_what_runs(small, tmp_path):
    executor = make_executor(2, None, Limits(), Setup(FAULTY))
    Setup(FAULTY).do()
    plan = read_sweep({**small, "environments": [faulty("hang")], "agents": ["psrl"]}).plan
    for ticket in range(2):
        executor.submit(ticket, pack_batch(plan.pieces([ticket])), 1)
    assert executor.wait(0.3) == []
    pids = executor.pids
    executor.close()
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_dead_nursery_is_replaced(small, tmp_path):
    executor = make_executor(1, None, Limits(), Setup())
    plan = read_sweep(small).plan
    os.kill(executor._nursery._process.pid, signal.SIGKILL)
    executor._nursery._process.wait()
    executor.submit(1, pack_batch(plan.pieces([0])), 1)
    outcomes = wait_for(executor)
    executor.close()
    assert outcomes[0][1].rows == 1


def test_a_file_that_changes_between_two_sweeps_is_read_again(place, tmp_path):
    path = tmp_path / "mdp.json"
    wanted = {"environments": [f"file:{path}"], "agents": ["psrl"], "steps": 60, "seeds": 3}
    for number, size in enumerate((4, 6, 5)):
        io.save(steering.make_env(f"deepsea:{size}").mdp, path)
        report = steering.sweep(wanted, tmp_path / f"out-{number}", **place)
        assert report.computed == 3
        fresh = steering.run(f"file:{path}", "psrl", steps=60, seeds=3).regret()
        assert steering.load(tmp_path / f"out-{number}").finals["realised_regret"].tolist() == fresh.tolist()


def test_a_cell_fails_where_its_file_is_another_one(tmp_path):
    path = tmp_path / "mdp.json"
    io.save(steering.make_env("deepsea:4").mdp, path)
    plan = read_sweep({"environments": [f"file:{path}"], "agents": ["psrl"], "steps": 20, "seeds": 2}).plan
    batch = pack_batch(plan.pieces([0, 1]))
    io.save(steering.make_env("deepsea:5").mdp, path)
    outcome = run_batch(batch)
    assert (outcome.rows, len(outcome.failures)) == (0, 2)
    assert "another MDP here" in outcome.failures[0].message


def test_a_batch_is_held_no_longer_than_asked(small):
    """Each run takes some time, so with none to spare a batch gives back all but the first cell; `starting` is told."""
    plan = read_sweep(small).plan
    told = []
    outcome = run_batch(pack_batch(plan.pieces(range(12)), 0.0), told.append)
    assert (outcome.rows, outcome.lost, told) == (1, list(range(1, 12)), [0, 12])
    rest = run_batch(pack_batch(plan.pieces(outcome.lost)))
    assert (rest.rows, rest.lost) == (11, [])
    shards = [content for part in (outcome, rest) for _, content in part.shards]
    keys = [key for content in shards for key in schema.read_rows(content, ["key"])["key"].to_pylist()]
    assert keys == [plan.key(i) for i in range(12)]


def _state(pid):
    """State of a process as one letter, and its processor time."""
    with open(f"/proc/{pid}/stat") as file:
        state, *numbers = file.read().rpartition(")")[2].split()
    return state, numbers[10:12]


def _until_asleep(pid):
    """Wait until a process sleeps and has used no more processor time for half a second."""
    before, since = None, time.monotonic()
    while True:
        if (now := _state(pid)) != before or now[0] != "S":
            before, since = now, time.monotonic()
        if time.monotonic() - since > 0.5:
            return
        time.sleep(0.02)


def _until_gone(pid):
    """Wait until a process that was killed has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while _state(pid)[0] not in "ZX":
            time.sleep(0.01)


@pytest.mark.parametrize("cells", [1, 60])
def test_a_worker_killed_while_it_hands_over_ends_nothing_else(cells, tmp_path):
    """The results are larger than a socket holds, so the worker waits in the middle of sending them."""
    steps = 60_000 // cells
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": steps, "record": {"points": steps}}
    plan = read_sweep({**wanted, "seeds": 60}).plan
    executor = make_executor(1, None, Limits(), Setup())
    try:
        executor.submit(1, pack_batch(plan.pieces(range(cells))), cells)
        executor.wait(0.0)
        _until_asleep(executor.pids[0])
        os.kill(executor.pids[0], signal.SIGKILL)
        _until_gone(executor.pids[0])  # until then it may go on sending as fast as its owner reads
        (_, outcome), *_ = wait_for(executor)
        assert outcome.rows == 0
        if cells == 1:
            assert "handed over" in outcome.failures[0].message
        else:
            assert (outcome.failures, outcome.lost, outcome.split) == ([], list(range(cells)), True)
        executor.submit(2, pack_batch(plan.pieces([0])), 1)
        assert wait_for(executor)[0][1].rows == 1
    finally:
        executor.close()


def test_a_worker_frozen_while_it_hands_over_does_not_block_its_owner():
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "steps": 60_000, "record": {"points": 60_000}}
    plan = read_sweep({**wanted, "seeds": 2}).plan
    executor = make_executor(1, None, Limits(seconds=5.0), Setup())
    try:
        executor.submit(1, pack_batch(plan.pieces([0])), 1)
        executor.wait(0.0)
        (worker,) = executor.pids
        _until_asleep(worker)
        os.kill(worker, signal.SIGSTOP)
        while _state(worker)[0] != "T":  # until then it may go on sending as fast as its owner reads
            time.sleep(0.01)
        (_, outcome), *_ = wait_for(executor)
        assert outcome.failures[0].message.endswith("was ended while it handed over its results")
        executor.submit(2, pack_batch(plan.pieces([1])), 1)
        assert wait_for(executor)[0][1].rows == 1
        assert worker not in executor.pids
    finally:
        executor.close()


def wait_for(executor):
    while not (outcomes := executor.wait(5.0)):
        pass
    return outcomes


def test_workers_that_cannot_be_prepared_stop_the_sweep_with_the_reason(cluster, small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "only_here", types.ModuleType("only_here"))  # in no file
    with pytest.raises(
        NotAvailable, match=r"dask workers cannot run these cells: worker .*: the module 'only_here' cannot"
    ):
        steering.sweep(small, tmp_path / "a", scheduler=cluster, imports=["only_here"])
    assert not [event for event in read_events(tmp_path / "a") if event["event"] in ("retry", "quarantine")]
    with pytest.raises(SteeringError, match="module 'only_here' cannot be imported"):
        steering.sweep(small, tmp_path / "a", workers=1, imports=["only_here"])


def test_dask_workers_do_not_keep_processes_for_ever(small, monkeypatch):
    monkeypatch.setattr(dask, "OTHER_SECONDS", 0.0)
    batch = pack_batch(read_sweep(small).plan.pieces([0]))
    for seconds in (100.0, 101.0, 102.0):
        dask.run_remote(batch, 1, (seconds, None), Setup().as_json(), dask.PROGRAM)
        (_, _, executor), *others = dask._free
        assert others == []  # those with other settings are gone
    first = executor.pids
    dask.run_remote(batch, 1, (102.0, None), Setup().as_json(), dask.PROGRAM)
    assert dask._free[0][2].pids == first  # the same settings: the same process
    with dask._lock:
        dask._timer.cancel()
        dask._timer = None
    monkeypatch.setattr(dask, "IDLE_SECONDS", 0.2)
    dask._watch_idle()
    deadline = time.monotonic() + 10
    while dask._free or any(alive(pid) for pid in first):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_told_in_a_sentence(tmp_path):
    processes, address = start_dask(tmp_path)
    wanted = {"environments": ["deepsea:12"], "agents": ["psrl"], "steps": 3000, "seeds": 3000}

    def watch(report):
        if report.done:  # in the middle of its work, however long that took to begin
            processes[1].kill()

    try:
        with pytest.raises(Unreachable, match="is gone"):
            steering.sweep(wanted, tmp_path / "a", scheduler=address, watch=watch)
    finally:
        stop(processes)


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"seconds": 0.0}, "time limit is 0"),
        ({"seconds": float("nan")}, "time limit is nan"),
        ({"megabytes": 0}, "at least 1"),
        ({"megabytes": 99_999_999_999_999}, "at most"),
    ],
)
def test_limits_are_checked(limits, match):
    with pytest.raises(InvalidOption, match=match):
        Limits(**limits)


def test_choices_are_checked(small, tmp_path):
    with pytest.raises(InvalidOption, match="workers is -1"):
        steering.sweep(small, tmp_path / "a", workers=-1)
    with pytest.raises(InvalidOption, match="retries is -1"):
        steering.sweep(small, tmp_path / "a", retries=-1)
    with pytest.raises(InvalidOption, match="limits of time and memory"):
        steering.sweep(small, tmp_path / "a", workers=0, time_limit=1.0)
    with pytest.raises(InvalidOption, match="0 workers would wait for ever"):
        steering.sweep(small, tmp_path / "a", workers=0, scheduler="local")
    for address in ("foo", "foo://a:1", "tcp://a", ""):
        with pytest.raises(InvalidOption, match=f"the scheduler '{address}' is not an address"):
            steering.sweep(small, tmp_path / "a", scheduler=address)
    with pytest.raises(InvalidOption, match="module 'no_such_module' cannot be imported"):
        steering.sweep(small, tmp_path / "a", imports=["no_such_module"])
    assert not (tmp_path / "a").exists()
    with pytest.raises(Unreachable, match="no dask scheduler answers"):
        steering.sweep(small, tmp_path / "a", scheduler="nonsense:1")


def test_without_a_place_for_compiled_functions_it_says_so_once_and_works(small, tmp_path):
    place = tmp_path / "a file, not a directory"
    place.touch()
    path = tmp_path / "sweep.toml"
    path.write_text('environments = ["deepsea:4"]\nagents = ["psrl"]\nsteps = 20\nseeds = 2\n')
    command = [sys.executable, "-m", "steering", "sweep", str(path), "--out", str(tmp_path / "out"), "--workers", "1"]
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(place)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"warning: compiled functions cannot be kept in {place}")
    assert done.stderr.count("compiled functions") == 1
    assert len(steering.load(tmp_path / "out").finals) == 2
