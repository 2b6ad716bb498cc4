"""The report: complete, self-contained, the same numbers every time, and working in a real browser."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from reproduction_small import SMALL

from steering.errors import SteeringError
from steering.reproduction import reproduce
from steering.reproduction.claims.rule import Verdict
from steering.reproduction.figures import psrl_sparsity
from steering.reproduction.report.page import _json
from steering.reproduction.run import Reproduction
from steering.results.store import Store

NAMES = ["schematics", "psrl_sparsity", "occupancy", "prior_belief", "dsd"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
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
  const area = document.querySelector("#psrl_sparsity .panel rect");
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
  document.querySelector(".tile.all").click();
  const choice = all("#dsd > .chart > .options button");
  choice[2].click();
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
    assert {row["verdict"] for row in rows} <= {str(verdict) for verdict in Verdict}


def test_the_summary_has_five_lines_that_add_up(small: Reproduction) -> None:
    lines = small.summary()
    assert len(lines) == 5
    assert lines[0].startswith(f"{len(small.claims)} claims")
    assert "small: 2 seeds" in lines[0]
    assert sum(int(re.search(r": (\d+)", line)[1]) for line in lines[1:]) == len(small.claims)


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
    assert "</script" not in _json({"title": "</script><b>"})
    assert json.loads(_json({"title": "</script>"})) == {"title": "</script>"}


def test_numbers_do_not_depend_on_workers_or_restarts(tmp_path: Path) -> None:
    names = ["psrl_sparsity", "prior_belief"]
    one, two = tmp_path / "one", tmp_path / "two"
    # Another order of work: half of the runs first, the rest after a restart.
    reproduce(names[1:], one, scale=SMALL, workers=0)
    finished = reproduce(names, one, scale=SMALL, workers=0)
    assert finished.computed == 2 * len(psrl_sparsity.SIZES)
    numbers = (one / "numbers.json").read_bytes()
    assert reproduce(names, two, scale=SMALL, workers=2).computed > finished.computed
    assert (two / "numbers.json").read_bytes() == numbers
    assert {claim.name for claim in finished.claims} == set(json.loads(numbers)["claims"])
    for table in (one / "data").iterdir():
        assert table.read_bytes() == (two / "data" / table.name).read_bytes()


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
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, "the report is tested in a real browser; install one with: make browser"
    return found


def run_browser(page: Path, size: tuple[int, int], profile: Path, *what: str) -> subprocess.CompletedProcess[str]:
    command = [browser(), *FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", *what]
    address = page.resolve().as_uri()
    return subprocess.run([*command, address], capture_output=True, text=True, timeout=180, check=False)


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
