"""`steering hardness`: explained, as a table, as JSON, and refusals."""

import json
from pathlib import Path

import pytest
from cli_tools import call

import steering
from steering.runs import hardness_figure


def test_one_environment_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "hardness", "riverswim")
    assert done.code == 0
    assert "14.72" in done.out
    assert "Rounds of improvement" in done.out


def test_several_are_a_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "hardness", "riverswim", "lock:2,3")
    assert done.code == 0
    assert "lock:2,3" in done.out
    rows = json.loads(call(capsys, "hardness", "chain", "griddeepsea:3", "--json").out)
    assert [row["environment"] for row in rows] == ["chain:5", "griddeepsea:3"]
    assert rows[0]["diameter"] == pytest.approx(7.20703125)
    assert rows[1]["reward_time"] == pytest.approx(24.0)


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "hardness", "nonsense").code == 2
    assert "unknown environment" in call(capsys, "hardness", "nonsense").err


def test_a_figure_places_environments_with_scores(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "hardness.svg"
    few = ("-a", "q_learning", "-a", "rmax:m=1", "-t", "200", "-k", "2", "--figure", str(path))
    assert call(capsys, "hardness", "chain", "loop:2", *few).code == 0
    drawn = path.read_text(encoding="utf-8")
    assert call(capsys, "hardness", "chain", "loop:2", *few).code == 0
    assert path.read_text(encoding="utf-8") == drawn
    assert f"wrote {path}" in call(capsys, "hardness", "chain", "loop:2", *few).out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--measure", "x", "--figure", "a.svg"), "measure is 'x'; choose one of"),
        (("-a", "nobody", "--figure", "a.svg"), "unknown agent 'nobody'"),
        (("--figure", "a.txt"), "figures cannot be written as '.txt'"),
        (("--measure", "diameter"), "--measure is about the figure"),
        (("-a", "psrl"), "--agent is about the figure"),
    ],
)
def test_a_figure_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], says: str
) -> None:
    monkeypatch.setattr("steering.runs.run", None)
    done = call(capsys, "hardness", "chain", *options)
    assert done.code == 2
    assert says in done.err


def test_the_table_of_the_figure() -> None:
    runs = [steering.run(env, "q_learning", steps=100, seeds=2) for env in ("chain", "loop:2")]
    table = hardness_figure.data(runs, "diameter")
    assert table["hardness"].tolist() == pytest.approx([7.20703125, 8.0])
    assert table["score"].tolist() == [one.regret(normalised="random", kind="expected").mean() for one in runs]
