"""When a model-based agent plans again: the option `replan`.

The environment's `replan_every` is the latest moment (in the episodic setting: the start of the next episode). A
schedule may ask for a plan before. It says so by three numbers, set at each plan, which compiled loops and `observe`
read alike (see `steering._compiled.simulate`): the visits of each pair at which a plan is due, whether an outcome
never seen before makes one due, and the steps after which one is due.

    every     at the latest moment and never before;
    learned   as soon as a transition taught something: an outcome of (s, a) never seen before, or the visits of (s, a)
              reached twice those at the last plan.

    doubling  when the visits of (s, a) reached twice those at the last plan, and at no other time (UCRL2);
    tsde      the same with one visit more, or when a plan has lasted longer than the one before, and at no other time
              (Ouyang, Gagrani, Nayyar and Jain 2017: posterior sampling with dynamic episodes).

The last two keep a plan even at the latest moment of the continuing setting (`regular` is False); episodes begin with a
plan under every schedule.

A new schedule is one class with `begin`, and one line of `SCHEDULES`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from steering._compiled import simulate
from steering._types import Ints
from steering.errors import InvalidOption
from steering.mdp.simulator import Memory, watch_nothing

NEVER = np.iinfo(np.int64).max
ROOM = 1024
"""Places for outcomes seen, at first; a power of two."""


class Schedule:
    """`replan=every`; the base of the others.

    Attributes
    ----------
    memory
        (visits, limits, seen, clock), shared with the compiled loops.
    regular
        Whether a plan is also made at the latest moment that the environment has.
    """

    regular: ClassVar[bool] = True

    def __init__(self, n_states: int, n_actions: int) -> None:
        self.memory: Memory = watch_nothing()

    @property
    def due(self) -> bool:
        """Whether a plan is asked for."""
        return bool(self.memory[3][2])

    def begin(self) -> None:
        """A plan is being made now: set what must happen before the next one is due."""

    def watch(self, steps: int) -> Memory:
        """The memory, with room for what `steps` steps may show."""
        visits, limits, seen, clock = self.memory
        if 0 < seen.size < 2 * (clock[3] + steps):
            larger = np.full(2 ** int(4 * (clock[3] + steps)).bit_length(), -1)
            simulate.rehash(seen, larger)
            self.memory = visits, limits, larger, clock
        return self.memory

    def saw(self, state: int, action: int, next_state: int) -> None:
        """Take one transition into the memory."""
        S, A = self.memory[0].shape
        if S == 0:
            return
        if not (0 <= state < S and 0 <= action < A and 0 <= next_state < S):
            raise InvalidOption(
                f"a transition goes from ({state}, {action}) to {next_state}; there are {S} states and {A} actions."
            )
        simulate.note(self.watch(1), state, action, next_state)

    def saw_many(self, states: Ints, actions: Ints, next_states: Ints) -> None:
        """Take many transitions into the memory; the same as `saw` for each, in any order, but for what is due.

        Every kind of transition is taken in once, and its other visits are added: histories are long and repeat.
        """
        S, A = self.memory[0].shape
        if S == 0 or not states.size:
            return
        kinds, times = np.unique((states * A + actions) * S + next_states, return_counts=True)
        for kind, count in zip(kinds.tolist(), times.tolist(), strict=True):
            pair, next_state = divmod(kind, S)
            self.saw(pair // A, pair % A, next_state)
            self.memory[0][pair // A, pair % A] += count - 1
            self.memory[3][0] += count - 1


class Learned(Schedule):
    """`replan=learned`: after an unseen outcome, and when visits have doubled since the last plan."""

    def __init__(self, n_states: int, n_actions: int) -> None:
        pairs = (n_states, n_actions)
        self.memory = (
            np.zeros(pairs, np.int64),
            np.zeros(pairs, np.int64),
            np.full(ROOM, -1),
            np.array([0, NEVER, 0, 0]),
        )

    def begin(self) -> None:
        """A pair is due at twice its visits; one that was never visited has an unseen outcome anyway."""
        visits, limits, _, clock = self.memory
        np.multiply(visits, 2, out=limits)
        clock[0] = clock[2] = 0


class Doubling(Schedule):
    """`replan=doubling`: only when visits have doubled since the last plan."""

    regular = False
    more = 0

    def __init__(self, n_states: int, n_actions: int) -> None:
        pairs = (n_states, n_actions)
        self.memory = (
            np.zeros(pairs, np.int64),
            np.zeros(pairs, np.int64),
            np.zeros(0, np.int64),  # outcomes do not matter
            np.array([0, NEVER, 1, 0]),  # a first plan is due
        )

    def begin(self) -> None:
        """A pair is due at twice its visits, or at its first one."""
        visits, limits, _, clock = self.memory
        np.maximum(2 * visits + self.more, 1, out=limits)
        clock[0] = clock[2] = 0


class Tsde(Doubling):
    """`replan=tsde`: when visits have more than doubled, or a plan has lasted longer than the one before."""

    more = 1

    def begin(self) -> None:
        """A plan may last one step longer than the one that ends now."""
        clock = self.memory[3]
        clock[1] = clock[0] + 1
        super().begin()


SCHEDULES: dict[str, type[Schedule]] = {"every": Schedule, "learned": Learned, "doubling": Doubling, "tsde": Tsde}
"""Schedules by the value of the option `replan`."""
