"""The examples of the page on environments run and give what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import steering.envs.gym_import
import steering.envs.live
import steering.envs.registry
import steering.mdp.tabular

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"


def test_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 8
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted > 25


@pytest.mark.parametrize(
    "module", [steering.envs.registry, steering.envs.gym_import, steering.envs.live, steering.mdp.tabular]
)
def test_examples_in_docstrings(module) -> None:
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0
