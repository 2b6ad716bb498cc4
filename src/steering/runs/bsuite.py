"""bsuite's score of the deep sea (Osband et al. 2020), from the runs of an agent on `griddeepsea`.

An episode is *bad* when it does not go right all the way. The deep sea of size N is solved at the first episode at
which the share of bad episodes so far falls below 0.9, and that counts when it comes before episode 2^N + 100: sooner
than an agent that dithers can hope for. The score is the share of sizes that are solved; bsuite runs sizes 10 to 50,
one seed and 10,000 episodes each.
"""

from __future__ import annotations

import math

import numpy as np

from steering._types import Floats
from steering.envs import make_env
from steering.errors import InvalidOption
from steering.runs.results import RunResults

THRESHOLD = 0.9
FORGIVENESS = 100


def deep_sea_episodes(results: RunResults) -> Floats:
    """Episode at which each seed solved its deep sea, counted from 1; infinite where it did not.

    Parameters
    ----------
    results
        Runs on ``griddeepsea:N`` without noise and with horizon N.
    """
    env = make_env(results.environment)
    size = math.isqrt(env.n_states)
    noisy = bool(env.table.stored_rewards()["reward_std"].any())
    if not results.environment.startswith("griddeepsea:") or results.horizon != size or noisy:
        raise InvalidOption(
            f"'{results.environment}' has no deep sea score; run griddeepsea:N with its own horizon and "
            "stochastic=false."
        )
    assert results.expected_rewards is not None
    whole = results.expected_rewards.shape[1] // size
    if whole == 0:
        raise InvalidOption(f"the runs have no whole episode; a deep sea of size {size} needs at least {size} steps.")
    episodes = results.expected_rewards[:, : whole * size].reshape(-1, whole, size)
    goal = env.table.rewards.max()
    bad = episodes[:, :, -1] < 0.5 * goal  # only the path that goes right all the way is paid at the end
    share = np.cumsum(bad, axis=1) / np.arange(1, whole + 1)
    below = share < THRESHOLD
    solved: Floats = np.where(below.any(axis=1), below.argmax(axis=1) + 1.0, np.inf)
    return solved


def deep_sea_score(results: RunResults) -> float:
    """Share of the seeds that solved their deep sea before episode 2^N + 100."""
    size = results.horizon or 0
    return float(np.mean(deep_sea_episodes(results) < 2.0**size + FORGIVENESS))
