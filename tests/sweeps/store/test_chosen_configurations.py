"""Which cells are compared: one configuration of a text, seeds that all agents finished, and a note on the rest."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

import steering
from steering.errors import InvalidOption
from steering.mdp import io
from steering.runs import figure
from steering.runs.statistics import area_under_curve
from steering.sweeps import profiles
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.store.plans import configuration_id, read_plan, with_plan
from steering.sweeps.store.selection import select
from steering.sweeps.summary import scores_of, summarise
from steering.sweeps.tracking import write_tensorboard

SWEEP = {"environments": ["deepsea:4"], "agents": ["psrl", "q_learning"], "steps": 60, "seeds": 4}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    place = tmp_path_factory.mktemp("selection")
    steering.sweep(SWEEP, place, workers=0)
    return place


@pytest.fixture
def store(swept, tmp_path):
    return shutil.copytree(swept, tmp_path / "out")


def put(directory, agents, *, environment="toy", config="{}", oracle=1.0):
    """Add cells with known rewards: {agent: {seed: rewards of every step}}."""
    base = steering.run("deepsea:4", "q_learning", steps=2, seeds=1)
    into = Store(directory, create=True)
    for agent, runs in agents.items():
        rewards = np.array(list(runs.values()), dtype=float)
        known = {"rewards": rewards, "expected_rewards": rewards, "oracle_rewards": np.full_like(rewards, oracle)}
        known["oracle_expected"] = np.full(rewards.shape[1], oracle)
        if oracle is None:
            known = {"rewards": rewards, "expected_rewards": None, "oracle_rewards": None, "oracle_expected": None}
        n = len(rewards)
        results = dataclasses.replace(
            base,
            environment=environment,
            agent=agent,
            seeds=tuple(runs),
            visits=np.repeat(base.visits, n, axis=0),
            seconds=np.zeros(n),
            **known,
        )
        keys = [f"{config}{environment}{agent}{seed}".encode().ljust(16, b".")[-16:] for seed in runs]
        rows = schema.rows_of(results, keys, config, 5)
        into.write(schema.to_bytes(rows), n)
    return directory


def test_the_improvement_table_says_who_is_better(tmp_path):
    """Agent `good` has the lower regret with seeds 0 and 1 and the higher one with seed 2: 2 of 3 pairs."""
    good = {0: [1, 1], 1: [1, 1], 2: [0, 0]}
    poor = {0: [0, 0], 1: [0, 1], 2: [1, 1]}
    summary = summarise(steering.load(put(tmp_path / "a", {"good": good, "poor": poor})))
    assert summary.measure == "normalised_regret"
    table = summary.improvement.set_index(["agent", "better_than"])["probability"]
    assert table["good", "poor"] == pytest.approx(2 / 3)
    assert table["poor", "good"] == pytest.approx(1 / 3)
    assert summary.by_environment.set_index("agent")["mean"].to_dict() == pytest.approx({"good": 1 / 3, "poor": 0.5})
    assert summary.notes == []


def test_scores_without_an_oracle_are_negative_rewards_and_so_are_their_areas(tmp_path):
    directory = put(tmp_path / "a", {"good": {0: [1, 2]}, "poor": {0: [0, 1]}}, oracle=None)
    scores = scores_of(steering.load(directory))
    assert scores.measure == "negative_reward"
    assert scores.table["final"].tolist() == [-3, -1]
    areas = [-area_under_curve(np.array([1.0, 2.0]), np.array([c]))[0] for c in ([1.0, 3.0], [0.0, 1.0])]
    assert scores.table["area"].tolist() == pytest.approx(areas)


def test_curves_are_normalised_and_end_at_the_final_scores(tmp_path):
    directory = put(tmp_path / "a", {"one": {0: [0, 4], 1: [4, 4]}}, oracle=4.0)
    table = figure.data(steering.load(directory))
    assert table.attrs["measure"] == "normalised_regret"
    assert table["mean"].tolist() == [0.25, 0.25]
    assert table["seeds"].tolist() == [2, 2]


def test_a_file_that_changed_is_not_mixed_with_what_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wanted = {"environments": ["file:w.json"], "agents": ["psrl"], "steps": 30}
    for size, seeds in ((4, 8), (5, 3)):
        io.save(steering.make_env(f"deepsea:{size}").table, "w.json")
        steering.sweep({**wanted, "seeds": seeds}, "out", workers=0)
    results = steering.load("out")
    assert len(results.finals) == 11
    assert results.finals["configuration"].nunique() == 2
    chosen = select(results)
    newest = configuration_id(read_plan(results.sweep())[0][0])
    assert chosen.finals["configuration"].unique().tolist() == [newest]
    assert len(chosen.finals) == 3
    assert "8 cell(s) are left out" in chosen.notes[0]
    assert summarise(results).by_environment["seeds"].tolist() == [3]
    assert figure.data(results)["seeds"].unique().tolist() == [3]
    assert write_tensorboard(results, "runs") == 3


def test_runs_recorded_twice_count_once(store):
    before = figure.data(steering.load(store))
    steering.sweep({**SWEEP, "record": {"points": 7}}, store, workers=0)
    results = steering.load(store)
    assert len(results.finals) == 16
    table = figure.data(results)
    assert table["seeds"].unique().tolist() == [4]
    assert len(table) == 2 * 7
    ends = [t.groupby("agent").last()[["mean", "low", "high"]].to_numpy() for t in (before, table)]
    np.testing.assert_allclose(ends[0], ends[1])
    steering.sweep(SWEEP, store, workers=0)  # asked for again: nothing to run, but now it is the newest
    assert len(figure.data(steering.load(store))) == len(before)


def test_without_a_plan_the_configuration_with_more_seeds_counts(tmp_path):
    put(tmp_path / "a", {"one": {0: [0, 1]}}, config='{"a":1}')
    put(tmp_path / "a", {"one": {0: [1, 1], 1: [1, 1]}}, config='{"a":2}')
    scores = scores_of(steering.load(tmp_path / "a"))
    assert scores.table["final"].tolist() == [0, 0]
    assert "1 cell(s) are left out" in scores.notes[0]


def test_agents_are_compared_on_the_seeds_that_all_finished(tmp_path):
    good = {0: [1, 1], 2: [0, 1], 3: [1, 1]}
    poor = {0: [0, 0], 1: [1, 1], 3: [0, 1]}
    results = steering.load(put(tmp_path / "a", {"good": good, "poor": poor}))
    summary = summarise(results)
    assert summary.improvement["probability"].tolist() == [1.0, 0.0]
    assert summary.by_environment["seeds"].tolist() == [3, 3]
    assert any("2 of 4 seeds" in note for note in summary.notes)
    assert profiles.data(results)["share"].max() == 1


def test_failed_and_missing_cells_are_noted(store):
    steering.sweep({**SWEEP, "seeds": 2}, store, workers=0)
    saved = with_plan({}, [(text, range(6)) for text, _ in read_plan(Store(store).read_sweep())])
    Store(store).write_sweep(saved)
    text = saved["plan"][0][0]
    record = {"config": json.loads(text), "seed": 5, "kind": "error", "message": "sunk"}
    Store(store).record_failure(b"x" * 16, record)
    notes = summarise(steering.load(store)).notes
    assert any(note.startswith("1 cell(s) failed") for note in notes)
    assert any(note.startswith("3 cell(s) of the sweep are not done") for note in notes)
    assert summarise(steering.load(store, agent="q_learning")).notes == ["2 cell(s) of the sweep are not done yet."]


def test_what_is_done_but_not_chosen_is_not_missing(tmp_path):
    """Two configurations with one text, both asked for and both done."""
    blocks = [{**SWEEP, "agents": ["psrl"], "seeds": 3, "record": {"points": points}} for points in (5, 7)]
    steering.sweep({"blocks": blocks}, tmp_path, workers=0)
    chosen = select(steering.load(tmp_path))
    assert len(chosen.finals) == 3
    assert ["left out" in note for note in chosen.notes] == [True]


def test_failures_of_other_sweeps_are_not_counted(store):
    plan = read_plan(Store(store).read_sweep())
    other = {**json.loads(plan[0][0]), "steps": 61}
    Store(store).record_failure(b"x" * 16, {"config": other, "seed": 0, "message": "sunk"})
    Store(store).write_sweep(with_plan({}, [(text, range(5)) for text, _ in plan]))
    assert select(steering.load(store)).notes == ["2 cell(s) of the sweep are not done yet."]
    (store / "sweep.json").unlink()
    assert select(steering.load(store)).notes[0].startswith("1 cell(s) failed")


def test_several_agents_can_be_loaded(swept):
    assert set(steering.load(swept, agent=["psrl", "q_learning"]).finals["agent"]) == {"psrl", "q_learning"}
    assert set(steering.load(swept, agent="psrl").curves["agent"]) == {"psrl"}


def test_tables_speak_of_the_cells_of_the_first_one_read(store):
    """A sweep goes on between two reads: the numbers of cells must still mean the same cells."""
    results = steering.load(store, environment="deepsea:4")
    finals = results.finals
    steering.sweep({**SWEEP, "agents": ["ids", "psrl"], "seeds": 6}, store, workers=0)
    last = results.curves.groupby("cell").last()
    assert last.index.tolist() == finals.index.tolist()
    np.testing.assert_allclose(last["reward"], finals["reward"])


def test_a_second_export_to_tensorboard_is_refused(swept, tmp_path):
    results = steering.load(swept)
    assert write_tensorboard(results, tmp_path / "runs") == 8
    with pytest.raises(InvalidOption, match="not an empty directory"):
        write_tensorboard(results, tmp_path / "runs")
    assert sum(1 for path in (tmp_path / "runs").rglob("*") if path.is_file()) == 8


@pytest.mark.parametrize(
    "plan",
    [
        3,
        [3],
        [["{}", [1]]],
        [["[]", [1]]],
        [["{", [1]]],
        [['{"environment":"a","agent":"b"}', {"first": 0, "count": 10**12}]],
        [['{"environment":"a","agent":"b"}', [-1]]],
        [['{"environment":"a","agent":"b"}', [1.5]]],
    ],
)
def test_a_plan_that_is_none_is_not_read(plan):
    assert read_plan({"plan": plan}) is None


def test_a_plan_that_would_not_be_read_back_is_left_out(tmp_path):
    """Seeds that are listed count: three million for each of two configurations are more than the limit."""
    seeds = tuple(range(1, 3_000_001))
    groups = [('{"agent":"b","environment":"a"}', seeds), ('{"agent":"c","environment":"a"}', seeds)]
    store = Store(tmp_path, create=True)
    store.write_sweep(with_plan({"name": "x"}, groups))
    assert store.read_sweep() == {"name": "x"}


def test_plans_are_kept_as_they_are():
    groups = [('{"agent":"b","environment":"a"}', range(3, 9)), ('{"agent":"c","environment":"a"}', (5, 2))]
    assert read_plan(json.loads(json.dumps(with_plan({"name": "x"}, groups)))) == groups
