"""A sweep in a world so large that visits are kept sparse: stored, loaded, tabled and drawn."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cli_tools import call

import steering
from steering import make_env
from steering.runs import visits
from steering.sweeps import maps
from steering.sweeps.store import lists, schema
from steering.sweeps.store.directory import Store

WORLD, AGENTS, STEPS = "maze:8", ["q_learning", "psrl"], 60


@pytest.fixture
def sparse_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "SMALL", 100)  # 8 x 8 cells, 4 actions and 10 windows are more


def wanted() -> dict:
    return {"environments": [WORLD], "agents": AGENTS, "steps": STEPS, "seeds": 3}


def by_hand(agent: str, seed: int) -> pd.DataFrame:
    """Visits of one run, from the steps themselves."""
    dense = np.asarray(steering.run(WORLD, agent, steps=STEPS, seeds=[seed]).visits)[0]
    window, state, action = np.nonzero(dense)
    columns = {"start": 6 * window, "state": state, "action": action, "visits": dense[window, state, action]}
    return pd.DataFrame(columns).astype(np.int64)


def test_a_sweep_keeps_only_what_was_visited(tmp_path, sparse_visits: None) -> None:
    steering.sweep(wanted(), tmp_path, workers=0)
    results = steering.load(tmp_path)
    assert len(results.finals) == 6
    assert not results.problems
    stored = [rows for _, pieces in Store(tmp_path).read(None, []) for rows in pieces]
    for rows in stored:
        assert max(lists.lengths_of(rows, "visits")) <= STEPS  # not 10 x 64 x 4
        np.testing.assert_array_equal(lists.lengths_of(rows, "visits"), lists.lengths_of(rows, "visit_place"))
    table = results.visits
    for (agent, seed), part in table.groupby(["agent", "seed"], observed=True):
        expected = by_hand(str(agent), int(seed))
        found = part[list(expected)].astype(np.int64).reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected)
        assert part["visits"].sum() == STEPS


def test_the_table_does_not_depend_on_how_visits_are_kept(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in (("sparse", 100), ("dense", 10**9)):
        monkeypatch.setattr(visits, "SMALL", small)
        steering.sweep(wanted(), tmp_path / name, workers=0)
    one, other = (steering.load(tmp_path / name).visits for name in ("sparse", "dense"))
    pd.testing.assert_frame_equal(one, other)


def test_status_tables_and_pictures(tmp_path, sparse_visits: None, capsys: pytest.CaptureFixture[str]) -> None:
    steering.sweep(wanted(), tmp_path, workers=0)
    assert "6" in call(capsys, "status", str(tmp_path)).out
    assert WORLD in call(capsys, "summary", str(tmp_path)).out
    assert "visits.png" in call(capsys, "plot", str(tmp_path)).out
    assert (tmp_path / "figures" / "visits.png").stat().st_size > 1000
    table = maps.data(steering.load(tmp_path))
    for agent in AGENTS:
        runs = steering.run(WORLD, agent, steps=STEPS, seeds=3)
        part = table[table["agent"] == agent]
        mean = np.zeros(64)
        mean[part["state"]] = part["visits"]
        np.testing.assert_allclose(mean, runs.state_visits().mean(axis=0))


def test_a_stranger_is_not_made_into_an_environment() -> None:
    assert maps.GRID.fullmatch("maze:100,seed=0")
    assert maps.GRID.fullmatch("rooms:10")
    for text in ("gym:os:system", "maze:99999", "file.json", "my_maze:4"):
        assert maps.GRID.fullmatch(text) is None
    assert not maps._is_grid("maze:9999")
    assert not maps._is_grid("maze:8,colour=red")


def rows_of(text: str, small: int, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    monkeypatch.setattr(visits, "SMALL", small)
    results = steering.run(text, "q_learning", steps=30, seeds=2, windows=2)
    return schema.rows_of(results, [bytes([i] * 16) for i in range(2)], "{}", 5)


@pytest.mark.parametrize("bad", ["outside", "negative", "twice", "missing"])
def test_impossible_places_are_refused(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of("maze:4", 10, monkeypatch)
    lists.check_visits(rows)
    places = [list(row) for row in rows.column("visit_place").to_pylist()]
    if bad == "outside":
        places[1][-1] = 2 * 16 * 4
    elif bad == "negative":
        places[0][0] = -1
    elif bad == "twice":
        places[0][1] = places[0][0]
    else:
        del places[1][0]
    column = pa.array(places, pa.list_(pa.int32()))
    rows = rows.set_column(rows.column_names.index("visit_place"), "visit_place", column)
    with pytest.raises(schema.BadShard, match="visits"):
        lists.check_visits(rows)


def test_both_ways_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory may hold rows of both kinds; each is read by its own."""
    dense, sparse = (rows_of("maze:4", small, monkeypatch) for small in (10**9, 10))
    both = lists.without_zeros(pa.concat_tables([dense, sparse, dense]).combine_chunks())
    places = both.column("visit_place").to_pylist()
    assert places[:2] == places[2:4] == places[4:]
    counts = both.column("visits").to_pylist()
    assert counts[:2] == counts[2:4] == counts[4:]
    assert all(0 not in row for row in counts)


def test_a_large_world_takes_little_room() -> None:
    """maze:100 has 400,000 entries of visits in ten windows; a run of 50 steps keeps at most 50."""
    env = make_env("maze:100")
    counted = visits.count_visits(np.zeros(50, int), np.zeros(50, int), np.arange(0, 51, 5), env.mask.shape)
    stacked = visits.stack_visits([counted], 10, env.mask.shape)
    assert isinstance(stacked, visits.SparseVisits)
    one = steering.run("deepsea:4", "q_learning", steps=50, seeds=1)
    rows = schema.rows_of(dataclasses.replace(one, visits=stacked), [b"k" * 16], "{}", 5)
    assert rows.nbytes < 5000
    assert visits.most_visits(50, 10, 40_000) == 100
