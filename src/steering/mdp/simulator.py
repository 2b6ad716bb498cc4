"""Many steps of an MDP at once, with randomness that does not depend on who acts or how the run is cut.

Three streams feed a run: one uniform for every transition, one standard normal for every reward, one uniform for
every start of an episode. They are used in order, so step t of two agents with the same seed sees the same noise
(common random numbers), whatever the agents do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steering._compiled import simulate
from steering._types import Floats, Ints
from steering.mdp.tabular import TabularMDP

Tables = tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats, Floats]

CHUNK = 8192


@dataclass(frozen=True)
class EnvironmentStreams:
    """The random generators of an environment, one for each kind of event."""

    transitions: np.random.Generator
    rewards: np.random.Generator
    starts: np.random.Generator


class Noise:
    """Numbers of one generator, handed out in order from chunks."""

    def __init__(self, rng: np.random.Generator, kind: str) -> None:
        self._draw: Any = rng.random if kind == "uniform" else rng.standard_normal
        self._chunk: Floats = np.empty(0)
        self._used = 0

    def take(self, n: int) -> Floats:
        """The next n numbers."""
        if self._used + n > self._chunk.size:
            rest = self._chunk[self._used :]
            self._chunk = np.concatenate([rest, self._draw(max(CHUNK, n))])
            self._used = 0
        self._used += n
        return self._chunk[self._used - n : self._used]


def tables_of(mdp: TabularMDP) -> Tables:
    """Arrays that the compiled simulation reads (see `steering._compiled.simulate`)."""
    offsets, successors, cumulative = simulate.compress(mdp.P)
    return offsets, successors, cumulative, mdp.reward_mean, mdp.reward_std


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
        self._uniforms = Noise(streams.transitions, "uniform")
        self._normals = Noise(streams.rewards, "normal")
        self._starts = Noise(streams.starts, "uniform")
        self._start = np.cumsum(mdp.start_distribution)
        self._last_start = int(np.flatnonzero(mdp.start_distribution)[-1])

    def begin_episode(self) -> None:
        """Move to a state drawn from the start distribution."""
        u = self._starts.take(1)[0]
        self.state = min(int(np.searchsorted(self._start, u, side="right")), self._last_start)

    def window(self, n: int) -> tuple[tuple[Floats, Floats], tuple[Ints, Ints, Floats, Ints]]:
        """Noise for the next n steps and the places where they are to be recorded; the clock moves on by n."""
        low, high = self.time, self.time + n
        self.time = high
        noise = (self._uniforms.take(n), self._normals.take(n))
        return noise, (
            self.states[low:high],
            self.actions[low:high],
            self.rewards[low:high],
            self.successors[low:high],
        )

    def follow(self, policy: Ints, n: int) -> tuple[Ints, Ints, Floats, Ints]:
        """Follow a table policy (layers, S) for n steps; returns the transitions (states, actions, rewards, next)."""
        noise, out = self.window(n)
        self.state = simulate.follow_policy(self.tables, policy, self.state, noise, *out)
        return out
