"""The page, its figures and the examples of the Stein library run and say what they show."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "stein.md"


@pytest.fixture(scope="module")
def figures() -> dict:
    return runpy.run_path(str(ROOT / "docs" / "figures" / "stein_figures.py"))


def test_examples_of_the_page() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 9
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted > 35


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/stein_*.py")), ids=lambda path: path.stem)
def test_examples_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    if path.stem == "stein_goodness_of_fit":
        assert lines[1].startswith("row (state 3, action 1) does not fit")
        assert len(lines) == 2


def test_numbers_that_the_page_quotes(figures: dict) -> None:
    text = PAGE.read_text(encoding="utf-8")
    floor = figures["floor_data"]()
    assert f"still gives {floor['difference'][-1]:.2f}" in text
    assert f"`barker` {floor['barker'][-1]:.1e}" in text
    assert floor["difference"].min() > 0.5
    tail = figures["tail_data"]()
    assert f"median {np.median(tail['difference']):.2f}" in text
    assert f"90 % quantile {np.quantile(tail['difference'], 0.9):.0f}" in text
    numbering = figures["numbering_data"]()
    low, high = numbering["difference"].min(), numbering["difference"].max()
    assert f"from {low:.2f} to {high:.0f}" in text
    assert np.ptp(numbering["barker"]) < 1e-12


def test_figures_are_drawn_from_data_and_small(figures: dict, tmp_path: Path) -> None:
    information = figures["information_data"]()
    assert (np.abs(information["mean"] - information["barker"]) < 4.5 * information["error"]).all()
    for path in figures["main"](tmp_path):
        assert 5_000 < path.stat().st_size < 60_000
        assert (ROOT / "docs" / "figures" / path.name).stat().st_size < 60_000
