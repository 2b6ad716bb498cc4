"""From a list of outcomes to a `TabularMDP`: what termination means, once for tables and estimates alike.

An outcome of (s, a) says: with probability p the next state is s', the reward has mean m and variance v, and the
episode is over (terminated) or not. Gymnasium ends an episode there; an MDP has to say what comes next:

* continuing: every action in a terminal state leads to the start distribution with reward 0, so a reset takes one step;
* episodic: a terminal state is absorbing with reward 0 until the horizon.

A state is terminal if a terminal outcome enters it and no unfinished episode can be in it. An unfinished episode can be
in every start state, and in every state that is reached from one by outcomes that are not terminal. A terminal outcome
that enters such a state leads to one extra state "end" instead, which is terminal. Outcomes that share (s, a, s') are
merged: p adds up, m and v become the mean and variance of the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steering._types import Bools, Floats, Ints
from steering.errors import UnsupportedEnvironment
from steering.mdp.tabular import TabularMDP


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of all state-action pairs as columns of equal length."""

    state: Ints
    action: Ints
    probability: Floats
    next_state: Ints
    reward: Floats
    variance: Floats
    terminated: Bools


def read_table(table: Any, n_states: int, n_actions: int, first: tuple[int, int] = (0, 0)) -> Outcomes | None:
    """Read a toy-text table ``P[s][a] = [(p, s', reward, terminated), ...]``; None if it is not one.

    Parameters
    ----------
    table
        What the environment calls ``P``.
    n_states, n_actions
        Sizes of its spaces.
    first
        Smallest state and action number (the `start` of the spaces).
    """
    columns: list[tuple[int, int, float, int, float, float, bool]] = []
    try:
        for s in range(n_states):
            for a in range(n_actions):
                for p, s_next, reward, terminated in table[s + first[0]][a + first[1]]:
                    row = (s, a, float(p), int(s_next) - first[0], float(reward), 0.0, bool(terminated))
                    columns.append(row)
    except (TypeError, ValueError, KeyError, IndexError):
        return None
    if not all(0 <= row[3] < n_states for row in columns):
        return None
    return _outcomes(columns)


def mdp_from_outcomes(
    outcomes: Outcomes,
    start: Floats,
    n_states: int,
    n_actions: int,
    *,
    episodic: bool,
    all_starts: bool = True,
) -> TabularMDP:
    """Build the MDP of the outcomes; the module's text says what termination becomes.

    Parameters
    ----------
    outcomes
        Outcomes of every (s, a), with probabilities that sum to 1.
    start
        Start distribution, shape (S,).
    n_states, n_actions
        S and A, without the state "end".
    episodic
        Whether terminal states are absorbing (else they lead to the start).
    all_starts
        Whether `start` is exact, so that states that it does not lead to are never visited.
    """
    terminal = terminal_states(outcomes, start, n_states, all_starts)
    into_end = outcomes.terminated & (outcomes.probability > 0)
    into_end &= ~terminal[outcomes.next_state] & ~terminal[outcomes.state]
    extra = bool(into_end.any())
    S = n_states + extra
    target = np.where(into_end, n_states, outcomes.next_state)
    begin = np.append(start, 0.0) if extra else start
    ends = np.flatnonzero(np.append(terminal, True) if extra else terminal)
    live = ~terminal[outcomes.state]
    # From each terminal state every action leads to itself, or to the states of the start distribution, with reward 0.
    onward = np.ones(1) if episodic else begin[begin > 0]
    state = np.repeat(ends, n_actions * onward.size)
    after = state if episodic else np.tile(np.flatnonzero(begin), ends.size * n_actions)
    zeros = np.zeros(state.size)
    names = (*(str(s) for s in range(n_states)), "end") if extra else ()
    mdp = TabularMDP.from_transitions(
        np.concatenate([outcomes.state[live], state]),
        np.concatenate([outcomes.action[live], np.tile(np.repeat(np.arange(n_actions), onward.size), ends.size)]),
        np.concatenate([target[live], after]),
        np.concatenate([outcomes.probability[live], np.tile(onward, ends.size * n_actions)]),
        np.concatenate([outcomes.reward[live], zeros]),
        S,
        n_actions,
        begin,
        reward_std=np.concatenate([np.sqrt(outcomes.variance[live]), zeros]),
        state_names=names,
    )
    return mdp.by_size()


def terminal_states(outcomes: Outcomes, start: Floats, n_states: int, all_starts: bool = True) -> Bools:
    """Return which states are entered by terminal outcomes and are never the state of an unfinished
    episode.
    """
    possible = outcomes.probability > 0
    entered = np.zeros(n_states, dtype=np.bool_)
    entered[outcomes.next_state[possible & outcomes.terminated]] = True
    live = start > 0 if all_starts else (start > 0) | ~entered
    onward = possible & ~outcomes.terminated
    source, target = outcomes.state[onward], outcomes.next_state[onward]
    while True:
        reached = live.copy()
        reached[target[live[source]]] = True
        if (reached == live).all():
            return entered & ~live
        live = reached


class OutcomeCounts:
    """Counts and reward moments of observed outcomes, for estimating a table."""

    def __init__(self, n_states: int, n_actions: int) -> None:
        self.n_states, self.n_actions = n_states, n_actions
        self._moments: dict[tuple[int, int, int, bool], list[float]] = {}

    def add(self, state: int, action: int, next_state: int, reward: float, terminated: bool) -> None:
        """Count one transition; mean and sum of squares follow Welford's recursion."""
        cell = self._moments.setdefault((state, action, next_state, terminated), [0.0, 0.0, 0.0])
        cell[0] += 1.0
        step = reward - cell[1]
        cell[1] += step / cell[0]
        cell[2] += step * (reward - cell[1])

    def outcomes(self) -> Outcomes:
        """Return relative frequencies; a pair that was never tried stays where it is with reward 0."""
        total = np.zeros((self.n_states, self.n_actions))
        for (s, a, _, _), (count, _, _) in self._moments.items():
            total[s, a] += count
        columns = [
            (s, a, count / total[s, a], s_next, mean, squares / count, terminated)
            for (s, a, s_next, terminated), (count, mean, squares) in sorted(self._moments.items())
        ]
        columns += [(int(s), int(a), 1.0, int(s), 0.0, 0.0, False) for s, a in np.argwhere(total == 0)]
        return _outcomes(columns)


def _outcomes(columns: list[tuple[int, int, float, int, float, float, bool]]) -> Outcomes:
    if not columns:
        raise UnsupportedEnvironment("the environment's table is empty; it must have outcomes for every state.")
    s, a, p, s_next, reward, variance, terminated = zip(*columns, strict=True)
    return Outcomes(
        state=np.array(s, dtype=np.int64),
        action=np.array(a, dtype=np.int64),
        probability=np.array(p, dtype=np.float64),
        next_state=np.array(s_next, dtype=np.int64),
        reward=np.array(reward, dtype=np.float64),
        variance=np.array(variance, dtype=np.float64),
        terminated=np.array(terminated, dtype=np.bool_),
    )
