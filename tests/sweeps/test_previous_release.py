"""A store that the previous release wrote is read, and a sweep goes on in it."""

import shutil
from pathlib import Path

import pytest

import steering
from steering.sweeps.status import status_of
from steering.sweeps.store.directory import Store

OLD = Path(__file__).parent / "data" / "store-d855443"


def test_a_store_of_the_previous_release_reads(tmp_path):
    shutil.copytree(OLD, tmp_path / "old")
    for name in ("failed", "set-aside"):  # empty folders are not kept in a repository
        (tmp_path / "old" / name).mkdir(exist_ok=True)
    found = Store(tmp_path / "old").scan()
    assert (len(found.keys), found.problems, found.conflicts) == (12, [], {})
    results = steering.load(tmp_path / "old")
    assert len(results.finals) == 12
    assert set(results.finals["agent"]) == {"psrl", "q_learning"}
    assert results.finals["realised_regret"].notna().all()
    assert len(results.curves) == 12 * 10
    now = status_of(tmp_path / "old")
    assert (now["done"], now["failed"], now["pending"]) == (12, 0, 0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sweep_goes_on_in_a_store_of_the_previous_release(tmp_path):
    shutil.copytree(OLD, tmp_path / "old")
    wanted = {
        "environments": ["deepsea:4"],
        "agents": ["q_learning"],
        "steps": 60,
        "seeds": 4,
        "record": {"points": 10},
    }
    report = steering.sweep(wanted, tmp_path / "old", workers=0)
    assert report.complete
    assert len(Store(tmp_path / "old").scan().keys) >= 13
