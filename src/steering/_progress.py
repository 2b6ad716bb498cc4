"""Progress in notebooks: a bar that appears when something takes more than a second, and nothing anywhere else."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 1.0
"""Seconds before the first bar."""
EVERY = 0.2
"""Seconds between two bars."""


class NotebookBar:
    """A bar, updated in place; call it with what is finished and how much there is."""

    def __init__(self, noun: str, show: Callable[[str], Callable[[str], None]], clock: Callable[[], float]) -> None:
        self.noun, self._show, self._clock = noun, show, clock
        self._began = self._last = clock()
        self._update: Callable[[str], None] | None = None

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        finished = done >= total
        if self._update is None and (finished or now - self._began < PATIENCE):
            return
        if self._update is not None and not finished and now - self._last < EVERY:
            return
        self._last = now
        text = self._html(done, total, now - self._began)
        if self._update is None:
            self._update = self._show(text)
        else:
            self._update(text)

    def _html(self, done: int, total: int, seconds: float) -> str:
        left = seconds / done * (total - done) if done else 0.0
        rest = f"{seconds:.0f} s" if done >= total else f"about {left:.0f} s left" if done else "starting"
        words = html.escape(f"{done} of {total} {self.noun}, {rest}")
        return f'<progress value="{done}" max="{max(total, 1)}"></progress> {words}'


def notebook_bar(noun: str) -> NotebookBar | None:
    """A bar where this is a notebook; None in a script or at a terminal. Nothing is imported to find out."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    return NotebookBar(noun, _displayed, time.monotonic)


def _displayed(text: str) -> Callable[[str], None]:
    from IPython.display import HTML, display

    handle = display(HTML(text), display_id=True)
    return lambda changed: handle.update(HTML(changed))
