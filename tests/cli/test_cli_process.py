"""Real processes, signals, pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from cli_tools import COMMAND, environment

LONG = ("--steps", "5000", "--seeds", "2000")


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read the process's standard error until a line holds the text."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the process ended without saying '{text}'")


def test_ctrl_c_leaves_what_is_finished(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    short = ("--steps", "20", "--seeds", "1")
    subprocess.run([*COMMAND, "run", "deepsea:4", "-a", "psrl", *short], env=environment(), check=True)  # it compiles
    line = [*COMMAND, "run", "deepsea:4", "-a", "q_learning", "-a", "psrl", *LONG, "--out", str(target), "--json"]
    with subprocess.Popen(
        line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(process, "psrl: 2000 runs")
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    finals = pd.read_csv(target / "finals.csv")
    assert err == f"interrupted: {len(finals)} of 4000 runs finished.\n"
    assert 2000 < len(finals) < 4000
    assert [row["agent"] for row in json.loads(out)["results"]] == ["q_learning", "psrl"]
    assert [row["seeds"] for row in json.loads(out)["results"]] == [2000, len(finals) - 2000]
    assert sorted(os.listdir(target)) == ["curves.csv", "finals.csv", "regret.png", "settings.json"]


def test_ctrl_c_before_anything_is_finished_leaves_nothing(tmp_path: Path) -> None:
    endless = ("--steps", "100000000", "--seeds", "1")
    line = [*COMMAND, "run", "deepsea:4", "-a", "psrl", *endless, "--out", str(tmp_path / "new" / "kept")]
    with subprocess.Popen(
        line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(process, "psrl: 1 run ")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err == "interrupted: 0 of 1 run finished.\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("columns", ["60", "120"])
def test_on_a_terminal_there_is_a_progress_bar_and_the_table_fits(columns: str) -> None:
    master, slave = pty.openpty()
    line = [*COMMAND, "run", "deepsea:4", "-a", "q_learning", "--steps", "2000", "--seeds", "20"]
    variables = environment(COLUMNS=columns, TERM="xterm-256color")
    with subprocess.Popen(line, env=variables, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        text = read_all(master)
    assert process.returncode == 0
    assert "━" in text
    assert "20/20" in text
    table = [row.rstrip("\r") for row in text.splitlines() if row.startswith(("│", "└"))]
    assert table
    assert max(len(row) for row in table) <= int(columns)
    assert ("ms a run" in text) == (columns == "120")


def read_all(terminal: int) -> str:
    """Everything that is written to a terminal until its other end is closed."""
    content = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            content += os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
    os.close(terminal)
    return content.decode()


@pytest.mark.parametrize("arguments", [("agents", "--json"), ("agents",)])
def test_a_reader_that_goes_away_ends_it_without_a_word(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*COMMAND, *arguments], env=environment(), stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120
    )
    os.close(writing)
    assert process.stderr == ""
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("typed", "position", "expected"),
    [
        ("steering ru", 1, ["run"]),
        ("steering run dee", 2, ["deepsea"]),
        ("steering run deepsea:8 --agent p", 4, ["psrl"]),
        ("steering run --se", 2, ["--seeds"]),
    ],
)
def test_the_shell_completes(typed: str, position: int, expected: list[str]) -> None:
    asked = environment(_STEERING_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(position))
    done = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == expected


def test_help_starts_without_the_compiler_and_the_plotting() -> None:
    heavy = ("numba", "scipy", "pandas", "matplotlib", "gymnasium")
    code = f"import sys, steering.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
