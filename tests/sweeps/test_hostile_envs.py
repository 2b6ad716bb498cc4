"""Environments of somebody else that misbehave: one sentence names them, their cell fails alone, all others finish."""

import json

import numpy as np
import pyarrow as pa
import pytest
from engine_helpers import FAULTY, command, faulty
from store_helpers import shard

import steering
from steering.errors import UnsupportedEnvironment
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.summary import summarise

SAYS = {
    "nonumber": "gave the reward nan in state",
    "infinite": "gave the reward -inf in state",
    "huge": "gave the reward 1e+101 in state",
    "nothing": "gave the reward None in state",
    "half": "gave the observation 0.5, which is not in its observation space",
    "beyond": "gave the observation 2,",
    "negative": "gave the observation -1,",
    "text": "gave the observation left,",
    "quit": "raised SystemExit in step: 3",
    "fork": "copied the process (fork) in step",
    "spaces": "changed its spaces during a run",
    "crash": "raised RuntimeError in step: the ship has sunk",
}


@pytest.mark.parametrize("workers", [0, 2])
def test_faults_of_environments_fail_alone_and_by_name(workers, tmp_path):
    environments = ["deepsea:4", *map(faulty, SAYS), "riverswim:3"]
    wanted = {"environments": environments, "agents": ["psrl"], "steps": 30, "seeds": 2}
    report = steering.sweep(wanted, tmp_path / "a", workers=workers, retries=0, imports=FAULTY)
    assert (report.done, len(report.failed), report.pending) == (4, 2 * len(SAYS), 0)
    for record in Store(tmp_path / "a").failures().values():
        fault = record["config"]["environment"].partition("fault=")[2]
        assert f"environment 'gym:Faulty-v0,fault={fault}' {SAYS[fault]}" in record["message"]
    assert len(steering.load(tmp_path / "a").finals) == 4


def test_what_hangs_is_named(tmp_path):
    wanted = {"environments": ["deepsea:4", faulty("hang")], "agents": ["psrl"], "steps": 30, "seeds": 1}
    report = steering.sweep(wanted, tmp_path / "a", workers=1, retries=0, time_limit=2.0, imports=FAULTY)
    assert report.done == 1
    assert list(report.failed.values()) == [
        "environment 'gym:Faulty-v0,fault=hang' with psrl: the cell ran for more than 2 s and was ended"
    ]


def test_a_run_names_the_environment(monkeypatch):
    import faulty_envs  # noqa: F401

    with pytest.raises(UnsupportedEnvironment, match=r"environment 'gym:Faulty-v0,fault=half' gave the observation"):
        steering.run(faulty("half"), "psrl", steps=10, seeds=1)


@pytest.mark.parametrize("place", ["run", "sweep"])
def test_an_environment_that_prints_does_not_spoil_json(place, tmp_path):
    if place == "run":
        line = ["run", faulty("print"), "-a", "psrl", "-t", 20, "-k", 2]
    else:
        path = tmp_path / "sweep.toml"
        path.write_text(f'environments = ["{faulty("print")}"]\nagents = ["psrl"]\nsteps = 20\nseeds = 2\n')
        line = ["sweep", path, "--out", tmp_path / "out", "--workers", 1]
    process = command(*line, "--import", "faulty_envs", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert isinstance(json.loads(out), dict)
    assert "hello from Python" in err
    assert "hello from C" in err


@pytest.mark.parametrize("column", ["reward", "realised_regret", "oracle_total"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_stored_value_that_is_not_finite_spoils_only_its_cell(column, value, tmp_path):
    content, _ = shard(range(6))
    rows = schema.read_rows(content)
    clean = Store(tmp_path / "clean", create=True)
    clean.write(schema.to_bytes(rows.slice(1)), 5)
    values = rows.column(column).to_numpy().copy()
    values[0] = value
    index = rows.column_names.index(column)
    Store(tmp_path / "bad", create=True).write(
        schema.to_bytes(rows.set_column(index, column, pa.array(values, pa.float64(), from_pandas=False))), 6
    )
    good, bad = (summarise(steering.load(tmp_path / name)) for name in ("clean", "bad"))
    assert bad.measure == good.measure
    assert bad.by_environment.equals(good.by_environment)
    assert any("1 cell(s) hold numbers that are not finite" in note and "seed 0" in note for note in bad.notes)
    assert steering.load(tmp_path / "bad").summary().equals(steering.load(tmp_path / "clean").summary())
