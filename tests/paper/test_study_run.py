"""A small study from end to end: developed, tuned, confirmed, written, started again; and the lists of the real one."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from steering.agents import make_agent
from steering.agents.registry import BUILT_IN
from steering.agents.steering_options import SteeringOptions
from steering.cli import main
from steering.envs import make_env
from steering.paper.chapter import Run, Wish
from steering.paper.chapters import ladder
from steering.paper.chapters.default import STUDY
from steering.paper.chapters.default.details import words
from steering.paper.chapters.default.rivals import LARGE, OURS, RIVALS, controls, rivals_of
from steering.paper.chapters.default.stages import (
    Design,
    all_blocks,
    confirmation_blocks,
    design,
    development_blocks,
    run_stages,
    tuning_blocks,
)
from steering.paper.chapters.default.tasks import CONFIRMATION, DEVELOPMENT, THIRTEEN, new_kinds
from steering.paper.scale import Block
from steering.paper.source import Source, run_blocks
from steering.paper.study import run_study
from steering.paper.tables import read_csv
from steering.paper.task import Task
from steering.runs.oracle import world_of
from steering.sweeps.store.load import load
from steering.sweeps.sweep_file import read_sweep

SMOKE = Wish(smoke=True)
WORDS = {"prior", "verdict", "alone"}


def runs_in(directory: Path, watch=None) -> Run:
    """Runs blocks in folders of a directory, in this process."""

    def run(name: str, blocks: list[Block], folder: str) -> Source:
        return run_blocks(name, blocks, directory / folder, workers=0, watch=watch)[0]

    return run


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory):
    directory = tmp_path_factory.mktemp("study")
    return directory, run_study("default", directory, smoke=True, workers=0)


def test_everything_is_written_and_follows_from_the_published_tables(smoke) -> None:
    directory, found = smoke
    names = [path.name for path in found.files]
    published = ["study.csv", "study_settings.csv", "study_tasks.csv", "study_ladder.csv"]
    assert names == [*published, "study.md", "study_verdicts.png", "study_tasks.png", "study_runs.csv"]
    assert all(path.stat().st_size > 200 for path in found.files)
    tables = {name.removesuffix(".csv"): read_csv(directory / name) for name in published}
    assert STUDY.page(tables) == (directory / "study.md").read_text(encoding="utf-8")
    again = STUDY.answer(read_csv(directory / "study_runs.csv"), SMOKE)
    for name, table in again.items():
        read, made = (one.assign(**{key: words(one[key]) for key in WORDS & set(one)}) for one in (tables[name], table))
        pd.testing.assert_frame_equal(read, made.round(4), check_dtype=False)
    assert len(found.summary) == 3


def test_the_page_begins_with_the_answer(smoke) -> None:
    directory, found = smoke
    lines = (directory / "study.md").read_text(encoding="utf-8").splitlines()
    assert lines[2] == " ".join(found.summary)
    assert lines[4].startswith("![")
    assert lines[6].startswith("| rival | tasks |")
    assert [line for line in lines if line.startswith("## ")] == [
        "## Where it is behind, and why",
        "## Scores in every task",
        "## What the parts are worth",
        "## From the paper to the default",
        "## What was developed on what",
        "## Rivals and their settings",
        "## Run it yourself",
    ]
    study = found.tables["study"]
    shown = study[(study["stage"] == "confirmation") & (study["how"] == "single")]
    counts = shown["verdict"].value_counts()
    assert f"better in {counts.get('better', 0)}, level in {counts.get('tied', 0)}" in lines[2]


def test_scores_are_regret_over_what_is_to_gain(smoke) -> None:
    directory, _ = smoke
    table = read_csv(directory / "study_runs.csv")
    mine = table[(table["task"] == "RiverSwim 12") & (table["how"] == "ours")].set_index("seed")["score"]
    raw = load(directory / "confirmation").finals
    raw = raw[(raw["environment"] == "riverswim:12") & (raw["agent"] == "steering")].set_index("seed")
    pd.testing.assert_series_equal(mine, raw["score"], check_names=False, check_index_type=False)
    assert set(table[table["stage"] == "confirmation"]["seed"]) == {0, 1, 2, 3, 4, 5}


def test_the_best_settings_are_chosen_on_runs_of_their_own(smoke) -> None:
    directory, found = smoke
    runs = read_csv(directory / "study_runs.csv")
    grid = runs[runs["how"] == "grid"]
    means = grid.groupby(["rival", "setting", "task"])["score"].mean().groupby(["rival", "setting"]).mean()
    settings = found.tables["study_settings"]
    for rival in ("psrl", "ids", "ucb_q"):
        chosen = settings[(settings["rival"] == rival) & settings["single"]]["text"].tolist()
        assert chosen == [means[rival].idxmin()] or means[rival][chosen[0]] == means[rival].min()
        assert set(runs[(runs["rival"] == rival) & (runs["how"] == "single")]["setting"]) == set(chosen)
    tuned = load(directory / "tuning").finals
    assert set(tuned["seed"]) == {100, 101}
    part = tuned[tuned["environment"] == "riverswim:12"].assign(name=lambda table: table["agent"].str.partition(":")[0])
    best = part.groupby(["name", "agent"])["score"].mean()["psrl"].idxmin()
    row = runs[(runs["task"] == "RiverSwim 12") & (runs["rival"] == "psrl") & (runs["how"] == "tuned")]
    assert set(row["setting"]) == {best}


def test_a_study_that_is_started_again_computes_nothing_and_gives_the_same(smoke) -> None:
    directory, _ = smoke
    computed = []
    again = run_stages(runs_in(directory, lambda report: computed.append(report.computed)), SMOKE)
    pd.testing.assert_frame_equal(again, read_csv(directory / "study_runs.csv"), check_dtype=False)
    assert max(computed) == 0


def test_agents_of_ones_own_take_part(own_code: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    """By their names on the command line, from a module that registers them."""
    module = (
        "import steering\nfrom steering.agents import Agent\n\n"
        "class Still(Agent):\n"
        "    def act(self, state, step=0):\n        return 0\n"
        "    def observe(self, state, action, reward, next_state, step=0):\n        pass\n\n"
        "steering.register_agent('stands_still', Still)\n"
    )
    (own_code / "my_still_agent.py").write_text(module)
    monkeypatch.chdir(own_code)
    command = ["study", "default", "--smoke", "--out", "s", "--import", "my_still_agent", "--agent", "stands_still"]
    with pytest.raises(SystemExit) as stop:
        main([*command, "--agent", "psrl:eta=0.5", "--workers", "0", "--json"])
    assert stop.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    rows = [row for row in found["tables"]["study"] if row["rival"] in ("stands_still", "psrl:eta=0.5")]
    assert {row["task"] for row in rows if row["stage"] == "confirmation"} == {"RiverSwim 12", "maintenance 12"}
    assert "| `stands_still` | 2 |" in (own_code / "s" / "study.md").read_text(encoding="utf-8")


def test_a_development_stage_stops_there(tmp_path: Path) -> None:
    found = run_study("default", tmp_path, smoke=True, stage="development", workers=0)
    assert not (tmp_path / "confirmation").exists()
    assert set(found.tables["study"]["stage"]) == {"development"}
    assert any(line.startswith("ids: ids") for line in found.summary)
    assert "development" in (tmp_path / "study.md").read_text(encoding="utf-8").splitlines()[0]


# The real one --------------------------------------------------------------------------------------------------------


def test_development_and_confirmation_share_nothing() -> None:
    developed = {env for task in DEVELOPMENT for env in task.environments}
    confirmed = {env for task in CONFIRMATION for env in task.environments}
    assert not developed & confirmed
    for environments, few in (
        (developed, [first + i for first in (0, 1000, 7000, 9000, 11_000, 13_000, 15_000) for i in range(10)]),
        (confirmed, range(17_000, 17_010)),
    ):
        seeds = {int(env.rpartition("seed=")[2].partition(",")[0]) for env in environments if "seed=" in env}
        assert seeds <= set(few)
    assert set(new_kinds()) == {"lonely Garnet", "still lava maze", "noisy queue"}
    assert len(THIRTEEN) == 13
    names = [task.name for task in (*DEVELOPMENT, *CONFIRMATION)]
    assert len(set(names)) == len(names)


def test_every_task_has_something_to_gain() -> None:
    """The optimal policy earns more than a random one: else there is no score."""
    for task in (*DEVELOPMENT, *CONFIRMATION):
        if not task.large:
            oracle = world_of(make_env(task.environments[0])).oracle(task.steps)
            assert oracle.expected.sum() > oracle.random_total + 1e-3 * abs(oracle.random_total), task.name


def test_the_study_covers_what_it_promises() -> None:
    assert {"FrozenLake", "CliffWalking"} <= {task.kind for task in DEVELOPMENT}
    kinds = {task.kind for task in CONFIRMATION}
    assert {"DeepSea", "WideNarrow", "PriorMDP", "RiverSwim", "grid DeepSea", "FrozenLake"} <= kinds
    assert {"maze", "lava maze", "Garnet", "cost Garnet", "lock", "LazyChain", "loop", "chain", "rooms"} <= kinds
    assert {"inventory", "maintenance", "queue", "patience"} <= kinds
    assert any("maze:30" in env for task in CONFIRMATION for env in task.environments)
    for scale in ("0.01", "100"):
        assert any(f"reward_scale={scale}" in env for task in CONFIRMATION for env in task.environments)
    assert all(task.runs >= 30 for task in CONFIRMATION)


def test_every_agent_of_the_package_is_a_rival_with_a_grid() -> None:
    assert {rival.name for rival in RIVALS} == BUILT_IN - {"steering"}
    for rival in RIVALS:
        assert 3 <= len(rival.settings) <= 6
        assert rival.settings[0] == rival.name
        options = [make_agent(text).options for text in rival.settings]
        assert len({repr(one) for one in options}) == len(options)
        if hasattr(options[0], "concentration") and not rival.slow:
            assert any(one.concentration == "learned" for one in options), rival.name
    schedules = [text for rival in RIVALS for text in rival.settings if "replan=learned" in text]
    assert len(schedules) >= 10


def test_controls_change_one_thing_each() -> None:
    for text in controls().values():
        make_agent(text)
    assert "no Stein information" in controls()
    assert OURS not in controls().values()


def test_large_and_slow_tasks_have_fewer_rivals() -> None:
    for task in CONFIRMATION:
        names = {one.name for one in rivals_of(task)}
        assert names == set(LARGE) if task.large else len(names) >= 17
        assert ("bamcp" in names) == task.slow


def test_told_agents_are_told_the_true_range() -> None:
    task = Task("x", "x", ("maintenance:5,profit=10,seed=0",), prior={"eta": 3.0})
    text = task.setting("ucbvi:scale=0.1", task.environments[0])
    options = make_agent(text).options
    assert (options.r_min, options.r_max, options.eta, options.scale) == (-25.0, 10.0, 3.0, 0.1)
    assert make_agent(task.setting("ube", task.environments[0])).options.r_max == 25.0
    assert task.setting("q_learning", task.environments[0]) == "q_learning"
    assert task.setting("psrl:eta=1", task.environments[0]) == "psrl:eta=1"


@pytest.mark.parametrize("smoke", [True, False])
def test_the_sweeps_are_valid_and_have_the_runs_that_they_say(smoke: bool) -> None:
    made = design(Wish(smoke=smoke))
    first = {rival.name: rival.settings[0] for rival in made.rivals}
    tuned = {(task.name, rival.name): rival.settings[-1] for task in made.confirmation for rival in made.rivals}
    blocks = development_blocks(made), tuning_blocks(made), confirmation_blocks(made, first, tuned)
    plans = [read_sweep({"name": "x", "blocks": [one.description() for one in part]}).plan for part in blocks]
    keys = [set(plan.keys()) for plan in plans]
    assert not keys[0] & keys[1]
    assert not keys[1] & keys[2]
    assert not keys[0] & keys[2]
    whole = {one for part in blocks for one in part}
    assert whole <= set(all_blocks(Wish(smoke=smoke)))


def test_the_runs_of_a_task_are_spread_over_its_instances() -> None:
    task = Task("x", "x", tuple(f"lock:3,2,seed={seed}" for seed in range(10)), runs=30)
    assert task.seeds(0, 30) == range(3)
    assert len(task.few(6).environments) == 6
    assert task.few(6).seeds(100, 6) == range(100, 101)
    assert Task("x", "x", ("chain:5",)).few(6).seeds(100, 6) == range(100, 106)


# The ladder ----------------------------------------------------------------------------------------------------------


def test_the_ladder_leads_from_the_literal_paper_to_the_default() -> None:
    texts = [text for _, text in ladder.rungs()]

    def options(text: str) -> dict[str, object]:
        return {k: v for k, v in dataclasses.asdict(make_agent(text).options).items() if k != "preset"}

    assert options(texts[0]) == options("steering:preset=paper")
    assert options("steering:preset=paper-sound") in map(options, texts)
    assert options(texts[-1]) == options("steering")
    assert len({repr(options(text)) for text in texts}) == len(texts)


def test_a_small_ladder_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ladder, "TASKS", (Task("DeepSea 4", "DeepSea", ("deepsea:4",), steps=60, runs=3),))
    said: list[str] = []
    found = run_study("ladder", tmp_path, workers=0, say=said.append)
    (line,) = said
    assert line.startswith(f"{3 * len(ladder.rungs())} runs; if none is there yet, about 0 minutes on 1 core")
    assert [path.name for path in found.files] == ["ladder.csv", "ladder.md", "ladder_runs.csv"]
    table = found.tables["ladder"]
    assert len(table) == len(ladder.rungs())
    assert (table["low"] <= table["high"]).all()
    assert ((table["failed"] >= 0) & (table["failed"] <= 1)).all()
    assert (tmp_path / "ladder.md").read_text(encoding="utf-8").splitlines() == found.summary
    assert len(found.summary) == len(table) + 2


def test_a_ladder_reads_its_own_runs_only(tmp_path: Path, monkeypatch) -> None:
    tasks = (Task("DeepSea 4", "DeepSea", ("deepsea:4",), steps=60, runs=6),)
    ladder.run_ladder(runs_in(tmp_path / "old"), tasks)
    monkeypatch.setitem(SteeringOptions.presets["paper"], "info_weight", 0.1)
    fewer = (dataclasses.replace(tasks[0], runs=4),)
    again = ladder.run_ladder(runs_in(tmp_path / "old"), fewer)
    pd.testing.assert_frame_equal(again, ladder.run_ladder(runs_in(tmp_path / "new"), fewer))
    assert set(ladder.answer(again)["runs"]) == {4}


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "study"
    command = [sys.executable, "-m", "steering", "study", "default", "--smoke", "--workers", "0", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 240
        # The first sweep has begun; waiting for its first results leaves too little of a study of seconds to stop.
        while not list(out.glob("*/sweep.json")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.endswith(f"interrupted; finished runs are in {out}. Start again to continue.\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["defualt"], "did you mean 'default'"),
        (["default", "--stage", "developmnt"], "did you mean 'development'"),
        (["default", "--agent", "pslr"], "did you mean 'psrl'"),
        (["ladder", "--stage", "development"], "stage of the study 'ladder'"),
    ],
)
def test_what_does_not_exist_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], says: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["study", *arguments, "--out", str(tmp_path / "x")])
    assert stop.value.code == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_design_without_runs_of_ours_needs_none_of_its_controls() -> None:
    task = Task("x", "x", ("maze:30,seed=0",), large=True)
    assert list(Design().ours(task)) == [(OURS, "ours")]
