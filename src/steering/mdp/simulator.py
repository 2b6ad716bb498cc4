"""Many steps of an MDP at once, with randomness that does not depend on who acts or how the run is cut.

Three streams feed a run: one uniform for every transition, one standard normal for every reward, one uniform for
every start of an episode. They are used in order, so step t of two agents with the same seed sees the same noise
(common random numbers), whatever the agents do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering._compiled import simulate
from steering._types import Floats, Ints
from steering.mdp.tabular import TabularMDP

Tables = tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats, Floats, int]
Transitions = tuple[Ints, Ints, Floats, Ints]
"""States, actions, rewards, next states."""
Memory = tuple[Ints, Ints, Ints, Ints]
"""What tells a compiled loop to stop early; see `steering._compiled.simulate`."""
Loop = Callable[..., tuple[int, int]]
"""Called as loop(state, noise, states, actions, rewards, successors); returns the steps made and the last state."""

CHUNK = 8192
FIRST_CHUNK = 128


@dataclass(frozen=True)
class EnvironmentStreams:
    """The random generators of an environment, one for each kind of event."""

    transitions: np.random.Generator
    rewards: np.random.Generator
    starts: np.random.Generator


class Noise:
    """Numbers of one generator, handed out in order from chunks.

    Where nobody else draws from the generator, the first chunk may be small and the next ones larger: the numbers are
    the same, and a short run does not pay for thousands.
    """

    def __init__(self, rng: np.random.Generator, kind: str, chunk: int = CHUNK) -> None:
        # Not a bound method: a copy of the agent must draw from its own copy of the generator.
        self._rng = rng
        self._method = "random" if kind == "uniform" else "standard_normal"
        self._chunk: Floats = np.empty(0)
        self._used = 0
        self._size = chunk

    def take(self, n: int) -> Floats:
        """The next n numbers."""
        if self._used + n > self._chunk.size:
            rest = self._chunk[self._used :]
            self._chunk = np.concatenate([rest, getattr(self._rng, self._method)(max(self._size, n))])
            self._used = 0
            self._size = min(4 * self._size, CHUNK)
        self._used += n
        return self._chunk[self._used - n : self._used]

    def give_back(self, n: int) -> None:
        """Hand the last n numbers out again next time."""
        self._used -= n


def watch_nothing() -> Memory:
    """A memory that never stops a loop."""
    nothing = np.zeros((0, 0), np.int64)
    return nothing, nothing, np.zeros(0, np.int64), np.zeros(4, np.int64)


def tables_of(mdp: TabularMDP) -> Tables:
    """Arrays that the compiled simulation reads (see `steering._compiled.simulate`), the same for both forms."""
    rows = mdp.transitions
    cumulative = simulate.cumulative_rows(rows.offsets, rows.probabilities)
    mean, std = rows.spread(rows.mean), rows.spread(rows.std)
    for array in (cumulative, mean, std):  # read-only as the rest, so that one compiled version serves all MDPs
        array.flags.writeable = False
    return rows.offsets, rows.successors, cumulative, mean, std, mdp.n_actions


class Simulator:
    """One run in an MDP: the current state and everything recorded so far.

    Parameters
    ----------
    mdp, tables
        The MDP and its `tables_of` (made once, shared by all seeds).
    steps
        Length of the run; records are allocated for it.
    streams
        Random generators of the environment.
    """

    def __init__(self, mdp: TabularMDP, tables: Tables, steps: int, streams: EnvironmentStreams) -> None:
        self.tables = tables
        self.steps = steps
        self.states: Ints = np.zeros(steps, dtype=np.int64)
        self.actions: Ints = np.zeros(steps, dtype=np.int64)
        self.rewards: Floats = np.zeros(steps)
        self.successors: Ints = np.zeros(steps, dtype=np.int64)
        self.time = 0
        self.state = 0
        self._uniforms = Noise(streams.transitions, "uniform", FIRST_CHUNK)
        self._normals = Noise(streams.rewards, "normal", FIRST_CHUNK)
        self._starts = Noise(streams.starts, "uniform", FIRST_CHUNK)
        self._start = np.cumsum(mdp.start_distribution)
        self._last_start = int(np.flatnonzero(mdp.start_distribution)[-1])

    def begin_episode(self) -> None:
        """Move to a state drawn from the start distribution."""
        u = self._starts.take(1)[0]
        self.state = min(int(np.searchsorted(self._start, u, side="right")), self._last_start)

    def step(self, action: int) -> tuple[int, float]:
        """Take one action; returns the next state and the reward."""

        def loop(state: int, noise: tuple[Floats, Floats], *out: Any) -> tuple[int, int]:
            y, r = simulate.step(self.tables, state, action, noise[0][0], noise[1][0])
            for place, value in zip(out, (state, action, r, y), strict=True):
                place[0] = value
            return 1, int(y)

        _, _, rewards, _ = self.advance(loop, 1)
        return self.state, float(rewards[0])

    def advance(self, loop: Loop, n: int) -> Transitions:
        """Let a compiled loop make n steps, or fewer if it stops before; returns the transitions that it made."""
        low, high = self.time, self.time + n
        noise = (self._uniforms.take(n), self._normals.take(n))
        out = (self.states[low:high], self.actions[low:high], self.rewards[low:high], self.successors[low:high])
        done, self.state = loop(self.state, noise, *out)
        self.time = low + done
        if done == n:
            return out
        self._uniforms.give_back(n - done)
        self._normals.give_back(n - done)
        return out[0][:done], out[1][:done], out[2][:done], out[3][:done]

    def follow(self, policy: Ints, n: int, first: int = 0, memory: Memory | None = None) -> Transitions:
        """Follow a table policy (layers, S) for n steps, the first of them in layer `first`, or until a plan is due."""
        watched = watch_nothing() if memory is None else memory
        return self.advance(partial(simulate.follow_policy, self.tables, policy, first, watched), n)
