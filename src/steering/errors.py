"""Every error that is expected to happen, each a single sentence that says what is wrong and what to do.

Nearly all are bad input. The others, `DiskFull` and `Unreachable`, are of the place, not of what was asked: the same
command may work later.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable


class SteeringError(ValueError):
    """Base of all errors of this package; the command line prints its text and exits with code 2, if not said here."""


class InvalidMDP(SteeringError):
    """An array given for an MDP is not a valid part of one."""


class InvalidOption(SteeringError):
    """An option has a value outside its range, or is not known."""


class TooLarge(InvalidOption):
    """Something needs more memory than there is; refused before it is allocated."""


class UnknownName(SteeringError):
    """A name of an environment, agent, operator or kernel is not known."""


class UnsupportedEnvironment(SteeringError):
    """An environment cannot be used by tabular agents (its spaces are not finite and discrete)."""


class NotAvailable(SteeringError):
    """A result was asked for that does not exist for this run, with the reason."""


class DiskFull(SteeringError):
    """The disk is full: what is finished is kept, what is in flight is not (exit code 4)."""

    causes = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    """Errors of the system that mean it."""


WRONG_PLACE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
)
"""Errors of the system that mean a wrong place was given; after all others the same command may work later."""


class Unreachable(SteeringError):
    """Something that the work needs (a scheduler, a directory) does not answer now; try again later (exit code 1)."""


class SlowWarning(UserWarning):
    """What was asked for takes long, and what would be faster."""


class NoCacheWarning(UserWarning):
    """Compiled functions cannot be kept for the next start."""


def unknown_name(what: str, given: str, known: Iterable[str], *, own: bool = False) -> UnknownName:
    """Build the error for a misspelt name, with the nearest known name or the list of all.

    With `own` users may have made the name themselves: unless it is nearly a known one, they are told how to bring it.
    """
    names = sorted(known)
    alike = [name for name in names if name.lower() == given.lower()]
    near = alike or difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}."
    if own and not alike and not difflib.get_close_matches(given, names, n=1, cutoff=0.75):
        hint += f" If the {what} is your own, import the module that registers it (--import MODULE)."
    return UnknownName(f"unknown {what} '{given}': {hint}")
