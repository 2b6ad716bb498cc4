"""Why an action is suggested: as data, and as one sentence for people who do not know what a posterior is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from steering._types import Bools, Floats
from steering.session.knowledge import Knowledge, expected_gain

UPPER = 1.96
"""Standard deviations to the value that is exceeded with a probability of 2.5 %."""


@dataclass(frozen=True)
class Why:
    """Reasons for a suggestion.

    Attributes
    ----------
    kind
        "best known", "exploration", "nothing allowed" where a limit on risk leaves no action, or "unknown" for agents
        that have no belief to look into.
    sentence
        The reasons in one sentence; also what `str` gives.
    actions
        One dict for each action that could have been suggested: `action`, `value` and `spread` (mean and standard
        deviation of its total discounted reward), `reward` (expected reward of the next step), `visits`,
        `information` (nats that one more try would teach), `novelty` (probability of an outcome never seen),
        `best_known`, `suggested` and, where a floor is set, `risk` (probability of a reward below it).
    cost
        What the suggestion is expected to lose against the best known action, in total discounted reward.
    gain
        What could be gained on average if the truth about the two were known, E max(Q - Q_best, 0).
    upside
        How much better than the best known action it may turn out to be (a bound exceeded with probability 0.025).
    """

    kind: str
    sentence: str
    actions: tuple[dict[str, Any], ...] = ()
    cost: float | None = None
    gain: float | None = None
    upside: float | None = None

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "cost": self.cost,
            "gain": self.gain,
            "upside": self.upside,
            "actions": [dict(one) for one in self.actions],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Why:
        """Reasons as they stand in the journal."""
        return cls(
            str(values.get("kind", "unknown")),
            str(values.get("sentence", "")),
            tuple(dict(one) for one in values.get("actions", ())),
            values.get("cost"),
            values.get("gain"),
            values.get("upside"),
        )

    def table(self) -> pd.DataFrame:
        """The actions as a table."""
        return pd.DataFrame(list(self.actions))


def reasons(
    known: Knowledge, state: int, allowed: Bools, chosen: int | None, names: Sequence[Any], floor: float | None
) -> Why:
    """Why `chosen` (None: the best known action) is taken in a state, of the actions allowed there."""
    best = known.best(state, allowed)
    chosen = best if chosen is None else chosen
    values, spread = known.Q[state], known.spread(state)
    columns: dict[str, Floats] = {
        "value": values,
        "spread": spread,
        "reward": known.r[state],
        "information": known.information(state),
        "novelty": known.novelty(state),
    }
    if floor is not None:
        columns["risk"] = known.below(state, floor)
    visits = known.belief.totals[state]
    actions = tuple(
        {
            "action": names[a],
            **{name: short(column[a]) for name, column in columns.items()},
            "visits": int(visits[a]),
            "best_known": bool(a == best),
            "suggested": bool(a == chosen),
        }
        for a in np.flatnonzero(allowed).tolist()
    )
    if chosen == best:
        sentence = _about_best(names[best], int(visits[best]), _rival(known, state, allowed, names))
        return Why("best known", sentence, actions, 0.0, 0.0, 0.0)
    gap = float(values[best] - values[chosen])
    both = math.hypot(float(spread[best]), float(spread[chosen]))
    cost, gain, upside = gap, expected_gain(gap, both), max(UPPER * both - gap, 0.0)
    sentence = (
        f"Try '{names[chosen]}' to learn more: it was {_times(int(visits[chosen]))} here, is expected to earn "
        f"{_amount(cost)} less than '{names[best]}', the best known action, over the long run, and may turn out up to "
        f"{_amount(upside)} better."
    )
    return Why("exploration", sentence, actions, short(cost), short(gain), short(upside))


def _rival(known: Knowledge, state: int, allowed: Bools, names: Sequence[Any]) -> tuple[Any, float] | None:
    """The second best action and by how much it is worse."""
    order = np.argsort(np.where(allowed, -known.Q[state], np.inf), kind="stable")
    if allowed.sum() < 2:
        return None
    return names[int(order[1])], float(known.Q[state, order[0]] - known.Q[state, order[1]])


def _about_best(name: Any, visits: int, rival: tuple[Any, float] | None) -> str:
    tried = f"it was {_times(visits)} here"
    if rival is None:
        return f"Take '{name}', the only action that may be taken here; {tried}."
    other, gap = rival
    if gap < 1e-9:
        return f"Take '{name}': {tried}, and as far as is known '{other}' would be worth the same."
    return (
        f"Take '{name}', the best known action here: {tried} and is expected to earn {_amount(gap)} more than "
        f"'{other}', the next best, over the long run."
    )


def no_reasons(agent: str, name: Any, visits: int) -> Why:
    """For an agent without a belief."""
    sentence = f"Agent '{agent}' suggests '{name}', which was {_times(visits)} here; it keeps no belief that says why."
    return Why("unknown", sentence)


def _times(visits: int) -> str:
    if visits == 0:
        return "never tried"
    return "tried once" if visits == 1 else f"tried {visits} times"


def _amount(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "any amount"


def short(value: Any) -> float | None:
    """A number with six digits; None where it is not finite."""
    return float(f"{float(value):.6g}") if math.isfinite(value) else None
