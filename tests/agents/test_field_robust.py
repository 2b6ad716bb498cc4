"""The agents of the field at the edges: rewards in any unit, any concentration and discount, one state, one action."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import FIELD, masked_mdp, problem_of
from steering import run
from steering.agents import make_agent
from steering.envs import make_env
from steering.mdp import TabularMDP


def finite_run(mdp: TabularMDP, spec: str, horizon: int | None = None, steps: int = 40, **options) -> None:
    env = make_env(mdp, horizon=horizon)
    results = run(env, spec, steps=steps, seeds=1, **options)
    assert np.isfinite(results.rewards).all()
    again = run(env, spec, steps=steps, seeds=1, **options)
    np.testing.assert_array_equal(results.rewards, again.rewards)


def in_unit(mdp: TabularMDP, unit: float) -> TabularMDP:
    return TabularMDP(mdp.P, mdp.reward_mean * unit, mdp.reward_std * unit, mdp.mask, mdp.start)


@pytest.mark.parametrize("spec", FIELD)
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_rewards_in_any_unit(spec: str, unit: float) -> None:
    for horizon in (None, 3):
        finite_run(in_unit(masked_mdp(3), unit), spec, horizon)


@pytest.mark.parametrize("spec", FIELD)
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.999999])
def test_edges_of_the_discount(spec: str, discount: float) -> None:
    results = run(make_env(masked_mdp(5), discount=discount), spec, steps=30, seeds=1)
    assert np.isfinite(results.rewards).all()


@given(
    st.integers(0, 10_000),
    st.sampled_from([spec for spec in FIELD if not spec.startswith("ucb_q")]),
    st.sampled_from([None, 1, 4]),
    st.integers(1, 5),
    st.integers(1, 3),
    st.floats(-3, 3),
    st.floats(-6, 6),
)
@settings(max_examples=60, deadline=None)
def test_any_size_prior_and_unit(
    seed: int, spec: str, horizon: int | None, S: int, A: int, log_eta: float, log_unit: float
) -> None:
    finite_run(in_unit(masked_mdp(seed, S, A), 10**log_unit), spec, horizon, eta=10**log_eta)


@pytest.mark.parametrize("spec", [spec for spec in FIELD if not spec.startswith("ucb_q")])
def test_extreme_counts(spec: str) -> None:
    """As if a row had been visited a trillion times, and its neighbour never."""
    env = make_env(masked_mdp(4))
    agent = make_agent(spec)
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
    b = agent.belief
    b.counts[0, 0] = [1e12, 0, 1, 0]
    b.counts[1, 0] = [1e9, 1e12, 1e12, 1e12]
    b.totals[:] = b.counts.sum(axis=-1)
    b.alpha[:] = b.eta + b.counts
    agent.plan()
    for state in range(4):
        assert env.mask[state, agent.act(state)]
