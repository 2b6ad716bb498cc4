"""`steering hardness`: explained, as a table, as JSON, and refusals."""

import json

import pytest
from cli_tools import call


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
