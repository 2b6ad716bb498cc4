"""Texts of users and strangers at the command line: shown as they are, and never run by the terminal."""

import json
import os
import shlex
import subprocess
import sys
import time

import pytest
from engine_helpers import PATH, call, command, faulty

import steering
from steering.cli import common
from steering.cli.common import visible
from steering.errors import NotAvailable, SteeringError
from steering.mdp import io
from steering.sweeps.store.directory import Store

SWEEP = 'environments = ["deepsea:4"]\nagents = ["psrl", "q_learning"]\nsteps = 30\nseeds = 2\n'
ESCAPES = "\x1b]0;pwned\x07\x1b[2J\x9b31m"


def written(tmp_path, text):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return path


def finished(*arguments):
    process = command(*arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_markup_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(common.out, "width", common.PIPE_WIDTH)  # whatever COLUMNS the tests were started with
    monkeypatch.chdir(tmp_path)
    (tmp_path / "[bold]").mkdir()
    io.save(steering.make_env("deepsea:4").table, "[bold]/x.json")
    text = SWEEP.replace("deepsea:4", "file:[bold]/x.json")
    path = written(tmp_path, f'name = "[/x]boo :smile:"\n{text}')
    shown = call("sweep", path, "--out", "[/d]", "--dry-run")
    assert "[/x]boo :smile:" in shown
    assert "file:[bold]/x.json" in shown
    assert "results: [/d] (" in call("sweep", path, "--out", "[/d]", "--workers", 0)
    assert "[/d]" in call("status", "[/d]")
    assert "file:[bold]/x.json" in call("summary", "[/d]")
    assert "wrote [/d]/figures" in call("plot", "[/d]")


def test_escape_sequences_do_not_reach_the_terminal(tmp_path):
    out = tmp_path / "out"
    call("sweep", written(tmp_path, SWEEP), "--out", out, "--workers", 0)
    store = Store(out)
    key = next(iter(store.scan().keys))
    config = {"environment": ESCAPES, "agent": ESCAPES}
    for shard in store.shards.iterdir():
        shard.unlink()
    store.record_failure(key, {"config": config, "seed": 0, "kind": ESCAPES, "message": ESCAPES})
    (store.shards / f"x{ESCAPES}").write_text("")
    again = ("sweep", tmp_path / "sweep.toml", "--out", out, "-w", 0)
    for arguments in (("status", out), ("summary", out), again, ("status", ESCAPES)):
        _, stdout, stderr = finished(*arguments)
        assert not {"\x1b", "\x07", "\x9b"} & {*stdout, *stderr}, arguments
        assert "\\x1b]0;pwned" in stdout + stderr, arguments
    assert visible(ESCAPES) == r"\x1b]0;pwned\x07\x1b[2J\x9b31m"
    assert visible("ä\tb\nc \u202e") == "ä\tb\nc \\u202e"


def test_status_needs_neither_modules_nor_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    io.save(steering.make_env("deepsea:4").table, "my.json")
    text = SWEEP.replace('"deepsea:4"', f'"file:my.json", "{faulty("crash")}"')
    path = written(tmp_path, text)
    code, out, err = finished("sweep", path, "--out", tmp_path / "out", "-w", 0, "--import", "faulty_envs")
    assert code == 3, err
    assert f"steering retry {shlex.quote(str(tmp_path / 'out'))}" in out
    assert f"failed cells are described in {tmp_path / 'out' / 'failed'}" in out  # a time-out has no traceback
    os.remove("my.json")
    code, out, err = finished("status", tmp_path / "out", "--json")
    assert code == 0, err
    state = json.loads(out)
    assert (state["cells"], state["done"], state["failed"]) == (8, 4, 4)


@pytest.mark.parametrize("name", ["status", "retry"])
def test_errors_of_a_foreign_description_name_its_file(name, tmp_path):
    Store(tmp_path, create=True)
    (tmp_path / "sweep.json").write_text('{"a": 1}')
    with pytest.raises(SteeringError) as caught:
        call(name, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'sweep.json'} has 3 errors:\n")


def test_dry_run_does_not_promise_failed_cells_nor_time_failed_trials(tmp_path):
    path = written(tmp_path, SWEEP.replace('"deepsea:4"', f'"deepsea:4", "{faulty("crash")}"'))
    common = ("--out", tmp_path / "out", "--import", "faulty_envs", "--workers", 0)
    data = json.loads(call("sweep", path, *common, "--dry-run", "--json"))
    assert (data["pending"], data["failed"], data["workers"], data["failed_trials"]) == (8, 0, 1, 2)
    shown = call("sweep", path, *common, "--dry-run")
    assert "on 1 worker." in shown
    assert "the ship has sunk" in shown
    call("sweep", path, *common, "--retries", 0, code=3)
    data = json.loads(call("sweep", path, *common, "--dry-run", "--json"))
    assert (data["cells"], data["done"], data["failed"], data["pending"]) == (8, 4, 4, 0)
    assert "4 done, 4 failed before (steering retry runs them), 0 to run" in call("sweep", path, *common, "--dry-run")


LIMITED = """
import resource, signal, sys
import matplotlib.pyplot, steering.runs.figure, steering.sweeps.summary
from steering.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
main(sys.argv[1:])
"""
"""The command line, where no file may have more than 100 bytes."""


@pytest.mark.parametrize(
    "arguments",
    ["summary {old} --out {new}", "plot {old} --out {new}", "export {old} {new}", "retry {old}",
     "sweep {file} --out {new} -w 0", "study ladder --quick --out {new} -w 0", "study default --quick --out {new} -w 0",
     "reproduce regret --out {new} -w 0"],
)  # fmt: skip
def test_a_full_disk_is_exit_code_4_in_every_command(arguments, tmp_path):
    file = written(tmp_path, SWEEP)
    call("sweep", file, "--out", tmp_path / "old", "--workers", 0)
    places = {"old": tmp_path / "old", "new": tmp_path / "new", "file": file}
    line = [sys.executable, "-c", LIMITED, *(word.format(**places) for word in arguments.split())]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PATH})
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_what_does_not_answer_is_exit_code_1(tmp_path):
    """Not bad input: schedulers of jobs may try again."""
    file, out = written(tmp_path, SWEEP), tmp_path / "out"
    code, _, err = finished("sweep", file, "--out", out, "--scheduler", "tcp://127.0.0.1:1")
    assert (code, "no dask scheduler answers" in err) == (1, True), err
    log = tmp_path / "log"
    file = written(
        tmp_path, f'environments = ["gym:Counted-v0,log={log}"]\nagents = ["psrl"]\nsteps = 10\nseeds = 10000\n'
    )
    process = command("sweep", file, "--out", out, "-w", 0, "--import", "counted_envs")
    while not log.exists() and process.poll() is None:
        time.sleep(0.02)
    out.rename(tmp_path / "elsewhere")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert f"error: {out} cannot be written: No such file" in err


