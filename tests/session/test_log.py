"""Histories from CSV files."""

import pytest
from session_tools import make, write_log

from steering.errors import SteeringError
from steering.session import Session


def test_states_actions_and_scale_from_the_log(tmp_path):
    path = write_log(tmp_path / "log.csv", 1, rows=60)
    with Session.create(tmp_path / "s", log=path, sync=False) as session:
        assert session.log_report.rows == len(session.history()) == 60
        assert sorted(session.states) == ["bad", "broken", "good", "worn"]
        assert session.header["rewards"][0] < 0 < session.header["rewards"][1]
        assert session.ask("good").action in session.actions
        assert str(session.log_report) == f"60 rows of {path} were taken."


def test_numbers_are_put_in_order(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward,next_state\n10,1,0.5,2\n2,0,1,10\n")
    with Session.create(tmp_path / "s", log=path, sync=False) as session:
        assert (session.states, session.actions) == ([2, 10], [0, 1])
        assert session.ask(10).state == 10


def test_rows_that_cannot_be_used_are_reported_by_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "when;condition;did;earned;then;over\n"
        "1;good;run;1.5;worn;\n"
        "2;goood;run;1.5;worn;\n"
        "3;good;fly;1.5;worn;no\n"
        "4;good;run;much;worn;no\n"
        "5;good;run;nan;worn;no\n"
        "6;good;run;1;;no\n"
        "\n"
        "8;good\n"
        "9;good;run;1;worn;perhaps\n"
        "10;worn;service;-2;;yes\n"
    )
    columns = {"state": "condition", "action": "did", "reward": "earned", "next_state": "then", "done": "over"}
    with make(tmp_path / "s", sync=False) as session:
        report = session.import_log(path, columns=columns)
        assert report.rows == 2
        assert [line for line, _ in report.skipped] == [3, 4, 5, 6, 7, 9, 10]
        reasons = " ".join(reason for _, reason in report.skipped)
        for part in (
            "unknown state 'goood'",
            "unknown action 'fly'",
            "'much'",
            "'nan'",
            "missing",
            "2 cells",
            "perhaps",
        ):
            assert part in reasons
        assert session.history()["done"].tolist() == [False, True]
        with pytest.raises(SteeringError, match="no column 'state'"):
            session.import_log(path)


def test_the_same_file_counts_once_and_an_interrupted_import_goes_on(tmp_path):
    path = write_log(tmp_path / "log.csv", 2, rows=50)
    with make(tmp_path / "whole", sync=False) as session:
        assert session.import_log(path, chunk=8).rows == 50
        assert session.import_log(path).already
        whole = session.history().drop(columns=["time"])
    with make(tmp_path / "parts", sync=False) as session:
        record, calls = session._record, []

        def stop(*events):
            if len(calls) == 3:
                raise KeyboardInterrupt
            calls.append(events)
            record(*events)

        session._record = stop
        with pytest.raises(KeyboardInterrupt):
            session.import_log(path, chunk=8)
    with Session.open(tmp_path / "parts", sync=False) as session:
        assert session.import_log(path, chunk=8).rows == 26
        assert session.history().drop(columns=["time"]).equals(whole)


def test_new_names_can_be_added(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward,next_state\ngood,paint,1,rusty\nrusty,run,2,good\n")
    with make(tmp_path / "s", sync=False) as session:
        report = session.import_log(path, new=True)
        assert (report.rows, report.new_states, report.new_actions) == (2, ["rusty"], ["paint"])
        assert session.ask("rusty").action in session.actions


def test_episodes_of_a_log_lead_to_the_next_row(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward,next_state,done\nbad,run,1,broken,1\ngood,run,2,worn,0\nworn,run,3,,1\n")
    with make(tmp_path / "s", sync=False) as session:
        session.import_log(path)
        table = session.belief(only_seen=True)
        assert table[["state", "next_state"]].values.tolist() == [["good", "worn"], ["bad", "good"]]
        session.ask("bad")
        assert session.belief("worn", only_seen=True)["next_state"].tolist() == ["bad"]


@pytest.mark.parametrize("content", [b"", b"state,action\n", b"\xff\xfe\x00", b"a" * (2 << 20)])
def test_files_that_are_no_logs(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with make(tmp_path / "s", sync=False) as session, pytest.raises(SteeringError):
        session.import_log(path)
    with pytest.raises(SteeringError):
        Session.create(tmp_path / "t", log=path)
    with pytest.raises(SteeringError, match="not a file"):
        Session.create(tmp_path / "t", log=tmp_path)
    assert not (tmp_path / "t" / "journal.jsonl").exists()
