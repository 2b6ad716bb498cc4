"""The pages of the agent and of its study: examples run, and the page says what the published tables say."""

import doctest
import re
from pathlib import Path

import numpy as np
import pandas as pd

from steering.paper.chapters.default import STUDY
from steering.paper.chapters.default.page import nearest, why
from steering.paper.chapters.default.tasks import DEVELOPMENT, DEVELOPMENT_INSTANCE
from steering.paper.chapters.ladder import rungs
from steering.paper.tables import read_csv
from steering.paper.task import RUNS

DOCS = Path(__file__).parents[2] / "docs"
STEERING = (DOCS / "steering.md").read_text(encoding="utf-8")
TABLES = ("study", "study_settings", "study_tasks", "study_ladder")


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


def test_the_ladder_on_the_page_has_every_rung() -> None:
    for label, _ in rungs():
        assert f"| {label} |" in STEERING


def test_the_published_page_is_made_of_the_published_tables() -> None:
    """Of every study whose tables are in the documentation."""
    for place in DOCS.glob("study_settings.csv"):
        tables = {name: read_csv(place.with_name(f"{name}.csv")) for name in TABLES}
        assert STUDY.page(tables) == (DOCS / "study.md").read_text(encoding="utf-8")
        for name in TABLES:
            assert (DOCS / f"{name}.csv").stat().st_size < 300_000


def test_the_page_says_on_what_was_developed() -> None:
    """Seeds of instances and the number of earlier lists, against the list in the code."""
    firsts = {int(first.group(1)) for t in DEVELOPMENT if (first := re.search(r",seed=(\d+)", t.environments[0]))}
    text = (DOCS / "study.md").read_text(encoding="utf-8")
    assert f"have seeds from {', '.join(map(str, sorted(firsts)))} on" in text
    assert f"confirmations of {len(firsts - {DEVELOPMENT_INSTANCE})} earlier defaults" in text
    fewer = [f"{t.name} with {t.runs}" for t in DEVELOPMENT if t.runs < RUNS]
    assert f"({RUNS} runs each, {', '.join(fewer)})" in text


# A small result by hand ----------------------------------------------------------------------------------------------


def row(task: str, rival: str, how: str, score: float, difference: float = np.nan, verdict: str = "", **rest):
    known = {"stage": "confirmation", "task": task, "rival": rival, "how": how, "setting": 0, "runs": 30}
    ends = {"low": difference - 0.01, "high": difference + 0.01} if verdict else {"low": score, "high": score}
    numbers = {"score": score, "failed": 0.0, "median": score, "late": 0.0, "difference": difference, **ends}
    return {**known, **numbers, "p": 0.01, "verdict": verdict, "alone": verdict, **rest}


def small() -> dict[str, pd.DataFrame]:
    rows = []
    for task, ours, gaps in (("A", 0.1, (0.3, -0.05)), ("B", 0.2, (0.4, 0.0))):
        rows.append(row(task, "steering", "ours", ours, failed=0.1))
        for rival, gap in zip(("psrl", "ids"), gaps, strict=True):
            word = "better" if gap > 0.1 else "worse" if gap < 0 else "tied"
            rows += [row(task, rival, how, ours + gap, gap, word) for how in ("published", "single", "tuned")]
        rows.append(row(task, "no Stein information", "control", ours + 0.1, 0.1, "better"))
    rows.append({**row("D", "steering", "ours", 0.15), "stage": "development"})
    settings = [("psrl", "psrl"), ("ids", "ids:planning=mean"), ("steering", "steering")]
    settings.append(("no Stein information", "steering:info_weight=0"))
    known = {"setting": 0, "single": True, "development": 0.5, "failed": 0.25}
    tasks = [
        {"stage": stage, "task": name, "kind": name, "environment": "chain:5", "instances": 1, "steps": 10, "prior": ""}
        | {"new": stage == "confirmation"}
        for stage, name in (("development", "D"), ("confirmation", "A"), ("confirmation", "B"))
    ]
    return {
        "study": pd.DataFrame(rows),
        "study_settings": pd.DataFrame([{"rival": rival, "text": text, **known} for rival, text in settings]),
        "study_tasks": pd.DataFrame(tasks),
    }


def test_the_sentences_count_what_is_in_the_table() -> None:
    first, second, third = STUDY.summary(small())
    assert "loses 0.150" in first
    assert "mean over 2 tasks" in first
    assert "10 % of its runs fail" in first
    assert "`ids`, loses 0.125" in first
    assert second.count("better in 2, level in 1, worse in 1 of 4 comparisons") == 2
    assert third == "It is behind somebody in 1 of 2 tasks (A), by at most 0.050 (`ids`, as published, in A)."


def test_the_page_lists_where_it_is_behind() -> None:
    page = STUDY.page(small())
    worse = [line for line in page.splitlines() if line.startswith("| A | `ids:planning=mean` |")]
    assert len(worse) == 3
    assert "0.100 (10 %) | 0.050 (0 %) | -0.050 (-0.060 to -0.040)" in worse[0]
    assert "| `ids` | 2 | 0 / 1 / 1 | 0 / 1 / 1 | 0 / 1 / 1 |" in page
    assert "Without the Stein information 2 of the 2 tasks of confirmation get significantly worse (" in page
    assert "| no Stein information | `steering:info_weight=0` | 0.150 / 0.250 | 10 % / 0 % | 2 / 0 / 0 |" in page


def test_nowhere_behind_is_said_too() -> None:
    tables = small()
    tables["study"]["verdict"] = tables["study"]["verdict"].replace("worse", "tied")
    assert STUDY.summary(tables)[2] == "It is behind none of them in any task."
    assert "Nowhere, against any rival" in STUDY.page(tables)


def test_why_is_read_from_the_runs() -> None:
    theirs = {"score": 0.1, "failed": 0.0, "median": 0.1, "late": 0.01}
    assert why({"score": 0.2, "failed": 0.1, "median": 0.11, "late": 0.1}, theirs).startswith("rare failures")
    assert why({"score": 0.2, "failed": 0.0, "median": 0.2, "late": 0.1}, theirs).startswith("still behind at the end")
    assert why({"score": 0.2, "failed": 0.0, "median": 0.2, "late": 0.02}, theirs).startswith("dearer exploration")


def test_the_nearest_rival_is_one_of_those_in_most_tasks() -> None:
    study = small()["study"]
    few = pd.DataFrame([row("A", "bamcp", "single", 0.0, 0.0, "tied")])
    name, part, common = nearest(pd.concat([study[study["stage"] == "confirmation"], few]))
    assert (name, sorted(common), len(part)) == ("ids", ["A", "B"], 2)


def test_figures_are_drawn() -> None:
    drawn = STUDY.figures(small())
    assert list(drawn) == ["study_verdicts", "study_tasks"]
    bars = drawn["study_verdicts"].axes[0].containers
    assert [sum(bar.get_width() for bar in group) for group in bars] == [2, 1, 1]
