"""PSRL and information-directed sampling: optimal for the model they plan in, information as defined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from helpers import AGENTS, masked_mdp, problem_of
from steering._compiled import beliefs as kernels
from steering.agents import make_agent
from steering.agents.base import ModelBasedAgent
from steering.beliefs import DirichletRows
from steering.envs import Environment, make_env
from steering.mdp import TabularMDP, backward_induction, evaluate, linear_program, policy_iteration

MODEL_BASED = [spec for spec in AGENTS if spec.partition(":")[0] in ("psrl", "ids", "ube", "mm")]


def trained(spec: str, env: Environment, n: int = 40, seed: int = 0, **options) -> ModelBasedAgent:
    agent = make_agent(spec, **options)
    assert isinstance(agent, ModelBasedAgent)
    agent.start(problem_of(env), np.random.default_rng(seed + 1), np.random.default_rng(seed + 2))
    rng = np.random.default_rng(seed)
    mdp = env.table
    s, a = np.divmod(rng.choice(np.flatnonzero(mdp.mask), size=n), mdp.n_actions)
    y = (mdp.P[s, a].cumsum(axis=1) > rng.random((n, 1)) * (1 - 1e-12)).argmax(axis=1)
    r = rng.normal(mdp.reward_mean[s, a, y], mdp.reward_std[s, a, y])
    agent.belief.observe_many((s, a, r, y))
    return agent


@pytest.mark.parametrize("seed", range(5))
def test_the_psrl_policy_is_optimal_for_its_draw(seed: int) -> None:
    env = make_env(masked_mdp(seed))
    agent = trained("psrl", env, seed=seed)
    twin = trained("psrl", env, seed=seed)
    agent.plan()
    P, r = twin.belief.draw_model(twin.planning_rng)
    model = TabularMDP(P, r, mask=env.mask)
    np.testing.assert_allclose(
        evaluate(model, agent.policy[0], env.discount), linear_program(model, env.discount).V, rtol=1e-7, atol=1e-7
    )


def test_psrl_draws_again_at_every_plan() -> None:
    env = make_env(masked_mdp(0))
    agent = trained("psrl", env, n=0)
    policies = set()
    for _ in range(30):
        agent.plan()
        policies.add(agent.policy.tobytes())
    assert len(policies) > 1


@pytest.mark.parametrize("information", ["variance", "gain"])
@pytest.mark.parametrize("horizon", [None, 3])
def test_ids_solves_the_mean_model_with_information_added(information: str, horizon: int | None) -> None:
    env = make_env(masked_mdp(2), horizon=horizon)
    agent = trained("ids", env, information=information, planning="mean", info_weight=2.0)
    agent.plan()
    b = agent.belief
    rows = DirichletRows(b.counts.shape, b.eta)
    rows.observe_counts(b.counts)
    m = rows.mean()
    a0 = rows.alpha.sum(axis=-1, keepdims=True)
    if information == "variance":
        info = rows.variance().sum(axis=-1)
    else:
        info = (m * (digamma(rows.alpha + 1) - digamma(a0 + 1) - np.log(m))).sum(axis=-1)
    np.testing.assert_allclose(agent.information(), info, rtol=1e-10)
    model = TabularMDP(m, (m * b.mu).sum(axis=-1) + 2.0 * info, mask=env.mask)
    if horizon is None:
        np.testing.assert_allclose(evaluate(model, agent.policy[0], 0.9), linear_program(model, 0.9).V, rtol=1e-7)
    else:
        np.testing.assert_array_equal(agent.policy, backward_induction(model, horizon).policy)


def test_information_gain_is_the_mutual_information_by_monte_carlo() -> None:
    """I(q; y) = E KL(q || m): 400,000 draws, 5 standard errors (fixed seed)."""
    alpha = np.tile([0.5, 2.0, 7.0, 0.5], (4, 1, 1))
    out = np.empty((4, 1))
    kernels.row_information(alpha, 0.5, out)
    q = np.random.default_rng(0).dirichlet(alpha[0, 0], size=400_000)
    m = alpha[0, 0] / alpha[0, 0].sum()
    kl = np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0) / m), 0.0).sum(axis=1)
    assert abs(kl.mean() - out[0, 0]) < 5 * kl.std() / np.sqrt(kl.size)


def test_variance_information_is_the_total_variance_by_monte_carlo() -> None:
    alpha = np.tile([0.5, 2.0, 7.0, 0.5], (4, 1, 1))
    out = np.empty((4, 1))
    kernels.row_variance(alpha, out)
    q = np.random.default_rng(0).dirichlet(alpha[0, 0], size=400_000)
    squares = ((q - alpha[0, 0] / alpha[0, 0].sum()) ** 2).sum(axis=1)
    assert abs(squares.mean() - out[0, 0]) < 5 * squares.std() / np.sqrt(squares.size)


@given(st.integers(0, 10_000), st.integers(2, 20), st.sampled_from([1e-3, 0.1, 1.0, 10.0]))
@settings(max_examples=60)
def test_information_is_not_negative_and_falls_when_the_expected_data_doubles(seed: int, S: int, eta: float) -> None:
    counts = np.random.default_rng(seed).integers(0, 50, (S, 2, S)).astype(float)
    values = []
    for factor in (1.0, 2.0, 4.0, 1e6):
        alpha = (eta + counts) * factor  # the same mean, more evidence
        for kernel in (kernels.row_variance, lambda al, out: kernels.row_information(al, -1.0, out)):
            out = np.empty((S, 2))
            kernel(alpha, out)
            assert (out >= 0).all()
            values.append(out)
    for i in (0, 1):
        for before, after in zip(values[i:-2:2], values[i + 2 :: 2], strict=True):
            assert (after < before).all()


def test_unseen_entries_computed_once_change_nothing() -> None:
    alpha = 0.3 + np.random.default_rng(0).integers(0, 3, (3, 2, 3)).astype(float)
    one, other = np.empty((3, 2)), np.empty((3, 2))
    kernels.row_information(alpha, 0.3, one)
    kernels.row_information(alpha, -1.0, other)
    np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("horizon", [None, 4])
@pytest.mark.parametrize("spec", MODEL_BASED)
def test_with_much_data_every_policy_is_optimal(spec: str, horizon: int | None) -> None:
    env = make_env(masked_mdp(4), horizon=horizon)
    agent = trained(spec, env, n=400_000)
    agent.plan()
    mdp = env.table
    if horizon is None:
        best = policy_iteration(mdp, env.discount).V
        got = evaluate(mdp, agent.policy[0], env.discount)
        np.testing.assert_allclose(got, best, atol=0.02)
        return
    finite = backward_induction(mdp, horizon)
    np.testing.assert_array_equal(agent.policy, finite.policy)
    assert len(np.unique(finite.policy, axis=0)) > 1  # a stationary policy would not do


def test_the_q_posterior_surrounds_the_truth_with_much_data_and_leaves_the_agent_alone() -> None:
    env = make_env(masked_mdp(4))
    agent = trained("psrl", env, n=100_000)
    agent.plan()
    policy, state = agent.policy.copy(), agent.planning_rng.bit_generator.state
    mean, std = agent.q_posterior(np.random.default_rng(0))
    Q = policy_iteration(env.table, env.discount).Q
    assert (np.abs(mean[0] - Q)[env.mask] < 5 * std[0][env.mask] + 1e-6).all()
    assert (std[0][env.mask] < 0.3).all()
    np.testing.assert_array_equal(agent.policy, policy)
    assert agent.planning_rng.bit_generator.state == state


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"information": "x"}, "information"),
        ({"planning": "x"}, "planning"),
        ({"info_weight": -0.1}, "info_weight"),
        ({"eta": 0}, "eta"),
        ({"concentration": "x"}, "concentration"),
        ({"reward_scale": "x"}, "reward_scale"),
    ],
)
def test_options_out_of_range_are_named(options, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_agent("ids", **options)
