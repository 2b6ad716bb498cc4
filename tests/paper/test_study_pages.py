"""The pages of the agent and of its study: examples run, and the tables say what the committed file says."""

import doctest
import re
from pathlib import Path

import pandas as pd
import pytest

from steering.paper.chapters.default.design import default_design
from steering.paper.chapters.default.page import MARKS
from steering.paper.chapters.ladder import rungs

DOCS = Path(__file__).parents[2] / "docs"
STUDY = (DOCS / "study.md").read_text(encoding="utf-8")
STEERING = (DOCS / "steering.md").read_text(encoding="utf-8")
TABLE = pd.read_csv(DOCS / "study.csv")


def test_examples_of_the_page_run() -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner()
    blocks = "\n".join(re.findall(r"^```python\n(.*?)^```", STEERING, flags=re.DOTALL | re.MULTILINE))
    result = runner.run(doctest.DocTestParser().get_doctest(blocks, {}, "steering.md", None, 0), out=report.append)
    assert result.failed == 0, "".join(report)
    assert result.attempted >= 8


def test_the_options_on_the_page_are_those_of_the_agent() -> None:
    from steering.agents import list_agents

    options = next(row["options"] for row in list_agents() if row["name"] == "steering")
    table = STEERING[STEERING.index("## Options") : STEERING.index("## Presets")]
    for name, default in options.items():
        assert f"`{name}`" in table, name
        if isinstance(default, float) and name in ("info_weight",):
            assert f"| `{name}` | {default:g} |" in table


def test_the_matrix_is_the_committed_table() -> None:
    header = next(line for line in STUDY.splitlines() if line.startswith("| task |"))
    families = [name.strip() for name in header.split("|")[4:-1]]
    checked = 0
    for line in STUDY.splitlines():
        cells = [part.strip() for part in line.split("|")[1:-1]]
        if len(cells) != len(families) + 3 or not cells[2].startswith("**"):
            continue
        for family, shown in zip(families, cells[3:], strict=True):
            row = TABLE[(TABLE["task"] == cells[0].removesuffix(" *")) & (TABLE["family"] == family)]
            assert len(row) == (1 if shown else 0)
            if shown:
                value, mark = shown.split()
                assert cells[1] == str(row["pairs"].iloc[0])
                assert mark == MARKS[row["verdict"].iloc[0]]
                assert float(value) == pytest.approx(
                    row["theirs"].iloc[0], abs=0.051 if abs(float(value)) >= 10 else 6e-4
                )
                checked += 1
    assert checked == len(TABLE)


def test_the_committed_table_is_of_this_design() -> None:
    design = default_design()
    expected = {(t.name, f.name) for t in design.tasks for f in design.of(t) if f.name != "steering"}
    assert {(row.task, row.family) for row in TABLE.itertuples()} == expected
    assert (DOCS / "study.csv").stat().st_size < 50_000


def test_every_task_worse_than_psrl_is_explained() -> None:
    reasons = STUDY[STUDY.index("## Where it is worse") :]
    bullets = [line for line in reasons.splitlines() if line.startswith("- **")]
    worse = TABLE[(TABLE["verdict"] == "worse") & (TABLE["family"] == "psrl")]["task"]
    for task in worse:
        name = task.partition(",")[0].partition(" ")[0]
        assert any(name in bullet for bullet in bullets), task


def test_the_ladder_on_the_page_has_every_rung() -> None:
    for label, _ in rungs():
        assert f"| {label} |" in STEERING
