"""Ctrl-C and SIGTERM: one line and a code of 128 + the signal, also in the middle of compiled code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_tools import COMMAND, environment

from steering.cli import stopping

STUCK = '''
"""An agent whose plan is one call into compiled code that never comes back."""
import sys

import numba
import numpy as np

import steering
from steering.agents import Agent


@numba.njit(nogil=True)
def forever(cells):
    while cells[0] == 0:
        cells[1] += 1


@steering.register_agent("stuck")
class Stuck(Agent):
    def act(self, state, step):
        cells = np.zeros(2, dtype=np.int64)
        cells[0] = 1
        forever(cells)
        cells[0] = 0
        print("stuck", file=sys.stderr, flush=True)
        forever(cells)

    def observe(self, state, action, reward, successor, step):
        pass
'''
SLOW = 'import sys, time\nprint("slow", file=sys.stderr, flush=True)\ntime.sleep(600)\n'
SMALL = 'environments = ["deepsea:4"]\nagents = ["q_learning", "stuck"]\nsteps = 20\nseeds = 2\n'
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with modules to import and a sweep file."""
    (tmp_path / "stuck.py").write_text(STUCK)
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "sweep.toml").write_text(SMALL)
    return tmp_path


def stopped(place: Path, number: int, said: str, *arguments: str) -> tuple[int, str, str]:
    """Send a signal when the process says something; its code, what it printed and what it said afterwards."""
    with subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment(),
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        before = ""
        while said not in before:
            line = process.stderr.readline()
            assert line, before
            before += line
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_run_in_compiled_code_stops_and_keeps_what_is_finished(number: int, code: int, place: Path) -> None:
    line = ("run", "deepsea:4", "-a", "q_learning", "-a", "stuck", "-t", "50", "-k", "2", "--import", "stuck")
    ended, out, err = stopped(place, number, "stuck\n", *line, "--json", "--out", "kept")
    assert (ended, err) == (code, "interrupted: 2 of 4 runs finished.\n")
    assert [(row["agent"], row["seeds"]) for row in json.loads(out)["results"]] == [("q_learning", 2)]
    assert sorted(os.listdir(place / "kept")) == ["curves.csv", "finals.csv", "regret.png", "settings.json"]


def test_a_run_in_compiled_code_with_nothing_finished_leaves_nothing(place: Path) -> None:
    line = ("run", "deepsea:4", "-a", "stuck", "-t", "50", "-k", "2", "--import", "stuck", "--out", "new/kept")
    assert stopped(place, signal.SIGINT, "stuck\n", *line) == (130, "", "interrupted: 0 of 2 runs finished.\n")
    assert not (place / "new").exists()


def test_a_sweep_in_compiled_code_stops_and_says_where_its_cells_are(place: Path) -> None:
    line = ("sweep", "sweep.toml", "--out", "kept", "--import", "stuck", "--workers", "0")
    ended, out, err = stopped(place, signal.SIGTERM, "stuck\n", *line)
    assert (ended, out) == (143, "")
    assert err == "interrupted; finished cells are in kept. Start again to continue.\n"


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        ("envs", *SIGNALS[0]),
        ("agents", *SIGNALS[1]),
        ("run deepsea:4 -a psrl", *SIGNALS[1]),
        ("sweep sweep.toml --out kept", *SIGNALS[0]),
        ("study default --out kept", *SIGNALS[1]),
        ("lab", *SIGNALS[0]),
    ],
)
def test_every_command_says_one_line(line: str, number: int, code: int, place: Path) -> None:
    assert stopped(place, number, "slow\n", *line.split(), "--import", "slow") == (code, "", "interrupted.\n")


def test_an_interrupt_that_a_callback_drops_comes_again(place: Path) -> None:
    """Python drops exceptions of callbacks of C code; `qsort` calls one back."""
    (place / "drops.py").write_text(
        "import ctypes, sys, time\n"
        "kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)\n"
        "def compare(a, b):\n"
        "    print('slow', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
        "    return 0\n"
        "numbers = (ctypes.c_int * 2)(1, 2)\n"
        "ctypes.CDLL(None).qsort(numbers, 2, 4, kind(compare))\n"
        "time.sleep(600)\n"
    )
    assert stopped(place, signal.SIGTERM, "slow\n", "envs", "--import", "drops") == (143, "", "interrupted.\n")


