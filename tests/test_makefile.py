"""Make writes only into a VENV that it made itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("target", ["run", "test", "clean"])
def test_a_directory_that_make_did_not_make_is_refused(target: str, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    done = make(target, f"VENV={tmp_path}")
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if "***" in line]
    assert len(said) == 1
    assert f"VENV is '{tmp_path}', which was not made by make and is left alone" in said[0]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(("value", "says"), [("", "VENV is empty"), ("a b", "a path without spaces")])
def test_a_value_that_names_no_directory_is_refused(value: str, says: str) -> None:
    done = make("-n", "clean", f"VENV={value}")
    assert done.returncode != 0
    assert says in done.stderr


def test_a_new_directory_and_one_that_make_made_are_used(tmp_path: Path) -> None:
    new = tmp_path / "new"
    planned = make("-n", "lint", f"VENV={new}").stdout
    marked = planned.index(f"touch {new}/.made-by-make")
    assert marked < planned.index(f"-m venv {new}")  # an interrupted installation can be taken up again
    new.mkdir()
    (new / ".made-by-make").touch()
    assert f"rm -rf {new} " in make("-n", "clean", f"VENV={new}").stdout
