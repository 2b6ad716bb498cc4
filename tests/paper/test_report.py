"""The report: complete, self-contained, the same numbers every time, and working in a real browser."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from browser import FLAGS, chromium
from reproduction_small import CHAPTERS, SMALL

from steering.errors import InvalidOption, SteeringError
from steering.paper import reproduce, verdicts
from steering.paper.chapters import psrl_sparsity
from steering.paper.report.page import chart_json
from steering.paper.report.settings import runs_text, size_words
from steering.paper.report.text import claims_table
from steering.paper.rule import Verdict
from steering.paper.run import PROGRAM, Reproduction, changed, claims_numbers, write_numbers
from steering.paper.scale import QUICK
from steering.paper.tables import csv as table_csv
from steering.sweeps.store.directory import Store

NAMES = ["schematics", "psrl_sparsity", "occupancy", "prior_belief", "dsd"]
DESKTOP, PHONE = (1280, 3000), (390, 3000)

PROBE = """
<script>
window.found = { errors: [] };
window.addEventListener("error", (event) => window.found.errors.push(String(event.message)));
</script>
"""
LOOK = """
<script>
(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const found = window.found;
  found.width = window.innerWidth;
  found.overflow = root.scrollWidth - root.clientWidth;
  found.wide = all("body *").filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1).length;
  found.charts = all(".chart").length;
  found.drawn = all(".chart svg path.series").length;
  const toggle = document.querySelector("#prior_belief .legend button");
  const before = all("#prior_belief .panel path.series").length;
  toggle.click();
  found.toggled = before - all("#prior_belief .panel path.series").length;
  toggle.click();
  found.back = before - all("#prior_belief .panel path.series").length;
  const slider = document.querySelector("#occupancy input[type=range]");
  const last = document.querySelector("#occupancy output").textContent;
  const cell = document.querySelector("#occupancy rect");
  const shade = cell.getAttribute("style");
  slider.value = 0;
  slider.dispatchEvent(new Event("input"));
  found.slid = [last, document.querySelector("#occupancy output").textContent, shade !== cell.getAttribute("style")];
  const area = document.querySelector("#psrl_sparsity .panel rect[fill=transparent]");
  const box = area.getBoundingClientRect();
  const place = { clientX: box.left + box.width / 2, clientY: box.top + 20 };
  area.dispatchEvent(new PointerEvent("pointermove", place));
  found.tip = document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent;
  area.dispatchEvent(new PointerEvent("pointerleave"));
  found.tipGone = document.getElementById("tip").hidden;
  const rows = () => all(".claims tbody tr").filter((row) => row.getBoundingClientRect().height > 0);
  found.rows = rows().length;
  document.querySelector(".tile.fails").click();
  found.filtered = [rows().length, rows().every((row) => row.dataset.verdict === "fails")];
  const hidden = all("p.badges a").find((link) => document.getElementById(link.hash.slice(1)).hidden);
  hidden.click();
  found.linked = [document.getElementById(hidden.hash.slice(1)).hidden, rows().length];
  document.querySelector(".tile.fails").click();
  document.querySelector(".tile.all").click();
  found.notes = all(".chart > .note, .chart > div > .note").map((note) => note.textContent);
  found.single = document.querySelector("#psrl_sparsity svg[role=img]").getBoundingClientRect().width;
  found.clipped = all("#prior_belief svg g[clip-path] path.series").length;
  const ticks = (panel) => [...panel.querySelectorAll("text[text-anchor=end]")].map((text) => text.textContent).join();
  found.ticks = all("#prior_belief .panel").map(ticks);
  const choice = all("#dsd > .chart > .options button");
  const lines = () => all("#dsd path.series[fill=none]").length;
  found.kept = [lines()];
  document.querySelector("#dsd .legend button").click();
  found.kept.push(lines());
  choice[2].click();
  found.kept.push(lines(), document.querySelector("#dsd .legend button").getAttribute("aria-pressed"));
  found.chosen = choice.map((button) => button.getAttribute("aria-pressed"));
  const back = () => getComputedStyle(document.body).backgroundColor;
  const light = back();
  document.getElementById("theme").click();
  found.theme = [light, back()];
  document.getElementById("theme").click();
  window.parent.postMessage(JSON.stringify(found), "*");
})();
</script>
"""
FRAME = """<!doctype html><body style="margin:0"><script>
window.addEventListener("message", (event) => {
  const text = document.createElement("pre");
  text.id = "found";
  text.textContent = event.data;
  document.body.append(text);
});
</script><iframe src="probed.html" style="border:0;width:WIDTHpx;height:HEIGHTpx"></iframe></body>"""
"""A window cannot be narrower than 500 pixels, a frame in it can."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(NAMES, tmp_path_factory.mktemp("reproduction"), scale=SMALL, workers=0)


def test_everything_is_written(small: Reproduction) -> None:
    directory = small.directory
    figures = {path.stem for path in (directory / "figures").glob("*.png")}
    assert figures == set(NAMES)
    assert all((directory / "data" / f"{name}.csv").stat().st_size for name in ("dsd_dsd", "prior_belief_curves"))
    text = (directory / "report.md").read_text(encoding="utf-8")
    for part in small.chapters:
        assert f"## {part.chapter.title}" in text
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
    page = small.report.read_text(encoding="utf-8")
    assert re.findall(r'<tr[^>]* id="claim-([^"]+)"', page) == [claim.name for claim in small.claims]
    listed = [text.index(f"| {claim.claim} |") for claim in small.claims]
    assert listed == sorted(listed)
    assert {row["verdict"] for row in rows} <= {str(verdict) for verdict in Verdict}


