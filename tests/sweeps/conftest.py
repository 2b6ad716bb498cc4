"""Shared by the tests of sweeps: small sweeps, environments that fail, and a real dask cluster."""

from __future__ import annotations

import pytest
from engine_helpers import PATH, PLUGIN, start_dask, stop

SMALL = {"environments": ["deepsea:4", "riverswim:3"], "agents": ["psrl", "q_learning"], "steps": 60, "seeds": 5}


@pytest.fixture(autouse=True)
def _plugin(monkeypatch):
    """This process and its workers find the module with the faulty environments."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.syspath_prepend(str(PLUGIN))


@pytest.fixture
def small():
    return dict(SMALL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    processes, address = start_dask(tmp_path_factory.mktemp("dask"))
    yield address
    stop(processes)
