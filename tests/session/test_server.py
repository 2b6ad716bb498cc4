"""The server: what it answers, whom it refuses, and a real one with clients and curl."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading

import pytest
from cli_tools import COMMAND, environment
from session_tools import ACTIONS, make, request

from steering.errors import SteeringError, Unreachable
from steering.session import Conflict, Session
from steering.session.app import LARGEST_BODY, Service, read_token
from steering.session.client import Client
from steering.session.openapi import ROUTES
from steering.session.serve import serve

TOKEN = "a-token-of-enough-length"


@pytest.fixture
def session(tmp_path):
    with make(tmp_path / "s", sync=False) as made:
        yield made


@pytest.fixture
def app(session):
    return Service(session, None, 1e6).app()


def test_all_routes(app, session):
    code, found, _ = request(app, "POST", "/ask", {"state": "good"})
    assert code == 200
    assert found["action"] in ACTIONS
    assert found["why"]["sentence"]
    assert request(app, "POST", "/ask", {"state": "good"})[1] == found
    assert request(app, "POST", "/tell", {"id": 1, "reward": 1.0, "next_state": "bad"})[:2] == (200, {"ok": True})
    assert request(app, "POST", "/tell", {"id": 1, "reward": 2.0})[0] == 409
    row = {"state": "bad", "action": "run", "reward": -1, "next_state": "good", "key": "k"}
    assert [request(app, "POST", "/add", row)[0] for _ in range(2)] == [200, 200]
    assert (
        request(app, "POST", "/ask", {"state": "bad", "allowed": ["run"], "unit": "x", "risk": [-99, 0.5]})[1]["id"]
        == 2
    )
    assert request(app, "POST", "/cancel", {"id": 2})[0] == 200
    assert request(app, "POST", "/start", {"state": "good"})[0] == 200
    assert len(session.history()) == 2
    assert set(request(app, "GET", "/policy")[1]) == set(session.states)
    assert list(request(app, "GET", "/policy", query="state=bad")[1]) == ["bad"]
    assert len(request(app, "GET", "/explain", query="state=bad")[1]["actions"]) == 3
    assert len(request(app, "GET", "/belief", query="state=bad")[1]) == 12
    assert len(request(app, "GET", "/forecast", query="state=bad&steps=4")[1]) == 4
    assert [one["number"] for one in request(app, "GET", "/journal", query="after=1&limit=2")[1]] == [2, 3]
    assert request(app, "GET", "/session")[1]["rows"] == 2


def test_the_document_names_every_route(app):
    code, found, _ = request(app, "GET", "/openapi.json")
    assert code == 200
    assert found["openapi"].startswith("3.")
    for route in ROUTES:
        assert route.method.lower() in found["paths"][route.path]


REFUSED = [
    ("POST", "/ask", {}, 400),
    ("POST", "/ask", {"state": "nowhere"}, 404),
    ("POST", "/ask", {"state": ["good"]}, 400),
    ("POST", "/ask", {"state": "good", "more": 1}, 400),
    ("POST", "/ask", [1], 400),
    ("POST", "/ask", b"{", 400),
    ("POST", "/ask", b"[" * 100_000, 400),
    ("POST", "/ask", b'{"state": "' + b"x" * (LARGEST_BODY + 1) + b'"}', 413),
    ("POST", "/tell", {"id": 7, "reward": 1}, 400),
    ("POST", "/tell", {"id": 10**400, "reward": 1}, 400),
    ("POST", "/add", {"state": "good", "action": "run", "reward": 1}, 400),
    ("POST", "/add", b'{"state":"good","action":"run","reward":NaN,"next_state":"good"}', 400),
    ("POST", "/add", b'{"state":"good","action":"run","reward":1e999,"next_state":"good"}', 400),
    ("GET", "/nothing", None, 404),
    ("GET", "/ask", None, 405),
    ("GET", "/explain", None, 400),
]


@pytest.mark.parametrize(("method", "path", "body", "code"), REFUSED)
def test_wrong_requests(app, session, method, path, body, code):
    found = request(app, method, path, body)
    assert found[0] == code
    assert len(found[1]["error"]) > 10
    assert session.summary()["events"] == 0


def test_bounds_of_looks(app):
    for query in ("state=good&steps=1001", "state=good&steps=0"):
        code, found, _ = request(app, "GET", "/forecast", query=query)
        assert code == 400
        assert found["error"].startswith("steps is")
    assert request(app, "GET", "/forecast", query="state=good&steps=1000")[0] == 200
    assert request(app, "GET", "/journal", query="limit=-1")[0] == 400


def test_the_token(session):
    app = Service(session, TOKEN, 1e6).app()
    for headers in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}, {"authorization": "Bearer"}):
        for route in ROUTES:
            code, found, heads = request(app, route.method, route.path, {}, headers)
            assert (code, heads["www-authenticate"]) == (401, "Bearer")
            assert "token" in found["error"]
    assert request(app, "GET", "/nothing", {}, {})[0] == 401
    assert session.summary()["events"] == 0
    right = {"authorization": f"Bearer {TOKEN}", "host": "anything.example"}
    assert request(app, "POST", "/ask", {"state": "good"}, right)[0] == 200


def test_pages_elsewhere_cannot_use_the_loopback(app, session):
    body = {"state": "good"}
    assert request(app, "POST", "/ask", body, {"host": "evil.example"})[0] == 403
    assert request(app, "POST", "/ask", body, {"content-type": "text/plain"})[0] == 415
    for host in ("localhost", "localhost:8765", "127.0.0.1", "[::1]:80"):
        assert request(app, "POST", "/ask", body, {"host": host})[0] == 200
    assert session.summary()["events"] == 1


def test_an_answer_waits_for_the_disk(session, monkeypatch):
    app = Service(session, None, 1e6, sync=True).app()
    flushed = []
    monkeypatch.setattr(session, "flush", lambda: flushed.append(session.position))
    assert request(app, "POST", "/ask", {"state": "good"})[0] == 200
    assert flushed == [session.position]
    assert request(app, "POST", "/ask", {"state": "good"})[0] == 200  # nothing new
    assert flushed == [session.position]
    monkeypatch.undo()

    def broken():
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(session, "flush", broken)
    assert request(app, "POST", "/ask", {"state": "worn"})[0] == 500


def test_the_rate_is_bounded(session):
    app = Service(session, None, 5.0).app()
    codes = [request(app, "GET", "/session")[0] for _ in range(10)]
    assert codes[:5] == [200] * 5
    assert 429 in codes


def test_other_interfaces_need_a_token(tmp_path, session):
    for host in ("0.0.0.0", "example.org", "192.0.2.1"):
        with pytest.raises(SteeringError, match="token"):
            serve(session.directory, host=host, port=0)
    short = tmp_path / "short"
    short.write_text("short\n")
    with pytest.raises(SteeringError, match="16"):
        serve(session.directory, host="0.0.0.0", token_file=str(short))
    assert read_token(None) is None
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert read_token(str(tmp_path / "token")) == TOKEN


@contextlib.contextmanager
def served(directory, *options):
    """A server in a process of its own, and its address."""
    process = subprocess.Popen(
        [*COMMAND, "serve", str(directory), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        line = process.stdout.readline()
        assert "serving" in line, process.stderr.read()
        yield line.split()[-1], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def test_a_real_server_with_many_clients_and_curl(tmp_path):
    make(tmp_path / "s").close()
    (tmp_path / "token").write_text(TOKEN)
    problems = []

    def work(name, address):
        try:
            with Client(address, token=TOKEN) as client:
                for step in range(10):
                    found = client.ask("good", unit=f"{name}")
                    client.tell(found["id"], reward=float(step), next_state="good")
                    client.add("bad", "run", float(step), "good", unit=f"{name}")
        except Exception as error:
            problems.append(error)

    with served(tmp_path / "s", "--token-file", str(tmp_path / "token")) as (address, _):
        threads = [threading.Thread(target=work, args=(n, address)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        with Client(address) as client, pytest.raises(SteeringError, match="token"):
            client.ask("good")
        with Client(address, token=TOKEN) as client:
            found = client.ask("worn")
            client.tell(found["id"], reward=1.0, next_state="good")
            with pytest.raises(Conflict):
                client.tell(found["id"], reward=2.0)
            assert client.get("session")["rows"] == 161
            assert client.get("policy")["good"] in ACTIONS
        if shutil.which("curl"):
            command = ["curl", "-s", "--noproxy", "*", "-X", "POST", "-H", "Content-Type: application/json"]
            command += ["-H", f"Authorization: Bearer {TOKEN}", "-d", '{"state": "worn"}', f"{address}/ask"]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
            assert json.loads(done.stdout)["state"] == "worn"
    with Session.open(tmp_path / "s", wait=10.0) as session:
        assert len(session.history()) == 161
    with pytest.raises(Unreachable):
        Client("http://127.0.0.1:9").ask("good")
    with pytest.raises(SteeringError):
        Client("nonsense")
