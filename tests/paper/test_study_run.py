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
from steering.paper.studies import Cell, Design, Family, compare, default_design, ladder, run_study
from steering.paper.studies.design import FAMILIES, OURS, TUNING_SEED, with_options
from steering.paper.studies.page import cells_data, markdown, sizes_data, write_study
from steering.paper.studies.run import canonical, comparison_sweep, oracle_reward, tune, tuning_sweep
from steering.runs.statistics import LEAST_VALUES
from steering.sweeps.store.load import load
from steering.sweeps.sweep_file import read_sweep

ALL = (OURS, "q_learning", "psrl")
CLASS = ("priormdp:3,2,seed=0", "priormdp:3,2,seed=1")
SMALL = Design(
    "small",
    (
        Cell("DeepSea 4", ("deepsea:4",), steps=600, seeds=6, tuning=(2,), families=ALL),
        Cell("class", CLASS, steps=200, seeds=3, tuning=(1,), prior={"eta": 3.0}, families=ALL),
    ),
    (
        Family(OURS, ("steering",)),
        Family("q_learning", ("q_learning:epsilon=1", "q_learning:epsilon=0.1")),
        Family("psrl", ("psrl",)),
    ),
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.mktemp("study")
    finals, chosen = run_study(SMALL, directory, workers=0)
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
    one = finals[(finals["cell"] == "DeepSea 4") & (finals["family"] == OURS)].set_index("seed")["score"]
    raw = load(directory / "comparison").finals
    raw = raw[(raw["environment"] == "deepsea:4") & (raw["agent"] == "steering")].set_index("seed")
    pd.testing.assert_series_equal(one, raw["normalised_regret"], check_names=False)
    assert finals["normalised"].all()
    counts = finals.groupby(["cell", "family"]).size()
    assert (counts["DeepSea 4"] == 6).all()
    assert (counts["class"] == 6).all()


def test_a_study_that_is_started_again_computes_nothing_and_gives_the_same(study) -> None:
    directory, finals, _ = study
    computed = []
    again, _ = run_study(SMALL, directory, workers=0, watch=lambda report: computed.append(report.computed))
    pd.testing.assert_frame_equal(again, finals)
    assert max(computed) == 0


def test_a_directory_with_other_runs_gives_what_an_empty_one_gives(tmp_path: Path, monkeypatch) -> None:
    """As after an upgrade that changed a preset: the text of the agent is the same, its options are not."""
    families = (Family(OURS, ("steering",)), Family("paper", ("steering:preset=paper-sound", "steering:preset=paper")))
    cell = Cell("DeepSea 4", ("deepsea:4",), steps=100, seeds=3, tuning=(2,), families=(OURS, "paper"))
    before, _ = run_study(Design("d", (cell,), families), tmp_path / "old", workers=0)
    for preset in ("paper", "paper-sound"):
        monkeypatch.setitem(SteeringOptions.presets[preset], "info_weight", 40.0)
    smaller = Design("d", (dataclasses.replace(cell, seeds=2),), families)
    again, _ = run_study(smaller, tmp_path / "old", workers=0)
    fresh, _ = run_study(smaller, tmp_path / "new", workers=0)
    pd.testing.assert_frame_equal(again, fresh)
    assert list(again["seed"]) == [0, 1, 0, 1]
    assert set(before["score"]) != set(fresh["score"])


def test_tuning_halves_and_takes_all_environments_of_a_class(tmp_path: Path) -> None:
    """By hand: seven settings on one seed for each MDP, the best three on two, the best two on four."""
    grid = tuple(f"q_learning:epsilon={e},learning_rate=0.5" for e in (1.0, 0.7, 0.5, 0.3, 0.1, 0.05, 0.02))
    apart = ("priormdp:3,2,seed=0", "priormdp:3,2,seed=7")  # the first alone would choose another setting
    cell = Cell("class", apart, steps=150, tuning=(1, 2, 4), families=("q_learning",))
    design = Design("d", (cell,), (Family("q_learning", grid),))
    chosen = tune(design, tmp_path, workers=0)
    table = load(tmp_path).finals
    running = list(grid)
    for seeds, keep in ((1, 3), (2, 2), (4, 1)):
        part = table[table["seed"] < TUNING_SEED + seeds]
        means = {text: part[part["agent"] == canonical(text)]["realised_regret"].mean() for text in running}
        running = sorted(sorted(running, key=means.__getitem__)[:keep], key=grid.index)
    assert chosen["class", "q_learning"] == running[0]
    assert sorted(table.groupby("agent").size()) == sorted([2] * 4 + [4] + [8] * 2)
    assert tune(design, tmp_path, workers=0) == chosen


def test_everything_is_written(study, tmp_path: Path) -> None:
    _, finals, _ = study
    table = compare(finals)
    assert len(table) == 4
    paths = write_study(SMALL, finals, table, tmp_path)
    assert {path.name for path in paths} == {"study.csv", "study.md", "study_cells.png", "study_deepsea.png"}
    assert all(path.stat().st_size > 200 for path in paths)
    text = markdown(SMALL, finals, table)
    assert "| DeepSea 4 |" in text
    assert "compared with" in text
    assert len(cells_data(SMALL, finals)) == 6
    assert set(sizes_data(finals)["size"]) == {4}


def test_cells_where_ours_is_worse_are_listed(study) -> None:
    _, finals, _ = study
    turned = finals.copy()
    turned.loc[turned["family"] == OURS, "score"] += 5.0
    table = compare(turned)
    assert (table["verdict"] == "worse").any()
    assert "| worse in |" in markdown(SMALL, turned, table)


def test_a_scale_that_is_not_positive_is_refused() -> None:
    assert oracle_reward(Cell("cliff", ("gym:CliffWalking-v1",), steps=50)) is None


def test_the_scale_of_a_class_is_the_mean_over_its_mdps() -> None:
    one, other = (oracle_reward(Cell("sea", (text,), steps=50)) for text in ("deepsea:4", "deepsea:12"))
    assert one is not None
    assert other is not None
    assert one > 1.5 * other
    both = oracle_reward(Cell("sea", ("deepsea:4", "deepsea:12"), steps=50))
    assert both == pytest.approx((one + other) / 2)


# The design of the real one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_the_sweeps_are_valid_and_the_comparison_has_the_seeds_that_it_says(quick: bool) -> None:
    design = default_design(quick=quick)
    running = {(c.name, f.name): design.settings(c, f) for c in design.cells for f in design.of(c)}
    tuning = read_sweep(tuning_sweep(design, running, 0))
    first = {key: settings[0] for key, settings in running.items()}
    comparison = read_sweep(comparison_sweep(design, first))
    assert len(comparison.plan) > len(design.cells) * 20
    assert not set(tuning.plan.keys()) & set(comparison.plan.keys())
    assert all(OURS in {f.name for f in design.of(cell)} for cell in design.cells)
    assert len({cell.name for cell in design.cells}) == len(design.cells)


def test_the_study_covers_what_it_promises() -> None:
    design = default_design()
    environments = {env for cell in design.cells for env in cell.environments}
    for n in (4, 8, 15, 20, 30, 40):
        assert f"deepsea:{n}" in environments
    assert {"widenarrow:1,12", "widenarrow:2,6", "riverswim:6", "riverswim:12", "griddeepsea:10"} <= environments
    assert {"gym:FrozenLake-v1", "gym:Taxi-v4", "gym:CliffWalking-v1"} <= environments
    assert sum(env.startswith("priormdp:4,2") for env in environments) == 20
    assert {cell.prior.get("eta") for cell in design.cells} == {None, 0.1, 3.0, 10.0}
    assert sum("normal_gamma" in cell.prior for cell in design.cells) >= 3
    for cell in design.cells:
        assert len(cell.environments) * cell.seeds >= (60 if len(cell.environments) > 1 else 30)
        assert len(cell.environments) == 1 or cell.seeds >= LEAST_VALUES
        assert len(cell.environments) * cell.tuning[-1] >= (6 if cell.name in ("Taxi", "grid DeepSea 10") else 24)


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
    assert with_options("psrl", {"eta": 3.0}) == "psrl:eta=3.0"
    assert with_options("ids:planning=mean", {"eta": 3.0}) == "ids:planning=mean,eta=3.0"
    assert with_options("q_learning", {"eta": 3.0}) == "q_learning"
    wide = with_options("psrl", {"normal_gamma": (0, 4, 3, 0.03)})
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


def test_a_small_ladder_runs(tmp_path: Path) -> None:
    cells = (Cell("DeepSea 4", ("deepsea:4",), steps=60, seeds=2),)
    table = ladder.run_ladder(tmp_path, cells=cells, workers=0)
    assert len(table) == len(ladder.rungs())
    assert (table["low"] <= table["high"]).all()
    assert ladder.markdown(table).count("\n") == len(table) + 2


def test_a_ladder_reads_its_own_runs_only(tmp_path: Path, monkeypatch) -> None:
    cells = (Cell("DeepSea 4", ("deepsea:4",), steps=60, seeds=18),)
    ladder.run_ladder(tmp_path / "old", cells=cells, workers=0)
    monkeypatch.setitem(SteeringOptions.presets["paper"], "batch", 1)
    fewer = (dataclasses.replace(cells[0], seeds=12),)
    again = ladder.run_ladder(tmp_path / "old", cells=fewer, workers=0)
    pd.testing.assert_frame_equal(again, ladder.run_ladder(tmp_path / "new", cells=fewer, workers=0))
    assert list(again["runs"]) == [12] * 13


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
