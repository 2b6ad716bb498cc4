"""The commands of sessions, for people and for scripts."""

import json

import pandas as pd
import pytest
from cli_tools import call
from session_tools import write_log

from steering.session import Session


@pytest.fixture
def place(tmp_path, capsys):
    done = call(
        capsys, "session", "new", str(tmp_path / "s"), "--states", "good,worn", "--actions", "run,fix", "--json"
    )
    assert done.code == 0
    assert json.loads(done.out)["states"] == ["good", "worn"]
    return str(tmp_path / "s")


def test_ask_tell_explain_recommend(place, capsys):
    first = json.loads(call(capsys, "ask", place, "good", "--json").out)
    assert set(first) == {"id", "state", "action", "why"}
    assert json.loads(call(capsys, "ask", place, "good", "--json").out) == first
    shown = call(capsys, "ask", place, "good").out
    assert shown.startswith(f"1: {first['action']}\n")
    assert first["why"]["sentence"] in shown
    told = call(capsys, "tell", place, "1", "--reward", "2.5", "--next", "worn", "--json")
    assert json.loads(told.out) == {"ok": True}
    assert call(capsys, "tell", place, "1", "--reward", "2.5", "--next", "worn").code == 0
    wrong = call(capsys, "tell", place, "1", "--reward", "3")
    assert wrong.code == 2
    assert wrong.err.startswith("error: suggestion 1 was told with another reward")
    assert json.loads(call(capsys, "explain", place, "worn", "--json").out)["actions"]
    assert "visits" in call(capsys, "explain", place, "worn").out
    assert set(json.loads(call(capsys, "recommend", place, "--json").out)) == {"good", "worn"}
    assert json.loads(call(capsys, "recommend", place, "worn", "--json").out)["worn"] in ("run", "fix")
    assert "worn" in call(capsys, "recommend", place).out


def test_the_group_without_a_command_shows_its_help_as_the_program_does(capsys):
    for arguments in ((), ("session",)):
        done = call(capsys, *arguments)
        assert (done.code, done.err) == (0, "")
        assert "Commands" in done.out


def test_the_group(place, capsys, tmp_path):
    assert (
        call(capsys, "session", "add", place, "good", "run", "--reward", "1", "--next", "worn", "--key", "k").code == 0
    )
    assert json.loads(call(capsys, "ask", place, "good", "--allowed", "fix", "--json").out)["action"] == "fix"
    assert call(capsys, "session", "cancel", place, "1", "--json").code == 0
    assert call(capsys, "session", "forbid", place, "fix", "--state", "good").code == 0
    assert json.loads(call(capsys, "ask", place, "good", "--json").out)["action"] == "run"
    log = write_log(tmp_path / "log.csv", 3)
    report = json.loads(call(capsys, "session", "import", place, str(log), "--new", "--json").out)
    assert report["rows"] == 25
    assert set(report["new_states"]) == {"bad", "broken"}
    assert "imported before" in call(capsys, "session", "import", place, str(log), "--new").out
    assert "under way" in call(capsys, "session", "show", place).out
    found = json.loads(call(capsys, "session", "show", place, "--json").out)
    assert (found["rows"], found["suggestions"]) == (26, 2)
    for ending in ("csv", "json", "parquet"):
        file = tmp_path / f"out.{ending}"
        assert json.loads(call(capsys, "session", "export", place, str(file), "--json").out)["rows"] == 26
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(pd.read_parquet(tmp_path / "out.parquet")) == 26
    # What is exported can be the log of another session.
    with Session.create(tmp_path / "again", log=tmp_path / "out.csv") as session:
        assert len(session.history()) == 26


def test_looks_ahead_and_episodes(place, capsys, tmp_path):
    call(capsys, "session", "add", place, "good", "run", "--reward", "1", "--done")
    assert json.loads(call(capsys, "session", "show", place, "--json").out)["rows"] == 1
    assert call(capsys, "session", "start", place, "worn").out == "started in worn\n"
    rows = json.loads(call(capsys, "session", "belief", place, "good", "--json").out)["rows"]
    assert {row["next_state"]: row["visits"] for row in rows if row["action"] == "run"} == {"good": 0, "worn": 1}
    assert "probability" in call(capsys, "session", "belief", place).out
    ahead = json.loads(call(capsys, "session", "forecast", place, "good", "--steps", "3", "--json").out)
    assert [row["step"] for row in ahead] == [1, 2, 3]
    names = tmp_path / "names.txt"
    names.write_text("one, two\n\n three \n")
    made = call(
        capsys, "session", "new", str(tmp_path / "f"), "--states", f"@{names}", "--actions", "2", "--replan-every", "7"
    )
    assert made.code == 0
    with Session.open(tmp_path / "f", read_only=True) as session:
        assert session.states == ["one, two", "three"]
        assert session.header["replan_every"] == 7


WRONG = [
    (("session", "new", "{}x", "--states", "@{}/none", "--actions", "2"), "cannot be read"),
    (("session", "forecast", "{}", "good", "--steps", "0"), "steps is 0"),
    (("session", "belief", "{}", "nowhere"), "unknown state 'nowhere'"),
    (("ask", "{}", "nowhere"), "unknown state 'nowhere'"),
    (("ask", "{}", "good", "--allowed", "fly"), "unknown action 'fly'"),
    (("ask", "{}", "good", "--risk", "much"), "--risk is 'much'"),
    (("tell", "{}", "9", "--reward", "1"), "there is no suggestion 9"),
    (("session", "new", "{}", "--states", "2", "--actions", "2"), "holds a session already"),
    (("session", "new", "{}x", "--states", "2", "--actions", "2", "--allowed", "{{"), "not JSON"),
    (("session", "new", "{}x"), "states and actions are needed"),
    (("session", "import", "{}", "{}/none.csv"), "is not a file"),
    (("session", "import", "{}", "{}/lock", "--column", "state"), "write name=column"),
    (("session", "export", "{}", "{}/history.xls"), "no known ending"),
    (("session", "show", "{}/nothing"), "holds no session"),
    (("serve", "{}", "--host", "0.0.0.0"), "give a token file"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_use_is_one_sentence(place, capsys, words, sentence):
    done = call(capsys, *(word.format(place) for word in words))
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
