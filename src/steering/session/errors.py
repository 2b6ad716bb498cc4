"""What can go wrong with a session, each in one sentence."""

from __future__ import annotations

from steering.errors import SteeringError


class SessionInUse(SteeringError):
    """Another process has the session open for writing."""


class JournalDamaged(SteeringError):
    """A line of the journal, not the last one, is not what was written."""


class Conflict(SteeringError):
    """Something else was told before."""


class NothingAllowed(SteeringError):
    """No action is left that may be suggested."""


class SessionWarning(UserWarning):
    """Something about a session that its owner should know: a torn line was cut, another version wrote it."""
