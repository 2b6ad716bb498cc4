"""What the commands print and write when all is well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_tools import call
from rich.console import Console

import steering
from steering import runs
from steering.cli.common import PIPE_WIDTH, console, plural, print_json
from steering.cli.run import results_table

RUN = ("run", "deepsea:4", "-a", "psrl", "-a", "ids:planning=mean", "--steps", "80", "--seeds", "3")


def test_run_prints_a_table_with_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, *RUN)
    assert done.code == 0
    assert "deepsea:4: 80 steps, 3 seeds" in done.out
    for name in ("psrl", "ids:planning=mean"):
        row = next(line for line in done.out.splitlines() if line.startswith(f"│ {name} "))
        summary = steering.run("deepsea:4", name, steps=80, seeds=3).summary()
        cells = [cell.strip() for cell in row.strip("│").split("│")]
        assert cells[1:3] == [f"{summary['mean']:.3f}", f"{summary['low']:.3f} to {summary['high']:.3f}"]
    assert "psrl: 3 runs of 80 steps" in done.err  # plain progress where there is no terminal


def test_run_writes_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a" / "b"
    done = call(capsys, *RUN, "--out", str(target), "--json")
    told = json.loads(done.out)
    names = ["finals.csv", "settings.json", "curves.csv", "regret.png"]
    assert told["files"] == [str(target / name) for name in names]
    assert sorted(path.name for path in target.iterdir()) == sorted(names)
    finals = pd.read_csv(target / "finals.csv")
    assert [row["agent"] for row in told["results"]] == ["psrl", "ids:planning=mean"]
    for row in told["results"]:
        mine = finals[finals["agent"] == row["agent"]]["normalised_regret"]
        assert row["measure"] == "normalised_regret"
        assert row["mean"] == pytest.approx(mine.mean(), rel=1e-12)
        assert row["low"] <= row["mean"] <= row["high"]
    curves = pd.read_csv(target / "curves.csv")
    last = curves[(curves["agent"] == "psrl") & (curves["step"] == 80)]["mean"]
    np.testing.assert_allclose(last, finals[finals["agent"] == "psrl"]["normalised_regret"].mean())
    assert (target / "regret.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_command_gives_the_same_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        assert call(capsys, *RUN, "--out", str(tmp_path / name)).code == 0
    for name in ("curves.csv", "settings.json", "regret.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_run_where_regret_has_no_ratio_and_where_there_is_no_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    short = ("-a", "q_learning", "--steps", "40", "--seeds", "1")
    cliff = call(capsys, "run", "gym:CliffWalking-v1", *short).out
    assert "score" in cliff  # costs have no normalised regret
    assert "normalised" not in cliff
    done = call(capsys, "run", "deepsea:4", *short)
    row = next(line for line in done.out.splitlines() if "q_learning" in line)
    assert row.split("│")[3].strip() == "-"  # one seed has no interval
    assert "1 run of 40 steps" in done.err


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_the_table_fits_the_terminal_and_hides_nothing(width: int) -> None:
    runs = [steering.run("deepsea:4", agent, steps=20, seeds=2) for agent in ("psrl", "ids:planning=mean")]
    file = StringIO()
    table = results_table(runs, [one.summary() for one in runs], width=width)
    Console(file=file, width=width).print(table)
    text = file.getvalue()
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    if width >= 100:
        assert "ids:planning=mean" in text
        assert "ms a run" in text
    else:
        assert "--json" in text  # what is left out is said


@pytest.mark.parametrize("interrupted", [0, 1])
def test_an_interrupted_comparison_says_how_many_seeds_each_agent_has(
    interrupted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C after two of five seeds of the first or second agent."""
    began: list[str] = []

    class Stopped(runs.Runs):
        def __iter__(self) -> Iterator[Any]:
            began.append("run")
            last = len(began) == interrupted + 1
            for one in super().__iter__():
                yield one
                if last and len(self.finished) == 2:
                    raise KeyboardInterrupt

    monkeypatch.setattr(runs, "Runs", Stopped)
    agents = ("-a", "q_learning", "-a", "psrl")
    done = call(capsys, "run", "deepsea:4", *agents, "--steps", "40", "--seeds", "5", "--out", str(tmp_path))
    assert done.code == 130
    assert "deepsea:4: 40 steps, 5 seeds, interrupted" in done.out
    counts = {"q_learning": 5, "psrl": 2} if interrupted else {"q_learning": 2}
    lines = {line.split()[1]: line.split("│")[2].strip() for line in done.out.splitlines() if line.startswith("│")}
    assert lines == {name: f"{count} of 5" for name, count in counts.items()}
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert curves.groupby("agent")["seeds"].unique().map(list).to_dict() == {n: [c] for n, c in counts.items()}


def test_consoles_are_wide_in_a_pipe_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == PIPE_WIDTH
    monkeypatch.setenv("COLUMNS", "72")
    assert console().width == 72


def test_catalogs_list_everything(capsys: pytest.CaptureFixture[str]) -> None:
    envs, agents = call(capsys, "envs").out, call(capsys, "agents").out
    for info in steering.list_envs():
        assert f"│ {info.name} " in envs
        assert set(info.summary.split()) <= set(envs.split())
    for row in steering.list_agents():
        assert f"│ {row['name']} " in agents
        assert all(f"{key}=" in agents for key in row["options"])
    assert max(len(line) for line in (envs + agents).splitlines()) <= 100, "a pipe gets lines that can be read"


def test_catalogs_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    agents = json.loads(call(capsys, "agents", "--json").out, parse_constant=refuse)
    assert [row["name"] for row in agents] == [row["name"] for row in steering.list_agents()]
    options = {row["name"]: row["options"] for row in agents}
    assert options["q_learning"]["timescale"] == "inf"
    envs = json.loads(call(capsys, "envs", "deepsea", "--json").out)
    assert [row["name"] for row in envs] == ["deepsea"]


@pytest.mark.parametrize("name", [row["name"] for row in steering.list_agents()])
def test_every_option_of_an_agent_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, "agents", name).out
    options = next(row["options"] for row in steering.list_agents() if row["name"] == name)
    headings = {part.strip() for line in text.splitlines() if not line.startswith(" ") for part in line.split(",")}
    assert options.keys() <= headings


@pytest.mark.parametrize("name", [info.name for info in steering.list_envs()])
def test_every_environment_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "envs", name)
    assert done.code == 0
    assert done.out.startswith(f"{name}: ")


@pytest.mark.parametrize("command", ["run", "envs", "agents"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, command, "--help")
    assert done.code == 0
    assert "Examples" in done.out
    assert f"steering {command}" in done.out.split("Examples")[1]


def test_without_arguments_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys)
    assert done.code == 0
    assert "run" in done.out
    assert call(capsys, "--version").out == f"{steering.__version__}\n"


def test_small_helpers(capsys: pytest.CaptureFixture[str]) -> None:
    assert [plural(n, "seed") for n in (0, 1, 2)] == ["0 seeds", "1 seed", "2 seeds"]
    print_json({"a": [1.5, float("nan")], "b": (Path("x"), float("-inf"))})
    assert json.loads(capsys.readouterr().out) == {"a": [1.5, "nan"], "b": ["x", "-inf"]}