def ended(code: str, *signals: tuple[int, float]) -> tuple[int, str, str]:
    """Run some lines in a process of their own that says `ready`, and send it signals after so many seconds each."""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for number, seconds in signals:
            time.sleep(seconds)
            process.send_signal(number)
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


WAIT = "print('ready', flush=True); time.sleep(600)"
LOADS = f"""
import sys, time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

class Slow(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name == {{module!r}} else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        try:
            {WAIT}
        except BaseException:
            raise ImportError("as some libraries do") from None

sys.meta_path.insert(0, Slow())
sys.argv = ["steering", "run", "deepsea:3", "-a", "psrl"]
from steering.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "steering.cli.run", "numba"])
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_while_modules_are_loaded_is_one_line(module: str, number: int, code: int) -> None:
    """The first half second of every command; also where a library would turn an interrupt into another error."""
    assert ended(LOADS.format(module=module), (number, 0.0)) == (code, "", "interrupted.\n")


def test_an_interrupt_before_signals_are_listened_to_is_one_line() -> None:
    loads = LOADS.format(module="steering.cli.stopping").replace("except BaseException", "except ZeroDivisionError")
    assert ended(loads, (signal.SIGINT, 0.0)) == (130, "", "interrupted.\n")


ENDS = f"""
import atexit, sys, time
def last():
    {WAIT}
from steering.cli import program
call = program.call
def loads(given):
    atexit.register(last)  # as libraries do that a command loads
    call(given)
program.call = loads
sys.argv = ["steering", "run", "nowhere"]
from steering.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [number for number, _ in SIGNALS])
def test_a_signal_after_the_command_leaves_its_line_and_its_code(number: int) -> None:
    code, out, err = ended(ENDS, (number, 0.0))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")


FORGETS = """
import os, sys

class Last:
    def __del__(self, kill=os.kill, own=os.getpid()):
        kill(own, {number})

print("ready", flush=True)
sys.last = Last()  # goes away with the modules, after the last callback
sys.argv = ["steering", "run", "nowhere"]
from steering.__main__ import main
main()
"""


@pytest.mark.parametrize("number", [number for number, _ in SIGNALS])
def test_a_signal_while_python_forgets_its_modules_leaves_the_code(number: int) -> None:
    code, out, err = ended(FORGETS.format(number=int(number)))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")


CLEANS = """
import sys, time
from steering.cli import program, stopping

def command(*given, **options):
    with stopping.saying("interrupted; all is kept."):
        try:
            print("ready", flush=True)
            time.sleep(600)
        finally:
            time.sleep({seconds})
            print("kept")

program.typer.main.get_command = lambda app: command
sys.argv = ["steering", "run"]
from steering.__main__ import main
main()
"""


def test_a_second_interrupt_at_once_says_nothing_new() -> None:
    found = ended(CLEANS.format(seconds=0.8), (signal.SIGTERM, 0.2), (signal.SIGINT, 0.1))
    assert found == (143, "kept\n", "interrupted; all is kept.\n")


def test_a_second_interrupt_later_ends_it() -> None:
    pause = 1.5 * stopping.PATIENCE
    found = ended(CLEANS.format(seconds=600), (signal.SIGTERM, 0.0), (signal.SIGINT, pause))
    assert found == (143, "", "interrupted; all is kept.\n")


def test_an_interrupt_that_left_an_exec_keeps_the_code() -> None:
    """Python would end as if killed by Ctrl-C, whatever the code is."""
    code = CLEANS.format(seconds=0).replace("time.sleep(600)", 'exec("time.sleep(600)")')
    # Not at once: `ready` is read before the other process has left its print, let alone entered the exec.
    assert ended(code, (signal.SIGTERM, 0.2)) == (143, "kept\n", "interrupted; all is kept.\n")


def test_signals_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number, _ in SIGNALS], sys.unraisablehook
    with stopping.heard():
        assert all(signal.getsignal(number) is stopping._hear for number, _ in SIGNALS)
        with pytest.raises(KeyboardInterrupt), stopping.interrupts():
            signal.raise_signal(signal.SIGTERM)
        assert stopping.was_heard()
        assert stopping.exit_code() == 143
    assert ([signal.getsignal(number) for number, _ in SIGNALS], sys.unraisablehook) == before


def test_a_second_signal_is_not_dropped_where_the_first_one_was() -> None:
    dropped = SimpleNamespace(exc_type=KeyboardInterrupt)
    with stopping.heard(), stopping.interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        sys.unraisablehook(dropped)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGINT)  # in the hook, say: the same wish, and it raises nothing there
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)  # until it comes again
