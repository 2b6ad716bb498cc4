"""STEERING at the edges: no NaN, no warning, no hang, always the same answer."""

import time
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import STEERING, masked_mdp, problem_of
from steering.agents import make_agent
from steering.envs import make_env
from steering.mdp import TabularMDP
from steering.runs import run

MDP = masked_mdp(1)
EDGES = {
    "one state": TabularMDP(np.ones((1, 3, 1)), [[0.0, 1.0, 0.5]], 1.0),
    "one state, one action": TabularMDP(np.ones((1, 1, 1)), 2.0),
    "one action": TabularMDP(np.full((3, 1, 3), 1 / 3), np.arange(3.0)[:, None], 1.0),
    "rewards of a million": TabularMDP(MDP.P, MDP.reward_mean * 1e6, 0.0, MDP.mask),
    "rewards of a millionth": TabularMDP(MDP.P, MDP.reward_mean * 1e-6, 0.0, MDP.mask),
    "no rewards at all": TabularMDP(MDP.P, 0.0, mask=MDP.mask),
    "noise of a million": TabularMDP(MDP.P, MDP.reward_mean, 1e6, MDP.mask),
}


def finite_run(mdp: TabularMDP, spec: str, steps: int = 60, **options) -> np.ndarray:
    """Visits of a short run whose beliefs, information and policies were all finite and allowed."""
    agent = make_agent(spec, **options)
    results = run(mdp, agent, steps=steps, seeds=[1])
    agent.plan()
    b = agent.belief
    for array in (agent.D, b.mu, b.rate, *b.mean_model(), *agent.q_posterior(np.random.default_rng(0))):
        assert not np.isinf(array).any()
    assert np.isfinite(agent.D).all()
    assert (agent.D >= 0).all()
    assert np.isfinite(agent.info_weight)
    assert np.take_along_axis(np.asarray(mdp.mask), agent.policy.T, axis=1).all()
    return results.visits


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("spec", STEERING)
def test_edges_of_the_world(spec: str, edge: str) -> None:
    one, other = (finite_run(EDGES[edge], spec) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("concentration", ["fixed", "learned"])
@pytest.mark.parametrize("eta", [1e-3, 0.03, 30.0, 1e3])
@pytest.mark.parametrize("spec", [s for s in STEERING if "eta" not in s])
def test_edges_of_the_prior(spec: str, eta: float, concentration: str) -> None:
    finite_run(masked_mdp(2), spec, eta=eta, concentration=concentration)


@pytest.mark.parametrize("prior", [(0, 1e-6, 1.001, 1e-6), (1e6, 4, 3, 3), (0, 1e6, 1e3, 1e6), (-3, 4, 3, 1e12)])
def test_edges_of_the_reward_prior(prior) -> None:
    for scale in ("fixed", "learned"):
        for objective in ("regularised", "ratio"):
            finite_run(masked_mdp(3), "steering", normal_gamma=prior, reward_scale=scale, objective=objective)


@pytest.mark.parametrize("spec", [s for s in STEERING if "expectation=draws" not in s])
@pytest.mark.parametrize("count", [1e6, 1e9, 1e12])
def test_extreme_counts(spec: str, count: float) -> None:
    """As if a row had been visited a trillion times, and its neighbour never."""
    env = make_env(masked_mdp(4))
    agent = make_agent(spec)
    agent.start(problem_of(env), np.random.default_rng(0), np.random.default_rng(1))
    b = agent.belief
    b.counts[0, 0] = [count, 0, 1, 0]
    b.counts[1, 0] = [count, count, count, count]
    b.totals[:] = b.counts.sum(axis=-1)
    b.alpha[:] = b.eta + b.counts
    agent.plan()
    assert np.isfinite(agent.D).all()
    assert (agent.D >= 0).all()
    assert np.isfinite(agent.info_weight)


@pytest.mark.parametrize("spec", ["steering", "steering:objective=ratio"])
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.999999])
def test_edges_of_the_discount(spec: str, discount: float) -> None:
    results = run(make_env(masked_mdp(5), discount=discount), spec, steps=60, seeds=1)
    assert np.isfinite(results.rewards).all()


@lru_cache
def compiled(spec: str) -> None:
    """Have everything compiled that a method needs, which takes long where nothing was kept from earlier runs."""
    finite_run(masked_mdp(0, 2, 2), spec, steps=5)


@given(
    st.integers(0, 10_000),
    st.sampled_from(STEERING),
    st.integers(1, 5),
    st.integers(1, 3),
    st.floats(-3, 3),
    st.floats(-6, 6),
)
@settings(max_examples=40)
def test_any_size_prior_and_unit(seed: int, spec: str, S: int, A: int, log_eta: float, log_unit: float) -> None:
    mdp = masked_mdp(seed, S, A)
    scaled = TabularMDP(mdp.P, mdp.reward_mean * 10**log_unit, mdp.reward_std * 10**log_unit, mdp.mask, mdp.start)
    options = {} if "eta" in spec else {"eta": 10**log_eta}
    compiled(spec)
    began = time.process_time()
    finite_run(scaled, spec, steps=40, **options)
    assert time.process_time() - began < 20


@pytest.mark.parametrize("spec", ["steering", "steering:objective=ratio"])
def test_no_plan_hangs_on_ties(spec: str) -> None:
    """All actions alike: every policy is optimal, and policy iteration could wander for ever."""
    P = np.full((6, 4, 6), 1 / 6)
    assert np.isfinite(run(TabularMDP(P, 1.0), spec, steps=100, seeds=1).rewards).all()
