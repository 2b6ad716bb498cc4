"""Mutated journals, CSV files and HTTP bodies: one sentence or a use that makes sense, and nothing else."""

import json
import warnings
import zlib

import numpy as np
import pytest
from session_tools import Library, drive, make, make_logs, request, resummed, write_log

from steering.errors import SteeringError
from steering.session import Session
from steering.session.app import Service

FEW = 500
MANY = pytest.param(10_000, marks=pytest.mark.slow)
WORDS = [b"null", b"-1", b"1e999", b"NaN", b"[]", b"{}", b'"x"', b"true", b"99999999999999999999", b'"\\ud800"', b"\0"]


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A few changes: bytes flipped, pieces cut, doubled or moved, words put in."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not out:
            return b""
        i, j = sorted(rng.integers(len(out) + 1, size=2).tolist())
        j = min(j, i + 200)
        match int(rng.integers(6)):
            case 0:
                out[min(i, len(out) - 1)] ^= 1 << int(rng.integers(8))
            case 1:
                del out[i:j]
            case 2:
                out[i:i] = out[i:j]
            case 3:
                out[i:j] = WORDS[int(rng.integers(len(WORDS)))]
            case 4:
                out[i:j] = rng.integers(256, size=j - i, dtype=np.uint8).tobytes()
            case _:
                del out[i:]
    return bytes(out)


def assert_one_line(sentences) -> None:
    assert not [one for one in sentences if "\n" in one.strip()]


def use(directory) -> None:
    """Open and use a session as far as it allows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Session.open(directory, sync=False) as session:
            session.history()
            session.summary()
            session.events()
            state = session.states[0]
            session.ask(state, why=False)
            for one in session.summary()["under_way"]:
                session.ask(one["state"], unit=one["unit"], why=False)


@pytest.mark.parametrize("number", [FEW, MANY])
@pytest.mark.parametrize("checksums", ["as they are", "made anew"])
def test_journals(tmp_path, number, checksums):
    logs = make_logs(tmp_path / "logs", 30)
    with make(tmp_path / "s", sync=False, allowed={"broken": ["replace"]}, risk=(-50.0, 0.99)) as session:
        session.forbid("run", "bad")
        session.add_states(["rusty"])
        session.add("good", "run", 1.0, done=True, unit="u")
    way = Library(tmp_path / "s")
    drive(way, logs, 30)
    way.close()
    path = tmp_path / "s" / "journal.jsonl"
    whole = path.read_bytes()
    rng = np.random.default_rng(11)
    inside = sorted(one.name for one in tmp_path.iterdir())
    opened, sentences = 0, []
    for _ in range(number // 2):
        content = mutated(whole, rng) if checksums == "as they are" else resummed(whole, rng)
        path.write_bytes(content)
        try:
            use(tmp_path / "s")
            opened += 1
        except SteeringError as error:
            sentences.append(str(error))
    assert_one_line(sentences)
    assert 0 < opened < number // 2
    assert sorted(one.name for one in tmp_path.iterdir()) == inside


@pytest.mark.parametrize("number", [FEW, MANY])
def test_csv_files(tmp_path, number):
    whole = write_log(tmp_path / "log.csv", 5, rows=12).read_bytes()
    rng = np.random.default_rng(12)
    path = tmp_path / "mutated.csv"
    taken, sentences = 0, []
    with make(tmp_path / "s", sync=False) as session:
        for n in range(number):
            path.write_bytes(mutated(whole, rng))
            before = len(session.history()) if n % 50 == 0 else None
            try:
                report = session.import_log(path)
                taken += report.rows > 0
                assert before is None or len(session.history()) == before + report.rows
            except SteeringError as error:
                sentences.append(str(error))
    assert taken > number // 4
    assert sentences
    assert_one_line(sentences)


@pytest.mark.parametrize("number", [FEW, MANY])
def test_http_bodies(tmp_path, number):
    bodies = [
        ("/ask", {"state": "good", "allowed": ["run", "service"], "risk": [-99.0, 0.9], "unit": "u"}),
        ("/tell", {"id": 1, "reward": 1.0, "next_state": "bad", "done": False, "action": "run"}),
        ("/add", {"state": "good", "action": "run", "reward": -1.5, "next_state": "bad", "key": "k"}),
        ("/cancel", {"id": 2}),
        ("/start", {"state": "worn"}),
    ]
    rng = np.random.default_rng(13)
    with make(tmp_path / "s", sync=False, agent="psrl", rewards=None) as session:
        app = Service(session, None, 1e9).app()
        codes = set()
        for _ in range(number):
            path, body = bodies[int(rng.integers(len(bodies)))]
            content = mutated(json.dumps(body).encode(), rng)
            code, found, _ = request(app, "POST", path, content)
            codes.add(code)
            assert code in (200, 400, 404, 409), found
            assert code == 200 or found["error"]
        assert codes >= {200, 400}
    use(tmp_path / "s")


def test_nothing_is_unpickled():
    """No module of the session loads pickles, and arrays are read without them."""
    import inspect

    import steering.session.snapshot as snapshot

    source = inspect.getsource(snapshot)
    assert "allow_pickle=False" in source
    assert zlib.crc32(b"") == 0  # what an empty journal begins with
