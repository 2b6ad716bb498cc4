"""Ctrl-C and SIGTERM: one line and an exit code, wherever a command is.

While modules are loaded and no result is at stake, a signal ends the process at once: what libraries make of an
interrupt in the middle of their import is not ours. In a command it is a KeyboardInterrupt, so that what is finished
can be kept; a second one within a second is the same wish (a key held too long, a shell that passes it on), a later one
ends the process. After the command only the exit code is left to give.

Python hears a signal only between two of its own instructions, and a plan of a large world is one call into compiled
code that may take minutes. That code runs without the interpreter lock, so a thread can listen meanwhile: the system
writes every signal to a pipe at once; when the main thread has not heard it a second later the thread says the last
words and ends the process. Nothing that is kept can be harmed: files are whole or absent at every moment.

Only light modules are imported here, because this is loaded before everything else.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    Words = Callable[[], str]

PATIENCE = 1.0
"""Seconds that the main thread has to hear a signal, and in which a second one says nothing new."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = "interrupted."
MARK = b"\xff"
"""No signal has this number."""
LOADING, COMMAND, LEAVING = range(3)


class Stopped(Exception):
    """A signal was heard, and its line was said: only the exit code is left to give."""


class _State:
    """What is known about signals in this process."""

    def __init__(self) -> None:
        self.phase = LOADING
        self.number: int = signal.SIGINT
        self.words: list[Words] = []
        self.pipe = -1
        """Where the system writes signals, and the main thread a mark for those that it has heard."""
        self.heard = False
        """Whether a signal has come to the command."""
        self.since = 0.0
        """When it came, or when the command ended."""
        self.said = False
        """Whether the line of an interrupted command was said."""
        self.taken = False
        """Whether the thread is about to end the process."""


_state = _State()


def exit_code() -> int:
    """128 + the number of the first signal: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + int(_state.number)


def was_heard() -> bool:
    """Whether a signal has come: whatever goes wrong afterwards is its doing (a compiler that was cut off, say)."""
    return _state.heard


def say(line: str) -> None:
    """Say the line of an interrupted command."""
    from steering.cli.common import visible

    _state.said = True
    print(visible(line), file=sys.stderr, flush=True)


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
            say(line)
            raise Stopped from None


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """Within this, a first signal raises KeyboardInterrupt: the body of a `try` that knows what to do with it."""
    _state.phase = COMMAND
    try:
        yield
    finally:
        _state.phase = LEAVING
        _state.since = _state.since if _state.heard else time.monotonic()


@contextlib.contextmanager
def heard(*, until_the_end: bool = False) -> Iterator[None]:
    """Within this, both signals are listened to.

    Afterwards everything is as before, or, `until_the_end` of the process, signals end it with the code that it has,
    and in its very last moments, when Python hears nothing and the system would give a code of its own, do nothing.
    """
    if threading.current_thread() is not threading.main_thread() or _state.pipe >= 0:
        yield
        return
    _state.phase, _state.heard, _state.said, usual = LOADING, False, False, sys.unraisablehook
    ours = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    if until_the_end:
        atexit.register(_deafen)  # before all others, so that it is called after them
    before: dict[int, Any] = {number: signal.signal(number, _hear) for number in ours}
    reading, _state.pipe = os.pipe()
    os.set_blocking(_state.pipe, False)
    previous = signal.set_wakeup_fd(_state.pipe, warn_on_full_buffer=False)
    sys.unraisablehook = lambda problem: _lost(problem, usual)
    threading.Thread(target=_watch, args=(reading,), daemon=True, name="signals").start()
    try:
        yield
    except SystemExit as end:
        if until_the_end:
            before = dict.fromkeys(ours, _quietly(end.code))
        raise
    finally:
        sys.unraisablehook = usual
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler)
        writing, _state.pipe = _state.pipe, -1
        os.close(writing)  # the thread reads the end of the pipe, and ends


def _quietly(code: Any) -> Callable[[int, Any], None]:
    """A handler for a process that is over but for its cleaning up; it needs nothing that may be gone by then."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    exec(
        ""
    )  # Python remembers an interrupt that left an `exec` and would end as if killed by Ctrl-C; until the next one
    number, leave = int(code or 0), os._exit
    return lambda signal_number, frame: leave(number)


def _deafen() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _hear(number: int, frame: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(_state.pipe, MARK)
    while _state.taken:  # the thread has begun to end the process
        time.sleep(0.05)
    if _state.phase == LOADING or (_state.phase == COMMAND and not _state.words and _importing(frame)):
        _end(number)
    if _state.phase == COMMAND and not _state.heard:
        _state.number, _state.heard, _state.since = number, True, time.monotonic()
        raise KeyboardInterrupt
    if time.monotonic() - _state.since > PATIENCE:
        _end(number)


def _importing(frame: Any) -> bool:
    """Whether a module is being loaded in some frame of the stack."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _lost(problem: Any, usual: Callable[[Any], Any]) -> None:
    """An interrupt came where Python drops exceptions (a callback of the compiler): send it once more, a bit later."""
    if issubclass(problem.exc_type, KeyboardInterrupt):
        threading.Timer(0.1, _again).start()
    else:
        usual(problem)


def _again() -> None:
    _state.heard = False  # only now: until then a second signal would be lost where the first one was
    os.kill(os.getpid(), _state.number)


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
    """End the process here and now, with its line if it was not said."""
    if not _state.heard:
        _state.number = number
    try:
        if not _state.said:
            line = INTERRUPTED
            with contextlib.suppress(Exception):
                line = _state.words[-1]() if _state.words else line
            _show(line)
        sys.stdout.flush()
    finally:
        os._exit(exit_code())


def _show(line: str) -> None:
    if _state.phase != LOADING:
        from steering.cli.common import err, visible

        err.show_cursor(True)
        line = visible(line)
    print(line, file=sys.stderr, flush=True)
