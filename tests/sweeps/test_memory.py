"""Memory that cannot be had: in workers, at every place where one allocates; and a limit that is too small."""

import pytest
from engine_helpers import FAULTY, digests, faulty

import steering
from steering.sweeps.status import status_of

WANTED = {"environments": ["deepsea:4", "riverswim:3"], "agents": ["psrl", "q_learning"], "steps": 40, "seeds": 3}
IMPORTS = ("memory_faults",)
PLACES = ("run", "shard", "send")
MORE = ("receive", "environment", "agent", "rows")
"""Where allocations are made to fail; the module `memory_faults` does it. The second lot is for the slow suite."""


@pytest.fixture(scope="module")
def peace(tmp_path_factory):
    place = tmp_path_factory.mktemp("peace")
    steering.sweep(WANTED, place / "a", workers=0)
    return digests(place / "a", place)


@pytest.mark.parametrize("fault", [*PLACES, *(pytest.param(place, marks=pytest.mark.slow) for place in MORE)])
def test_an_allocation_that_fails_once_costs_nothing_but_time(fault, peace, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_FAULT", fault)
    monkeypatch.setenv("MEMORY_MARKER", str(tmp_path / "marker"))
    report = steering.sweep(WANTED, tmp_path / "a", workers=1, imports=IMPORTS)
    assert (tmp_path / "marker").exists()  # it did fail
    assert (report.complete, report.failed) == (True, {})
    assert digests(tmp_path / "a", tmp_path) == peace


@pytest.mark.parametrize("fault", ["run", "shard"])
def test_an_allocation_that_always_fails_is_said_of_every_cell_and_a_later_start_does_them(
    fault, peace, tmp_path, monkeypatch
):
    monkeypatch.setenv("MEMORY_FAULT", fault)
    report = steering.sweep(WANTED, tmp_path / "a", workers=1, imports=IMPORTS, retries=0)
    assert (report.done, len(report.failed)) == (0, 12)
    kinds = {one["kind"] for one in status_of(tmp_path / "a")["failures"]}
    assert kinds == {"memory"} if fault == "run" else kinds <= {"killed", "memory"}
    assert all(len(message.splitlines()) == 1 for message in report.failed.values())
    monkeypatch.delenv("MEMORY_FAULT")
    assert steering.sweep(WANTED, tmp_path / "a", workers=1, imports=IMPORTS, retry_failed=True).complete
    assert digests(tmp_path / "a", tmp_path) == peace


@pytest.mark.parametrize("megabytes", [1, pytest.param(8, marks=pytest.mark.slow), 64])
def test_whatever_the_limit_every_cell_is_done_or_failed_with_a_sentence(megabytes, tmp_path):
    """The one that takes all it can get fails alone, if the others fit; afterwards nothing is pending."""
    wanted = {**WANTED, "environments": [*WANTED["environments"], faulty("memory")], "seeds": 1}
    report = steering.sweep(
        wanted, tmp_path / "a", workers=1, imports=FAULTY, memory_limit=megabytes, retries=0, time_limit=120
    )
    now = status_of(tmp_path / "a")
    assert (now["pending"], now["problems"], report.pending) == (0, [], 0)
    greedy = [one for one in now["failures"] if "Faulty" in one["environment"]]
    assert len(greedy) == 2
    assert {one["kind"] for one in greedy} <= {"memory", "killed"}
    assert megabytes < 64 or now["done"] == 4
    assert all(len(message.splitlines()) == 1 for message in report.failed.values())
