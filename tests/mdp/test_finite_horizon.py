"""Finite horizons against brute force over every policy that depends on time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import deterministic_policies, mdps, random_actions, random_mdp, random_policy

from steering.errors import InvalidOption
from steering.mdp import (
    TabularMDP,
    backward_induction,
    evaluate_finite,
    expected_reward_curve,
    expected_total_reward,
    occupancy_finite,
    policy_iteration,
)

steady = settings(max_examples=60)
discounts = st.sampled_from([0.0, 0.7, 1.0])
seeds = st.integers(0, 10_000)


def expected_return(mdp, steps, discount, state, h=0):
    """Sum over all trajectories, by recursion on the definition of an expectation."""
    if h == len(steps):
        return 0.0
    a = steps[h][state]
    later = sum(p * expected_return(mdp, steps, discount, t, h + 1) for t, p in enumerate(mdp.P[state, a]) if p)
    return mdp.rewards[state, a] + discount * later


@settings(max_examples=25)
@given(mdps(max_states=2, max_actions=2), discounts, st.integers(1, 3))
def test_backward_induction_equals_enumeration(mdp, discount, horizon):
    found = backward_induction(mdp, horizon, discount)
    every = product(deterministic_policies(mdp), repeat=horizon)
    values = np.array([[expected_return(mdp, steps, discount, s) for s in range(mdp.n_states)] for steps in every])
    assert np.allclose(found.V[0], values.max(axis=0), atol=1e-12)
    assert np.array_equal(np.isneginf(found.Q), np.broadcast_to(~mdp.allowed, found.Q.shape))


@steady
@given(mdps(), discounts, st.integers(1, 8), seeds)
def test_the_optimal_policy_earns_its_value_and_no_other_more(mdp, discount, horizon, seed):
    found = backward_induction(mdp, horizon, discount)
    assert found.policy.shape == (horizon, mdp.n_states)
    assert np.allclose(evaluate_finite(mdp, found.policy, horizon, discount), found.V, atol=1e-10)
    assert np.allclose(found.Q.max(axis=2), found.V[:-1], atol=1e-12)
    for other in (random_actions(mdp, seed), random_policy(mdp, seed)):
        assert (evaluate_finite(mdp, other, horizon, discount) <= found.V + 1e-10).all()


@steady
@given(mdps(), st.integers(1, 8), seeds)
def test_all_forms_of_one_policy_agree(mdp, horizon, seed):
    actions = random_actions(mdp, seed)
    one_hot = np.eye(mdp.n_actions)[actions]
    forms = [actions, one_hot, np.tile(actions, (horizon, 1)), np.tile(one_hot, (horizon, 1, 1))]
    values = [evaluate_finite(mdp, form, horizon, 0.9) for form in forms]
    visits = [occupancy_finite(mdp, form, horizon) for form in forms]
    for V, d in zip(values, visits, strict=True):
        assert np.allclose(V, values[0], atol=1e-12)
        assert np.allclose(d, visits[0], atol=1e-12)


@steady
@given(mdps(), st.integers(1, 8), seeds)
def test_occupancy_is_a_flow_that_gives_the_value(mdp, horizon, seed):
    pi = np.stack([random_policy(mdp, seed + h) for h in range(horizon)])
    d = occupancy_finite(mdp, pi, horizon)
    assert np.allclose(d.sum(axis=(1, 2)), 1.0)
    assert np.allclose(d[0].sum(axis=1), mdp.start_distribution)
    for h in range(horizon - 1):
        assert np.allclose(d[h + 1].sum(axis=1), np.einsum("sa,sat->t", d[h], mdp.P), atol=1e-12)
    assert (d[:, ~mdp.allowed] == 0.0).all()
    V = evaluate_finite(mdp, pi, horizon)
    assert (d * mdp.rewards).sum() == pytest.approx(mdp.start_distribution @ V[0], abs=1e-10)


@steady
@given(mdps(), st.integers(0, 60), seeds)
def test_total_reward_curve_and_values_agree(mdp, steps, seed):
    """More than S steps go by doubling, fewer one by one: both must be the sum of the curve."""
    pi = random_policy(mdp, seed)
    curve = expected_reward_curve(mdp, pi, steps)
    total = expected_total_reward(mdp, pi, steps)
    assert curve.shape == (steps,)
    assert total == pytest.approx(curve.sum(), rel=1e-10, abs=1e-10)
    if steps:
        V = evaluate_finite(mdp, pi, steps)
        assert total == pytest.approx(mdp.start_distribution @ V[0], rel=1e-10, abs=1e-10)


def test_a_long_horizon_approaches_the_discounted_optimum():
    mdp = random_mdp(8, 3, seed=0)
    found, limit = backward_induction(mdp, 400, 0.9), policy_iteration(mdp, 0.9)
    assert np.allclose(found.V[0], limit.V, atol=1e-12)
    assert found.policy[0].tolist() == limit.policy.tolist()


def test_ties_and_other_rewards():
    mdp = TabularMDP(P=np.ones((1, 3, 1)), reward_mean=[[0.3, 0.1 + 0.2, 5.0]], mask=[[True, True, False]])
    found = backward_induction(mdp, 4)
    assert found.policy.tolist() == [[0]] * 4
    assert np.allclose(found.V[:, 0], [1.2, 0.9, 0.6, 0.3, 0.0])
    paid = backward_induction(mdp, 2, rewards=[[0.0, 1.0, 9.0]])
    assert paid.policy.tolist() == [[1], [1]]
    assert np.allclose(evaluate_finite(mdp, [0], 2, rewards=[[2.0, 1.0, 9.0]])[:, 0], [4.0, 2.0, 0.0])


@pytest.mark.parametrize(
    ("policy", "horizon", "sentence"),
    [
        ([0, 0], 0, "horizon is 0; it must be at least 1"),
        ([0, 0], 2.0, "horizon is 2.0; it must be a whole number"),
        ([0, 0], True, "horizon is True; it must be a whole number"),
        ([[0, 0]], 2, "policy has 1 steps; it must have as many as the horizon, 2"),
        ([[0, 0], [0]], 2, "policy is not an array of numbers"),
        ([[0, 0], [0, 7]], 2, r"policy\[1, 1\] is 7"),
        (np.ones((2, 3, 2)) / 2, 2, r"it must be \(H, S, A\) = \(2, 2, 2\)"),
    ],
)
def test_bad_horizons_and_policies_are_refused(policy, horizon, sentence):
    mdp = TabularMDP(P=np.full((2, 2, 2), 0.5), reward_mean=1.0)
    with pytest.raises(InvalidOption, match=sentence):
        evaluate_finite(mdp, policy, horizon)
    with pytest.raises(InvalidOption, match=sentence):
        occupancy_finite(mdp, policy, horizon)


def test_a_bad_discount_or_step_count_is_refused():
    mdp = TabularMDP(P=[[[1.0]]], reward_mean=1.0)
    with pytest.raises(InvalidOption, match=r"discount is 1\.1; over a finite horizon"):
        backward_induction(mdp, 3, 1.1)
    with pytest.raises(InvalidOption, match="steps is -1"):
        expected_total_reward(mdp, [0], -1)
