"""The report: complete, self-contained, the same numbers every time (in a browser: test_report_page)."""

from __future__ import annotations

import base64
import csv
import dataclasses
import hashlib
import html
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from reproduction_small import CHAPTERS, SMALL

from steering.errors import InvalidOption, SteeringError
from steering.paper import reproduce, verdicts
from steering.paper.chapters import psrl_sparsity
from steering.paper.charts import chart, series
from steering.paper.fits import Effect
from steering.paper.report import parts
from steering.paper.report.chart_parts import chart_part
from steering.paper.report.page import page
from steering.paper.report.settings import runs_text, size_words
from steering.paper.report.text import claims_table, kinds
from steering.paper.rule import Claim, Verdict, above
from steering.paper.run import PROGRAM, Reproduction, changed, claims_numbers, write_numbers
from steering.paper.scale import QUICK
from steering.paper.tables import csv as table_csv
from steering.sweeps.store.directory import Store

NAMES = ["schematics", "psrl_sparsity", "occupancy", "prior_belief", "dsd"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(NAMES, tmp_path_factory.mktemp("reproduction"), scale=SMALL, workers=0)


def test_everything_is_written(small: Reproduction) -> None:
    directory = small.directory
    figures = {path.stem for path in (directory / "figures").glob("*.png")}
    assert figures == {*NAMES[1:], "schematics_deepsea", "schematics_widenarrow"}
    assert all((directory / "data" / f"{name}.csv").stat().st_size for name in ("dsd_dsd", "prior_belief_curves"))
    text = (directory / "report.md").read_text(encoding="utf-8")
    for part in small.chapters:
        assert f"## {part.chapter.paper} · {part.chapter.title}" in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (directory / target).exists()
    with open(directory / "claims.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [claim.name for claim in small.claims]
    # Controls are at the end, in every table.
    controls = [claim for claim in small.claims if claim.control]
    assert controls
    assert small.claims[-len(controls) :] == controls
    assert {row["control"] for row in rows[: -len(controls)]} == {"False"}
    # Claims about STEERING stand apart from those about others, in the page and as text.
    ordered = [claim for group in kinds(small.claims).values() for claim in group]
    assert len(kinds(small.claims)) == 3
    page = small.report.read_text(encoding="utf-8")
    assert re.findall(r'<tr[^>]* id="claim-([^"]+)"', page) == [claim.name for claim in ordered]
    listed = [text.index(f"| {claim.claim} |") for claim in ordered]
    assert listed == sorted(listed)
    assert {row["verdict"] for row in rows} <= {str(verdict) for verdict in Verdict}


def test_the_report_says_what_was_run(small: Reproduction) -> None:
    """All options of the three STEERINGs, and every environment, agent, step and seed of every chapter."""
    page = html.unescape(small.report.read_text(encoding="utf-8"))
    text = (small.directory / "report.md").read_text(encoding="utf-8")
    for said in (page, text):
        assert "steering:preset=paper-sound (STEERING, paper made sound)" in said
        assert "operator=difference" in said
        assert "excursions=8" in said
        for part in small.chapters:
            for block in part.chapter.needs(SMALL):
                assert all(name in said for name in (*block.environments, *block.agents))
        assert "deepsea:8 for 160 steps, seeds i = 0 to 2, agents psrl:eta=10" in said
    assert "small: 3 seeds, 3 MDPs for Bayesian regret; every figure says its own" in page


def test_mdps_that_differ_in_their_seed_are_written_once() -> None:
    text = runs_text(CHAPTERS["bayesian"], QUICK)
    # Once with all variants, once in the scans.
    assert text.count("priormdp:4,2,seed=i,normal_gamma=(0,4,3,3),horizon=5 ") == 2
    assert "seeds i = 0 to 23" in text
    assert runs_text(CHAPTERS["schematics"], QUICK) == "none of the sweep"
    assert size_words(QUICK).startswith("quick: 4 to 6 seeds")


def test_the_summary_adds_up(small: Reproduction) -> None:
    """The answer, or what is missing for it; then the claims about STEERING and about others, by verdict."""
    said, ours, others = small.summary()
    assert "steering reproduce fig3" in said
    counted = [claim for claim in small.claims if not claim.control]
    assert len(counted) < len(small.claims)
    for line, part in ((ours, [c for c in counted if c.ours]), (others, [c for c in counted if not c.ours])):
        assert line.startswith(f"{len(part)} claims about")
        numbers = [int(number) for number in re.findall(r" (\d+)(?=,|$)", line.rpartition(": ")[2])]
        assert sum(numbers) == len(part) > 0
    assert "small: 3 seeds" in ours


def test_the_page_asks_for_nothing_from_outside(small: Reproduction) -> None:
    page = small.report.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2
    for code in scripts:
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy
    own = page.replace(scripts[0], "")
    assert not re.search(r"https?://", own)
    assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=[\"'](?!data:)", own)
    assert "@import" not in own
    assert "<!--" not in own
    assert len(page) < 3_000_000
    for name in NAMES:
        assert f'<section id="{name}" class="figure">' in page


def test_text_of_results_cannot_break_the_page() -> None:
    evil = "</script><img src=x onerror=alert(1)><!--CLAIMS-->"
    one = chart(None, evil, size=evil, band=evil)
    one["panels"] = [{"title": evil, "series": [series(evil, pd.DataFrame({"x": [1, 2], "mean": [3, 4]}), "#000000")]}]
    text = chart_part("name", one)
    assert "<img" not in text
    assert text.count("</script") == 1
    claim = Claim(evil.replace('"', ""), evil, evil, evil, above(0), {"all": Effect(1, 0, 2)})
    assert "<img" not in parts.tables_part([claim])
    assert "<img" not in parts.definitions([(evil, evil)])


def test_without_bokeh_the_page_shows_the_figures_and_says_how_to_have_charts(
    small: Reproduction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steering.paper.report.page.find_spec", lambda name: None)
    text = page(small)
    assert "steering-rl[lab]" in text
    assert 'class="plot"' not in text
    assert text.count("<img alt=") == sum(len(part.figures) for part in small.chapters)


def test_numbers_do_not_depend_on_workers_or_restarts(tmp_path: Path) -> None:
    names = ["psrl_sparsity", "prior_belief"]
    one, two = tmp_path / "one", tmp_path / "two"
    # Another order of work: half of the runs first, the rest after a restart.
    reproduce(names[1:], one, scale=SMALL, workers=0)
    finished = reproduce(names, one, scale=SMALL, workers=0)
    assert finished.computed == SMALL.seeds * len(psrl_sparsity.SIZES)
    numbers = (one / "numbers.json").read_bytes()
    assert reproduce(names, two, scale=SMALL, workers=2).computed > finished.computed
    assert (two / "numbers.json").read_bytes() == numbers
    assert {claim.name for claim in finished.claims} == set(json.loads(numbers)["claims"])
    for table in (one / "data").iterdir():
        assert table.read_bytes() == (two / "data" / table.name).read_bytes()


def test_numbers_change_with_any_number_of_a_table(tmp_path: Path, small: Reproduction) -> None:
    part = small.chapters[1]
    (name, table), *_ = part.tables.items()
    swapped = table.copy()
    swapped.loc[[0, 1], "mean"] = table.loc[[1, 0], "mean"].to_numpy()  # the same sum
    other = dataclasses.replace(part, tables={name: swapped})
    written = []
    for one in (part, other):
        write_numbers(dataclasses.replace(small, directory=tmp_path, chapters=[one]))
        written.append(json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))["tables"])
    assert written[0] != written[1]
    content = (small.directory / "data" / f"{part.chapter.name}_{name}.csv").read_bytes()
    assert written[0][f"{part.chapter.name}/{name}"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_verdicts_follow_from_the_published_tables(small: Reproduction, tmp_path: Path) -> None:
    """Bit for bit, from copies of numbers.json and the tables alone; another number in a table is noticed."""
    shutil.copytree(small.directory / "data", tmp_path / "data")
    shutil.copy(small.directory / "numbers.json", tmp_path)
    again = verdicts(tmp_path)
    known = json.loads((small.directory / "numbers.json").read_text(encoding="utf-8"))["claims"]
    assert claims_numbers(again.claims) == known
    assert table_csv(claims_table(again.claims)) == (small.directory / "claims.csv").read_bytes()
    assert again.summary() == small.summary()
    assert changed(again) == []
    table = tmp_path / "data" / "prior_belief_runs.csv"
    table.write_text(
        re.sub(r"(strong,psrl,0,)[^\n]+", r"\g<1>5.0", table.read_text(encoding="utf-8")), encoding="utf-8"
    )
    assert {"prior-strong", "prior-ids-marginal"} <= set(changed(verdicts(tmp_path)))
    table.unlink()
    with pytest.raises(SteeringError, match=r"prior_belief_runs\.csv cannot be read"):
        verdicts(tmp_path)
    with pytest.raises(InvalidOption, match="finished reproduction"):
        verdicts(tmp_path / "nowhere")


def test_a_part_is_added_to_what_a_directory_has(tmp_path: Path) -> None:
    reproduce(["psrl_sparsity"], tmp_path, scale=SMALL, workers=0)
    claims = (tmp_path / "claims.csv").read_bytes()
    said: list[str] = []
    result = reproduce(["schematics"], tmp_path, scale=SMALL, workers=0, say=said.append)
    assert [part.chapter.name for part in result.chapters] == ["schematics", "psrl_sparsity"]
    assert result.computed == 0
    assert (tmp_path / "claims.csv").read_bytes() == claims
    assert "also has psrl_sparsity" in said[0]
    page = result.report.read_text(encoding="utf-8")
    assert '<section id="schematics" class="figure">' in page
    assert '<section id="psrl_sparsity" class="figure">' in page


@pytest.mark.parametrize("change", ["size", "version"])
def test_a_report_of_another_size_or_version_is_not_overwritten(tmp_path: Path, change: str) -> None:
    reproduce(["schematics"], tmp_path, scale=SMALL, workers=0)
    numbers = tmp_path / "numbers.json"
    scale = SMALL
    if change == "size":
        scale = dataclasses.replace(SMALL, name="larger", seeds=3)
    else:
        numbers.write_text(numbers.read_text(encoding="utf-8").replace(PROGRAM, "0.0.0"), encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InvalidOption, match="another size or version"):
        reproduce(["concept"], tmp_path, scale=scale, workers=0)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"scale": "sma', "is not readable"),
        ("[1]", "older program"),
        ('{"scale": "small", "version": "0.1.0", "claims": {}, "tables": {}}', "older program"),
    ],
)
def test_numbers_that_are_broken_or_old_are_refused_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "numbers.json").write_text(content, encoding="utf-8")
    with pytest.raises(
        InvalidOption, match=rf"numbers\.json .*{said}.*; give another directory, or remove the file\.$"
    ):
        reproduce(["schematics"], tmp_path, scale=SMALL, workers=0)
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.json"]


def test_failed_runs_stop_with_the_command_that_tries_again(tmp_path: Path) -> None:
    endless = dataclasses.replace(SMALL, seeds=1, steps=10)
    reproduce(["psrl_sparsity"], tmp_path, scale=endless, workers=0)
    store = Store(tmp_path / "runs")
    key = next(iter(store.scan().keys))
    for shard in store.shards.iterdir():
        shard.unlink()
    store.record_failure(key, {"message": "made to fail", "kind": "error"})
    with pytest.raises(SteeringError, match=r"1 runs failed.*made to fail.*steering retry"):
        reproduce(["psrl_sparsity"], tmp_path, scale=endless, workers=0)
