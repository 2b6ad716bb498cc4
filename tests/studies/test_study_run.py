"""A small study from end to end: tuned, compared, written, started again; and the grids that the real one has."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from steering.agents import make_agent
from steering.cli import main
from steering.experiments.studies import Cell, Design, Family, compare, default_design, ladder, run_study
from steering.experiments.studies.design import FAMILIES, OURS, TUNING_SEED, with_options
from steering.experiments.studies.page import cells_data, markdown, sizes_data, write_study
from steering.experiments.studies.run import comparison_sweep, reward_scale, seeds_of, tuning_sweep
from steering.experiments.sweep_file import read_sweep
from steering.results import load

ALL = (OURS, "q_learning", "psrl")
CLASS = ("priormdp:3,2,seed=0", "priormdp:3,2,seed=1")
SMALL = Design(
    "small",
    (
        Cell("DeepSea 4", ("deepsea:4",), steps=600, seeds=4, tuning=2, families=ALL),
        Cell("class", CLASS, steps=200, seeds=2, tuning=1, prior={"eta": 3.0}, families=ALL),
    ),
    (
        Family(OURS, ("steering",)),
        Family("q_learning", ("q_learning:epsilon=1", "q_learning:epsilon=0.1")),
        Family("psrl", ("psrl",), most_seeds=2),
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
    assert counts["DeepSea 4", OURS] == 4
    assert counts["DeepSea 4", "psrl"] == 2
    assert counts["class", OURS] == 4


def test_a_study_that_is_started_again_computes_nothing_and_gives_the_same(study) -> None:
    directory, finals, _ = study
    computed = []
    again, _ = run_study(SMALL, directory, workers=0, watch=lambda report: computed.append(report.computed))
    pd.testing.assert_frame_equal(again, finals)
    assert max(computed) == 0


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
    assert reward_scale(Cell("cliff", ("gym:CliffWalking-v1",), steps=50)) is None
    assert reward_scale(Cell("sea", ("deepsea:4",), steps=50)) == pytest.approx(
        float(reward_scale(Cell("sea", ("deepsea:4", "deepsea:4"), steps=50)) or 0)
    )


# The design of the real one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_the_sweeps_are_valid_and_the_comparison_has_the_seeds_that_it_says(quick: bool) -> None:
    design = default_design(quick=quick)
    tuning = read_sweep(tuning_sweep(design))
    first = {(c.name, f.name): design.settings(c, f)[0] for c in design.cells for f in design.of(c)}
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
    small = [cell for cell in design.cells if cell.name not in ("Taxi", "grid DeepSea 10")]
    assert all(len(cell.environments) * cell.seeds >= 30 for cell in small)


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
    assert seeds_of(Cell("c", ("a",) * 20, seeds=6), Family("f", ("psrl",), most_seeds=10)) == 2


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


def test_an_unknown_study_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["study", "defualt", "--out", str(tmp_path / "x")])
    assert stop.value.code == 2
    assert "did you mean 'default'" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
