"""Progress in notebooks: a bar after a second, updated in place, and nothing outside of them."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import steering
from steering._progress import NotebookBar, notebook_bar


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def bar() -> tuple[NotebookBar, Clock, list[str]]:
    clock, shown = Clock(), []

    def show(text: str) -> Any:
        shown.append(text)
        return shown.append

    return NotebookBar("runs", show, clock), clock, shown


def test_it_appears_after_a_second_and_not_too_often() -> None:
    made, clock, shown = bar()
    made(1, 10)
    assert shown == []
    clock.now = 1.5
    made(2, 10)
    assert shown == ['<progress value="2" max="10"></progress> 2 of 10 runs, about 6 s left']
    clock.now = 1.6
    made(3, 10)
    assert len(shown) == 1
    clock.now = 1.65
    made(10, 10)
    assert shown[-1].endswith("10 of 10 runs, 2 s")


def test_what_is_quick_shows_nothing() -> None:
    made, clock, shown = bar()
    clock.now = 5.0
    made(10, 10)
    assert shown == []


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for IPython with a kernel, and a clock in which every look takes two seconds."""
    shown: list[str] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.HTML = str  # type: ignore[attr-defined]

    def show(text: str, display_id: bool) -> Any:
        assert display_id
        shown.append(text)
        return SimpleNamespace(update=shown.append)

    display.display = show  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    clock = Clock()

    def tick() -> float:
        clock.now += 2.0
        return clock.now

    monkeypatch.setattr("steering._progress.time", SimpleNamespace(monotonic=tick))
    return shown


def test_runs_and_sweeps_show_it_in_a_notebook(notebook: list[str], tmp_path: Any) -> None:
    steering.run("deepsea:4", "psrl", steps=20, seeds=3)
    assert [text.partition("> ")[2] for text in notebook][-1].startswith("3 of 3 runs")
    notebook.clear()
    steering.run("deepsea:4", "psrl", steps=20, seeds=3, progress=False)
    assert notebook == []
    calls: list[tuple[int, int]] = []
    steering.run("deepsea:4", "psrl", steps=20, seeds=2, progress=lambda done, total: calls.append((done, total)))
    assert (notebook, calls) == ([], [(1, 2), (2, 2)])
    description = {"environments": ["deepsea:4"], "agents": ["psrl"], "steps": 20, "seeds": 3}
    steering.sweep(description, tmp_path / "out", workers=0)
    assert any("of 3 cells" in text for text in notebook)


def test_a_script_and_a_terminal_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook_bar("runs") is None
    terminal = ModuleType("IPython")
    terminal.get_ipython = lambda: SimpleNamespace()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert notebook_bar("runs") is None
