"""What a session knows after some events of its journal: a function of the events and of nothing else.

`State.apply` takes one event. Opening a session and using it go through the same function, so that a session that was
opened again is in the state in which it was left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steering._checks import number
from steering._types import Bools
from steering.errors import InvalidOption
from steering.session.columns import ASKS, CANCELLED, ORDER, ROWS, TOLD, UNDER_WAY, Columns
from steering.session.journal import Event
from steering.session.labels import Labels

LATEST = 1e10
LARGEST_REWARD = 1e100
"""Rewards beyond it have squares that a computer cannot hold; what is believed would no longer be a number."""
NUMBERS_OF_REASONS = ("value", "spread", "reward", "information", "novelty", "visits", "risk")
ALONE = -1
"""Number of the unit of a process that has no units."""


@dataclass
class Open:
    """A suggestion that was not told completely."""

    id: int
    unit: int
    state: int
    action: int
    allowed: tuple[int, ...] | None = None
    risk: tuple[float, float] | None = None
    why: dict[str, Any] | None = None
    reward: float | None = None
    next: int | None = None
    done: bool | None = None
    told: int | None = None

    @property
    def question(self) -> tuple[Any, ...]:
        """What was asked: the same question has the same answer until the outcome is told."""
        return self.unit, self.state, self.allowed, self.risk

    @property
    def happened(self) -> bool:
        """Whether the outcome is known, if not the reward."""
        return self.next is not None or bool(self.done)


@dataclass(frozen=True)
class Plan:
    """The plan in force: its number, and the learned rows, the state and the structure with which it was made."""

    number: int
    rows: int
    state: int
    structure: int


@dataclass
class State:
    """Everything that events change."""

    states: Labels
    actions: Labels
    mask: Bools
    risk: tuple[float, float] | None = None
    units: Labels = field(default_factory=lambda: Labels("unit"))
    rows: Columns = field(default_factory=lambda: Columns(ROWS))
    asks: Columns = field(default_factory=lambda: Columns(ASKS))
    order: Columns = field(default_factory=lambda: Columns(ORDER))
    open: dict[int, Open] = field(default_factory=dict)
    questions: dict[tuple[Any, ...], int] = field(default_factory=dict)
    waiting: dict[int, list[int]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    imports: dict[str, int] = field(default_factory=dict)
    plan: Plan | None = None
    structure: int = 0
    episode_began: bool = False
    number: int = 0

    def apply(self, event: Event) -> None:
        """Take one event."""
        kind = event["event"]
        handler: Callable[[Event], None] | None = self._handlers().get(kind)
        if handler is None:
            raise InvalidOption(f"'{kind}' is not an event that this version knows.")
        self.number += 1
        handler(event)

    def _handlers(self) -> dict[Any, Callable[[Event], None]]:
        return {
            "ask": self._ask,
            "tell": self._tell,
            "add": self._add,
            "import": self._import,
            "start": self._start,
            "cancel": self._cancel,
            "forbid": self._forbid,
            "states": self._states,
            "actions": self._actions,
            "risk": self._risk,
        }

    # Suggestions -----------------------------------------------------------------------------------------------------

    def _ask(self, e: Event) -> None:
        state, action = self.states.number(e["state"]), self.actions.number(e["action"])
        number = len(self.asks) + 1
        if e["id"] != number:
            raise InvalidOption(f"the suggestion {e['id']!r} should be number {number}.")
        allowed = tuple(sorted(self.actions.number(name) for name in e["allowed"])) if "allowed" in e else None
        unit, why = self.unit(e.get("unit"), add=True), checked_why(e.get("why"))
        moment(e)
        one = Open(number, unit, state, action, allowed, checked_risk(e.get("risk")), why)
        self.asks.append((state, action, UNDER_WAY, -1))
        self.open[number] = one
        self.questions[one.question] = number
        if e.get("plan"):
            plans = 0 if self.plan is None else self.plan.number
            self.plan = Plan(plans + 1, len(self.order), state, self.structure)
            self.episode_began = False

    def _tell(self, e: Event) -> None:
        one = self.open[e["id"]]
        if "action" in e:
            one.told = self.actions.number(e["action"])
        if "reward" in e:
            one.reward = finite(e["reward"])
        if "next" in e:
            one.next = self.states.number(e["next"])
        if "done" in e:
            one.done = bool(e["done"])
        if one.happened:
            self._answered(one)
        if one.happened and one.reward is not None:
            action = one.action if one.told is None else one.told
            row = self._row(e, one.id, one.unit, one.state, action, one.reward, one.next, bool(one.done))
            self.asks.array[one.id - 1]["status"] = TOLD
            self.asks.array[one.id - 1]["row"] = row
            del self.open[one.id]

    def _cancel(self, e: Event) -> None:
        one = self.open.pop(e["id"])
        self._answered(one)
        self.asks.array[one.id - 1]["status"] = CANCELLED

    def _answered(self, one: Open) -> None:
        if self.questions.get(one.question) == one.id:
            del self.questions[one.question]

    # What happened ---------------------------------------------------------------------------------------------------

    def _row(
        self, e: Event, ask: int, unit: int, state: int, action: int, reward: float, next_: int | None, done: bool
    ) -> int:
        follows = -1 if next_ is None else next_
        to = -1 if done else follows
        row = self.rows.append((self.number, moment(e), ask, unit, state, action, reward, follows, to, done))
        if done:
            self.waiting.setdefault(unit, []).append(row)
        else:
            self.order.append((row,))
        return row

    def _add(self, e: Event) -> None:
        done = bool(e.get("done", False))
        next_ = self.states.number(e["next"]) if "next" in e else None
        if next_ is None and not done:
            raise InvalidOption("a row needs a next state, or the end of an episode.")
        state, action = self.states.number(e["state"]), self.actions.number(e["action"])
        row = self._row(e, 0, self.unit(e.get("unit"), add=True), state, action, finite(e["reward"]), next_, done)
        if "key" in e:
            self.keys[str(e["key"])] = row

    def _start(self, e: Event) -> None:
        self._begin(self.unit(e.get("unit"), add=True), self.states.number(e["state"]))

    def _begin(self, unit: int, state: int) -> None:
        """An episode begins: the one before it led here."""
        for row in self.waiting.pop(unit, []):
            self.rows.array[row]["to"] = state
            self.order.append((row,))
        self.episode_began = True

    def _import(self, e: Event) -> None:
        rows = np.zeros(len(e["state"]), ROWS)
        sizes = {"state": len(self.states), "action": len(self.actions), "next": len(self.states)}
        for name, size in sizes.items():
            numbers = np.asarray(e[name], dtype=np.int64)
            least = -1 if name == "next" else 0
            if numbers.shape != rows.shape or (numbers < least).any() or (numbers >= size).any():
                raise InvalidOption(f"numbers of '{name}' are out of range.")
            rows[name] = numbers
        rewards = np.asarray(e["reward"], dtype=np.float64)
        if rewards.shape != rows.shape or not np.isfinite(rewards).all():
            raise InvalidOption("rewards are missing or not finite.")
        rows["reward"], rows["event"], rows["time"] = rewards, self.number, moment(e)
        rows["unit"], rows["to"] = ALONE, rows["next"]
        rows["done"][np.asarray(e.get("done", []), dtype=np.int64)] = True
        if (rows["next"][~rows["done"]] < 0).any():
            raise InvalidOption("a row has no next state.")
        self._take(rows)
        self.imports[str(e["sha256"])] = -1 if e.get("last") else int(e["line"])

    def _take(self, rows: np.ndarray[Any, np.dtype[Any]]) -> None:
        if not rows.size:
            return
        if self.waiting.get(ALONE):
            self._begin(ALONE, int(rows["state"][0]))
        ended = np.flatnonzero(rows["done"])
        inner = ended[ended < rows.size - 1]
        rows["to"][inner] = rows["state"][inner + 1]
        first = len(self.rows)
        places = np.zeros(rows.size, ORDER)
        places["row"] = np.arange(first, first + rows.size)
        if rows["done"][-1]:
            rows["to"][-1] = -1
            places = places[:-1]
            self.waiting.setdefault(ALONE, []).append(first + rows.size - 1)
        self.rows.extend(rows)
        self.order.extend(places)

    # What there is ---------------------------------------------------------------------------------------------------

    def _forbid(self, e: Event) -> None:
        action = self.actions.number(e["action"])
        where = slice(None) if e.get("state") is None else self.states.number(e["state"])
        mask = self.mask.copy()
        mask[where, action] = False
        empty = np.flatnonzero(~mask.any(axis=1))
        if empty.size:
            raise InvalidOption(f"nothing would be allowed in the state '{self.states.names[int(empty[0])]}'.")
        self.mask = mask
        self.structure += 1

    def _states(self, e: Event) -> None:
        self.states.extend(list(e["names"]))
        self._grow()

    def _actions(self, e: Event) -> None:
        self.actions.extend(list(e["names"]))
        self._grow()

    def _grow(self) -> None:
        """New states allow everything, and new actions are allowed everywhere."""
        mask = np.ones((len(self.states), len(self.actions)), dtype=bool)
        mask[: self.mask.shape[0], : self.mask.shape[1]] = self.mask
        self.mask = mask
        self.structure += 1

    def _risk(self, e: Event) -> None:
        self.risk = checked_risk(e["risk"])

    def unit(self, name: Any, *, add: bool = False) -> int:
        """Number of a unit; None is the process itself. An unknown one is -2, or added."""
        if name is None:
            return ALONE
        if add and name not in self.units:
            self.units.extend([name])
        return self.units.number(name) if name in self.units else -2


def finite(value: Any) -> float:
    """A number of the journal, which must be finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidOption(f"{value!r} is not a finite number.")
    return float(value)


