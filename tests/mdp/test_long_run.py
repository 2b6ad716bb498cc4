"""Long-run averages against closed forms: periodic, multichain and nearly decomposable chains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import TOYMAKER, mdps, random_actions

from steering._compiled.chains import stationary_distribution
from steering.mdp import (
    TabularMDP,
    average_reward,
    evaluate,
    expected_reward_curve,
    expected_total_reward,
    gain,
)


def chain(P, r):
    return TabularMDP(P=np.asarray(P, dtype=float)[:, None, :], reward_mean=np.asarray(r, dtype=float)[:, None])


def test_howards_toymaker():
    """Howard (1960): gain 1 without advertising and research, 2 with both."""
    assert average_reward(TOYMAKER, [0, 0]) == pytest.approx(1.0)
    assert average_reward(TOYMAKER, [1, 1]) == pytest.approx(2.0)


def test_a_periodic_chain_has_its_cesaro_average():
    mdp = chain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [1, 5, 0])
    assert gain(mdp, [0, 0, 0]) == pytest.approx([2.0, 2.0, 2.0])
    assert expected_reward_curve(mdp, [0, 0, 0], 5).tolist() == [1, 5, 0, 1, 5]


def test_a_multichain_with_transient_states():
    """From 0: to the absorbing 3 with probability 1/3, to the cycle {1, 2} with 2/3; 4 leads to 0 or 3."""
    P = [[0.4, 0.4, 0, 0.2, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0.5, 0, 0, 0.5, 0]]
    mdp = chain(P, [100, 2, 4, 9, -100])
    expected = [2 / 3 * 3 + 1 / 3 * 9, 3, 3, 9, 0.5 * 5 + 0.5 * 9]
    assert gain(mdp, [0] * 5) == pytest.approx(expected)
    assert average_reward(mdp, [0] * 5, 4) == pytest.approx(7.0)
    assert average_reward(mdp, [0] * 5, [0, 0.5, 0, 0.5, 0]) == pytest.approx(6.0)


@pytest.mark.parametrize("n", [3, 8, 15, 40])
def test_always_right_on_deep_sea(n):
    """Cut between neighbours: p x_i - x_{i+1} / n = J, the flow back to the start, so x is a geometric sum.

    With p = 1 - 1/n and q = 1 / (n p): x_{n-1-k} = (J/p) (1 - q^{k+1}) / (1 - q), the sum of x is 1, and the
    gain is J times the reward of reaching the end plus (1 - J) times that of trying.
    """
    p, q, cost = 1 - 1 / n, 1 / (n - 1), -0.1 * np.exp(-n / 4)
    P, r = np.zeros((n, n)), np.zeros((n, n))
    for s in range(n):
        P[s, (s + 1) % n] += p
        P[s, max(s - 1, 0)] += 1 - p
    r[:] = cost
    r[n - 1, 0] = 1.0
    mdp = TabularMDP(P=P[:, None, :], reward_mean=r[:, None, :])
    flow = p * (1 - q) / (n - q * (1 - q**n) / (1 - q))
    assert average_reward(mdp, [0] * n) == pytest.approx(flow + (1 - flow) * cost, rel=1e-12)


def test_rare_states_keep_their_relative_accuracy():
    """A birth-death chain whose last state has probability near 1e-60; detailed balance gives every entry."""
    n, up = 21, Fraction(1, 1001)
    P = np.zeros((n, n))
    for s in range(n):
        P[s, min(s + 1, n - 1)] += float(up)
        P[s, max(s - 1, 0)] += float(1 - up)
    weights = np.array([1e-3**s for s in range(n)])
    assert stationary_distribution(P) == pytest.approx(weights / weights.sum(), rel=1e-12)


def test_a_chain_that_climbs_beyond_the_range_of_floats():
    n = 150
    P = np.zeros((n, n))
    for s in range(n):
        P[s, min(s + 1, n - 1)] += 1 - 1e-4
        P[s, max(s - 1, 0)] += 1e-4
    nu = stationary_distribution(P)
    assert nu.sum() == pytest.approx(1.0)
    assert nu @ P == pytest.approx(nu)
    assert nu[-1] == pytest.approx(1 - 1 / 9999, rel=1e-9)


@settings(max_examples=100)
@given(mdps(max_states=8), st.integers(0, 1000))
def test_gain_is_the_limit_of_discounted_values(mdp, seed):
    """(1 - discount) V = gain + (1 - discount) bias + ..., so one extrapolation leaves a second-order error."""
    actions = random_actions(mdp, seed)
    near, far = ((1 - g) * evaluate(mdp, actions, g) for g in (1 - 1e-5, 1 - 2e-5))
    assert np.allclose(gain(mdp, actions), 2 * near - far, atol=1e-5)


@settings(max_examples=50)
@given(mdps(), st.integers(0, 1000))
def test_gain_is_invariant_along_the_chain(mdp, seed):
    actions = random_actions(mdp, seed)
    g = gain(mdp, actions)
    assert np.allclose(mdp.P[np.arange(mdp.n_states), actions] @ g, g, atol=1e-12)
    assert np.allclose(gain(mdp, actions, rewards=np.ones(mdp.allowed.shape)), 1.0)
    assert average_reward(mdp, actions) == pytest.approx(mdp.start_distribution @ g)


def test_total_reward_over_many_steps_grows_by_the_gain():
    first, second = (expected_total_reward(TOYMAKER, [1, 1], n, 0) for n in (5000, 10_000))
    assert second - first == pytest.approx(2.0 * 5000, rel=1e-12)
    assert first == pytest.approx(expected_reward_curve(TOYMAKER, [1, 1], 5000, 0).sum(), rel=1e-12)
    assert expected_total_reward(TOYMAKER, [1, 1], 5000, 0, rewards=np.ones((2, 2))) == pytest.approx(5000)
