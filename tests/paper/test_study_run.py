"""A small study from end to end: tuned, compared, written, started again; and the grids that the real one has."""

import dataclasses
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from steering.agents import make_agent
from steering.agents.steering import SteeringOptions
from steering.cli import main
from steering.paper.chapter import Run
from steering.paper.chapters import ladder
from steering.paper.chapters.default.design import (
    FAMILIES,
    OURS,
    TUNING_SEED,
    Design,
    Family,
    Task,
    default_design,
    with_prior,
)
from steering.paper.chapters.default.page import markdown, sizes_data, tasks_data
from steering.paper.chapters.default.tuning import comparison_blocks, oracle_reward, run_design, tune, tuning_blocks
from steering.paper.chapters.default.verdicts import compare
from steering.paper.scale import Block
from steering.paper.source import Source, canonical, run_blocks
from steering.paper.study import run_study
from steering.paper.tables import read_csv
from steering.runs.statistics import LEAST_VALUES
from steering.sweeps.store.load import load
from steering.sweeps.sweep_file import read_sweep

ALL = (OURS, "q_learning", "psrl")
CLASS = ("priormdp:3,2,seed=0", "priormdp:3,2,seed=1")
SMALL = Design(
    "small",
    (
        Task("DeepSea 4", ("deepsea:4",), steps=600, seeds=6, tuning=(2,), families=ALL),
        Task("class", CLASS, steps=200, seeds=3, tuning=(1,), prior={"eta": 3.0}, families=ALL),
    ),
    (
        Family(OURS, ("steering",)),
        Family("q_learning", ("q_learning:epsilon=1", "q_learning:epsilon=0.1")),
        Family("psrl", ("psrl",)),
    ),
)


def runs_in(directory: Path, watch=None) -> Run:
    """Runs blocks in folders of a directory, in this process."""

    def run(name: str, blocks: list[Block], folder: str) -> Source:
        return run_blocks(name, blocks, directory / folder, workers=0, watch=watch)[0]

    return run


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.mktemp("study")
    finals = run_design(runs_in(directory), SMALL)
    chosen = {(row.task, row.family): row.setting for row in finals.itertuples()}
    return directory, finals, chosen


def test_the_best_setting_on_the_tuning_seeds_is_chosen(study) -> None:
    directory, _, chosen = study
    tuned = load(directory / "tuning").finals
    assert set(tuned["seed"]) == {TUNING_SEED, TUNING_SEED + 1}
    means = tuned[tuned["environment"] == "deepsea:4"].groupby("agent")["realised_regret"].mean()
    assert chosen["DeepSea 4", "q_learning"] in ("q_learning:epsilon=1", "q_learning:epsilon=0.1")
    assert means.idxmin().startswith(chosen["DeepSea 4", "q_learning"])
    assert chosen["class", "psrl"] == "psrl:eta=3.0"
    assert chosen["class", "q_learning"].startswith("q_learning:epsilon")


def test_scores_are_regret_over_the_oracles_reward(study) -> None:
    directory, finals, _ = study
    one = finals[(finals["task"] == "DeepSea 4") & (finals["family"] == OURS)].set_index("seed")["score"]
    raw = load(directory / "comparison").finals
    raw = raw[(raw["environment"] == "deepsea:4") & (raw["agent"] == "steering")].set_index("seed")
    pd.testing.assert_series_equal(one, raw["normalised_regret"], check_names=False)
    assert finals["normalised"].all()
    counts = finals.groupby(["task", "family"]).size()
    assert (counts["DeepSea 4"] == 6).all()
    assert (counts["class"] == 6).all()


def test_a_study_that_is_started_again_computes_nothing_and_gives_the_same(study) -> None:
    directory, finals, _ = study
    computed = []
    again = run_design(runs_in(directory, lambda report: computed.append(report.computed)), SMALL)
    pd.testing.assert_frame_equal(again, finals)
    assert max(computed) == 0


def test_a_directory_with_other_runs_gives_what_an_empty_one_gives(tmp_path: Path, monkeypatch) -> None:
    """As after an upgrade that changed a preset: the text of the agent is the same, its options are not."""
    families = (Family(OURS, ("steering",)), Family("paper", ("steering:preset=paper-sound", "steering:preset=paper")))
    task = Task("DeepSea 4", ("deepsea:4",), steps=100, seeds=3, tuning=(2,), families=(OURS, "paper"))
    before = run_design(runs_in(tmp_path / "old"), Design("d", (task,), families))
    for preset in ("paper", "paper-sound"):
        monkeypatch.setitem(SteeringOptions.presets[preset], "info_weight", 40.0)
    smaller = Design("d", (dataclasses.replace(task, seeds=2),), families)
    again = run_design(runs_in(tmp_path / "old"), smaller)
    fresh = run_design(runs_in(tmp_path / "new"), smaller)
    pd.testing.assert_frame_equal(again, fresh)
    assert list(again["seed"]) == [0, 1, 0, 1]
    assert set(before["score"]) != set(fresh["score"])