def test_the_report_says_what_was_run(small: Reproduction) -> None:
    """All options of the three STEERINGs, and every environment, agent, step and seed of every chapter."""
    page = html.unescape(small.report.read_text(encoding="utf-8"))
    text = (small.directory / "report.md").read_text(encoding="utf-8")
    for said in (page, text):
        assert "steering:preset=paper-sound (STEERING, paper made sound)" in said
        assert "operator=difference" in said
        assert "info_weight=0.3" in said
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


def test_the_summary_has_five_lines_that_add_up(small: Reproduction) -> None:
    lines = small.summary()
    assert len(lines) == 5
    counted = [claim for claim in small.claims if not claim.control]
    assert len(counted) < len(small.claims)
    assert lines[0].startswith(f"{len(counted)} claims")
    assert f"controls, not counted: {len(small.claims) - len(counted)}" in lines[0]
    assert "small: 3 seeds" in lines[0]
    numbers = [int(re.search(r"(?:testable|holds|hold|operator|only): (\d+)", line)[1]) for line in lines]
    assert sum(numbers) == len(counted)


def test_the_page_asks_for_nothing_from_outside(small: Reproduction) -> None:
    page = small.report.read_text(encoding="utf-8")
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`)]*", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=[\"'](?!data:)", page)
    assert "@import" not in page
    assert "<!--" not in page
    assert len(page) < 6_000_000
    for name in NAMES:
        assert f'<section id="{name}">' in page


def test_text_of_charts_cannot_break_the_page() -> None:
    assert "</script" not in chart_json({"title": "</script><b>"})
    assert json.loads(chart_json({"title": "</script>"})) == {"title": "</script>"}


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
    assert '<section id="schematics">' in page
    assert '<section id="psrl_sparsity">' in page


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


def browser() -> str:
    found = chromium()
    assert found, "the report is tested in a real browser; install one with: make browser"
    return found


def run_browser(page: Path, size: tuple[int, int], profile: Path, *what: str) -> subprocess.CompletedProcess[str]:
    command = [browser(), *FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", *what]
    address = page.resolve().as_uri()
    environment = {**os.environ, "TMPDIR": "/tmp"}  # it makes a socket there, whose path must be short
    return subprocess.run(
        [*command, address], capture_output=True, text=True, timeout=180, check=False, env=environment
    )


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page_works_in_a_browser(small: Reproduction, size: tuple[int, int], tmp_path: Path) -> None:
    page = small.report.read_text(encoding="utf-8")
    probed = tmp_path / "probed.html"
    probed.write_text(page.replace("<body>", f"<body>{PROBE}").replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(size[0])).replace("HEIGHT", str(size[1])), encoding="utf-8")
    wanted = ("--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom")
    done = run_browser(frame, (1400, 900), tmp_path / "profile", *wanted)
    said = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.DOTALL)
    assert said, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(said[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert found["errors"] == []
    assert "CONSOLE" not in done.stderr, done.stderr
    assert found["width"] == size[0]
    assert found["overflow"] == 0
    assert found["wide"] == 0
    assert found["charts"] == 4
    assert found["drawn"] > 20
    # A switched-off line takes its band with it, in both panels.
    assert found["toggled"] == 4
    assert found["back"] == 0
    assert found["slid"] == ["steps 143 to 150", "steps 1 to 8", True]
    assert "N = 20" in found["tip"]
    assert found["tipGone"] is True
    failing = [claim for claim in small.claims if claim.verdict == Verdict.DOES_NOT_HOLD]
    assert found["rows"] == len(small.claims)
    assert found["filtered"] == [len(failing), True]
    # The badge of a claim that the filter hides shows it.
    assert found["linked"] == [False, len(small.claims)]
    assert len(found["notes"]) == 4
    assert all(note.startswith("Size: small: 3 seeds.") for note in found["notes"])
    # One panel uses the width there is; panels of one figure have the same heights.
    assert found["single"] > 0.8 * size[0]
    assert found["ticks"][0] == found["ticks"][1]
    assert found["clipped"] > 0
    # What was switched off stays so when another variant is chosen: four panels, one line less in each.
    assert found["kept"] == [8, 4, 4, "false"]
    assert found["chosen"] == ["false", "false", "true"]
    assert found["theme"][0] != found["theme"][1]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_screenshots_show_something(small: Reproduction, size: tuple[int, int], tmp_path: Path) -> None:
    target = tmp_path / "shot.png"
    run_browser(small.report, size, tmp_path / "profile", f"--screenshot={target}")
    image = matplotlib.image.imread(target)[..., :3]
    assert image.shape[:2] == (size[1], size[0])
    # Text and charts from top to bottom: no band of 500 rows is blank.
    for start in range(0, size[1], 500):
        assert np.asarray(image[start : start + 500]).std() > 0.01
