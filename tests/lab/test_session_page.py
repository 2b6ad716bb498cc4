"""A session in the lab: replayed from its journal, followed while it goes on, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from cli_tools import call
from lab_page import EVIL, SETTLE, click, fits, pick, scrub, serving, text
from session_tools import resummed

from steering.envs.layout import cells_by_name
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.lab.journal import SessionLab, is_session
from steering.lab.packing import unpack
from steering.lab.page import write_page
from steering.session import Session
from steering.session.errors import JournalDamaged
from steering.session.replay import PATIENCE, Replay

STATES, ACTIONS = ["good", "worn", "broken"], ["run", "fix"]
FRESH = "0,0,0,0,0"
NOW = "Number(document.getElementById('now').textContent)"


def use(session: Session, steps: int, seed: int = 0) -> None:
    """Ask and tell for some steps."""
    rng = np.random.default_rng(seed)
    names = session.states
    state = names[0]
    for _ in range(steps):
        found = session.ask(state)
        state = names[int(rng.integers(len(names)))]
        session.tell(found.id, reward=round(float(rng.normal()), 3), next_state=state)


def made(place: Path, steps: int = 60, **options: Any) -> Path:
    """A session with a log, asks, an answer that was overruled, one that was cancelled and one under way."""
    log = place.with_suffix(".csv")
    log.write_text("state,action,reward,next_state\n" + "good,run,1.5,worn\nworn,fix,-2,good\n" * 10)
    with Session.create(place, STATES, ACTIONS, log=log, sync=False, **options) as session:
        use(session, steps)
        found = session.ask("worn")
        other = next(name for name in ACTIONS if name != found.action)
        session.tell(found.id, reward=4.5, next_state="good", action=other)
        session.cancel(session.ask("good", ["fix"]).id)
        session.ask("broken")
    return place


def listed(browser: Browser) -> list[list[str]]:
    script = "[...document.querySelectorAll('#last-asks tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    return list(browser.run(script))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("session")
    place, page = made(folder / "press"), folder / "page.html"
    lab = SessionLab(place)
    write_page(page, lab.name, lab.packs(), 20)
    lab.stop()
    return place, page


def test_the_exported_page_replays_and_asks_for_nothing(browser: Browser, exported: tuple[Path, Path]) -> None:
    place, page = exported
    browser.asked.clear()
    browser.errors.clear()
    browser.open(page.as_uri())
    assert browser.asked == [page.as_uri()]
    began = browser.run(NOW)
    browser.until(f"{NOW} > {began + 5}")
    click(browser, "play")
    scrub(browser, 81)
    with Session.open(place, read_only=True) as session:
        history = session.history()
    assert text(browser, "steps") == str(len(history)) == "81"
    shown = browser.run("document.querySelector('figcaption .reward').title")
    assert float(shown) == pytest.approx(history["reward"].sum())
    assert "81 steps learned, 63 suggestions" in browser.run("document.querySelector('.found').textContent")
    browser.until("Bokeh.documents[0].get_model_by_name('curve-0').data.x.at(-1) === 81")
    last = browser.run("Bokeh.documents[0].get_model_by_name('curve-0').data.y.at(-1)")
    assert last == pytest.approx(history["reward"].sum())
    assert not browser.errors
    assert page.stat().st_size < 3_000_000


def test_every_suggestion_has_its_reasons(browser: Browser, exported: tuple[Path, Path]) -> None:
    place, page = exported
    with Session.open(place, read_only=True) as session:
        asks = [event for event in session.events() if event["event"] == "ask"]
    browser.open(page.as_uri())
    click(browser, "play")
    scrub(browser, 5)
    assert "Nothing was asked so far" in text(browser, "asks-body")
    scrub(browser, 19)
    click(browser, "plan")  # the first ask, after the 20 rows of the log
    assert browser.run(NOW) == 20
    for number in (0, 7, 41):
        scrub(browser, 20 + number)
        ask = asks[number]
        assert text(browser, "reason") == ask["why"]["sentence"]
        assert browser.run("document.querySelector('.suggested').textContent") == ask["action"]
        assert listed(browser)[0][:4] == [str(ask["id"]), ask["state"], ask["action"], "not told yet"]
    scrub(browser, 81)
    rows = listed(browser)
    assert [row[0] for row in rows[:3]] == ["63", "62", "61"]
    assert [row[3] for row in rows[:2]] == ["not told yet", "cancelled"]
    other = next(name for name in ACTIONS if name != asks[60]["action"])
    assert rows[2][3] == f"“{other}” instead, reward 4.5, to “good”"
    browser.run("document.querySelectorAll('#last-asks tbody tr')[2].click()")
    browser.run(SETTLE)
    assert text(browser, "reason") == asks[60]["why"]["sentence"]


def test_a_state_shows_what_the_session_believes(browser: Browser, exported: tuple[Path, Path]) -> None:
    place, page = exported
    with Session.open(place, read_only=True) as session:
        why, best = session.explain("good"), session.recommend("good")
    browser.open(page.as_uri())
    click(browser, "play")
    scrub(browser, 81)
    pick(browser, "good")
    assert text(browser, "panel-title") == "good"
    found = browser.run(
        "[...document.querySelectorAll('#panel-body tbody')[0].rows].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    for row, one in zip(found, why.actions, strict=True):
        assert row[0] == ("➜ " if one["action"] == best else "") + one["action"]
        assert int(row[1]) == one["visits"]
        value, spread = (float(part) for part in row[2].split(" ± "))
        assert value == pytest.approx(one["value"], rel=6e-3)
        assert spread == pytest.approx(one["spread"], rel=6e-2)
    best_one = next(one for one in why.actions if one["action"] == best)
    assert float(text(browser, "believed")) == pytest.approx(best_one["reward"], rel=6e-3)
    assert text(browser, "panel-body").startswith(f"Best known: “{best}”")
    pictures = set()
    for _ in range(4):
        pictures.add(browser.run("document.querySelector('#maps canvas').toDataURL()"))
        browser.press("c")
        browser.run(SETTLE)
    assert len(pictures) == 4


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_fits_its_window(browser: Browser, exported: tuple[Path, Path], width: int, dark: bool) -> None:
    browser.open(exported[1].as_uri(), width=width, dark=dark)
    click(browser, "play")
    scrub(browser, 81)
    assert fits(browser, width)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str, SessionLab]]:
    place = made(tmp_path / "press", steps=10)
    lab = SessionLab(place)
    with serving(lab) as address:
        yield place, address, lab


def test_it_follows_while_the_page_is_open(browser: Browser, served: tuple[Path, str, SessionLab]) -> None:
    place, address, _ = served
    browser.errors.clear()
    browser.asked.clear()
    browser.open(address)
    assert browser.run(NOW) == 31  # what is now, not what was
    assert browser.run("document.getElementById('setup').hidden")
    assert "following" in text(browser, "state-of-run")
    with Session.open(place) as session:
        use(session, 5, seed=1)
        found = session.ask("worn")
    browser.until(f"{NOW} === 36")
    browser.until(f"document.getElementById('reason').textContent === {str(found.why)!r}")
    assert listed(browser)[0][0] == str(found.id)
    click(browser, "play")  # whoever looks at the past is left there
    scrub(browser, 12)
    with Session.open(place) as session:
        session.tell(found.id, reward=2.0, next_state="good")
    browser.until("document.getElementById('steps').textContent === '37'")
    assert browser.run(NOW) == 12
    with Session.open(place) as session:
        session.add_states(["sold"])
        session.add("sold", "run", 1.0, "good")
    browser.until("document.getElementById('about').textContent.includes('4 states')")
    browser.until(f"{NOW} === 38")
    assert [one for one in browser.asked if not one.startswith(address)] == []
    assert not browser.errors
    browser.call("Page.navigate", url="about:blank")  # or the page notes that its server went away, in another test
    browser.until("location.href === 'about:blank' && document.readyState === 'complete'")


def test_names_are_text(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with Session.create(tmp_path / "evil", [EVIL, "b"], [EVIL, "y"], sync=False) as session:
        for unit in (EVIL, "u"):
            found = session.ask(EVIL, unit=unit)
            session.tell(found.id, reward=1.0, next_state=EVIL, action=EVIL)
        session.ask(EVIL, unit=EVIL)
    done = SessionLab(tmp_path / "evil")
    done.name = EVIL
    write_page(page, done.name, done.packs(), 20)
    browser.errors.clear()
    browser.open(page.as_uri())
    click(browser, "play")
    scrub(browser, 2)
    assert text(browser, "environment") == EVIL
    assert EVIL in text(browser, "asks-body")
    assert EVIL in text(browser, "reason")
    pick(browser, EVIL)
    assert EVIL in text(browser, "panel-body")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert not browser.errors


# Without a browser --------------------------------------------------------------------------------------------------


def test_what_is_sent_comes_once(tmp_path: Path) -> None:
    place = made(tmp_path / "press", steps=8)
    lab = SessionLab(place)
    header, arrays = unpack(lab.news(FRESH))
    track = header["tracks"][0]
    with Session.open(place, read_only=True) as session:
        history = session.history()
    assert [STATES[s] for s in arrays["0.states"]] == history["state"].tolist()
    assert [ACTIONS[a] for a in arrays["0.actions"]] == history["action"].tolist()
    assert arrays["0.rewards"].tolist() == history["reward"].tolist()
    counts = [len(arrays["0.states"]), len(arrays["0.plans"]), len(arrays["0.frames"]), len(arrays["0.policyTimes"])]
    seen = ",".join(map(str, [*counts, track["newsTo"]]))
    again, nothing = unpack(lab.news(seen))
    assert all(array.size == 0 for array in nothing.values())
    assert again["tracks"][0]["news"] == []
    with pytest.raises(InvalidOption, match="load it again"):
        lab.news("1,2,3,4")
    for refused in (lambda: lab.begin({}), lambda: lab.act(0)):
        with pytest.raises(NotAvailable, match="only looked at"):
            refused()


def test_time_is_what_was_learned(tmp_path: Path) -> None:
    """The end of an episode and a reward that is told later have no time until they can be learned."""
    place = tmp_path / "s"
    with Session.create(place, STATES, ACTIONS, sync=False) as session:
        replay = Replay(place)
        found = session.ask("good")
        session.tell(found.id, next_state="worn")
        assert replay.advance()
        assert replay.time == 0
        session.tell(found.id, reward=1.0)
        session.add("worn", "run", 2.0, done=True)
        replay.advance()
        assert replay.time == 1
        session.ask("broken")
        replay.advance()
        assert replay.time == 2
        assert replay.rows(0, 2)[3].tolist() == [1, 2]  # the episode that began led there
        assert not replay.advance()
        assert replay.asks == [0, 2]


def test_agents_without_a_belief_and_many_states(tmp_path: Path) -> None:
    with Session.create(tmp_path / "q", STATES, ACTIONS, agent="q_learning", sync=False) as session:
        use(session, 5)
    header, arrays = unpack(SessionLab(tmp_path / "q").news(FRESH))
    assert arrays["0.frames"].size == 0
    assert len(header["tracks"][0]["news"]) == 10
    with Session.create(tmp_path / "many", 2000, 4, sync=False) as session:
        session.ask(0)
        session.add(0, 1, 1.0, 1999)
    lab = SessionLab(tmp_path / "many")
    header, arrays = unpack(lab.news(FRESH))
    assert np.isnan(arrays["0.spread"]).all()
    assert np.isfinite(arrays["0.q"]).all()
    assert unpack(lab.world)[0]["layout"]["kind"] == "cells"
    with Session.create(tmp_path / "more", 10_001, 1, sync=False), pytest.raises(InvalidOption, match="at most 10000"):
        SessionLab(tmp_path / "more")


def test_names_that_are_places_make_a_grid() -> None:
    found = cells_by_name(["(0, 0)", "(1, 2)"])
    assert found is not None
    assert (found.kind, found.width, found.height) == ("grid", 3, 2)
    for names in (["(0, 0)", "b"], ["(0, 0)", "(0, 0)"], ["(0, 999999999999999999999999)"], ["(999999, 999999)"]):
        assert cells_by_name(names) is None


def test_a_line_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    place = made(tmp_path / "press", steps=2)
    journal = place / "journal.jsonl"
    replay = Replay(place)
    before, whole = replay.time, journal.read_bytes()
    with Session.open(place) as session:
        session.add("good", "run", 1.0, "worn")
        session.add("good", "run", 2.0, "worn")
    after = journal.read_bytes()
    journal.write_bytes(after[: len(whole) + 10])
    assert not replay.advance()
    journal.write_bytes(after)
    assert replay.advance()
    assert replay.time == before + 2
    journal.write_bytes(after + b"torn\nother\n")
    for _ in range(PATIENCE - 1):
        assert not replay.advance()
    with pytest.raises(JournalDamaged, match="was changed or damaged"):
        replay.advance()


def test_odd_journals_get_one_sentence(tmp_path: Path) -> None:
    """One value of one event changed, with checksums that are right: it is shown, or refused in a sentence."""
    place = made(tmp_path / "press", steps=5)
    journal, rng, shown, sentences = place / "journal.jsonl", np.random.default_rng(3), 0, []
    whole = journal.read_bytes()
    for _ in range(150):
        journal.write_bytes(resummed(whole, rng))
        try:
            lab = SessionLab(place)
            unpack(lab.packs()[1])
            lab.stop()
            shown += 1
        except SteeringError as error:
            sentences.append(str(error))
    assert shown > 10
    assert len(sentences) > 10
    assert not any("\n" in one for one in sentences)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    place, page = made(tmp_path / "press", steps=3), tmp_path / "page.html"
    done = call(capsys, "lab", str(place), "--export", str(page))
    assert done.code == 0
    assert "MB" in done.out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    wrong = call(capsys, "lab", str(place), "--agent", "psrl", "--no-browser")
    assert (wrong.code, "is a session" in wrong.err) == (2, True)
    assert "holds no session" in call(capsys, "lab", str(tmp_path), "--no-browser").err
    (tmp_path / "riverswim").mkdir()
    monkeypatch.chdir(tmp_path)
    assert not is_session("riverswim")  # an environment, whatever lies around
    assert is_session("press")
    with pytest.raises(SteeringError, match="holds no session"):
        is_session("riverswim/")
    (place / "journal.jsonl").write_text("nonsense\n")
    assert "not the journal of a session" in call(capsys, "lab", str(place), "--no-browser").err