def test_tuning_halves_and_takes_all_environments_of_a_class(tmp_path: Path) -> None:
    """By hand: seven settings on one seed for each MDP, the best three on two, the best two on four."""
    grid = tuple(f"q_learning:epsilon={e},learning_rate=0.5" for e in (1.0, 0.7, 0.5, 0.3, 0.1, 0.05, 0.02))
    apart = ("priormdp:3,2,seed=0", "priormdp:3,2,seed=7")  # the first alone would choose another setting
    task = Task("class", apart, steps=150, tuning=(1, 2, 4), families=("q_learning",))
    design = Design("d", (task,), (Family("q_learning", grid),))
    chosen = tune(runs_in(tmp_path), design)
    table = load(tmp_path / "tuning").finals
    running = list(grid)
    for seeds, keep in ((1, 3), (2, 2), (4, 1)):
        part = table[table["seed"] < TUNING_SEED + seeds]
        means = {text: part[part["agent"] == canonical(text)]["realised_regret"].mean() for text in running}
        running = sorted(sorted(running, key=means.__getitem__)[:keep], key=grid.index)
    assert chosen["class", "q_learning"] == running[0]
    assert sorted(table.groupby("agent").size()) == sorted([2] * 4 + [4] + [8] * 2)
    assert tune(runs_in(tmp_path), design) == chosen


def test_everything_is_written_and_follows_from_the_table_of_runs(study, monkeypatch) -> None:
    directory, finals, _ = study
    monkeypatch.setattr("steering.paper.chapters.default.default_design", lambda quick: SMALL)
    found = run_study("default", directory, workers=0)
    names = ["study.csv", "study.md", "study_runs.csv", "study_tasks.png", "study_deepsea.png"]
    assert [path.name for path in found.files] == names
    assert all(path.stat().st_size > 200 for path in found.files)
    published = read_csv(directory / "study_runs.csv")
    pd.testing.assert_frame_equal(published, finals)
    pd.testing.assert_frame_equal(found.table, compare(published))
    assert len(found.table) == 4
    assert sum(int(line.split(": ")[1].split()[0]) for line in found.summary) == 4
    assert sum(found.plain()["verdicts"].values()) == 4
    text = (directory / "study.md").read_text(encoding="utf-8")
    assert "| DeepSea 4 |" in text
    assert "compared with" in text
    assert len(tasks_data(finals)) == 6
    assert set(sizes_data(finals)["x"]) == {4}


def test_tasks_where_ours_is_worse_are_listed(study) -> None:
    _, finals, _ = study
    turned = finals.copy()
    turned.loc[turned["family"] == OURS, "score"] += 5.0
    table = compare(turned)
    assert (table["verdict"] == "worse").any()
    assert "| worse in |" in markdown(turned, table)


def test_a_scale_that_is_not_positive_is_refused() -> None:
    assert oracle_reward(Task("cliff", ("gym:CliffWalking-v1",), steps=50)) is None


def test_the_scale_of_a_class_is_the_mean_over_its_mdps() -> None:
    one, other = (oracle_reward(Task("sea", (text,), steps=50)) for text in ("deepsea:4", "deepsea:12"))
    assert one is not None
    assert other is not None
    assert one > 1.5 * other
    both = oracle_reward(Task("sea", ("deepsea:4", "deepsea:12"), steps=50))
    assert both == pytest.approx((one + other) / 2)


# The design of the real one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_the_sweeps_are_valid_and_the_comparison_has_the_seeds_that_it_says(quick: bool) -> None:
    design = default_design(quick=quick)
    running = {(t.name, f.name): design.settings(t, f) for t in design.tasks for f in design.of(t)}
    first = {key: settings[0] for key, settings in running.items()}
    tuning, comparison = (
        read_sweep({"name": "x", "blocks": [block.description() for block in blocks]})
        for blocks in (tuning_blocks(design, running, 0), comparison_blocks(design, first))
    )
    assert len(comparison.plan) > len(design.tasks) * 20
    assert not set(tuning.plan.keys()) & set(comparison.plan.keys())
    assert all(OURS in {f.name for f in design.of(task)} for task in design.tasks)
    assert len({task.name for task in design.tasks}) == len(design.tasks)


