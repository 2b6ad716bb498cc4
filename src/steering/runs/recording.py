"""What a run keeps beyond its rewards: value gaps, beliefs about Q, diagnostics of an agent.

A recorder looks after every plan. It draws from a stream of its own, so looking does not change the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steering import mdp as planners
from steering._types import Floats, Ints
from steering.agents import Agent
from steering.envs import Environment
from steering.errors import InvalidOption, NotAvailable
from steering.runs.results import Diagnostics, QSnapshots

RECORDS = ("value_gap", "q_posterior", "diagnostics")


@dataclass(frozen=True)
class Oracle:
    """The optimal policy of the true MDP and what it is worth."""

    policy: Ints
    V: Floats
    Q: Floats
    expected: Floats
    """Expected reward of each step, (T,)."""
    random_total: float
    """Expected total reward of the policy that takes every allowed action equally often."""


@dataclass(frozen=True)
class Wanted:
    """What to record: names from `RECORDS`, and the times of beliefs about Q."""

    names: frozenset[str]
    times: Ints

    @classmethod
    def checked(cls, record: Iterable[str], environment: Environment, steps: int, snapshots: int) -> Wanted:
        """Check names against `RECORDS` and against what the environment can give."""
        try:
            names = {record} if isinstance(record, str) else set(record)
        except TypeError:
            raise InvalidOption(f"record is {record!r}; give names from: {', '.join(RECORDS)}.") from None
        for name in names:
            if name not in RECORDS:
                raise InvalidOption(f"record has '{name}'; choose from: {', '.join(RECORDS)}.")
        if names and environment.mdp is None:
            raise NotAvailable(f"'{environment.name}' gives only samples, so {min(names)} cannot be recorded.")
        return cls(frozenset(names), np.unique(np.linspace(0, steps, snapshots + 1).astype(np.int64)[:-1]))


class Recorder:
    """Records of one run."""

    def __init__(self, wanted: Wanted, environment: Environment, oracle: Oracle, rng: np.random.Generator) -> None:
        self.wanted = wanted
        self.environment = environment
        self.oracle = oracle
        self.rng = rng
        self.plan_times: list[int] = []
        self.gaps: list[float] = []
        self.q_times: list[int] = []
        self.q_posteriors: list[tuple[Floats, Floats]] = []
        self.diagnoses: list[dict[str, Any]] = []

    def look(self, agent: Agent, state: int, now: int) -> None:
        """Record after a plan made at time `now` in `state`."""
        names = self.wanted.names
        self.plan_times.append(now)
        if names & {"value_gap", "diagnostics"}:
            self.gaps.append(self._value_gap(agent, state))
        if "diagnostics" in names:
            self.diagnoses.append(agent.diagnose(self.rng))
        last = self.q_times[-1] if self.q_times else -1
        due = (last < self.wanted.times) & (self.wanted.times <= now)
        if "q_posterior" in names and due.any():
            self.q_times.append(now)
            self.q_posteriors.append(agent.q_posterior(self.rng))

    def _value_gap(self, agent: Agent, state: int) -> float:
        mdp, discount, horizon = self.environment.table, self.environment.discount, self.environment.horizon
        if horizon is None:
            V = planners.evaluate(mdp, agent.policy[0], discount)
        else:
            V = planners.evaluate_finite(mdp, agent.policy, horizon, discount)[0]
        return float(self.oracle.V[0, state] - V[state])


def collect(recorders: Sequence[Recorder]) -> dict[str, Any]:
    """Fields of `RunResults` from the records of all seeds."""
    first = recorders[0]
    names = first.wanted.names
    fields: dict[str, Any] = {}
    if names:
        fields["plan_times"] = np.array(first.plan_times)
    if "value_gap" in names:
        fields["value_gaps"] = np.array([one.gaps for one in recorders])
    if "diagnostics" in names:
        fields["diagnostics"] = Diagnostics(
            **{
                key: np.array([[diagnosis[key] for diagnosis in one.diagnoses] for one in recorders], dtype=np.float64)
                for key in first.diagnoses[0]
            },
            true_regret=np.array([one.gaps for one in recorders]),
        )
    if "q_posterior" in names:
        optimal = first.oracle.Q.copy()
        optimal[:, ~first.environment.mask] = np.nan
        fields["q_posterior"] = QSnapshots(
            np.array(first.q_times),
            np.array([[mean for mean, _ in one.q_posteriors] for one in recorders]),
            np.array([[std for _, std in one.q_posteriors] for one in recorders]),
            optimal,
        )
    return fields
