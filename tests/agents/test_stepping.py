"""The compiled loops against plan, act, observe: the same numbers to the bit, for every agent in both settings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import AGENTS, MODEL_BASED, SteppedMDP, masked_mdp, problem_of
from steering.agents import make_agent
from steering.envs import make_env
from steering.mdp import TabularMDP
from steering.mdp.simulator import Simulator, tables_of
from steering.runs.loop import simulate, step_by_step
from steering.runs.seeds import environment_streams, stream


def both_ways(mdp: TabularMDP, spec: str, horizon: int | None, steps: int, seed: int):
    env = make_env(mdp, horizon=horizon)
    runs = []
    for compiled in (True, False):
        agent = make_agent(spec)
        agent.start(problem_of(env), stream(seed, "planning"), stream(seed, "acting"))
        if compiled:
            sim = Simulator(mdp, tables_of(mdp), steps, environment_streams(seed))
            simulate(agent, sim, env)
            runs.append((sim.states, sim.actions, sim.rewards))
        else:
            runs.append(step_by_step(agent, SteppedMDP(mdp, steps, seed), env, steps))
        agent.plan()
        q = agent.q_posterior(np.random.default_rng(0))
        runs[-1] = (*runs[-1], agent.policy, *q)
    return runs


@pytest.mark.parametrize("horizon", [None, 5, 1])
@pytest.mark.parametrize("spec", AGENTS + MODEL_BASED)
def test_compiled_loop_is_plan_act_observe_to_the_bit(spec: str, horizon: int | None) -> None:
    fast, slow = both_ways(masked_mdp(3), spec, horizon, steps=143, seed=11)
    for name, x, y in zip(("states", "actions", "rewards", "policy", "q", "std"), fast, slow, strict=True):
        np.testing.assert_array_equal(x, y, err_msg=name)


@given(
    st.integers(0, 10_000), st.sampled_from(AGENTS), st.sampled_from([None, 3]), st.integers(1, 6), st.integers(1, 4)
)
@settings(max_examples=60)
def test_masked_actions_are_never_taken(seed: int, spec: str, horizon: int | None, S: int, A: int) -> None:
    mdp = masked_mdp(seed, S, A)
    env = make_env(mdp, horizon=horizon)
    agent = make_agent(spec)
    agent.start(problem_of(env), stream(seed, "planning"), stream(seed, "acting"))
    sim = Simulator(mdp, tables_of(mdp), 60, environment_streams(seed))
    simulate(agent, sim, env)
    assert mdp.mask[sim.states, sim.actions].all()
    assert mdp.mask[np.arange(S), agent.policy].all()
    mean, std = agent.q_posterior(np.random.default_rng(0))
    assert mean.shape == std.shape == (horizon or 1, S, A)
    np.testing.assert_array_equal(np.isnan(mean), np.broadcast_to(~mdp.mask, mean.shape))
    np.testing.assert_array_equal(np.isnan(std), np.isnan(mean))
    assert (std[:, mdp.mask] >= 0).all()


@pytest.mark.parametrize("spec", AGENTS)
@pytest.mark.parametrize("value", [0.0, 1e6])
def test_extreme_rewards_and_one_state_stay_finite(spec: str, value: float) -> None:
    mdp = TabularMDP(np.ones((1, 1, 1)), value)
    env = make_env(mdp)
    agent = make_agent(spec)
    agent.start(problem_of(env), stream(0, "planning"), stream(0, "acting"))
    sim = Simulator(mdp, tables_of(mdp), 100, environment_streams(0))
    simulate(agent, sim, env)
    mean, std = agent.q_posterior(np.random.default_rng(0))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert sim.rewards.sum() == 100 * value