def test_the_study_covers_what_it_promises() -> None:
    design = default_design()
    environments = {env for task in design.tasks for env in task.environments}
    for n in (4, 8, 15, 20, 30, 40):
        assert f"deepsea:{n}" in environments
    assert {"widenarrow:1,12", "widenarrow:2,6", "riverswim:6", "riverswim:12", "griddeepsea:10"} <= environments
    assert {"gym:FrozenLake-v1", "gym:Taxi-v4", "gym:CliffWalking-v1"} <= environments
    assert sum(env.startswith("priormdp:4,2") for env in environments) == 20
    assert {task.prior.get("eta") for task in design.tasks} == {None, 0.1, 3.0, 10.0}
    assert sum("normal_gamma" in task.prior for task in design.tasks) >= 3
    for task in design.tasks:
        assert len(task.environments) * task.seeds >= (60 if len(task.environments) > 1 else 30)
        assert len(task.environments) == 1 or task.seeds >= LEAST_VALUES
        assert len(task.environments) * task.tuning[-1] >= (6 if task.name in ("Taxi", "grid DeepSea 10") else 24)


def test_every_baseline_has_a_grid_and_a_learned_twin() -> None:
    names = {family.name for family in FAMILIES}
    for name in ("ube", "mm", "psrl", "ids"):
        assert {name, f"{name}, learned"} <= names
    for family in FAMILIES:
        for setting in family.settings:
            options = make_agent(setting).options
            if family.name.endswith("learned"):
                assert options.concentration == "learned"
    assert next(f for f in FAMILIES if f.name == OURS).settings == ("steering",)


def test_options_are_added_where_an_agent_has_them() -> None:
    assert with_prior("psrl", {"eta": 3.0}) == "psrl:eta=3.0"
    assert with_prior("ids:planning=mean", {"eta": 3.0}) == "ids:planning=mean,eta=3.0"
    assert with_prior("q_learning", {"eta": 3.0}) == "q_learning"
    wide = with_prior("psrl", {"normal_gamma": (0, 4, 3, 0.03)})
    assert make_agent(wide).options.normal_gamma == (0, 4, 3, 0.03)


# The ladder ----------------------------------------------------------------------------------------------------------


def test_the_ladder_leads_from_the_literal_paper_to_the_default() -> None:
    texts = [text for _, text in ladder.rungs()]

    def options(text: str) -> dict[str, object]:
        return {k: v for k, v in dataclasses.asdict(make_agent(text).options).items() if k != "preset"}

    assert options(texts[0]) == options("steering:preset=paper")
    assert options(texts[4]) == options("steering:preset=paper-sound")
    assert options(texts[-1]) == options("steering")
    assert len({repr(options(text)) for text in texts}) == len(texts)


def test_a_small_ladder_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ladder, "TASKS", (Task("DeepSea 4", ("deepsea:4",), steps=60, seeds=3),))
    found = run_study("ladder", tmp_path, workers=0)
    assert [path.name for path in found.files] == ["ladder.csv", "ladder.md", "ladder_runs.csv"]
    assert len(found.table) == len(ladder.rungs())
    assert (found.table["low"] <= found.table["high"]).all()
    assert (tmp_path / "ladder.md").read_text(encoding="utf-8").splitlines() == found.summary
    assert len(found.summary) == len(found.table) + 2


def test_a_ladder_reads_its_own_runs_only(tmp_path: Path, monkeypatch) -> None:
    tasks = (Task("DeepSea 4", ("deepsea:4",), steps=60, seeds=18),)
    ladder.run_ladder(runs_in(tmp_path / "old"), tasks)
    monkeypatch.setitem(SteeringOptions.presets["paper"], "info_weight", 0.1)
    fewer = (dataclasses.replace(tasks[0], seeds=12),)
    again = ladder.run_ladder(runs_in(tmp_path / "old"), fewer)
    pd.testing.assert_frame_equal(again, ladder.run_ladder(runs_in(tmp_path / "new"), fewer))
    assert list(ladder.answer(again)["runs"]) == [12] * 13


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "study"
    command = [sys.executable, "-m", "steering", "study", "default", "--quick", "--workers", "0", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not list(out.glob("tuning/shards/cells-*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith(f"interrupted; finished runs are in {out}. Start again to continue.\n")


def test_an_unknown_study_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["study", "defualt", "--out", str(tmp_path / "x")])
    assert stop.value.code == 2
    assert "did you mean 'default'" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
