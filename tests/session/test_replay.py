"""The journal is the truth: opening gives the same session, to the bit, with and without a snapshot."""

import json
import os
import shutil
import subprocess
import sys
import warnings

import pytest
from cli_tools import environment
from session_tools import ACTIONS, STATES, Library, drive, essence, make, make_logs, process, state_of

from steering.errors import SteeringError
from steering.session import JournalDamaged, Session, SessionInUse, SessionWarning, snapshot
from steering.session.journal import line_of
from steering.session.replay import Replay

AGENTS = ["steering", "steering:replan=learned", "psrl", "ube", "q_learning", "bayesian_q:mixture=sampling,samples=10"]


def rewrite(path, change):
    """Write a journal anew, its events changed, with checksums that are right."""
    lines, checksum = [], 0
    for number, text in enumerate(path.read_text().splitlines()):
        event = {name: value for name, value in json.loads(text).items() if name != "sum"}
        line, checksum = line_of(change(number, event), checksum)
        lines.append(line)
    path.write_bytes(b"".join(lines))


def beginning(agent):
    return {"agent": agent, "sync": False, "rewards": None, "replan_every": 1 if agent == "steering" else 6}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("snapshots", [False, True])
def test_opened_before_every_step_it_suggests_the_same(tmp_path, agent, snapshots, monkeypatch):
    logs = make_logs(tmp_path / "logs", 40)
    make(tmp_path / "one", **beginning(agent)).close()
    way = Library(tmp_path / "one")
    drive(way, logs, 40)
    way.close()
    monkeypatch.setattr(snapshot, "EVERY", 1 if snapshots else 10**9)
    make(tmp_path / "two", **beginning(agent)).close()
    for steps in range(1, 41):
        way = Library(tmp_path / "two")
        drive(way, logs, steps)
        way.close()
    assert essence(tmp_path / "one") == essence(tmp_path / "two")
    assert (tmp_path / "two" / snapshot.FILE).exists() == snapshots


def test_a_snapshot_is_the_state(tmp_path, monkeypatch):
    logs = make_logs(tmp_path / "logs", 60)
    session = make(tmp_path / "s", sync=False, risk=(-50.0, 0.9))
    session.ask("good", unit="a", allowed=["run", "service"])
    session.ask("bad", risk=(-40.0, 0.95))
    session.add_states(["rusty"])
    session.add("rusty", "run", 1.0, done=True, unit="b")
    session.forbid("run", "rusty")
    session.close()
    way = Library(tmp_path / "s")
    drive(way, logs, 60)
    way.session.tell(1, next_state="worn")
    monkeypatch.setattr(snapshot, "EVERY", 1)
    way.close()
    kept = Session.open(tmp_path / "s", read_only=True)
    assert kept._kept == kept._journal.number > 0
    (tmp_path / "s" / snapshot.FILE).unlink()
    replayed = Session.open(tmp_path / "s", read_only=True)
    assert replayed._kept == 0
    one, other = kept._state, replayed._state
    for name in ("rows", "asks", "order"):
        assert (getattr(one, name).array == getattr(other, name).array).all()
    for name in (
        "open",
        "questions",
        "waiting",
        "keys",
        "imports",
        "plan",
        "structure",
        "episode_began",
        "risk",
        "number",
    ):
        assert getattr(one, name) == getattr(other, name), name
    assert (one.mask == other.mask).all()
    assert (one.states.names, one.units.names) == (other.states.names, other.units.names)


