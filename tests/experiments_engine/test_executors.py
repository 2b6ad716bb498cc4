"""One conformance suite for every executor: in this process, local processes, dask."""

import json
import signal
import time

import pytest
from engine_helpers import FAULTY, digests, faulty

import steering
from steering.errors import InvalidOption, NotAvailable
from steering.experiments.executors import Limits, Setup, make_executor
from steering.results.store import Store

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
    assert set(report.failed.values()) == {"RuntimeError: the ship has sunk"}
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
    "hang": ("time", "more than 2 s"),
    "kill": ("killed", "SIGKILL"),
    "exit": ("killed", "code 7"),
    "memory": ("memory", "MemoryError"),
    "crash": ("error", "RuntimeError: the ship has sunk"),
}


def test_faults_that_take_a_worker_down_hurt_nobody_else(place, small, tmp_path):
    if place == {"workers": 0}:
        with pytest.raises(InvalidOption, match="need a process of their own"):
            steering.sweep(small, tmp_path / "a", time_limit=1, **place)
        return
    environments = ["deepsea:4", *(faulty(fault) for fault in FAULTS), "riverswim:3"]
    broken = {**small, "environments": environments, "agents": ["psrl"], "seeds": 2}
    report = steering.sweep(
        broken, tmp_path / "a", retries=0, imports=FAULTY, time_limit=2.0, memory_limit=300, **place
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
    from steering.experiments.compute import pack_batch
    from steering.experiments.sweep_file import read_sweep

    Setup(FAULTY).do()
    plan = read_sweep({**small, "environments": [faulty("hang")], "agents": ["psrl"]}).plan
    for ticket in range(2):
        executor.submit(ticket, pack_batch(plan.pieces([ticket])), 1)
    assert executor.wait(0.3) == []
    pids = executor.pids
    executor.close()
    deadline = time.monotonic() + 5
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_dead_nursery_is_replaced(small, tmp_path):
    import os

    executor = make_executor(1, None, Limits(), Setup())
    from steering.experiments.compute import pack_batch
    from steering.experiments.sweep_file import read_sweep

    plan = read_sweep(small).plan
    os.kill(executor._nursery._process.pid, signal.SIGKILL)
    executor._nursery._process.wait()
    executor.submit(1, pack_batch(plan.pieces([0])), 1)
    outcomes = []
    while not outcomes:
        outcomes = executor.wait(5.0)
    executor.close()
    assert outcomes[0][1].rows == 1


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"seconds": 0.0}, "time limit is 0"),
        ({"seconds": float("nan")}, "time limit is nan"),
        ({"megabytes": 0}, "at least 1"),
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
    with pytest.raises(InvalidOption, match="module 'no_such_module' cannot be imported"):
        steering.sweep(small, tmp_path / "a", imports=["no_such_module"])
    with pytest.raises(NotAvailable, match="no dask scheduler answers"):
        steering.sweep(small, tmp_path / "a", scheduler="nonsense:1")
