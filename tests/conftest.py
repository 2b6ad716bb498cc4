"""Fixtures that several folders of tests share; plain helpers stand in `support/`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Consoles look at these when they are made: texts have the same colours (none) and widths wherever the tests run.
for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
    os.environ.pop(name, None)
os.environ.pop("STEERING_DEBUG", None)
os.environ["STEERING_QUIET"] = "1"  # what is compiled depends on what was before; `test_notices` asks for the words

from steering.mdp import TabularMDP  # noqa: E402

# The same examples in every run, so that a change is judged by what it changes; `make test-slow` searches for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("steady")

# A shell that runs the tests in the background makes them ignore Ctrl-C, and so would every process they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def two_states() -> TabularMDP:
    """Action 1 moves to the other state, action 0 stays; staying in state 1 pays 1, everything else nothing."""
    P = np.zeros((2, 2, 2))
    P[[0, 1], 0, [0, 1]] = 1.0
    P[[0, 1], 1, [1, 0]] = 1.0
    return TabularMDP(P, [[0.0, 0.0], [1.0, 0.0]])


@pytest.fixture
def own_code(tmp_path: Path) -> Iterator[Path]:
    """A folder for modules that register agents and environments; afterwards nothing of them is left."""
    import gymnasium

    from steering.agents.registry import AGENTS
    from steering.envs.entries import ENTRIES
    from steering.sweeps.codes import Codes

    kept = [(known, dict(known)) for known in (AGENTS, ENTRIES, gymnasium.registry, Codes._first)]
    path = list(sys.path)
    yield tmp_path
    for known, before in kept:
        known.clear()
        known.update(before)
    Codes._told.clear()
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]
