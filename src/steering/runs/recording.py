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
from steering.runs.oracle import Oracle
from steering.runs.results import Diagnostics, QSnapshots

RECORDS = ("value_gap", "q_posterior", "diagnostics")


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
            self.gaps.append(self._value_gap(agent, state, now))
        if "diagnostics" in names:
            self.diagnoses.append(agent.diagnose(self.rng))
        last = self.q_times[-1] if self.q_times else -1
        due = (last < self.wanted.times) & (self.wanted.times <= now)
        if "q_posterior" in names and due.any():
            self.q_times.append(now)
            self.q_posteriors.append(agent.q_posterior(self.rng))

    def _value_gap(self, agent: Agent, state: int, now: int) -> float:
        mdp, discount, horizon = self.environment.table, self.environment.discount, self.environment.horizon
        layers = (horizon or 1, mdp.n_states)
        if agent.policy is None or np.shape(agent.policy) != layers:
            given = "has no policy" if agent.policy is None else f"has a policy of shape {np.shape(agent.policy)}"
            raise NotAvailable(
                f"agent '{agent.name}' {given}, so value_gap cannot be recorded; it needs `policy`, {layers}, after "
                "`plan`."
            )
        if horizon is None:
            layer, V = 0, planners.evaluate(mdp, agent.policy[0], discount)
        else:
            layer = now % horizon
            V = planners.evaluate_finite(mdp, agent.policy, horizon, discount)[layer]
        return float(self.oracle.V[layer, state] - V[state])


def collect(recorders: Sequence[Recorder]) -> dict[str, Any]:
    """Fields of `RunResults` from the records of all seeds.

    Where seeds differ in their times, arrays are as long as the longest seed needs, and end in NaN (times: in -1).
    """
    first = recorders[0]
    names = first.wanted.names
    fields: dict[str, Any] = {}
    if names:
        fields["plan_times"] = _times([one.plan_times for one in recorders])
    gaps = padded([one.gaps for one in recorders])
    if "value_gap" in names:
        fields["value_gaps"] = gaps
    if "diagnostics" in names:
        fields["diagnostics"] = Diagnostics(
            **{
                key: padded([[diagnosis[key] for diagnosis in one.diagnoses] for one in recorders])
                for key in first.diagnoses[0]
            },
            true_regret=gaps,
        )
    if "q_posterior" in names:
        optimal = first.oracle.Q.copy()
        optimal[:, ~first.environment.mask] = np.nan
        fields["q_posterior"] = QSnapshots(
            _times([one.q_times for one in recorders]),
            padded([[mean for mean, _ in one.q_posteriors] for one in recorders]),
            padded([[std for _, std in one.q_posteriors] for one in recorders]),
            optimal,
        )
    return fields


def padded(rows: Sequence[Sequence[Any]]) -> Floats:
    """Rows of numbers or tables as one array (K, longest, ...); what a shorter row does not have is NaN."""
    longest = max(rows, key=len)
    out = np.full((len(rows), len(longest), *np.shape(longest[0] if longest else 0.0)), np.nan)
    for place, row in zip(out, rows, strict=True):
        if row:
            place[: len(row)] = row
    return out


def _times(rows: Sequence[Sequence[int]]) -> Ints:
    """Times (n,) that all seeds share, else (K, n) with -1 after a seed's last one."""
    if all(row == rows[0] for row in rows):
        return np.array(rows[0], dtype=np.int64)
    table = padded(rows)
    return np.where(np.isnan(table), -1, table).astype(np.int64)
