"""What the page says of a run in Chromium: as of which plan, where the agent is, and how often."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from lab_page import pause, pick, scrub, text

from steering.agents import make_agent
from steering.envs import make_env
from steering.lab.page import export
from steering.lab.recorder import Track

Record = tuple[Path, list[Track]]
NOW = "[...document.querySelectorAll('.now')].map((p) => p.textContent)"


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    path = tmp_path_factory.mktemp("lab") / "page.html"
    agents = [make_agent(name) for name in ("steering", "psrl")]
    return path, export(path, make_env("deepsea:8"), agents, steps=5000, seed=0, speed=None)


def opened(browser: Browser, record: Record) -> list[Track]:
    browser.open(record[0].as_uri())
    pause(browser)
    return record[1]


def last(times: list[int], t: int) -> int:
    return max(time for time in times if time <= t)


def test_a_discovery_is_explained_with_what_was_discovered(browser: Browser, record: Record) -> None:
    """From the plan after the first best reward on, up to the next plan."""
    steering = opened(browser, record)[0]
    sim = steering.simulator
    found = int(np.flatnonzero(sim.rewards > 0.5)[0]) + 1
    following = next(plan for plan in steering.plans if plan > found)
    assert found in steering.plans
    for t in (found, following - 1):
        scrub(browser, t)
        assert browser.run(NOW)[0].endswith(f" As of its plan of step {found}.")
    pick(browser, "7")
    assert f"as believed at the plan of step {found}; mean reward believed" in text(browser, "panel-body")
    assert float(text(browser, "believed")) > 0.1


def test_a_sentence_is_of_one_plan(browser: Browser, record: Record) -> None:
    """Values, visits and the action are those of one recorded belief; a plan without one is told apart."""
    tracks, kinds = opened(browser, record), set()
    for t in (20, 35, 60, *range(900, 1000, 9), *range(4000, 4100, 9)):
        scrub(browser, t)
        for track, sentence in zip(tracks, browser.run(NOW), strict=True):
            kinds.add(checked(track, sentence, t))
    assert kinds == {"in force", "same", "other"}


def checked(track: Track, sentence: str, t: int) -> str:
    """Check the numbers of a sentence against the record; returns how it speaks of its plan."""
    frame = [frame for frame in track.frames if frame.time <= t][-1]
    plan, state, names = last(track.plans, t), track.simulator.states[t], track.environment.table.action_names
    policies = [dict(track.policies)[last([time for time, _ in track.policies], when)] for when in (frame.time, plan)]
    then, force = (names[policy[0, state]] for policy in policies)
    values = {float(value) for value in re.findall(r"(-?[\d.]+(?:e-\d+)?) ± ", sentence)}
    assert all(np.isclose(frame.q[state], value, rtol=6e-3, atol=1e-6).any() for value in values)
    if then != force:
        assert f"its plan of step {plan} says “{force}”" in sentence
        assert f"by that of step {frame.time} “{force}” is worth " in sentence
        return "other"
    tail = "" if plan == frame.time else f"; the plan in force, of step {plan}, says the same here"
    assert sentence.endswith(f" As of its plan of step {frame.time}{tail}.")
    sim, action = track.simulator, names.index(then)
    before = (sim.states[: frame.time] == state) & (sim.actions[: frame.time] == action)
    times = {0: "never", 1: "once"}.get(int(before.sum()), f"{before.sum()} times")
    if counted := re.search(r"tried (never|once|\d+ times) here", sentence):
        assert counted[1] == times
    assert ("tries something new" in sentence) is (times == "never")
    return "same" if tail else "in force"


def test_what_was_seen_is_of_now_where_nothing_is_believed(browser: Browser, tmp_path: Path) -> None:
    """An agent without a posterior: the outcomes of an action are those of all steps so far, not of a recorded one."""
    path, t = tmp_path / "page.html", 107
    (track,) = export(path, make_env("deepsea:4"), [make_agent("q_learning")], steps=5000, seed=0, speed=None)
    assert t not in [frame.time for frame in track.frames]
    opened(browser, (path, [track]))
    scrub(browser, t)
    state, sim = int(np.bincount(track.simulator.states[:t]).argmax()), track.simulator
    pick(browser, str(state))
    action = int(
        browser.run("[...document.querySelector('#panel-body tbody').rows].findIndex((r) => r.ariaSelected === 'true')")
    )
    assert "led so far; q_learning keeps no posterior of it." in text(browser, "panel-body")
    seen = browser.run(
        "[...document.querySelectorAll('#panel-body tbody')[1].rows].map((r) => Number(r.cells[1].textContent))"
    )
    assert sum(seen) == ((sim.states[:t] == state) & (sim.actions[:t] == action)).sum()


def test_where_it_stands_it_has_been(browser: Browser, record: Record) -> None:
    """At every step the states seen are those left and the one it is in; visits are counted when it acts."""
    steering = opened(browser, record)[0]
    for t in (0, 1, 2, 12, 5000):
        scrub(browser, t)
        been = {*steering.simulator.states[: t + 1].tolist(), *steering.simulator.successors[:t].tolist()}
        assert f"Has been in {len(been)} of 8 states" in browser.run("document.querySelector('.found').textContent")
    scrub(browser, 1)
    for state in sorted({0, int(steering.simulator.states[1]), 7}):
        pick(browser, str(state))
        visits = "1 visit so far" if state == 0 else "0 visits so far"
        here = ", and it is here" if state == steering.simulator.states[1] else ""
        assert f"{visits}{here}." in text(browser, "panel-body")


SAID = """new Promise((done) => { const said = [], look = () => {
  const match = /^At step (\\d+), in state (\\d+):/.exec(document.querySelector(".now").textContent);
  const one = [...match.slice(1).map(Number), Number(document.getElementById("now").textContent)];
  said.push(one);
  if (one[2] < %d) requestAnimationFrame(look); else done(said);
}; look(); })"""
"""Step and state of the sentence, and step of the picture, in every frame while the page plays up to a step."""


def test_a_sentence_says_of_which_step_it_is(browser: Browser, record: Record) -> None:
    """While the page plays, the sentence may be of an earlier step and says so; slowly, it is of the present one."""
    states = opened(browser, record)[0].simulator.states
    for speed, since, until in ((60, 40, 150), (2, 150, 153)):
        scrub(browser, since)
        set_speed(browser, speed)
        browser.press(" ")
        said = browser.run(SAID % until)
        pause(browser)
        assert len({step for step, _, _ in said}) >= 2
        assert all(states[step] == state and step <= now for step, state, now in said)
    assert all(step == now for step, _, now in said)


def set_speed(browser: Browser, speed: float) -> None:
    slider = "document.getElementById('speed')"
    browser.run(f"{slider}.value = {25 * np.log10(speed)}; {slider}.dispatchEvent(new Event('input'))")
