"""The commands of sweeps, as a user types them: output, files and exit codes."""

import itertools
import json
import os

import pytest
from engine_helpers import call, command, faulty

import steering
from steering.cli import main
from steering.errors import SteeringError

SWEEP = """
name = "small"
environments = ["deepsea:4", "riverswim:3"]
agents = ["psrl", "q_learning"]
steps = 60
seeds = 4
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def done(file, tmp_path):
    call("sweep", file, "--out", tmp_path / "out", "--workers", 0)
    return tmp_path / "out"


def test_dry_run_shows_cells_and_time_and_writes_nothing(file, tmp_path):
    text = call("sweep", file, "--out", tmp_path / "out", "--dry-run", "--workers", 2)
    assert "16 cells, 0 done, 16 to run: about" in text
    assert "the time is estimated from runs of 4 pairs of environment and agent over their whole length." in text
    assert "riverswim:3" in text
    assert not (tmp_path / "out").exists()
    data = json.loads(call("sweep", file, "--out", tmp_path / "out", "--dry-run", "--json", "--part", "1/4"))
    assert (data["cells"], data["pending"]) == (4, 4)
    assert data["seconds"] > 0
    assert len(data["groups"]) == 4


def test_dry_run_knows_what_is_done(file, done):
    assert "16 cells, 16 done, 0 to run" in call("sweep", file, "--out", done, "--dry-run")


def test_a_sweep_and_its_status(file, tmp_path):
    data = json.loads(call("sweep", file, "--out", tmp_path / "out", "--workers", 0, "--json"))
    assert (data["cells"], data["done"], data["computed"], data["failed"]) == (16, 16, 16, {})
    state = json.loads(call("status", tmp_path / "out", "--json"))
    assert (state["done"], state["failed"], state["pending"], state["rate"]) == (16, 0, 0, None)
    assert "16" in call("status", tmp_path / "out")


def test_the_old_name_of_part_still_works_and_is_not_shown(file, tmp_path):
    out = tmp_path / "out"
    for name in ("--part", "--shard"):
        assert json.loads(call("sweep", file, "--out", out, "--dry-run", "--json", name, "2/3"))["cells"] == 5
    text = call("sweep", "--help")
    assert "--part" in text
    assert "--shard" not in text


def test_parts_together_are_the_whole(file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    call("sweep", file, "--out", out, "--workers", 0, "--part", "1/3")
    state = json.loads(call("status", out, "--json"))
    assert (state["done"], state["pending"]) == (6, 10)
    call("sweep", file, "--out", out, "--workers", 0, "--part", "2/3")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    monkeypatch.setenv("SLURM_ARRAY_TASK_COUNT", "3")
    call("sweep", file, "--out", out, "--workers", 0, "--part", "auto")
    assert json.loads(call("status", out, "--json"))["pending"] == 0
    assert len(steering.load(out).finals) == 16


def test_failed_cells_give_exit_code_3_and_can_be_tried_again(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(f'environments = ["deepsea:4", "{faulty("crash")}"]\nagents = ["psrl"]\nsteps = 30\nseeds = 2')
    common = ("--workers", 0, "--import", "faulty_envs")
    text = call("sweep", path, "--out", tmp_path / "out", *common, "--retries", 1, code=3)
    assert "2 of 4 cells done" in text
    assert "the ship has sunk" in text
    assert "steering retry" in text
    state = json.loads(call("status", tmp_path / "out", "--json"))
    assert (state["failed"], state["failures"][0]["kind"]) == (2, "error")
    assert "the ship has sunk" in call("status", tmp_path / "out")
    data = json.loads(call("retry", tmp_path / "out", *common, "--retries", 0, "--json", code=3))
    assert (data["computed"], data["retried"], len(data["failed"])) == (0, 0, 2)


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        (
            'environments = ["deepsee:4"]\nagents = ["psrl"]',
            (),
            "line 1, environments[0]: unknown environment",
        ),
        (SWEEP, ("--workers", "-3"), "workers is -3"),
        (SWEEP, ("--part", "5/4"), "part is 5/4"),
        (SWEEP, ("--time-limit", "0"), "time limit is 0"),
        (SWEEP, ("--memory-limit", "0"), "memory limit is 0"),
        (SWEEP, ("--retries", "-1"), "retries is -1"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(text, options, part, tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(SteeringError) as caught:
        call("sweep", path, "--out", tmp_path / "out", *options)
    assert part in str(caught.value)
    assert not (tmp_path / "out" / "journal").exists() or not os.listdir(tmp_path / "out" / "shards")


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("", None, "'' is not a module to import"),
        ("no_such_module", None, "the module 'no_such_module' cannot be imported: No module named"),
        (
            "raises_here",
            "raise RuntimeError('boom')",
            "'raises_here' cannot be imported, its code raises RuntimeError: boom",
        ),
        ("stops_here", "raise SystemExit(0)", "'stops_here' cannot be imported, its code raises SystemExit: 0"),
    ],
)
def test_modules_that_cannot_be_imported_are_bad_input(name, code, says, file, tmp_path, monkeypatch):
    if code is not None:
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for arguments in (("sweep", file, "--out", tmp_path / "out"), ("retry", tmp_path)):
        with pytest.raises(SteeringError, match=says) as caught:
            call(*arguments, "--import", name)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_imports_in_python_are_a_list(file, tmp_path):
    with pytest.raises(SteeringError, match=r"imports is the text 'json'; give a list of modules: imports=\['json'\]"):
        steering.sweep(file, tmp_path / "out", imports="json")
    assert not (tmp_path / "out").exists()


def test_the_process_says_so_too(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text("environments = [3]")
    process = command("sweep", path, "--out", tmp_path / "out")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert err.startswith("error: ")
    assert "line 1, environments[0]" in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_progress_without_a_terminal_is_plain_lines(file, tmp_path):
    process = command("sweep", file, "--out", tmp_path / "out", "--workers", 1)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "16 of 16 done, 0 failed" in err
    assert "\x1b" not in err
    assert "16 of 16 cells done (16 now)" in out


def test_the_journal_tells_the_story(done):
    events = [json.loads(line) for line in next((done / "journal").iterdir()).read_text().splitlines()]
    assert events[0]["event"] == "start"
    assert events[-1] == {**events[-1], "event": "end", "state": "finished", "done": 16, "failed": 0}
    assert sum(event["cells"] for event in events if event["event"] == "batch") == 16
    assert all(earlier["time"] <= later["time"] for earlier, later in itertools.pairwise(events))


def test_summary(done, tmp_path):
    text = call("summary", done, "--out", tmp_path / "report")
    assert "interquartile" in text
    names = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert names == ["by-environment.csv", "improvement.csv", "overall.csv", "summary.md"]
    markdown = (tmp_path / "report" / "summary.md").read_text()
    assert "| psrl | 2 |" in markdown
    data = json.loads(call("summary", done, "--json", "--env", "deepsea:4"))
    assert [row["environment"] for row in data["by_environment"]] == ["deepsea:4", "deepsea:4"]
    with pytest.raises(SteeringError, match="no finished cells for 'nothing'"):
        call("summary", done, "--env", "nothing")


def test_plot_writes_the_same_bytes_twice(done, tmp_path):
    for place in ("a", "b"):
        call("plot", done, "--out", tmp_path / place, "--format", "png,svg,pdf")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [f"{name}.{kind}" for name in ("curves", "profile") for kind in ("pdf", "png", "svg")]
    for name in names:
        content = (tmp_path / "a" / name).read_bytes()
        assert content == (tmp_path / "b" / name).read_bytes()
        assert content[:4] in (b"%PDF", b"\x89PNG", b"<?xm")
    with pytest.raises(SteeringError, match="--format has 'gif'"):
        call("plot", done, "--format", "gif")
    assert call("plot", done, "--format", "png, png").count("curves.png") == 1
    assert (done / "figures" / "curves.png").exists()


def test_plot_does_not_follow_a_link_out_of_the_directory(done, tmp_path):
    (tmp_path / "outside").mkdir()
    (done / "figures").symlink_to(tmp_path / "outside")
    with pytest.raises(SteeringError, match="a link or a file"):
        call("plot", done)
    assert list((tmp_path / "outside").iterdir()) == []


def test_plot_that_draws_nothing_is_an_error(tmp_path):
    grid = {"name": "psrl", "eta": [float(i) for i in range(1, 14)]}
    steering.sweep({"environments": ["deepsea:4"], "agents": [grid], "steps": 20, "seeds": 2}, tmp_path, workers=0)
    with pytest.raises(SteeringError, match=r"no curves: .* no profile: "):
        call("plot", tmp_path)


def test_a_place_that_cannot_be_written_is_bad_input(done, tmp_path, capsys):
    (tmp_path / "file").touch()
    for arguments in (["export", done], ["summary", done, "--out"]):
        with pytest.raises(SystemExit) as stop:
            main([*map(str, arguments), str(tmp_path / "file")])
        assert stop.value.code == 2
        assert str(tmp_path / "file") in capsys.readouterr().err


def test_export(done, tmp_path):
    call("export", done, tmp_path / "csv", "--format", "csv")
    assert (tmp_path / "csv" / "finals.csv").read_text().startswith("environment,agent,steps,seed,reward")
    call("export", done, tmp_path / "tb", "--format", "tensorboard")
    assert len(list((tmp_path / "tb").iterdir())) == 16
    for wrong in ("excel", ""):
        with pytest.raises(SteeringError, match=f"--format is '{wrong}'; choose parquet, csv or tensorboard"):
            call("export", done, tmp_path / "x", "--format", wrong)
    assert not (tmp_path / "x").exists()


def test_damage_is_reported_by_every_reader(done, capfd):
    for shard in (done / "shards").iterdir():
        shard.write_bytes(shard.read_bytes()[:-1])
    assert "not a whole shard" in call("status", done)
    with pytest.raises(SteeringError, match="no finished cells"):
        call("summary", done)
