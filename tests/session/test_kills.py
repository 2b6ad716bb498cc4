"""SIGKILL at random moments of a scripted session: nothing told is lost or doubled, suggestions stay the same."""

import json
import os
import signal
import socket
import sys
import time

import numpy as np
import pytest
from session_tools import Library, drive, essence, killed, make, make_logs

from steering.cli import main
from steering.errors import SteeringError, Unreachable
from steering.session import Session
from steering.session.client import Client
from steering.session.serve import serve

STEPS = 20


@pytest.fixture(autouse=True)
def compiled(tmp_path):
    """Children inherit what this process has compiled and loaded."""
    with make(tmp_path / "first") as session:
        session.tell(session.ask("good").id, reward=1.0, next_state="worn")
        session.ask("worn")


class CommandLine(Library):
    """The script's way: one command after the other, in one process to save time."""

    def __init__(self, directory):
        self.directory = directory

    def _call(self, *words):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(write, 1)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - not that of pytest
            try:
                main([str(word) for word in words])
            except SystemExit as stop:
                os._exit(int(stop.code or 0))
            finally:
                os._exit(9)
        os.close(write)
        with open(read) as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        assert os.WEXITSTATUS(status) == 0
        return json.loads(text)

    def told(self):
        return int((Session.open(self.directory, read_only=True).history()["id"] > 0).sum())

    def half_told(self):
        under_way = Session.open(self.directory, read_only=True).summary()["under_way"]
        return next((one for one in under_way if one["waits_for"] == ["reward"]), None)

    def ask(self, state):
        found = self._call("ask", self.directory, state, "--json")
        return found["id"], found["action"]

    def tell(self, id, **what):
        words = [f"--reward={what['reward']}"] if "reward" in what else []
        words += ["--next", what["next_state"]] if "next_state" in what else []
        self._call("tell", self.directory, id, *words, "--json")

    def add(self, state, action, reward, follows, key):
        words = ("--next", follows, "--key", key, "--json")
        self._call("session", "add", self.directory, state, action, f"--reward={reward}", *words)

    def import_log(self, path):
        self._call("session", "import", self.directory, path, "--json")

    def close(self):
        pass


class Remote(Library):
    """The script's way: a client of a server; imports wait until it is down."""

    def __init__(self, address):
        self.client = Client(address)

    def told(self):
        return sum(one["event"] == "tell" and "reward" in one for one in self.client.get("journal", limit=10_000))

    def half_told(self):
        under_way = self.client.get("session")["under_way"]
        return next((one for one in under_way if one["waits_for"] == ["reward"]), None)

    def ask(self, state):
        found = self.client.ask(state)
        return found["id"], found["action"]

    def tell(self, id, **what):
        self.client.tell(id, **what)

    def add(self, *row, key):
        self.client.add(*row, key=key)

    import_log = None

    def close(self):
        self.client.close()


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def undisturbed(tmp_path, way=Library, steps=STEPS):
    make(tmp_path / "calm", seed=5).close()
    done = way(tmp_path / "calm")
    spent = seconds_of(lambda: drive(done, tmp_path / "logs", steps))
    done.close()
    return essence(tmp_path / "calm"), spent


def kill_and_compare(tmp_path, way, kills, steps, seed):
    make_logs(tmp_path / "logs", steps)
    expected, spent = undisturbed(tmp_path, way, steps)
    rng = np.random.default_rng(seed)
    done = rounds = 0
    while done < kills:
        place = tmp_path / f"killed{rounds}"
        rounds += 1
        make(place, seed=5).close()

        def work(place=place):
            one = way(place)
            drive(one, tmp_path / "logs", steps)
            one.close()

        while not killed(work, float(rng.uniform(0.0, spent))):
            done += 1
        assert essence(place) == expected
    assert done >= kills


@pytest.mark.parametrize("kills", [4, pytest.param(120, marks=pytest.mark.slow)])
def test_the_library(tmp_path, kills):
    kill_and_compare(tmp_path, Library, kills, STEPS, 21)


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_the_command_line(tmp_path, kills):
    kill_and_compare(tmp_path, CommandLine, kills, 6, 22)


def start_server(directory, port):
    child = os.fork()
    if child == 0:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        try:
            serve(directory, port=port)
        finally:
            os._exit(3)
    return child


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_the_server(tmp_path, kills):
    """The server is killed while a client works; the client starts again where it was, as a program would."""
    steps, rng = 60, np.random.default_rng(23)
    calm, place = tmp_path / "calm", tmp_path / "killed"
    logs = tmp_path / "none"
    make(calm, seed=5).close()
    make(place, seed=5).close()
    way = Library(calm)
    way.import_log = lambda path: None
    spent = seconds_of(lambda: drive(way, logs, steps))
    way.close()
    done = 0
    while done < kills:
        port = free_port()
        server = start_server(place, port)
        finished = drive_until_killed(f"http://127.0.0.1:{port}", logs, steps, server, float(rng.uniform(0, 2 * spent)))
        done += 1
        if finished:
            assert essence(place) == essence(calm)
            place = tmp_path / f"killed{done}"
            make(place, seed=5).close()
    server = start_server(place, port := free_port())
    assert drive_until_killed(f"http://127.0.0.1:{port}", logs, steps, server, 60.0)
    assert essence(place) == essence(calm)


def drive_until_killed(address, logs, steps, server, seconds):
    """Whether the script came to its end before the server was killed."""
    remote = Remote(address)
    remote.import_log = lambda path: None
    wait_for(address)
    killer = os.fork()
    if killer == 0:
        time.sleep(seconds)
        os.kill(server, signal.SIGKILL)
        os._exit(0)
    try:
        drive(remote, logs, steps)
        finished = True
    except Unreachable:
        finished = False
    os.kill(killer, signal.SIGKILL)
    os.waitpid(killer, 0)
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    remote.close()
    return finished


def wait_for(address):
    for _ in range(500):
        try:
            with Client(address) as client:
                client.get("session")
            return
        except Unreachable:
            time.sleep(0.02)
    raise SteeringError("the server did not start")
