"""Calls into somebody else's environment: whatever it does, the run gets one sentence that names it.

An environment may print (standard output belongs to results, such as those of ``--json``), raise, end the process or
copy it. A copy that came back into a run would do all its work twice, so it ends at once.
"""

from __future__ import annotations

import contextlib
import operator
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from steering.errors import SteeringError, UnsupportedEnvironment

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_parent=_count_fork)


class Guard:
    """Makes calls into one environment.

    Parameters
    ----------
    name
        What errors call the environment.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, what: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function of the environment; `what` is its name in errors."""
        process, forks = os.getpid(), _forks
        try:
            with contextlib.redirect_stdout(sys.stderr):
                result = function(*arguments, **options)
        except (SteeringError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            if os.getpid() != process:
                os._exit(1)
            reason = " ".join(str(error).split())[:500].rstrip(".")
            raise UnsupportedEnvironment(
                f"environment '{self.name}' raised {type(error).__name__} in {what}: {reason}."
            ) from error
        if os.getpid() != process:
            os._exit(1)
        if _forks != forks and what in ("step", "reset"):
            raise UnsupportedEnvironment(
                f"environment '{self.name}' copied the process (fork) in {what}; start helpers in its constructor, or "
                "as programs of their own."
            )
        return result

    def parts(self, what: str, count: int, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """The same where the result must have so many parts."""
        result = self.call(what, function, *arguments, **options)
        if not isinstance(result, (tuple, list)) or len(result) != count:
            raise UnsupportedEnvironment(
                f"environment '{self.name}' returned {str(result)[:50]} in {what}; Gymnasium asks for {count} values."
            )
        return result


def state_of(name: str, observation: Any, first: int, n_states: int) -> int:
    """The state 0 .. S-1 that an observation first .. first+S-1 means; anything else is refused."""
    value = observation
    if isinstance(value, (np.ndarray, np.generic)) and value.size == 1:
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        state = operator.index(value) - first
    except TypeError:
        state = -1
    if not 0 <= state < n_states:
        raise UnsupportedEnvironment(
            f"environment '{name}' gave the observation {str(observation)[:50]}, which is not in its observation "
            f"space, the whole numbers from {first} to {first + n_states - 1}."
        )
    return state
