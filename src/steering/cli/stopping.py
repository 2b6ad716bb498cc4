"""Ctrl-C and SIGTERM: one line and an exit code, wherever a command is.

Python hears a signal only between two of its own instructions, and a plan of a large world is one call into compiled
code that may take minutes. That code runs without the interpreter lock, so a thread can listen meanwhile: the system
writes every signal to a pipe at once; when the main thread has not heard it a second later the thread says the last
words and ends the process. Nothing that is kept can be harmed: files are whole or absent at every moment.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from steering.cli.common import err, visible

PATIENCE = 1.0
"""Seconds that the main thread has to hear a signal."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = "interrupted."
MARK = b"\xff"
"""No signal has this number."""

Words = Callable[[], str]


class Stopped(Exception):
    """A signal was heard, and its line was said: only the exit code is left to give."""


class _State:
    """What is known about signals in this process."""

    def __init__(self) -> None:
        self.number: int = signal.SIGINT
        self.words: list[Words] = []
        self.pipe = -1
        """Where the system writes signals, and the main thread a mark for those that it has heard."""
        self.heard = False
        """Whether the main thread has heard a signal."""
        self.taken = False
        """Whether the thread is about to end the process."""


_state = _State()


def exit_code() -> int:
    """128 + the number of the last signal: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + int(_state.number)


def was_heard() -> bool:
    """Whether a signal has come: whatever goes wrong afterwards is its doing (a compiler that was cut off, say)."""
    return _state.heard


@contextlib.contextmanager
def last_words(words: Words) -> Iterator[None]:
    """Within this, `words` is called when the process must end in the middle of compiled code, for its line."""
    _state.words.append(words)
    try:
        yield
    finally:
        _state.words.pop()


@contextlib.contextmanager
def saying(line: str) -> Iterator[None]:
    """Within this, a signal ends the command with this line."""
    with last_words(lambda: line):
        try:
            yield
        except KeyboardInterrupt:
            print(visible(line), file=sys.stderr)
            raise Stopped from None


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Within this, both signals raise KeyboardInterrupt, or end the process where that is not possible."""
    if threading.current_thread() is not threading.main_thread() or _state.pipe >= 0:
        yield
        return
    reading, _state.pipe = os.pipe()
    os.set_blocking(_state.pipe, False)
    ours = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _hear) for number in ours}
    previous = signal.set_wakeup_fd(_state.pipe, warn_on_full_buffer=False)
    _state.heard, usual = False, sys.unraisablehook
    sys.unraisablehook = lambda problem: _lost(problem, usual)
    threading.Thread(target=_watch, args=(reading,), daemon=True, name="signals").start()
    try:
        yield
    finally:
        sys.unraisablehook = usual
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler)
        writing, _state.pipe = _state.pipe, -1
        os.close(writing)  # the thread reads the end of the pipe, and ends


def _hear(number: int, frame: Any) -> NoReturn:
    _state.number, _state.heard = number, True
    with contextlib.suppress(OSError):
        os.write(_state.pipe, MARK)
    while _state.taken:  # the thread has begun to end the process
        time.sleep(0.05)
    raise KeyboardInterrupt


def _lost(problem: Any, usual: Callable[[Any], Any]) -> None:
    """An interrupt came where Python drops exceptions (a callback of the compiler): send it once more, a bit later."""
    if issubclass(problem.exc_type, KeyboardInterrupt):
        threading.Timer(0.1, os.kill, (os.getpid(), _state.number)).start()
    else:
        usual(problem)


def _watch(reading: int) -> None:
    try:
        while received := os.read(reading, 1):
            number = received[0]
            # Somebody else may listen instead of us: a server, or a cluster that is being started.
            if not _is_ours(number) or _marked(reading, PATIENCE) or not _is_ours(number):
                continue
            _state.taken = True
            if _marked(reading, 0.0):  # in the last moment
                _state.taken = False
                continue
            _end(number)
    finally:
        os.close(reading)


def _is_ours(number: int) -> bool:
    return number in SIGNALS and signal.getsignal(number) is _hear


def _marked(reading: int, seconds: float) -> bool:
    """Whether the main thread says within some seconds that it has heard, or stops listening."""
    until = time.monotonic() + seconds
    while select.select([reading], [], [], max(until - time.monotonic(), 0.0))[0]:
        if os.read(reading, 1) in (MARK, b""):
            return True
    return False


def _end(number: int) -> NoReturn:
    _state.number = number
    try:
        line = INTERRUPTED
        with contextlib.suppress(Exception):
            line = _state.words[-1]() if _state.words else line
        err.show_cursor(True)
        print(visible(line), file=sys.stderr, flush=True)
        sys.stdout.flush()
    finally:
        os._exit(exit_code())
