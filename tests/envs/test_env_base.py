"""The setting of an environment: defaults, ranges, equality."""

from __future__ import annotations

import functools
import pickle
import warnings

import gymnasium
import numpy as np
import pytest

from steering.envs import Environment, deep_sea, make_env, wide_narrow
from steering.errors import InvalidOption, UnsupportedEnvironment
from steering.mdp import TabularMDP
from steering.runs import run


def test_defaults() -> None:
    env = Environment(name="x", mdp=deep_sea(5))
    assert (env.discount, env.horizon, env.replan_every, env.max_iterations) == (0.9, None, 6, 10)
    assert not env.episodic
    episodic = env.replace(discount=None, horizon=7)
    assert (episodic.discount, episodic.horizon) == (1.0, 7)
    assert episodic.episodic


@pytest.mark.parametrize(
    ("text", "replan_every", "max_iterations"),
    [("deepsea:8", 9, 16), ("widenarrow:3,4", 7, 14), ("priormdp:4,2", 5, 8), ("riverswim:6", 7, 12)],
)
def test_values_of_the_paper(text: str, replan_every: int, max_iterations: int) -> None:
    env = make_env(text)
    assert (env.discount, env.replan_every, env.max_iterations) == (0.9, replan_every, max_iterations)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"discount": 1.0}, "discount is 1; without a horizon it must be below 1"),
        ({"discount": 1 - 1e-12}, r"discount is 0.999999999999; without a horizon .* at most 1 - 1e-6"),
        ({"discount": -0.1}, "discount is -0.1; it must be at least 0"),
        ({"discount": float("nan")}, "discount is nan"),
        ({"discount": "x"}, "discount is 'x'; it must be a number"),
        ({"discount": 1.5, "horizon": 3}, "discount is 1.5; it must be from 0 to 1"),
        ({"horizon": 0}, "horizon is 0; it must be at least 1"),
        ({"horizon": 2.0}, "horizon is 2.0; it must be a whole number"),
        ({"replan_every": 0}, "replan_every is 0"),
        ({"max_iterations": -3}, "max_iterations is -3"),
        ({"name": ""}, "name is ''"),
        ({"name": 3}, "name is 3"),
        ({"mdp": None}, "neither mdp nor make_gym"),
        ({"mdp": 7}, "mdp is of type int; it must be a TabularMDP or None"),
    ],
)
def test_refuses(changes: dict, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        Environment(**{"name": "x", "mdp": deep_sea(3), **changes})


def test_extreme_discounts_are_allowed() -> None:
    assert Environment(name="x", mdp=deep_sea(3), discount=0).discount == 0.0
    assert Environment(name="x", mdp=deep_sea(3), discount=1 - 1e-6).discount == 1 - 1e-6
    assert Environment(name="x", mdp=deep_sea(3), discount=1, horizon=1).discount == 1.0


LARGE = [{"reward_mean": 1e101}, {"reward_mean": -1e308}, {"reward_mean": 0, "reward_std": 1e200}]


@pytest.mark.parametrize("reward", LARGE)
def test_rewards_whose_sums_overflow_are_refused(reward: dict) -> None:
    mdp = TabularMDP(P=[[[0.5, 0.5]], [[1.0, 0.0]]], **reward)
    says = r"reward_(mean|std) of 'x' reaches 1e\+\d+ in size.* at most 1e\+100"
    with pytest.raises(InvalidOption, match=says) as caught:
        Environment(name="x", mdp=mdp)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scale", ["1e6", "1e100"])
@pytest.mark.parametrize("agent", ["psrl", "q_learning", "steering", "bayesian_q"])
def test_large_rewards_run_without_infinity(agent: str, scale: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = run(f"riverswim:4,left_reward={scale},right_reward=-{scale}", agent, steps=60, seeds=2).table()
    assert np.isfinite(table.select_dtypes("number").to_numpy()).all()


def test_equality_sees_settings_and_mdp() -> None:
    env = Environment(name="x", mdp=deep_sea(3))
    assert env == Environment(name="x", mdp=deep_sea(3))
    assert hash(env) == hash(Environment(name="x", mdp=deep_sea(3)))
    assert env != Environment(name="y", mdp=deep_sea(3))
    assert env != Environment(name="x", mdp=deep_sea(3, reward="dense"))
    assert env != env.replace(replan_every=9)
    assert env != "x"


def test_an_environment_without_table_knows_its_sizes() -> None:
    env = Environment(name="live", mdp=None, make_gym=functools.partial(gymnasium.make, "FrozenLake-v1"))
    assert (env.n_states, env.n_actions, env.replan_every, env.max_iterations) == (16, 4, 17, 32)
    assert env.mask.shape == (16, 4)
    assert env.mask.all()
    with pytest.raises(UnsupportedEnvironment, match=r"'live' has no table .* estimate="):
        _ = env.table
    assert env != Environment(name="live", mdp=deep_sea(3), replan_every=17, max_iterations=32)


def test_mask_and_table_of_an_mdp() -> None:
    env = Environment(name="x", mdp=wide_narrow(1, 3))
    assert np.array_equal(env.mask, wide_narrow(1, 3).mask)
    assert env.table is env.mdp
    assert env.n_actions == 3


def test_environments_go_to_other_processes() -> None:
    for text in ("priormdp:3,2,seed=5", "gym:FrozenLake-v1"):
        env = make_env(text)
        again = pickle.loads(pickle.dumps(env))
        assert again == env
        assert not again.table.P.flags.writeable
