"""Random streams of a run: one for every purpose, each a function of the seed alone.

Generators are PCG64 seeded by ``SeedSequence(seed, spawn_key=(purpose,))``. What the environment draws does not
depend on what the agent draws, so two agents with one seed meet the same noise.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steering.errors import InvalidOption
from steering.mdp.simulator import EnvironmentStreams

PURPOSES = ("transitions", "rewards", "starts", "planning", "acting", "reporting", "live")


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose (see `PURPOSES`) under a seed."""
    sequence = np.random.SeedSequence(seed, spawn_key=(PURPOSES.index(purpose),))
    return np.random.Generator(np.random.PCG64(sequence))


def environment_streams(seed: int) -> EnvironmentStreams:
    """The three generators of an environment."""
    return EnvironmentStreams(stream(seed, "transitions"), stream(seed, "rewards"), stream(seed, "starts"))


def checked_seeds(seeds: int | Iterable[int], what: str = "seeds") -> tuple[int, ...]:
    """Seeds as a tuple: a number K means 0, ..., K - 1; errors call the option `what`."""
    if isinstance(seeds, (bool, float, str)):
        raise InvalidOption(f"{what} is {seeds!r}; give a whole number or a list of whole numbers.")
    if isinstance(seeds, (int, np.integer)):
        if seeds < 1:
            raise InvalidOption(f"{what} is {seeds}; it must be at least 1.")
        return tuple(range(int(seeds)))
    try:
        chosen = tuple(seeds)
    except TypeError:
        raise InvalidOption(f"{what} is {seeds!r}; give a whole number or a list of whole numbers.") from None
    if not chosen:
        raise InvalidOption(f"the list of {what} is empty; give at least one number.")
    for seed in chosen:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InvalidOption(f"seed {seed!r} is not a whole number of at least 0; use 0, 1, 2, ...")
    if len(set(chosen)) != len(chosen):
        raise InvalidOption("a seed is given twice; runs with one seed are identical, so list each once.")
    return tuple(int(seed) for seed in chosen)
