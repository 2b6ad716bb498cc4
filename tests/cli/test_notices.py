"""The first run says that it compiles: once, on standard error, and not where somebody reads JSON."""

from __future__ import annotations

import os
import subprocess

import pytest
from cli_tools import COMMAND, environment

from steering import _notices
from steering._notices import ASKED, QUIET, SENTENCE, Compiling, compiling_is_said

RUN = ["run", "deepsea:3", "-a", "q_learning", "-t", "20", "-k", "1"]


def started(cache, *more: str) -> subprocess.CompletedProcess[str]:
    given = environment(NUMBA_CACHE_DIR=str(cache))
    given.pop(QUIET, None)
    return subprocess.run([*COMMAND, *RUN, *more], env=given, capture_output=True, text=True, timeout=600, check=True)


def test_a_cold_start_says_so_and_a_warm_one_does_not(tmp_path) -> None:
    first = started(tmp_path)
    assert first.stderr.count(SENTENCE) == 1
    assert "compiling" not in first.stdout
    again = started(tmp_path)
    assert "compiling" not in again.stderr + again.stdout


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(QUIET, raising=False)


def test_it_is_said_once_whoever_compiles(asking: None, capsys: pytest.CaptureFixture[str]) -> None:
    here, elsewhere = Compiling(), Compiling()  # elsewhere: a process that inherited the environment
    with compiling_is_said(True):
        here.begins()
        here.begins()
        elsewhere.begins()
    assert capsys.readouterr().err == f"{SENTENCE}\n"
    assert ASKED not in os.environ
    here.begins()
    assert capsys.readouterr().err == ""


def test_json_and_quiet_are_silent(asking: None, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with compiling_is_said(False):
        Compiling().begins()
    monkeypatch.setenv(QUIET, "1")
    with compiling_is_said(True):
        Compiling().begins()
    assert capsys.readouterr().err == ""


def test_progress_now_and_then(asking: None, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(_notices.time, "monotonic", lambda: now[0])
    notice = Compiling()
    with compiling_is_said(True):
        notice.begins()
        for _ in range(25):
            now[0] += 1.0
            notice.ends()
    lines = capsys.readouterr().err.splitlines()
    assert lines == [SENTENCE, "compiling: 11 functions so far", "compiling: 22 functions so far"]


def test_the_command_line_asks_unless_json_is_wanted(asking: None, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from steering.cli import main, program

    wanted: list[bool] = []

    def said(value: bool):
        wanted.append(value)
        return compiling_is_said(False)

    monkeypatch.setattr(program, "compiling_is_said", said)
    for arguments in (["envs"], ["envs", "--json"]):
        with pytest.raises(SystemExit):
            main(arguments)
    assert wanted == [True, False]
