"""Wrong input of every kind: one sentence on standard error, exit code 2, nothing printed, nothing written."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from cli_tools import call

from steering.cli import main
from steering.cli.common import EXIT_BAD_INPUT, EXIT_DISK_FULL, EXIT_FAILURE
from steering.cli.program import app

SHORT = ("--steps", "20", "--seeds", "1")
NAN_REWARD = """{"schema": "steering-mdp", "version": 1, "P": [[[0.5, 0.5], [1, 0]], [[0, 1], [1, 0]]],
"reward_mean": [[NaN, 0], [0, 0]]}"""
NAN_PROBABILITY = (
    """{"schema": "steering-mdp", "version": 1, "P": [[[NaN, 0.5]], [[0, 1]]], "reward_mean": [[0], [0]]}"""
)

WRONG = [
    (["run", "depsea:8", "-a", "psrl"], "unknown environment 'depsea': did you mean 'deepsea'?"),
    (["run", "deepsea:8", "-a", "psrll"], "unknown agent 'psrll': did you mean 'psrl'?"),
    (["run", "deepsea:8", "-a", "psrl:etta=1"], "did you mean 'eta'?"),
    (["run", "deepsea:8,size=3", "-a", "psrl"], "unknown option of deepsea 'size'"),
    (["run", "deepsea", "-a", "psrl"], "deepsea needs n"),
    (["run", "deepsea:1", "-a", "psrl"], "n of deepsea is 1; it must be at least 3"),
    (["run", "priormdp:100000,2", "-a", "psrl"], "make it smaller"),
    (["run", "priormdp:1,2", "-a", "psrl"], "has one state"),
    (["run", "priormdp:3,1", "-a", "psrl"], "has one action in every state"),
    (["run", "widenarrow:2,1", "-a", "psrl"], "has one action in every state"),
    (["run", "deepsea:8", "-a", "psrl:eta=0"], "eta is 0"),
    (["run", "deepsea:8", "-a", "mm:eta=-1"], "eta is -1"),
    (["run", "deepsea:8", "-a", "ids:eta=nan"], "eta is nan"),
    (["run", "deepsea:8", "-a", "ube:eta=inf"], "eta is inf"),
    (["run", "deepsea:8", "-a", "psrl:eta=much"], "must be a number"),
    (["run", "deepsea:8,discount=1", "-a", "psrl"], "discount is 1; without a horizon it must be below 1"),
    (["run", "deepsea:8,discount=0.999999999999", "-a", "psrl"], "discount is 0.999999999999; without a horizon"),
    (["run", "riverswim:6,left_reward=1e308,right_reward=1e308", "-a", "psrl"], "reaches 1e+308 in size"),
    (["run", "deepsea:8,discount=1.5,horizon=8", "-a", "psrl"], "discount is 1.5; it must be from 0 to 1"),
    (["run", "deepsea:8,horizon=0", "-a", "psrl"], "horizon is 0"),
    (["run", "priormdp:4,2,seed=-1", "-a", "psrl"], "seed of priormdp is -1"),
    (["run", "deepsea:8", "-a", "psrl", "--seeds", "-1"], "--seeds is -1; it must be at least 1"),
    (["run", "deepsea:8", "-a", "psrl", "--seeds", "0"], "--seeds is 0"),
    (["run", "deepsea:8", "-a", "psrl", "--steps", "0"], "--steps is 0; it must be at least 1"),
    (["run", "deepsea:8", "-a", "psrl", "--steps", "-5"], "--steps is -5"),
    (["run", "deepsea:8", "-a", "psrl", "--steps", "1000000000000"], "use fewer steps"),
    (["run", "deepsea:8", "-a", "psrl", "-a", "psrl:eta=1"], "agent 'psrl' is given twice"),
    (["run", "gym:Blackjack-v1", "-a", "psrl"], "need Discrete"),
    (["run", "gym:NoSuchThing-v0", "-a", "psrl"], "NoSuchThing"),
    (["run", "file:missing.npz", "-a", "psrl"], "there is no file 'missing.npz'"),
    (["run", "file:reward.json", "-a", "psrl"], "reward_mean[0, 0, 0] is nan"),
    (["run", "file:row.json", "-a", "psrl"], "P[0, 0, 0] is nan"),
    (["run", "", "-a", "psrl"], "no name"),
    (["run", "deepsea:8", "-a", ""], "the text is empty, so there is no name; write name:value"),
    (["run", "deepsea:8", "-a", ":eta=1"], "':eta=1' has no name before the colon"),
    (["run", "deepsea:8"], "missing option '--agent'"),
    (["run"], "missing argument 'env'"),
    (["run", "deepsea:8", "-a", "psrl", "--seeds", "ten"], "'--seeds'"),
    (["run", "deepsea:8", "-a", "psrl", "--sedes", "10"], "--seeds"),
    (["tell", "mill", "1x"], "invalid value for 'id': '1x' is not a whole number (see: steering tell --help)"),
    (["tell", "mill", "1", "--reward", "much"], "invalid value for '--reward': 'much' is not a number (see: "),
    (["rum"], "did you mean 'run'?"),
    (["agents", "idss"], "did you mean 'ids'?"),
    (["envs", "riversim"], "did you mean 'riverswim'?"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=lambda value: " ".join(value)[:60])
def test_wrong_input(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reward.json").write_text(NAN_REWARD)
    Path("row.json").write_text(NAN_PROBABILITY)
    before = sorted(os.listdir())
    writing = ["--out", "results"] if arguments[0] == "run" else []
    done = call(capsys, *arguments, *writing)
    assert sentence in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert done.out == ""
    # Too little memory is no fault of the input: on another machine the same command works.
    assert done.code == (1 if "GB are free" in done.err else EXIT_BAD_INPUT)
    assert sorted(os.listdir()) == before


EMPTY = [
    ["run", "deepsea:4", "-a", "psrl", *SHORT, "--out", ""],
    ["sweep", "sweep.toml", "--out", ""],
    ["status", ""],
    ["retry", " "],
    ["summary", ""],
    ["summary", "results", "--out", ""],
    ["plot", ""],
    ["export", "results", ""],
    ["study", "default", "--quick", "--out", ""],
    ["reproduce", "--out", ""],
]


@pytest.mark.parametrize("arguments", EMPTY, ids=" ".join)
def test_an_empty_path_is_not_the_current_directory(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text('environments = ["deepsea:4"]\nagents = ["psrl"]\nsteps = 20\nseeds = 1\n')
    done = call(capsys, *arguments)
    assert (done.code, done.out) == (EXIT_BAD_INPUT, "")
    assert "the path is empty; give a directory" in done.err
    assert os.listdir() == ["sweep.toml"]


@pytest.mark.parametrize("where", ["taken", "taken/below/it", "/dev/null/below"])
def test_out_that_cannot_be_written_is_refused_before_running(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("mine")
    done = call(capsys, "run", "deepsea:4", "-a", "psrl", *SHORT, "--out", where)
    assert done.code == EXIT_BAD_INPUT
    assert f"--out {where} cannot be written" in done.err
    assert done.err.count("\n") == 1  # not even the line that a run has begun
    assert os.listdir() == ["taken"]
    assert Path("taken").read_text() == "mine"


def test_a_disk_that_fills_up_costs_the_files_not_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("run", "deepsea:4", "-a", "psrl", *SHORT, "--out", str(tmp_path / "full"))
    assert call(capsys, *line).code == 0  # everything is compiled now
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(SystemExit) as stop:
            main(line)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    printed = capsys.readouterr()  # read only now: it goes through a file, too
    assert stop.value.code == EXIT_DISK_FULL
    assert f"--out {tmp_path / 'full'} is not complete" in printed.err
    assert "finals.csv: File too large; free some space" in printed.err
    assert "│ psrl" in printed.out


def test_unexpected_errors_are_one_line_unless_debugging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise RuntimeError("something inside")

    def hungry() -> None:
        raise MemoryError("8 TB")

    known = list(app.registered_commands)
    app.command(name="broken")(broken)
    app.command(name="hungry")(hungry)
    try:
        done = call(capsys, "broken")
        assert (done.code, done.out) == (EXIT_FAILURE, "")
        assert done.err == "error: RuntimeError: something inside (set STEERING_DEBUG=1 to see where)\n"
        assert "not enough memory (8 TB)" in call(capsys, "hungry").err
        monkeypatch.setenv("STEERING_DEBUG", "1")
        with pytest.raises(RuntimeError, match="something inside"):
            main(["broken"])
    finally:
        app.registered_commands[:] = known
