"""Values, action values and discounted occupancies of given policies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import DISCOUNTS, exact_value, mdps, random_actions, random_mdp, random_policy

from steering.errors import InvalidMDP, InvalidOption
from steering.mdp import (
    TabularMDP,
    action_values,
    evaluate,
    occupancy,
    policy_chain,
    policy_iteration,
)

steady = settings(max_examples=100)
seeds = st.integers(0, 10_000)


@steady
@given(mdps(max_states=4), DISCOUNTS, seeds)
def test_values_equal_rational_arithmetic(mdp, discount, seed):
    actions = random_actions(mdp, seed)
    exact = [float(v) for v in exact_value(mdp, tuple(actions.tolist()), discount)]
    assert np.allclose(evaluate(mdp, actions, discount), exact, rtol=1e-11, atol=1e-13 / (1 - discount))


@steady
@given(mdps(), DISCOUNTS, seeds)
def test_a_stochastic_policy_solves_its_bellman_equation(mdp, discount, seed):
    pi = random_policy(mdp, seed)
    V = evaluate(mdp, pi, discount)
    Q = np.where(mdp.allowed, action_values(mdp, V, discount), 0.0)
    assert np.allclose((pi * Q).sum(axis=1), V, rtol=1e-10, atol=1e-10)


@steady
@given(mdps(), DISCOUNTS, seeds)
def test_one_hot_probabilities_and_action_numbers_are_the_same_policy(mdp, discount, seed):
    actions = random_actions(mdp, seed)
    one_hot = np.eye(mdp.n_actions)[actions]
    assert np.allclose(evaluate(mdp, actions, discount), evaluate(mdp, one_hot, discount), atol=1e-12)
    assert np.allclose(occupancy(mdp, actions, discount), occupancy(mdp, one_hot, discount), atol=1e-12)


@steady
@given(mdps(), DISCOUNTS, seeds, st.booleans())
def test_occupancy_sums_to_one_conserves_flow_and_gives_the_value(mdp, discount, seed, stochastic):
    pi = random_policy(mdp, seed) if stochastic else random_actions(mdp, seed)
    d = occupancy(mdp, pi, discount)
    assert d.sum() == pytest.approx(1.0, abs=1e-10)
    assert d.min() >= -1e-15
    assert (d[~mdp.allowed] == 0.0).all()
    flow = (1 - discount) * mdp.start_distribution + discount * np.einsum("sa,sat->t", d, mdp.P)
    assert np.allclose(d.sum(axis=1), flow, atol=1e-12)
    total = occupancy(mdp, pi, discount, normalised=False)
    assert np.allclose(total * (1 - discount), d, atol=1e-12)
    value = mdp.start_distribution @ evaluate(mdp, pi, discount)
    assert (total * mdp.rewards).sum() == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_occupancy_from_a_state_and_from_a_distribution():
    mdp = random_mdp(5, 2, seed=3)
    pi = random_policy(mdp, 0)
    from_states = [occupancy(mdp, pi, 0.8, s) for s in range(5)]
    mixed = occupancy(mdp, pi, 0.8, mdp.start_distribution)
    assert np.allclose(np.tensordot(mdp.start_distribution, from_states, axes=1), mixed)
    assert np.allclose(occupancy(mdp, pi, 0.8), mixed)
    assert occupancy(mdp, pi, 0.0, 3)[3].sum() == pytest.approx(1.0)


def test_other_rewards_and_action_values():
    mdp = random_mdp(5, 3, seed=5)
    found = policy_iteration(mdp, 0.9)
    assert np.allclose(evaluate(mdp, found.policy, 0.9), found.V)
    assert np.allclose(evaluate(mdp, found.policy, 0.9, rewards=np.ones((5, 3))), 10.0)
    Q = action_values(mdp, found.V, 0.9)
    assert np.array_equal(np.isneginf(Q), ~mdp.allowed)
    assert np.allclose(Q[mdp.allowed], found.Q[mdp.allowed])
    P, r = policy_chain(mdp, found.policy)
    assert np.array_equal(P, mdp.P[np.arange(5), found.policy])
    assert np.array_equal(r, mdp.rewards[np.arange(5), found.policy])


TWO = TabularMDP(P=np.full((2, 2, 2), 0.5), reward_mean=[[1.0, 0.0], [0.0, 0.0]], mask=[[True, True], [True, False]])


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ([0, 1], r"policy\[1\] is 1, an action that is not allowed in state 1"),
        ([0, -1], r"policy\[1\] is -1; actions are numbered from 0 to 1"),
        ([0, 0, 0], "one whole action number for each of the 2 states"),
        ([0.0, 0.0], r"policy has shape \(2,\) and entries of type float64"),
        ([[0.5, 0.5], [0.5, 0.5]], r"policy\[1, 1\] is 0.5; an action that is not allowed must have probability 0"),
        ([[0.5, 0.4], [1.0, 0.0]], r"policy\[0\] sums to 0.9"),
        ([[1.5, -0.5], [1.0, 0.0]], r"policy\[0, 1\] is -0.5; a probability cannot be negative"),
        ([[float("nan"), 0.0], [1.0, 0.0]], r"policy\[0, 0\] is nan"),
        ("left", "policy is not an array of numbers"),
        ([[1.0], [1.0, 0.0]], "policy is not an array of numbers"),
    ],
)
def test_a_bad_policy_is_refused(policy, sentence):
    with pytest.raises(InvalidOption, match=sentence):
        evaluate(TWO, policy, 0.9)


def test_bad_values_starts_and_discounts_are_refused():
    with pytest.raises(InvalidMDP, match=r"V has shape \(3,\)"):
        action_values(TWO, [0.0, 0.0, 0.0], 0.9)
    with pytest.raises(InvalidMDP, match=r"V\[1\] is inf"):
        action_values(TWO, [0.0, np.inf], 0.9)
    with pytest.raises(InvalidMDP, match="start is state 2"):
        occupancy(TWO, [0, 0], 0.9, 2)
    with pytest.raises(InvalidOption, match=r"discount is 1; it must be .* average_reward"):
        occupancy(TWO, [0, 0], 1)
