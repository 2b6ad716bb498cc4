"""Numbers as people write them, hints for names that are nearly right, and tables in a narrow terminal."""

from __future__ import annotations

import json

import pytest
from cli_tools import call
from rich.table import Table

from steering.cli.common import PlainConsole
from steering.errors import unknown_name

Capture = pytest.CaptureFixture[str]


def finals(capsys: Capture, *options: str) -> tuple[int, int, float]:
    done = call(capsys, "run", "deepsea:4", "-a", "q_learning", *options, "--json")
    assert done.code == 0, done.err
    (row,) = json.loads(done.out)["results"]
    return row["steps"], row["seeds"], row["mean"]


def test_steps_as_powers_of_ten(capsys: Capture) -> None:
    plain = finals(capsys, "-t", "100", "-k", "2")
    for text in ("1e2", "1E2", "100.0", "1_00"):
        assert finals(capsys, "-t", text, "-k", "2") == plain


def test_seeds_as_a_number_or_a_list(capsys: Capture) -> None:
    first = finals(capsys, "-t", "100", "-k", "3")
    assert finals(capsys, "-t", "100", "-k", "0,1,2") == first
    assert finals(capsys, "-t", "100", "-k", "2, 0 ,1") == pytest.approx(first)
    assert finals(capsys, "-t", "100", "-k", "7,8")[:2] == (100, 2)
    assert finals(capsys, "-t", "100", "-k", "7,")[:2] == (100, 1)
    assert finals(capsys, "-t", "100", "-k", "7,")[2] != finals(capsys, "-t", "100", "-k", "8,")[2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-t", "1.5"), "'1.5' is not a whole number; write 10000, or 1e4"),
        (("-t", "inf"), "'inf' is not a whole number"),
        (("-t", "many"), "'many' is not a whole number"),
        (("-k", "1,x"), "'x' is not a whole number"),
        (("-k", "1,,2"), "'1,,2' lacks a seed beside a comma; write 10 for that many, or the seeds: 1,2,3"),
        (("-k", ","), "',' lacks a seed beside a comma"),
        (("-k", "3,3"), "a seed is given twice"),
        (("-k", "0"), "--seeds is 0; it must be at least 1"),
    ],
)
def test_numbers_that_are_none(options: tuple[str, ...], says: str, capsys: Capture) -> None:
    done = call(capsys, "run", "deepsea:4", "-a", "q_learning", *options)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("PSRL", "error: unknown agent 'PSRL': did you mean 'psrl'?\n"),
        ("Steering:eta=2", "error: unknown agent 'Steering': did you mean 'steering'?\n"),
        (
            "psrl,steering",
            "error: 'psrl,steering' is several agents; give one at a time: -a psrl -a steering (in Python, a list).\n",
        ),
        (
            "Steering,preset=v1,eta=2",
            "error: unknown agent 'Steering,preset=v1,eta=2'; options follow a colon: 'steering:preset=v1,eta=2'.\n",
        ),
    ],
)
def test_names_that_are_nearly_right(agent: str, says: str, capsys: Capture) -> None:
    done = call(capsys, "run", "deepsea:4", "-a", agent)
    assert (done.code, done.err) == (2, says)


def test_case_comes_before_likeness() -> None:
    assert "did you mean 'mbie_eb'?" in str(unknown_name("agent", "MBIE_EB", ["mbie", "mbie_eb", "beb"]))


@pytest.mark.parametrize("width", [30, 60, 200])
def test_a_narrow_terminal_drops_nothing(width: int, capsys: Capture) -> None:
    console = PlainConsole(stderr=False)
    console.width = width
    table = Table(*(f"heading{i}" for i in range(8)), title="Many columns", caption="and a caption")
    table.add_row(*(f"value{i}" for i in range(8)))
    table.add_row(*(f"[b]{i}[/b]" for i in range(8)))
    console.print(table)
    shown = capsys.readouterr().out
    assert "…" not in shown
    for i in range(8):
        assert f"heading{i}" in shown
        assert f"value{i}" in shown
        assert f"[b]{i}[/b]" in shown
    assert "Many columns" in shown
    assert "and a caption" in shown
    assert max(map(len, shown.splitlines())) <= width
    assert ("┃" in shown) == (width == 200)


@pytest.mark.parametrize("line", ["hardness deepsea:4 riverswim:3", "hardness chain", "agents", "envs"])
def test_commands_in_sixty_columns(line: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from steering.cli import common

    monkeypatch.setattr(common.out, "width", 60)
    done = call(capsys, *line.split())
    assert done.code == 0
    assert "…" not in done.out
