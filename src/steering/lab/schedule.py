"""At which plans a belief is kept: often at the beginning, and where something was met for the first time."""

from __future__ import annotations

from steering._types import Bools, Floats
from steering.mdp.simulator import Simulator

NEWS_SHARE = 4
"""One in so many beliefs is for plans after an outcome that was not seen before."""


class Schedule:
    """Chooses the plans whose beliefs are kept, at most `frames` of them, as the run goes.

    Frame n of those that are spaced over the run is due from step T (n / N)^1.5 on: more at the beginning, where more
    is learned. A share is for plans after an outcome (s, a, s') that was seen for the first time, the early ones as
    long as it lasts, and one is for the plan after the first best reward: the belief that made an agent change its ways
    is one that people want to see.
    """

    def __init__(self, steps: int, frames: int, best: Bools) -> None:
        self._steps, self._best = steps, best
        self._news = frames // NEWS_SHARE
        self._spaced = frames - self._news - 1
        self._made = self._looked = 0
        self._found = False
        self._seen: set[int] = set()

    def due(self, now: int, simulator: Simulator) -> bool:
        """Whether the belief of a plan made at time `now` is kept; to be asked at every plan, once."""
        new, found = self._met(simulator, now)
        if self._made < self._spaced and now >= self._steps * (self._made / self._spaced) ** 1.5:
            self._made += 1
            return True
        if not found and new and self._news:
            self._news -= 1
            return True
        return found

    def _met(self, simulator: Simulator, now: int) -> tuple[bool, bool]:
        """Whether the steps since the last plan hold a new outcome, and the first best reward."""
        since = slice(self._looked, now)
        self._looked = now
        states, actions = simulator.states[since], simulator.actions[since]
        found = not self._found and bool(self._best[states, actions].any())
        self._found = self._found or found
        if not self._news:
            return False, found
        S, A = self._best.shape
        outcomes = set(((states * A + actions) * S + simulator.successors[since]).tolist())
        new = not outcomes <= self._seen
        self._seen |= outcomes
        return new, found


def best_paid(rewards: Floats, allowed: Bools) -> Bools:
    """Pairs (s, a) that pay the best mean reward there is, which the page marks with a star."""
    best: Bools = allowed & (rewards >= rewards[allowed].max() - 1e-12)
    return best
