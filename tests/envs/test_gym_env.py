"""Our environments in Gymnasium: the contract, registration, and the right distribution of steps."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import stats

from steering.envs import TabularEnv, deep_sea, make_env, prior_mdp, register_all, wide_narrow
from steering.envs.names import GYM_NAMES
from steering.envs.registry import ENTRIES
from steering.errors import InvalidOption
from steering.mdp.tabular import TabularMDP

IDS = register_all()


def test_all_are_registered_once() -> None:
    names = ["DeepSea", "WideNarrow", "PriorMDP", "RiverSwim", "GridDeepSea", "Chain", "Loop", "LazyChain", "Lock"]
    names += [
        "Maze",
        "Rooms",
        "Garnet",
        "Inventory",
        "Maintenance",
        "Queue",
        "Patience",
        "Admission",
        "Selling",
        "Rental",
        "Harvest",
        "Reservoir",
        "Seats",
        "Jobs",
    ]
    assert [f"steering/{name}-v0" for name in names] == IDS
    assert list(GYM_NAMES) == list(ENTRIES)
    assert register_all() == IDS  # again, without a warning that an id is overridden
    assert set(IDS) <= set(gymnasium.registry)


LATER = """
import importlib.util, sys
from steering.envs.registration import register_on_import
register_on_import()
register_on_import()
for name in [name for name in sys.modules if name.partition(".")[0] == "steering"]:
    del sys.modules[name]  # the package is imported once more, with classes of its own
from steering.envs.registration import register_on_import
register_on_import()
assert "gymnasium" not in sys.modules and "steering.envs.registry" not in sys.modules
assert importlib.util.find_spec("gymnasium") is not None  # only a question, nothing is loaded
import gymnasium
assert gymnasium.make("steering/DeepSea-v0", n=15).observation_space.n == 15
"""
EARLIER = """
import gymnasium
from steering.envs.registration import register_on_import
register_on_import()
assert gymnasium.make("steering/DeepSea-v0", n=15).observation_space.n == 15
"""


@pytest.mark.parametrize("program", [LATER, EARLIER])
def test_ids_are_there_whichever_is_imported_first(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_contract(env_id: str) -> None:
    """Warnings are errors in this suite."""
    env = gymnasium.make(env_id)
    check_env(env.unwrapped)
    env.reset(seed=1)
    for _ in range(50):  # the wrappers of `make` check every step
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    env.close()


def test_options_reach_the_environment() -> None:
    env = gymnasium.make("steering/DeepSea-v0", n=15, reward="dense").unwrapped
    assert isinstance(env, TabularEnv)
    assert env.mdp.same_as(deep_sea(15, reward="dense"))
    grid = gymnasium.make("steering/GridDeepSea-v0", n=3)
    grid.reset(seed=0)
    assert [grid.step(0)[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(InvalidOption, match="n of deepsea is 1"):
        gymnasium.make("steering/DeepSea-v0", n=1)


def test_horizon_truncates_and_reset_begins_again() -> None:
    env = TabularEnv(deep_sea(5), horizon=2)
    for _ in range(2):
        assert env.reset()[0] == 0
        assert [env.step(1)[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_the_seed_decides() -> None:
    def trajectory(seed: int) -> list[object]:
        env = TabularEnv(prior_mdp(5, 2))
        first = env.reset(seed=seed)[0]
        return [first, *[env.step(i % 2)[:2] for i in range(30)]]

    assert trajectory(3) == trajectory(3)
    assert trajectory(3) != trajectory(4)


def test_steps_follow_the_mdp() -> None:
    """Next states of 10 pairs by chi-square, all rewards together by Kolmogorov-Smirnov; each test at 1e-5."""
    mdp = prior_mdp(5, 2, seed=1)
    env = TabularEnv(mdp)
    s, _ = env.reset(seed=7)
    seen: dict[tuple[int, int], list[tuple[int, float]]] = {(i, a): [] for i in range(5) for a in range(2)}
    rng = np.random.default_rng(0)
    for a in rng.integers(2, size=20_000):
        s_next, reward, *_ = env.step(int(a))
        seen[s, int(a)].append((s_next, reward))
        s = s_next
    z: list[float] = []
    for (s, a), steps in seen.items():
        counts = np.bincount([y for y, _ in steps], minlength=5)
        assert stats.chisquare(counts, counts.sum() * mdp.P[s, a] / mdp.P[s, a].sum()).pvalue > 1e-5
        z += [(r - mdp.reward_mean[s, a, y]) / mdp.reward_std[s, a, y] for y, r in steps]
    assert stats.kstest(z, stats.norm.cdf).pvalue > 1e-5


def test_start_distribution() -> None:
    """2000 resets, binomial test at 1e-5."""
    env = TabularEnv(TabularMDP(P=np.full((2, 1, 2), 0.5), reward_mean=0.0, start=[0.3, 0.7]))
    env.reset(seed=0)
    ones = sum(env.reset()[0] for _ in range(2000))
    assert stats.binomtest(ones, 2000, 0.7).pvalue > 1e-5


def test_actions_that_are_not_allowed() -> None:
    env = TabularEnv(wide_narrow(1, 3))
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1]
    state, _, _, _, info = env.step(2)
    assert state == 1
    assert info["action_mask"].tolist() == [1, 0, 0]
    assert "disallowed" not in info
    state, reward, _, _, info = env.step(2)
    assert (state, reward, info["disallowed"]) == (1, 0.0, True)
    assert env.action_space.sample(info["action_mask"]) == 0
    strict = TabularEnv(wide_narrow(1, 3), disallowed="error")
    strict.reset(seed=0)
    strict.step(1)
    with pytest.raises(InvalidOption, match="action 1 is not allowed in state 1; allowed: 0"):
        strict.step(1)


def test_refuses() -> None:
    env = TabularEnv(deep_sea(3))
    env.reset(seed=0)
    with pytest.raises(InvalidOption, match="action is 2; it must be from 0 to 1"):
        env.step(2)
    with pytest.raises(InvalidOption, match="disallowed is 'x'"):
        TabularEnv(deep_sea(3), disallowed="x")
    with pytest.raises(InvalidOption, match="render_mode is 'human'; it must be one of: rgb_array"):
        TabularEnv(deep_sea(3), render_mode="human")


def test_back_from_gymnasium_the_mdp_is_the_same() -> None:
    env = make_env("gym:steering/WideNarrow-v0,n=2,w=3")
    assert env.table.same_as(wide_narrow(2, 3))
