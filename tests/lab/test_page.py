"""The page in a real Chromium: live and exported, with the numbers of the run."""

from __future__ import annotations

import json
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from cli_tools import call
from lab_page import EVIL, SETTLE, click, fits, pause, pick, scrub, serving, text

from steering import TabularMDP, run
from steering.agents import make_agent
from steering.envs import Environment, make_env
from steering.lab.page import export
from steering.lab.recorder import Track
from steering.lab.server import Lab, Setup
from steering.lab.words import HOW

AGENTS = ["steering", "psrl"]
STEPS = 400
SMALL = 3_000_000
"""Bytes of a page with 5,000 steps of two agents, at most."""
HASH = """document.querySelectorAll("#maps canvas")[%d].toDataURL()"""
CLICK = """(() => { const c = document.querySelectorAll("#maps canvas")[%d], b = c.getBoundingClientRect();
  c.dispatchEvent(new MouseEvent("click", { clientX: b.left + b.width * %g, clientY: b.top + b.height * %g })); })()"""
CAPTIONS = """[...document.querySelectorAll("figcaption")].map((f) =>
  [".regret", ".reward"].map((name) => f.querySelector(name)).map((b) => [b.title, b.textContent]))"""
CURVE = """((i) => { const d = Bokeh.documents[0].get_model_by_name("curve-" + i).data;
  return [d.x.at(-1), d.y.at(-1)]; })(%d)"""