@pytest.mark.parametrize("harm", ["cut", "flip", "other journal", "empty", "text"])
def test_a_snapshot_that_does_not_fit_is_left_alone(tmp_path, harm, monkeypatch):
    monkeypatch.setattr(snapshot, "EVERY", 1)
    with make(tmp_path / "s", sync=False) as session:
        for step in range(5):
            session.add("good", "run", float(step), "good")
    path = tmp_path / "s" / snapshot.FILE
    content = bytearray(path.read_bytes())
    if harm == "cut":
        content = content[:-100]
    elif harm == "flip":
        content[len(content) // 2] ^= 1
    elif harm == "empty":
        content = bytearray()
    elif harm == "text":
        content = bytearray(b"nothing" * 20)
    else:
        with make(tmp_path / "other", sync=False, seed=9) as session:
            session.add("good", "run", 9.0, "good")
        content = bytearray((tmp_path / "other" / snapshot.FILE).read_bytes())
    path.write_bytes(bytes(content))
    assert Session.open(tmp_path / "s", read_only=True).history()["reward"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_every_torn_tail_is_cut_and_reported(tmp_path):
    with make(tmp_path / "s", sync=False) as session:
        session.add("good", "run", 1.0, "worn")
        begin = (tmp_path / "s" / "journal.jsonl").stat().st_size
        found = session.ask("worn")
        middle = (tmp_path / "s" / "journal.jsonl").stat().st_size
        session.tell(found.id, reward=2.0, next_state="good")
    whole = (tmp_path / "s" / "journal.jsonl").read_bytes()
    edges = [edge + near for edge in (begin, middle, len(whole)) for near in (-1, 0, 1)]
    for size in sorted({*range(begin, len(whole), 37), *edges} & set(range(begin, len(whole)))):
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        (tmp_path / "t").mkdir()
        (tmp_path / "t" / "journal.jsonl").write_bytes(whole[:size])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with Session.open(tmp_path / "t", sync=False) as session:
                assert bool(session.notes) == (size not in (begin, middle))
                again = session.ask("worn")
                assert (again.id, again.action) == (found.id, found.action)
                session.tell(again.id, reward=2.0, next_state="good")
                assert session.history()["reward"].tolist() == [1.0, 2.0]
        assert all(one.category is SessionWarning for one in said)
        assert len(said) == len(session.notes)
        assert essence(tmp_path / "t") == essence(tmp_path / "s")


def test_damage_that_is_not_at_the_end_is_refused(tmp_path):
    with make(tmp_path / "s", sync=False) as session:
        for step in range(5):
            session.add("good", "run", float(step), "good")
    path = tmp_path / "s" / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    harms = {
        "changed": [*lines[:2], lines[2].replace(b'"reward":1.0', b'"reward":7.0'), *lines[3:]],
        "lost": [*lines[:2], *lines[3:]],
        "twice": [*lines[:3], lines[2], *lines[3:]],
        "swapped": [*lines[:2], lines[3], lines[2], *lines[4:]],
    }
    for harm, changed in harms.items():
        path.write_bytes(b"".join(changed))
        with pytest.raises(JournalDamaged, match=r"line \d+ .*was changed or damaged"):
            Session.open(tmp_path / "s")
        assert path.read_bytes() == b"".join(changed), harm


def test_another_version_is_said(tmp_path, monkeypatch):
    with make(tmp_path / "s", sync=False) as session:
        first = session.ask("good")
    monkeypatch.setattr("steering.session.header.REVISION", 77)
    with pytest.warns(SessionWarning, match="revision 77"):
        session = Session.open(tmp_path / "s")
    with session:
        assert session.ask("good") == first
        assert "new suggestions may differ" in session.notes[0]


def test_the_agent_keeps_the_options_it_was_made_with(tmp_path, monkeypatch):
    with make(tmp_path / "s", sync=False) as session:
        assert "excursions=8" in session.header["agent_in_full"]
        assert session._mind.agent == session.header["agent_in_full"]


def test_two_processes_cannot_write_at_once(tmp_path):
    with make(tmp_path / "s", sync=False) as session:
        session.add("good", "run", 1.0, "good")
        with pytest.raises(SessionInUse, match=f"in use by process {os.getpid()}"):
            Session.open(tmp_path / "s")
        code = f"from steering.session import Session; Session.open({str(tmp_path / 's')!r})"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
        )
        assert "SessionInUse" in done.stderr
        looked = Session.open(tmp_path / "s", read_only=True)
        assert len(looked.history()) == 1
        with pytest.raises(SteeringError, match="reading only"):
            looked.add("good", "run", 1.0, "good")
    with Session.open(tmp_path / "s") as session:
        session.add("good", "run", 1.0, "good")
    with pytest.raises(SteeringError, match="was closed"):
        session.ask("good")


def test_the_journal_is_for_people_too(tmp_path):
    with make(tmp_path / "s", sync=False) as session:
        found = session.ask("good", unit="press 1")
        session.tell(found.id, reward=1.0, next_state="worn")
        session.cancel(session.ask("good").id)
        assert [one["event"] for one in session.events()] == ["ask", "tell", "ask", "cancel"]
        assert [one["number"] for one in session.events(1, 2)] == [2, 3]
    lines = [json.loads(line) for line in (tmp_path / "s" / "journal.jsonl").read_text().splitlines()]
    assert lines[0]["states"] == STATES
    assert lines[1]["state"] == "good"
    assert lines[1]["why"]["sentence"] == str(found.why)
    assert lines[2]["next"] == "worn"


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    import errno

    from steering.errors import DiskFull
    from steering.session import journal as journal_module

    with make(tmp_path / "s", sync=False) as session:
        session.add("good", "run", 1.0, "good")
        size = (tmp_path / "s" / "journal.jsonl").stat().st_size
        write = os.write

        def full(descriptor, content):
            write(descriptor, bytes(content)[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(journal_module.os, "write", full)
        with pytest.raises(DiskFull):
            session.add("good", "run", 2.0, "good")
        monkeypatch.setattr(journal_module.os, "write", write)
        assert (tmp_path / "s" / "journal.jsonl").stat().st_size == size
        session.add("good", "run", 3.0, "good")
    assert Session.open(tmp_path / "s", read_only=True).history()["reward"].tolist() == [1.0, 3.0]


def test_links_are_not_followed(tmp_path):
    make(tmp_path / "s", sync=False).close()
    outside = tmp_path / "outside.jsonl"
    os.replace(tmp_path / "s" / "journal.jsonl", outside)
    (tmp_path / "s" / "journal.jsonl").symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(OSError, match="symbolic links"):
        Session.open(tmp_path / "s")
    assert outside.read_bytes() == before


def test_an_agent_of_ones_own(own_code, monkeypatch):
    (own_code / "my_session_agent.py").write_text(
        "import numpy as np\nimport steering\n\n"
        "@steering.register_agent('sticky')\n"
        "class Sticky(steering.Agent):\n"
        "    def _reset(self):\n        self.seen = 0\n"
        "    def plan(self, state=0, step=0):\n        self.choice = self.planning_rng.random()\n"
        "    def act(self, state, step=0):\n"
        "        allowed = np.flatnonzero(self.problem.mask[state])\n"
        "        return allowed[int((self.choice + self.acting_rng.random()) * 100 + self.seen) % allowed.size]\n"
        "    def observe(self, state, action, reward, next_state, step=0):\n        self.seen += 1\n"
    )
    monkeypatch.chdir(own_code)
    told = []
    for reopen in (False, True):
        place = own_code / f"s{reopen}"
        session = make(place, agent="sticky", rewards=None, import_modules=["my_session_agent"], sync=False)
        assert session.header["import_modules"] == ["my_session_agent"]
        for step in range(15):
            found = session.ask(state_of(step), allowed=ACTIONS[:2] if step % 3 else None)
            reward, follows = process(step, found.action)
            session.tell(found.id, reward=reward, next_state=follows)
            if reopen:
                session.close()
                session = Session.open(place, sync=False)
        session.close()
        told.append(essence(place))
    assert told[0] == told[1]
    assert len({event["action"] for event in told[0] if event["event"] == "ask"}) > 1


@pytest.mark.parametrize(
    "why",
    [
        [1],
        "x",
        {"actions": 0.5},
        {"actions": [1]},
        {"actions": [{"value": "x"}]},
        {"actions": [{"visits": []}]},
        {"cost": "much"},
        {"sentence": 7},
    ],
    ids=str,
)
def test_odd_reasons_are_refused_with_their_line(tmp_path, why):
    with make(tmp_path / "s", sync=False) as session:
        session.ask("good")
    rewrite(
        tmp_path / "s" / "journal.jsonl",
        lambda _, event: {**event, "why": why} if event.get("event") == "ask" else event,
    )
    with pytest.raises(JournalDamaged, match="line 2: it cannot be used"):
        Session.open(tmp_path / "s")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("discount", 1.0, "discount is 1; it must be below 1"),
        ("discount", 1.5, "it must be below 1"),
        ("discount", -1, "discount is -1; it must be at least 0"),
        ("discount", "x", "discount is 'x'; it must be a number"),
        ("discount", None, "discount is None; it must be a number"),
        ("seed", -1, "seed is -1"),
        ("replan_every", 0, "replan_every is 0"),
    ],
)
def test_numbers_that_no_session_can_have_are_refused_in_a_journal(tmp_path, name, value, why):
    """They were a traceback at the first plan."""
    with make(tmp_path / "s", sync=False) as session:
        session.ask("good")
    rewrite(tmp_path / "s" / "journal.jsonl", lambda number, event: event if number else {**event, name: value})
    for opened in (lambda: Session.open(tmp_path / "s"), lambda: Replay(tmp_path / "s")):
        with pytest.raises(JournalDamaged, match=why):
            opened()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{}\n", "its first line is no header of one, or was changed"),
        ("{}", "its first line is no header of one, or was changed"),
        ("{}\n{}\n", "its first line is no header of one, or was changed"),
        ("", "it is empty"),
    ],
)
def test_a_file_that_is_no_journal_is_said(tmp_path, content, why):
    (tmp_path / "journal.jsonl").write_text(content)
    for read_only in (True, False):
        with pytest.raises(JournalDamaged, match=f"journal.jsonl is not the journal of a session: {why}; put a backup"):
            Session.open(tmp_path, read_only=read_only)
    assert (tmp_path / "journal.jsonl").read_text() == content
