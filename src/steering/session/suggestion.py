"""What `Session.ask` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steering.session.labels import Label
from steering.session.why import Why


@dataclass(frozen=True, repr=False)
class Suggestion:
    """What to do.

    Attributes
    ----------
    id
        Number by which the outcome is told.
    state, action
        Where, and what.
    why
        The reasons: `str(why)` is a sentence, `why.to_dict()` the data.
    unit
        The machine, patient or customer it is about, if there are several.
    """

    id: int
    state: Label
    action: Label
    why: Why
    unit: Label | None = None

    def __repr__(self) -> str:
        return f"Suggestion {self.id}: {self.action!r} in {self.state!r} ({self.why.kind})"

    def __str__(self) -> str:
        return f"{self.id}: {self.action}. {self.why}"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        found: dict[str, Any] = {"id": self.id, "state": self.state, "action": self.action, "why": self.why.to_dict()}
        return found if self.unit is None else {**found, "unit": self.unit}