def test_pairs_that_are_not_shown_are_counted(tmp_path):
    agents = ", ".join(f'"psrl:eta={eta}"' for eta in range(2, 10))
    path = written(tmp_path, SWEEP.replace('["psrl", "q_learning"]', f"[{agents}]"))
    call("sweep", path, "--out", tmp_path / "out", "--workers", 0)
    assert "... and 16 more pairs" in call("summary", tmp_path / "out")
    assert len(json.loads(call("summary", tmp_path / "out", "--json"))["improvement"]) == 56
    two = call("summary", tmp_path / "out", "--agent", "psrl:eta=2.0", "--agent", "psrl:eta=3.0", "--json")
    assert len(json.loads(two)["improvement"]) == 2


def test_too_many_variants_are_refused():
    from steering.runs import style

    assert len(set(style.looks([f"ids:eta={i}" for i in range(12)]).values())) == 12
    assert len(set(style.looks(["psrl", *(f"ids:eta={i}" for i in range(8)), "mine", "yours"]).values())) == 11
    assert style.looks(["psrl", "ids"]) == {"psrl": (style.COLOURS["psrl"], "-"), "ids": (style.COLOURS["ids"], "-")}
    with pytest.raises(NotAvailable, match="13 agents of the kind 'ids'"):
        style.looks([f"ids:eta={i}" for i in range(13)])