TRIED = """[...document.querySelectorAll("#panel-body tbody")[0].rows].map((r) => Number(r.cells[1].textContent))"""
START = """(() => { const f = document.getElementById("form"); f.environment.value = "%s"; f.steps.value = %d;
  f.seed.value = %d; f.requestSubmit(); })()"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "page.html"
    agents = [make_agent(name) for name in AGENTS]
    export(path, make_env("deepsea:8"), agents, steps=5000, seed=0, speed=20)
    return path


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(Lab(Setup.checked("deepsea:8", AGENTS, STEPS, 0))) as found:
        yield found


def finals(browser: Browser) -> list[tuple[float, float]]:
    """Regret and reward of every map: in full, as their titles are; what is seen is rounded to four digits."""
    found = browser.run(CAPTIONS)
    for full, seen in (pair for one in found for pair in one):
        assert len(seen.strip("-").replace(".", "").lstrip("0")) <= 4 or float(seen) == round(float(full))
        assert float(seen) == pytest.approx(float(full), rel=6e-4, abs=1e-9)
    return [(float(regret[0]), float(reward[0])) for regret, reward in found]


def true_finals(env: Any, steps: int, seed: int = 0) -> list[tuple[float, float]]:
    found = []
    for agent in AGENTS:
        results = run(env, agent, steps=steps, seeds=[seed])
        found.append((float(results.regret_curve()[0, -1]), float(results.rewards[0].sum())))
    return found


def test_the_exported_page_is_small_and_asks_for_nothing(browser: Browser, exported: Path) -> None:
    assert exported.stat().st_size < SMALL
    browser.asked.clear()
    browser.errors.clear()
    browser.open(exported.as_uri())
    assert browser.asked == [exported.as_uri()]
    assert not browser.errors
    assert text(browser, "environment") == "deepsea:8"
    assert "Content-Security-Policy" in exported.read_text(encoding="utf-8")


def test_it_plays_steps_and_scrubs(browser: Browser, exported: Path) -> None:
    browser.errors.clear()
    browser.open(exported.as_uri())
    began, before = int(text(browser, "now")), browser.run(HASH % 0)
    browser.until(f"Number(document.getElementById('now').textContent) > {began + 20}")
    assert browser.run(HASH % 0) != before
    pause(browser)
    now = int(text(browser, "now"))
    click(browser, "step")
    assert int(text(browser, "now")) == now + 1
    click(browser, "plan")
    track = "document.getElementById('now').textContent"
    assert now + 1 < int(browser.run(track)) <= now + 10  # deepsea:8 is planned after 9 steps at the latest
    scrub(browser, 4000)
    assert text(browser, "now") == "4000"
    late = browser.run(HASH % 1)
    browser.press("ArrowLeft")
    browser.run(SETTLE)
    assert text(browser, "now") == "3999"
    browser.press("Home")
    browser.run(SETTLE)
    assert text(browser, "now") == "0"
    assert browser.run(HASH % 1) != late
    browser.press(" ")
    browser.until("Number(document.getElementById('now').textContent) > 0")
    pause(browser)
    assert not browser.errors


def test_numbers_are_those_of_the_run(browser: Browser, exported: Path) -> None:
    browser.open(exported.as_uri())
    pause(browser)
    scrub(browser, 5000)
    np.testing.assert_allclose(finals(browser), true_finals("deepsea:8", 5000), rtol=1e-12, atol=1e-9)
    browser.until(f"{CURVE % 0}[0] === 5000")
    for i, (regret, _) in enumerate(true_finals("deepsea:8", 5000)):
        assert browser.run(CURVE % i)[1] == pytest.approx(regret, abs=1e-9)


def test_every_colour_changes_the_picture(browser: Browser, exported: Path) -> None:
    browser.open(exported.as_uri())
    pause(browser)
    scrub(browser, 300)
    seen = {browser.run(HASH % 1)}
    for _ in range(4):
        browser.press("c")
        browser.run(SETTLE)
        seen.add(browser.run(HASH % 1))
    assert len(seen) == 5
    click(browser, "arrows")
    assert browser.run(HASH % 1) not in seen


def test_a_state_is_explained(browser: Browser, tmp_path: Path) -> None:
    path, agent = tmp_path / "page.html", make_agent("psrl", normal_gamma=(0.5, 4.0, 3.0, 3.0), eta=0.7)
    export(path, make_env("deepsea:8"), [agent], steps=100, seed=0, speed=20)
    browser.open(path.as_uri())
    pause(browser)
    scrub(browser, 90)
    browser.press("c")  # anything but a click on a state leaves the panel alone
    assert text(browser, "panel-title") == "Click a state"
    for place in np.linspace(0.05, 0.3, 11):  # the first cell, wherever it is
        browser.run(CLICK % (0, place, 0.5))
        browser.run(SETTLE)
        if text(browser, "panel-title").endswith(" in state 0"):
            break
    assert text(browser, "panel-title").endswith(" in state 0")
    run("deepsea:8", agent, steps=90, seeds=[0])  # the page's belief is that of the plan of step 90
    assert browser.run(TRIED) == agent.belief.totals[0].tolist()
    browser.run("document.querySelector('#panel-body tbody').rows[1].click()")
    browser.run(SETTLE)
    assert float(text(browser, "believed")) == pytest.approx(agent.belief.mean_model()[1][0, 1], rel=6e-3)
    assert browser.run("document.querySelector('.why').textContent").startswith("It ")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_fits_its_window(browser: Browser, exported: Path, tmp_path: Path, width: int, dark: bool) -> None:
    browser.open(exported.as_uri(), width=width, dark=dark)
    pause(browser)
    assert fits(browser, width)
    back = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") is not dark
    click(browser, "theme")
    assert browser.run("getComputedStyle(document.body).backgroundColor") != back
    browser.picture(tmp_path / "page.png", whole=True)
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_names_from_files_are_text(browser: Browser, tmp_path: Path) -> None:
    P = np.zeros((3, 2, 3))
    P[:, 0] = np.eye(3)[[1, 2, 0]]
    P[:, 1] = np.eye(3)
    mdp = TabularMDP(P=P, reward_mean=np.ones((3, 2)), state_names=(EVIL, "b", "c"), action_names=(EVIL, "stay"))
    path = tmp_path / "evil.html"
    export(path, Environment(EVIL, mdp), [make_agent("psrl")], steps=40, seed=0, speed=20)
    browser.errors.clear()
    browser.open(path.as_uri())
    for name in (EVIL, "9", ""):  # the second is no state: said, and the panel stays
        pick(browser, name)
        assert ("There is no state 9; there are 3" in text(browser, "message")) is (name == "9")
    assert text(browser, "environment") == EVIL
    assert EVIL in text(browser, "panel-body")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert not browser.errors


def test_live_the_record_arrives_and_another_run_can_be_started(browser: Browser, address: str) -> None:
    browser.errors.clear()
    browser.asked.clear()
    browser.open(address)
    browser.until("document.getElementById('state-of-run').textContent.includes('plan')")
    pause(browser)
    scrub(browser, STEPS)
    np.testing.assert_allclose(finals(browser), true_finals("deepsea:8", STEPS), rtol=1e-12, atol=1e-9)
    browser.run(START % ("riverswim", 200, 4))
    browser.until("document.getElementById('environment').textContent.startsWith('riverswim')")
    browser.until("document.getElementById('state-of-run').textContent.includes('plan')")
    pause(browser)
    scrub(browser, 200)
    np.testing.assert_allclose(finals(browser), true_finals("riverswim", 200, 4), rtol=1e-12, atol=1e-9)
    browser.run(START % ("deepseaa:8", 200, 4))
    browser.until("document.getElementById('message').textContent.includes('did you mean')")
    assert [one for one in browser.asked if not one.startswith(address)] == []
    assert all("400" in one for one in browser.errors)  # the browser notes the refusal, nothing else


def test_nobody_waits_for_a_slow_agent(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    go, whole = threading.Event(), Track.run

    def run_later(track: Track) -> None:
        if track.name == "psrl":
            go.wait(60)
        whole(track)

    monkeypatch.setattr(Track, "run", run_later)
    slow = "document.querySelectorAll('.found')[1].textContent.includes('It is slow: still at step 0.')"
    with serving(Lab(Setup.checked("deepsea:4", AGENTS, 3000, 0))) as found:
        browser.open(found)
        browser.until(slow)
        assert int(text(browser, "now")) > 0
        assert "still making its first plan" in browser.run("document.querySelectorAll('.now')[1].textContent")
        go.set()
        browser.until("document.getElementById('state-of-run').textContent.includes('plan')")
        pause(browser)
        scrub(browser, 3000)
        assert not browser.run(slow)
        assert browser.run("document.querySelectorAll('.now')[1].textContent") == "The run is over."


def test_the_page_says_how_agents_decide_and_why_here(browser: Browser, exported: Path) -> None:
    browser.open(exported.as_uri())
    pause(browser)
    scrub(browser, 60)
    assert text(browser, "about").startswith(
        "Chain of n states in which only swimming right all the way pays. 8 states"
    )
    words = browser.run("[...document.querySelectorAll('.how')].map((p) => p.textContent)")
    assert words == [HOW[name] for name in AGENTS]
    results = [run("deepsea:8", name, steps=60, seeds=[0], windows=1) for name in AGENTS]
    found = browser.run("[...document.querySelectorAll('.found')].map((p) => p.textContent)")
    now = browser.run("[...document.querySelectorAll('.now')].map((p) => p.textContent)")
    for one, sentence, why in zip(results, found, now, strict=True):
        pairs = np.asarray(one.visits[0, 0])
        seen = f"{(pairs.sum(axis=1) > 0).sum()} of 8 states and tried {(pairs > 0).sum()} of 16 actions"
        assert seen in sentence
        assert why.startswith("At step 60, in state ")
    assert "It follows the guess of the world that it drew at step" in now[1]
    assert "guess of the world" not in now[0]


def test_you_can_be_the_agent(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.until("document.getElementById('state-of-run').textContent.includes('plan')")
    if not text(browser, "environment").startswith("riverswim"):  # an earlier test may have started it
        browser.run(START % ("riverswim", 200, 4))
        browser.until("document.getElementById('environment').textContent.startsWith('riverswim')")
        browser.until("document.getElementById('state-of-run').textContent.includes('plan')")
    pause(browser)
    click(browser, "be")
    browser.until("document.querySelectorAll('#maps canvas').length === 3")
    for number in range(3):
        browser.press("ArrowLeft")
        browser.until(f"document.getElementById('now').textContent === '{number + 1}'")
    regret, reward = finals(browser)[2]
    assert reward == pytest.approx(3 * 0.005)  # riverswim pays that on the left bank
    oracle = run("riverswim", "psrl", steps=200, seeds=[4]).oracle_rewards
    assert oracle is not None
    assert regret == pytest.approx(oracle[0, :3].sum() - reward)
    # A phone has no keys.
    names = browser.run("[...document.querySelectorAll('#maps .act')].map((b) => b.textContent)")
    assert names == ["← left", "→ right"]
    browser.run("document.querySelector('#maps .act').click()")
    browser.until("document.getElementById('now').textContent === '4'")
    assert finals(browser)[2][1] == pytest.approx(4 * 0.005)
    assert browser.run("Bokeh.documents.at(-1).roots()[0].x_range.start") == 0


def answer(address: str, body: bytes | None = None, **headers: str) -> int:
    request = urllib.request.Request(address, body, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request) as got:
            return int(got.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_other_sites_cannot_use_the_server(address: str) -> None:
    setup = json.dumps({"environment": "deepsea:4", "agents": ["psrl"], "steps": 10, "seed": 0}).encode()
    assert answer(address) == 200
    assert answer(address, Host="evil.example") == 400
    assert answer(f"{address}api/start", setup, Content_Type="text/plain") == 403
    assert answer(f"{address}api/start", setup, Content_Type="application/json", Origin="http://evil.example") == 403
    assert answer(f"{address}api/act", b"[]", Content_Type="application/json") == 403
    assert answer(f"{address}assets/../page.py") == 404
    with urllib.request.urlopen(address) as got:
        assert "default-src 'none'" in got.headers["Content-Security-Policy"]


def test_the_command_line_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    done = call(capsys, "lab", "deepsea:8", "--agent", "steering", "--steps", "500", "--export", str(path))
    assert done.code == 0
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "MB" in done.out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("--speed", "0"), "--speed is 0"),
        (("--port", "70000"), "--port 70000"),
        (("--agent", "psrl", "--agent", "psrl"), "twice"),
        (("--steps", "0"), "steps"),
    ],
)
def test_the_command_line_refuses_in_a_sentence(
    capsys: pytest.CaptureFixture[str], given: tuple[str, ...], sentence: str
) -> None:
    done = call(capsys, "lab", "deepsea:6", "--no-browser", *given)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("nowhere/page.html", "No such file or directory"),
        ("", "is a directory"),
        ("file/page.html", "Not a directory"),
        ("link", "is a link"),
    ],
)
def test_a_place_for_no_page_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str, sentence: str
) -> None:
    monkeypatch.setattr(Track, "run", lambda track: pytest.fail("the run was made"))
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    done = call(capsys, "lab", "deepsea:6", "--steps", "20", "--export", str(tmp_path / place))
    assert done.code == 2
    assert sentence in done.err
    assert done.err.startswith(f"error: --export {tmp_path / place} ")
    assert done.err.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "link"]
    assert (tmp_path / "link").is_symlink()


def test_a_missing_extra_names_its_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    done = call(capsys, "lab", "deepsea:6", "--no-browser")
    assert (done.code, "pip install 'steering-rl[lab]'" in done.err) == (2, True)
