"""Tables of a results directory against the runs they come from."""

import numpy as np
import pandas as pd
import pytest

import steering
from steering.errors import InvalidOption, NotAvailable
from steering.sweeps.store.load import TABLES
from steering.sweeps.summary import markdown_table, scores_of, summarise

RECORD = ["value_gap", "q_posterior", "diagnostics"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = tmp_path_factory.mktemp("load")
    wanted = {
        "steps": 40,
        "seeds": [3, 1],
        "blocks": [
            {"environments": ["deepsea:4"], "agents": ["steering"], "record": {"extra": RECORD, "snapshots": 3}},
            {"environments": ["deepsea:3,horizon=3"], "agents": ["psrl"], "record": {"extra": ["q_posterior"]}},
            {"environments": ["deepsea:4", "deepsea:3,horizon=3"], "agents": ["q_learning"]},
        ],
    }
    steering.sweep(wanted, place, workers=0)
    return place


@pytest.fixture(scope="module")
def results(store):
    return steering.load(store)


def test_finals_are_ordered_and_equal_to_the_runs(results):
    finals = results.finals
    assert finals[["environment", "agent", "seed"]].to_numpy().tolist() == [
        [environment, agent, seed]
        for environment, agents in (
            ("deepsea:3,horizon=3", ("psrl", "q_learning")),
            ("deepsea:4", ("q_learning", "steering")),
        )
        for agent in agents
        for seed in (1, 3)
    ]
    run = steering.run("deepsea:4", "steering", steps=40, seeds=[1, 3]).table()
    mine = finals.query("agent == 'steering'").reset_index(drop=True)
    for name in ("reward", "oracle_reward", "realised_regret", "expected_regret", "normalised_regret"):
        assert mine[name].tolist() == run[name].tolist()


def test_diagnostics_and_information_are_those_of_the_run(results):
    run = steering.run("deepsea:4", "steering", steps=40, seeds=[1, 3], record=RECORD, snapshots=3)
    for i, seed in enumerate((1, 3)):
        mine = results.diagnostics[results.diagnostics["seed"] == seed]
        times = run.plan_times[i][run.plan_times[i] >= 0]  # each seed plans at times of its own
        plans = times.size
        for name in ("info_weight", "gain", "regret", "ratio", "dictionary"):
            rows = mine[mine["diagnostic"] == name]
            assert rows["step"].tolist() == times.tolist()
            assert rows["value"].tolist() == getattr(run.diagnostics, name)[i][:plans].tolist()
        assert mine[mine["diagnostic"] == "value_gap"]["value"].tolist() == run.value_gaps[i][:plans].tolist()
        table = results.information[results.information["seed"] == seed]
        places = np.searchsorted(times, table["step"])
        known = run.diagnostics.information[i][places, table["state"], table["action"]]
        assert np.array_equal(table["information"], known, equal_nan=True)
        assert len(table) == run.diagnostics.information[i][:plans].size


def test_diagnostics_alone_keep_the_true_regret(tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["steering"], "steps": 40, "seeds": 1}
    steering.sweep({**wanted, "record": {"extra": ["diagnostics"]}}, tmp_path, workers=0)
    known = steering.run("deepsea:4", "steering", steps=40, seeds=1, record="diagnostics").diagnostics.true_regret[0]
    table = steering.load(tmp_path).diagnostics
    assert table[table["diagnostic"] == "value_gap"]["value"].tolist() == known.tolist()


@pytest.mark.parametrize(("environment", "agent"), [("deepsea:4", "steering"), ("deepsea:3,horizon=3", "psrl")])
def test_the_posterior_of_q_is_that_of_the_run(environment, agent, results):
    kept = {"record": RECORD, "snapshots": 3} if agent == "steering" else {"record": ["q_posterior"]}
    run = steering.run(environment, agent, steps=40, seeds=[3], **kept)
    q = run.q_posterior
    table = results.posterior.query("agent == @agent and seed == 3")
    places = np.searchsorted(q.times, table["step"])
    at = (table["layer"], table["state"], table["action"])
    assert table["mean"].tolist() == q.mean[0][places, *at].tolist()
    assert table["std"].tolist() == q.std[0][places, *at].tolist()
    assert table["optimal"].tolist() == q.optimal[at].tolist()
    assert len(table) == np.isfinite(q.mean[0]).sum()


def test_visits_are_those_of_the_run(results):
    run = steering.run("deepsea:3,horizon=3", "psrl", steps=40, seeds=[1])
    table = results.visits.query("agent == 'psrl' and seed == 1")
    counts = np.zeros_like(run.visits[0])
    counts[np.searchsorted(run.windows[:-1], table["start"]), table["state"], table["action"]] = table["visits"]
    assert np.array_equal(counts, run.visits[0])
    assert set(zip(table["start"], table["end"], strict=True)) <= set(
        zip(run.windows[:-1], run.windows[1:], strict=True)
    )


def test_parts_can_be_loaded(store, results):
    part = steering.load(store, environment="deepsea:4", agent="q_learning")
    assert len(part.finals) == 2
    assert part.curves["agent"].unique().tolist() == ["q_learning"]
    assert steering.load(store, agent="nobody").finals.empty
    assert steering.load(store, agent="nobody").curves.empty
    assert steering.load(store, agent="nobody").visits.empty
    assert steering.load(store, agent="nobody").posterior.empty


def test_files_hold_the_tables(results, tmp_path):
    results.write(tmp_path)
    for name in TABLES:
        back = pd.read_parquet(tmp_path / f"{name}.parquet")
        assert len(back) == len(getattr(results, name))
    with pytest.raises(InvalidOption, match="choose parquet or csv"):
        results.write(tmp_path, format="pickle")


def test_nothing_in_the_tables_depends_on_time(results):
    for name in TABLES:
        assert not {"seconds", "time", "worker", "host"} & set(getattr(results, name).columns)
    assert (results.timings["seconds"] > 0).all()


def test_xarray(store):
    data = steering.load(store, environment="deepsea:4").to_xarray()
    assert dict(data.sizes) == {"cell": 4, "step": 40}
    run = steering.run("deepsea:4", "q_learning", steps=40, seeds=[1, 3])
    mine = data.where(data["agent"] == "q_learning", drop=True)
    assert mine["regret"].to_numpy().tolist() == run.regret_curve().tolist()


def test_xarray_needs_one_set_of_steps(tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning"], "seeds": 1}
    for steps in (20, 30):
        steering.sweep({**wanted, "steps": steps}, tmp_path, workers=0)
    with pytest.raises(NotAvailable, match="2 different sets of steps"):
        steering.load(tmp_path).to_xarray()
    assert scores_of(steering.load(tmp_path)).tasks == ["deepsea:4, 20 steps", "deepsea:4, 30 steps"]


def test_summary_of_known_scores(results):
    summary = summarise(results)
    assert summary.measure == "normalised_regret"
    finals = results.finals
    for _, row in summary.by_environment.iterrows():
        mine = finals[(finals["environment"] == row["environment"]) & (finals["agent"] == row["agent"])]
        assert row["mean"] == pytest.approx(mine["normalised_regret"].mean())
        assert np.isnan([row["mean_low"], row["mean_high"]]).all() == (len(mine) < 3)
        assert row["score"] == pytest.approx(mine["score"].mean())
        assert row["failed"] == (mine["score"] > 0.5).mean()
    assert summary.overall.empty  # no environment was run by all three agents
    assert "without a seed that every agent finished" in summary.notes[0]
    curve = steering.run("deepsea:4", "steering", steps=40, seeds=[1, 3]).regret_curve(normalised=True)
    area = np.trapezoid(np.concatenate([np.zeros((2, 1)), curve], axis=1), axis=1).mean() / 40
    row = summary.by_environment.query("environment == 'deepsea:4' and agent == 'steering'").iloc[0]
    assert row["area"] == pytest.approx(area)


def test_environments_with_costs_have_a_score(tmp_path):
    wanted = {"environments": ["gym:CliffWalking-v1"], "agents": ["q_learning"], "steps": 30, "seeds": 2}
    steering.sweep(wanted, tmp_path, workers=0)
    summary = summarise(steering.load(tmp_path))
    run = steering.run("gym:CliffWalking-v1", "q_learning", steps=30, seeds=2)
    assert summary.measure == "score"
    assert "normalised" not in summary.markdown()
    assert summary.by_environment["score"].tolist() == [pytest.approx(run.regret(normalised="random").mean())]
    results = steering.load(tmp_path)
    assert results.finals["score"].tolist() == pytest.approx(run.regret(normalised="random"))
    assert results.finals["normalised_regret"].isna().all()


def test_an_empty_store_has_nothing_to_say(tmp_path):
    from steering.sweeps.store.directory import Store

    Store(tmp_path, create=True)
    with pytest.raises(NotAvailable, match="no finished cells"):
        summarise(steering.load(tmp_path))


def test_markdown():
    table = pd.DataFrame({"a_b": ["x|y"], "n": [1.23456789]})
    assert markdown_table(table) == "| a b | n |\n|---|---:|\n| x\\|y | 1.235 |"


def test_agents_without_diagnostics_are_refused_before_anything_runs(tmp_path):
    wanted = {"environments": ["deepsea:4"], "agents": ["psrl"], "record": {"extra": ["diagnostics"]}}
    with pytest.raises(steering.SteeringError, match=r"agents\[0\]: agent 'psrl' has no diagnostics"):
        steering.sweep(wanted, tmp_path / "a", workers=0)
    assert not (tmp_path / "a").exists()
