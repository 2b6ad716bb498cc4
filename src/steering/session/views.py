"""What can be asked about a session without changing it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

from steering import _html
from steering._checks import number, probability, whole
from steering._types import Bools, Ints
from steering.agents import Agent
from steering.errors import InvalidOption, NotAvailable
from steering.session.base import Opened
from steering.session.errors import NothingAllowed
from steering.session.knowledge import Knowledge, knowledge_of
from steering.session.labels import Label
from steering.session.mind import LOOK, generator
from steering.session.state import Open
from steering.session.why import Why, no_reasons, reasons, short

ALL_OUTCOMES = 200_000
"""Rows of the table of beliefs up to which outcomes never seen are listed too."""
LONGEST_FORECAST = 100_000


class Views(Opened):
    """Policies, reasons, beliefs, histories and forecasts."""

    _looked: tuple[Any, ...] | None = None
    _found: Knowledge | None = None

    def __repr__(self) -> str:
        s = self._state
        return (
            f"Session {str(self.directory)!r}: {len(s.states)} states, {len(s.actions)} actions, {len(s.rows)} steps, "
            f"{len(s.open)} under way, agent {self.header['agent']}"
        )

    def _repr_html_(self) -> str:
        found = self.summary()
        shown = {key: found[key] for key in ("agent", "discount", "rewards", "risk", "events", "rows", "total_reward")}
        sizes = {"states": len(found["states"]), "actions": len(found["actions"]), "under way": len(found["under_way"])}
        return _html.table(f"Session {self.directory}", {**sizes, **shown})

    @property
    def states(self) -> list[Label]:
        """Names of the states, in order."""
        return list(self._state.states.names)

    @property
    def actions(self) -> list[Label]:
        """Names of the actions, in order."""
        return list(self._state.actions.names)

    def summary(self) -> dict[str, Any]:
        """What there is, in a few numbers."""
        s, header = self._state, self.header
        return {
            "directory": str(self.directory),
            "agent": header["agent"],
            "version": header.get("version"),
            "revision": header.get("revision"),
            "discount": header["discount"],
            "seed": header["seed"],
            "rewards": header.get("rewards"),
            "risk": None if s.risk is None else list(s.risk),
            "states": self.states,
            "actions": self.actions,
            "events": self._journal.number,
            "rows": len(s.rows),
            "suggestions": len(s.asks),
            "total_reward": short(s.rows.array["reward"].sum()) if len(s.rows) else 0.0,
            "under_way": [self._under_way(one) for one in s.open.values()],
            "notes": list(self.notes),
        }

    def _under_way(self, one: Open) -> dict[str, Any]:
        s = self._state
        missing = [name for name, there in (("outcome", one.happened), ("reward", one.reward is not None)) if not there]
        return {
            "id": one.id,
            "state": s.states.names[one.state],
            "action": s.actions.names[one.action if one.told is None else one.told],
            "unit": None if one.unit < 0 else s.units.names[one.unit],
            "waits_for": missing,
        }

    def events(self, after: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Events of the journal after number `after`, `limit` of them at most."""
        with self._lock:
            number_of_events = self._journal.number if limit is None else whole("limit", limit, 0)
            return self._journal.peek(whole("after", after, 0), number_of_events)

    # Decisions -------------------------------------------------------------------------------------------------------

    def recommend(self, state: Any = None) -> Any:
        """The best known action of a state, or without a state the whole policy as a dict; no exploration.

        Where a limit on risk leaves nothing, the policy holds None, and a single state is refused.
        """
        with self._lock:
            names = self._state.actions.names
            if state is not None:
                here = self._state.states.number(state)
                self._may(here, None, None)
                return names[int(self._policy()[here])]
            policy: list[int | None] = self._policy().tolist()
            if self._state.risk is not None:
                safe: Bools = np.asarray(self._known("a limit on risk").within(self._state.risk).any(axis=1))
                policy = [action if may else None for action, may in zip(policy, safe.tolist(), strict=True)]
            chosen = (None if action is None else names[action] for action in policy)
            return dict(zip(self.states, chosen, strict=True))

    def _policy(self) -> Ints:
        known = self._known_or_none()
        if known is not None:
            return known.policy
        planned = self._planned()
        if planned.policy is None:
            raise NotAvailable(f"agent '{planned.name}' states no policy, so there is none to recommend.")
        return np.asarray(planned.policy[0])

    def _may(
        self, here: int, only: tuple[int, ...] | None, limit: tuple[float, float] | None
    ) -> tuple[Bools, float | None]:
        """Actions that may be suggested in a state, and the floor of rewards that was looked at."""
        s = self._state
        name = s.states.names[here]
        allowed = s.mask[here].copy()
        if only is not None:
            allowed &= np.isin(np.arange(allowed.size), only)
            if not allowed.any():
                raise NothingAllowed(f"none of the actions given is allowed in the state '{name}'.")
        limit = s.risk if limit is None else limit
        if limit is None:
            return allowed, None
        floor, most = limit
        risks = self._known("a limit on risk").below(here, floor)
        safe = allowed & (risks <= most)
        if not safe.any():
            least = int(np.where(allowed, risks, np.inf).argmin())
            raise NothingAllowed(
                f"in the state '{name}' every action has a reward below {floor:g} with a probability above {most:g}, "
                f"as far as is known; the least risky is '{s.actions.names[least]}' with {risks[least]:.3g}."
            )
        return safe, floor

    # Reasons ---------------------------------------------------------------------------------------------------------

    def explain(self, state: Any) -> Why:
        """What is known about each action of a state, and which is best by it.

        Where a limit on risk leaves nothing, it says so, and what is known about all actions.
        """
        with self._lock:
            here = self._state.states.number(state)
            try:
                allowed, floor = self._may(here, None, None)
            except NothingAllowed as error:
                assert self._state.risk is not None
                every = self._reasons(here, self._state.mask[here], None, self._state.risk[0])
                rows = tuple({**one, "suggested": False} for one in every.actions)
                return Why("nothing allowed", str(error), rows)
            return self._reasons(here, allowed, None, floor)

    def _reasons(self, here: int, allowed: Bools, action: int | None, floor: float | None) -> Why:
        known = self._known_or_none()
        names = self._state.actions.names
        if known is not None:
            return reasons(known, here, allowed, action, names, floor)
        if action is None:
            action = int(self._policy()[here])
        rows = self._state.rows.array
        visits = int(((rows["state"] == here) & (rows["action"] == action)).sum())
        return no_reasons(str(self.header["agent"]), names[action], visits)

    def _planned(self) -> Agent:
        """A copy of the agent that has planned; the session's own never does."""
        agent = copy.deepcopy(self._mind.learner(self._state))
        agent.plan(0, 0)
        return agent

    def _known_or_none(self) -> Knowledge | None:
        moment = len(self._state.order), self._state.structure, self._state.risk
        if self._looked != moment:
            belief = self._mind.belief(self._state)
            problem = self._mind.problem(self._state)
            self._found = None if belief is None else knowledge_of(belief, problem, self._state.risk)
            self._looked = moment
        return self._found

    def _known(self, what: str) -> Knowledge:
        known = self._known_or_none()
        if known is None:
            raise NotAvailable(
                f"agent '{self.header['agent']}' keeps no belief about the process, so {what} is not available; use a "
                "model-based agent such as 'steering' or 'psrl'."
            )
        return known

    # Tables ----------------------------------------------------------------------------------------------------------

    def belief(self, state: Any = None, *, level: float = 0.95, only_seen: bool | None = None) -> pd.DataFrame:
        """What is believed of each (state, action, next state): visits, probability and mean reward with intervals.

        Parameters
        ----------
        state
            Rows of this state only.
        level
            Probability that the truth lies in an interval, by the posterior.
        only_seen
            Leave out outcomes that never happened; done by itself where the table would be very long, and said in
            its `attrs["left_out"]`.
        """
        with self._lock:
            chance = probability("level", level)
            here = None if state is None else self._state.states.number(state)
            S, A = self._state.mask.shape
            length = (S if here is None else 1) * A * S
            seen = length > ALL_OUTCOMES if only_seen is None else only_seen
            table = self._known("a belief").table(self.states, self.actions, chance, seen, here)
            if seen and length > len(table):
                table.attrs["left_out"] = (
                    f"{length - len(table)} outcomes that were never seen are left out; those of one (state, action) "
                    "are equally likely, together as likely as what the probabilities shown leave to 1."
                )
            return table

    def history(self) -> pd.DataFrame:
        """Everything that was told, added or imported, in order."""
        with self._lock:
            s = self._state
            rows = s.rows.array
            suggested = np.full(rows.size, -1)
            asked = rows["id"] > 0
            suggested[asked] = s.asks.array["action"][rows["id"][asked] - 1]
            named = {
                "state": _names(s.states.names, rows["state"]),
                "action": _names(s.actions.names, rows["action"]),
                "reward": rows["reward"].copy(),
                "next_state": _names(s.states.names, rows["next"]),
                "done": rows["done"].copy(),
                "id": rows["id"].copy(),
                "suggested": _names(s.actions.names, suggested),
                "unit": _names(s.units.names, rows["unit"]),
                "event": rows["event"].copy(),
                "time": pd.to_datetime(np.rint(1e3 * rows["time"]).astype(np.int64), unit="ms", utc=True),
            }
            return pd.DataFrame(named)

    def forecast(self, state: Any, steps: int, *, level: float = 0.95) -> pd.DataFrame:
        """Expected reward of each of the next steps and their sum, with intervals, under the recommended policy.

        The intervals are about what is not known of the process, from posterior draws; single rewards vary more.
        """
        with self._lock:
            here = self._state.states.number(state)
            number_of_steps = whole("steps", steps, 1, LONGEST_FORECAST)
            chance = number("level", level, above=0.0)
            if chance >= 1:
                raise InvalidOption(f"level is {chance:g}; it must be below 1.")
            known = self._known("a forecast")
            rng = generator(int(self.header["seed"]), LOOK, 2 + len(self._state.order))
            return known.forecast(self._policy(), here, number_of_steps, chance, rng)


def _names(names: list[Label], numbers: Any) -> Any:
    """Names of numbers; None where a number is negative."""
    return pd.Series(np.array([*names, None], dtype=object)[np.maximum(numbers, -1)], dtype=object)