def usable_reward(value: Any) -> float:
    """A reward as somebody tells it: finite, and not beyond all measure."""
    reward = number("reward", value)
    if abs(reward) > LARGEST_REWARD:
        raise InvalidOption(f"reward is {reward:g}; it must be at most {LARGEST_REWARD:g} in size.")
    return reward


def moment(event: Event) -> float:
    """When an event happened, in seconds since 1970."""
    seconds = finite(event.get("time", 0.0))
    if not 0.0 <= seconds < LATEST:
        raise InvalidOption(f"{seconds:g} is not a time in seconds since 1970.")
    return seconds


def checked_why(why: Any) -> dict[str, Any] | None:
    """Reasons as they stand in the journal, refused where somebody put something else there."""
    if why is None:
        return None
    actions = why.get("actions", []) if isinstance(why, dict) else None
    if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
        raise InvalidOption("the reasons are not such.")
    numbers = [why.get(name) for name in ("cost", "gain", "upside")]
    numbers += [one.get(name) for one in actions for name in NUMBERS_OF_REASONS]
    for value in numbers:
        if value is not None:
            finite(value)
    if not all(isinstance(why.get(name, ""), str) for name in ("kind", "sentence")):
        raise InvalidOption("the reasons are not such.")
    return dict(why)


def checked_risk(risk: Any) -> tuple[float, float] | None:
    """(floor, probability), or None for no limit."""
    if risk is None:
        return None
    try:
        floor, probability = risk
        limit = finite(floor), finite(probability)
    except (TypeError, ValueError, OverflowError):
        limit = (0.0, -1.0)
    if not 0.0 <= limit[1] <= 1.0:
        raise InvalidOption(f"risk is {risk!r}; give (floor, probability), such as (-100, 0.05).")
    return limit
