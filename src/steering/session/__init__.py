"""Sessions: an agent for a real process, asked and told over days, kept in a directory that survives everything."""

from steering.session.errors import Conflict, JournalDamaged, NothingAllowed, SessionInUse, SessionWarning
from steering.session.log import ImportReport
from steering.session.session import Session
from steering.session.suggestion import Suggestion
from steering.session.why import Why

__all__ = [
    "Conflict",
    "ImportReport",
    "JournalDamaged",
    "NothingAllowed",
    "Session",
    "SessionInUse",
    "SessionWarning",
    "Suggestion",
    "Why",
]
