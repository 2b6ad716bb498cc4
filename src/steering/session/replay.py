"""A session as it went: read from its journal from the beginning, and on as events come; nothing is ever written.

*Time* is the number of rows that were learned. What cannot be learned yet (a reward that is told later, the end of an
episode before the next one begins) has no time until it can. So what was learned before a time never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steering._types import Floats, Ints
from steering.agents import Agent
from steering.beliefs import Belief
from steering.session.errors import JournalDamaged
from steering.session.header import agent_text, mind_of, state_of
from steering.session.journal import Event, Journal
from steering.session.mind import transitions

PATIENCE = 5
"""Looks after which a line that is not whole, with others behind it, is damage; before, somebody may be writing it."""


@dataclass(frozen=True)
class News:
    """Something about a suggestion: that it was made, what came of it, or that it was cancelled."""

    time: int
    event: Event


class Replay:
    """Follows the journal of a session.

    Attributes
    ----------
    header, state
        As in a session.
    asks
        Time of every suggestion.
    news
        What happened to suggestions, in order.
    notes
        What its owner should know, such as another version that wrote it.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._journal = Journal(self.directory, read_only=True)
        self.header = self._journal.header()
        self.state = state_of(self.header, self._journal.path)
        try:
            text, self.notes = agent_text(self.header)
            self._mind = mind_of(self.header, text)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise JournalDamaged(f"{self._journal.path}: its first line is not that of a session ({error}).") from None
        self.asks: list[int] = []
        self.news: list[News] = []
        self._doubts = 0
        self.advance()

    @property
    def time(self) -> int:
        """Rows that were learned."""
        return len(self.state.order)

    def advance(self) -> bool:
        """Take the events that came since the last call; whether there were any."""
        before = self._journal.number
        try:
            for event in self._journal.read():
                self._take(event)
            self._doubts = 0
        except JournalDamaged:
            self._doubts += 1
            if self._doubts >= PATIENCE or not before:
                raise
        return self._journal.number > before

    def _take(self, event: Event) -> None:
        kind = event.get("event")
        if kind == "ask":
            self.asks.append(self.time)
        try:
            self.state.apply(event)
        except Exception as error:
            where = f"{self._journal.path}, line {self._journal.number + 1}"
            raise JournalDamaged(f"{where}: it cannot be used: {type(error).__name__} {error}") from None
        if kind in ("ask", "tell", "cancel"):
            self.news.append(News(self.asks[-1] if kind == "ask" else self.time, event))

    def rows(self, first: int, last: int) -> tuple[Ints, Ints, Floats, Ints]:
        """States, actions, rewards and next states that were learned between two times."""
        return transitions(self.state, first, last)

    def learner(self, time: int) -> Agent:
        """The agent with what was learned before a time, in the process as it is now; fast for times that grow."""
        return self._mind.learner(self.state, time)

    def belief(self, time: int) -> Belief | None:
        """A copy of its belief at that time, if it keeps one."""
        return self._mind.belief(self.state, time)

    def edges(self) -> tuple[Ints, Ints]:
        """Pairs of different states (s, s') that followed each other."""
        states, _, _, to = self.rows(0, self.time)
        pairs = np.unique(np.stack([states, to], axis=1)[states != to], axis=0).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def close(self) -> None:
        """Let the file go."""
        self._journal.close()

    def summary(self) -> dict[str, Any]:
        """What a page says about it."""
        s = self.state
        return {"agent": self.header["agent"], "asked": len(s.asks), "told": len(s.rows), "open": len(s.open)}
