"""The report in a real Chromium: the answer and its figure on the first screen, charts that work, at two widths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from browser import Browser
from reproduction_small import SMALL

from steering.paper import reproduce
from steering.paper.report.answer import headline, sentences
from steering.paper.report.parts import CLASSES
from steering.paper.run import Reproduction

NAMES = ["concept", "schematics", "psrl_sparsity", "regret", "occupancy", "prior_belief", "dsd", "bounds"]
SIZES = [(1280, 800), (390, 844)]
BOX = """((e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })(%s)"""
DRAW_ALL = """(async () => { document.documentElement.style.scrollBehavior = "auto";
  for (const place of document.querySelectorAll(".plot")) {
    if (place.closest("[hidden]")) continue;
    place.scrollIntoView();
    const end = performance.now() + 60000;
    while (place.dataset.drawn !== "yes" && performance.now() < end) await new Promise((go) => setTimeout(go, 20));
  } })()"""
WIDE = """[...document.querySelectorAll("body *")].filter((e) =>
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.className || e.tagName)"""
PLOTS = """[...document.querySelectorAll(".plot")].filter((p) => !p.closest("[hidden]")).map((p) =>
  [p.dataset.drawn, p.clientWidth, p.clientHeight, Boolean(p.firstElementChild?.shadowRoot)])"""
INKED = """((id) => { const find = (root) => { for (const e of root.querySelectorAll("*")) {
    if (e.tagName === "CANVAS") return e;
    const inner = e.shadowRoot && find(e.shadowRoot); if (inner) return inner; } return null; };
  return find(document.getElementById(id)).toDataURL(); })(%s)"""
SETTLE = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go, 60))))"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(NAMES, tmp_path_factory.mktemp("reproduction"), scale=SMALL, workers=0)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def opened(browser: Browser, result: Reproduction, size: tuple[int, int] = SIZES[0], **more: Any) -> None:
    browser.errors.clear()
    browser.asked.clear()
    browser.open(result.report.resolve().as_uri(), width=size[0], height=size[1], **more)


def inked(browser: Browser, place: str) -> str:
    """The picture of a plot."""
    browser.run(SETTLE)
    return str(browser.run(INKED % repr(place)))


@pytest.mark.parametrize("size", SIZES, ids=["desktop", "phone"])
def test_the_first_screen_has_the_answer_and_the_figure(
    browser: Browser, small: Reproduction, size: tuple[int, int], tmp_path: Path
) -> None:
    opened(browser, small, size)
    for number, (verdict, rest) in enumerate(sentences(small)):
        item = f"document.querySelectorAll('.answer li')[{number}]"
        assert browser.run(f"{item}.textContent") == f"{verdict} {rest}"
        left, top, right, bottom = browser.run(BOX % item)
        assert 0 <= left < right <= size[0]
        assert 0 <= top < bottom <= size[1]
    left, top, right, bottom = browser.run(BOX % "document.querySelector('.headline .plot')")
    assert 0 <= left < right <= size[0]
    assert 0 <= top < bottom <= size[1], "the headline figure ends below the first screen"
    assert bottom - top > 25 * len(headline(small))
    browser.run(SETTLE)
    target = tmp_path / "shot.png"
    browser.picture(target)
    image = matplotlib.image.imread(target)[int(top) : int(bottom), int(left) : int(right), :3]
    assert np.asarray(image).std() > 0.02, "nothing is drawn"
    assert browser.errors == []


def test_the_headline_shows_the_numbers_of_the_runs(browser: Browser, small: Reproduction) -> None:
    opened(browser, small)
    shown = browser.run("""Bokeh.documents[0].roots()[0].renderers.filter((r) => r.glyph.type === "Scatter").map((r) =>
      [r.data_source.data.agent[0], r.data_source.data.mean[0], r.data_source.data.low[0]])""")
    expected = [(row.agent, row.effect.value, row.effect.low) for row in headline(small)]
    assert [one[0] for one in shown] == [agent for agent, _, _ in expected]
    np.testing.assert_allclose([one[1:] for one in shown], [one[1:] for one in expected])


@pytest.mark.parametrize("size", SIZES, ids=["desktop", "phone"])
def test_every_chart_is_drawn_within_the_page(browser: Browser, small: Reproduction, size: tuple[int, int]) -> None:
    opened(browser, small, size)
    browser.run(DRAW_ALL)
    plots = browser.run(PLOTS)
    assert len(plots) > 15
    for drawn, width, height, inside in plots:
        assert drawn == "yes"
        assert inside
        assert width >= 160
        assert height >= 180
    if size[0] < 500:  # one below the other, so that labels have room
        assert min(width for _, width, _, _ in plots) > 300
    assert browser.run("document.documentElement.scrollWidth") == size[0]
    assert browser.run(WIDE) == []
    assert browser.errors == []
    assert browser.asked == [small.report.resolve().as_uri()]


def test_lines_choices_and_time_are_switched(browser: Browser, small: Reproduction) -> None:
    opened(browser, small)
    browser.run(DRAW_ALL)
    line = "#prior_belief .line"
    before = inked(browser, "plot-prior_belief-0-0"), inked(browser, "plot-prior_belief-0-1")
    browser.run(f"document.querySelector('{line}').click()")
    after = inked(browser, "plot-prior_belief-0-0"), inked(browser, "plot-prior_belief-0-1")
    assert before[0] != after[0], "a line that is switched off is gone from every panel"
    assert before[1] != after[1]
    browser.run(f"document.querySelector('{line}').click()")
    assert (inked(browser, "plot-prior_belief-0-0"), inked(browser, "plot-prior_belief-0-1")) == before
    # What is switched off stays so in the other charts of a choice, drawn only now.
    browser.run("document.querySelector('#dsd .line').click()")
    browser.run("document.querySelectorAll('#dsd .option')[2].click()")
    assert browser.run("[...document.querySelectorAll('#dsd .choice')].map((c) => c.hidden)") == [True, True, False]
    browser.run(DRAW_ALL)
    name = browser.run("document.querySelector('#dsd .line').dataset.line")
    hidden = browser.run(f"""Bokeh.documents.at(-1).roots()[0].renderers.filter((r) => r.name === {name!r})
      .map((r) => r.visible)""")
    assert hidden
    assert not any(hidden)
    last = inked(browser, "plot-occupancy-0-0")
    said = "document.querySelector('#occupancy output').textContent"
    assert browser.run(said) == "steps 143 to 150"
    browser.run("""(() => { const s = document.querySelector("#occupancy input"); s.value = 0;
      s.dispatchEvent(new Event("input")); })()""")
    assert browser.run(said) == "steps 1 to 8"
    assert inked(browser, "plot-occupancy-0-0") != last
    assert browser.errors == []


def test_claims_are_filtered_and_found(browser: Browser, small: Reproduction) -> None:
    opened(browser, small)
    rows = "[...document.querySelectorAll('.claims tbody tr')].filter((row) => row.getBoundingClientRect().height > 0)"
    assert browser.run(f"{rows}.length") == len(small.claims)
    counts = Counter(claim.verdict for claim in small.claims)
    verdict, count = counts.most_common()[-1]  # the rarest: some claims are left out
    assert 0 < count < len(small.claims)
    browser.run(f"document.querySelector('.tile.{CLASSES[verdict]}').click()")
    assert browser.run(f"{rows}.map((row) => row.dataset.verdict)") == [CLASSES[verdict]] * count
    # The link of a claim that the filter hides shows it.
    linked = """(() => { const link = [...document.querySelectorAll("aside a")].find((a) =>
      document.getElementById(a.hash.slice(1)).hidden); link.click();
      return document.getElementById(link.hash.slice(1)).hidden; })()"""
    assert browser.run(linked) is False
    assert browser.run(f"{rows}.length") == len(small.claims)
    # Beside every figure stand its own claims.
    for part in small.chapters:
        found = browser.run(f"""[...document.querySelectorAll("#{part.chapter.name} aside a")].map((a) =>
          a.hash.slice(7))""")
        assert sorted(found) == sorted(claim.name for claim in part.claims)
    assert browser.run("document.querySelectorAll('.card').length") == 5


def test_light_and_dark(browser: Browser, small: Reproduction) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    label = "Bokeh.documents[0].roots()[0].below[0].major_label_text_color.toString()"
    opened(browser, small)
    light = browser.run(back), browser.run(label)
    browser.run("document.getElementById('theme').click()")
    dark = browser.run(back), browser.run(label)
    opened(browser, small, dark=True)
    assert (browser.run(back), browser.run(label)) == dark
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert browser.errors == []
