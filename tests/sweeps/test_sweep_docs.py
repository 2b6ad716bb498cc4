"""The guide to sweeps: its commands and its code run, and its example files are sweeps."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steering.cli.program import app
from steering.sweeps.sweep_file import read_sweep

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_the_commands_of_the_guide_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = 0
    for language, text in BLOCKS:
        if language == "toml":
            Path("sweep.toml").write_text(text)
        for line in text.splitlines() if language == "sh" else ():
            program, *arguments = shlex.split(line)
            assert program == "steering"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            ran += 1
    assert ran == 5
    assert Path("results/figures/profile.pdf").exists()


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(text for language, text in BLOCKS if language == "python")
    example = doctest.DocTestParser().get_doctest(code, {}, "sweeps.md", None, 0)
    assert len(example.examples) >= 7
    failed, _ = doctest.DocTestRunner().run(example)
    assert failed == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "sweeps").glob("*.toml")), ids=lambda path: path.stem)
def test_example_sweeps_are_valid(path):
    sweep = read_sweep(path)
    assert sweep.name
    assert len(sweep.plan) >= 10
    assert f"steering sweep examples/sweeps/{path.name} --out" in path.read_text()
