"""The compiled planning functions that agents call directly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import mdps, random_actions, random_mdp

from steering._compiled import planning as kernels
from steering.mdp import backward_induction, evaluate, evaluate_finite, policy_iteration

BOTH_SIDES = [1, 2, 5, kernels.SMALL - 1, kernels.SMALL, kernels.SMALL + 1, 70]


@pytest.mark.parametrize("n", BOTH_SIDES)
def test_linear_systems_of_every_size(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    A[0, 0] = 0.0 if n > 1 else 2.0  # needs an exchange of rows
    before = A.copy(), b.copy()
    assert np.allclose(kernels.linear_solve(A, b), np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)
    assert np.array_equal(A, before[0])
    assert np.array_equal(b, before[1])


@pytest.mark.parametrize("n", BOTH_SIDES)
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_evaluation_and_propagation_of_every_size(n, density):
    mdp = random_mdp(n, 3, seed=n, density=density)
    r, policy = np.array(mdp.rewards), random_actions(mdp, 0)
    V = kernels.evaluate_policy(mdp.P, r, policy, 0.97)
    assert np.allclose(V, evaluate(mdp, policy, 0.97), rtol=1e-12, atol=1e-12)
    table = kernels.propagate(mdp.P, policy, r, 0.97)
    assert np.allclose(table, r + 0.97 * mdp.P @ V, rtol=1e-12, atol=1e-12)
    assert np.allclose(table[np.arange(n), policy], V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", BOTH_SIDES)
def test_policy_iteration_of_every_size_updates_the_policy_in_place(n):
    mdp = random_mdp(n, 3, seed=n)
    r, mask = np.array(mdp.rewards), np.array(mdp.allowed)
    policy = np.zeros(n, dtype=np.int64)  # may start from actions that are not allowed
    V, Q, rounds, converged = kernels.policy_iteration(mdp.P, r, mask, 0.9, policy, 100)
    reference = policy_iteration(mdp, 0.9)
    assert converged
    assert rounds >= 1
    assert np.allclose(V, reference.V, atol=1e-12)
    assert policy.tolist() == reference.policy.tolist()
    assert np.array_equal(np.isneginf(Q), ~mask)


def test_junk_in_disallowed_entries_is_never_read():
    mdp = random_mdp(6, 3, seed=1)
    P = np.where(mdp.allowed[:, :, None], mdp.P, np.nan)
    r = np.where(mdp.allowed, mdp.rewards, np.nan)
    policy = np.zeros(6, dtype=np.int64)
    V, Q, _, converged = kernels.policy_iteration(P, r, np.array(mdp.allowed), 0.9, policy, 100)
    assert converged
    assert np.allclose(V, policy_iteration(mdp, 0.9).V)
    assert np.array_equal(np.isneginf(Q), ~mdp.allowed)


@settings(max_examples=60)
@given(mdps(), st.integers(1, 6), st.sampled_from([0.0, 0.8, 1.0]))
def test_finite_horizon_kernels(mdp, horizon, discount):
    found = backward_induction(mdp, horizon, discount)
    r = np.array(mdp.rewards)
    V = kernels.evaluate_finite(mdp.P, r, found.policy, discount)
    assert np.allclose(V, evaluate_finite(mdp, found.policy, horizon, discount), atol=1e-12)
    local = np.ascontiguousarray(np.broadcast_to(r, (horizon, *r.shape)))
    table = kernels.propagate_finite(mdp.P, found.policy, local, discount)
    allowed = np.broadcast_to(mdp.allowed, table.shape)
    assert np.allclose(table[allowed], found.Q[allowed], atol=1e-12)


def test_local_quantities_may_depend_on_time():
    mdp = random_mdp(4, 2, seed=0)
    policy = np.tile(random_actions(mdp, 0), (3, 1))
    local = np.zeros((3, 4, 2))
    local[2] = 1.0
    table = kernels.propagate_finite(mdp.P, policy, local, 0.5)
    assert np.allclose(table[0][mdp.allowed], 0.25)


def test_random_ties_choose_only_among_the_best():
    """Over 6000 states three tied actions get 2000 each, within 4.5 standard deviations (error rate 2e-5)."""
    n = 6000
    Q = np.tile([1.0, 0.9, 1.0, -np.inf, 1.0 - 1e-13], (n, 1))
    policy = np.full(n, -1, dtype=np.int64)
    kernels.random_ties(Q, policy, np.random.default_rng(0).random(n), 1e-12)
    counts = np.bincount(policy, minlength=5)
    assert counts[[1, 3]].tolist() == [0, 0]
    assert (np.abs(counts[[0, 2, 4]] - 2000) < 4.5 * np.sqrt(n * 2 / 9)).all()
    kernels.random_ties(Q, policy, np.zeros(n), 0.0)
    assert (policy == 0).all()
    kernels.random_ties(Q, policy, np.full(n, np.nextafter(1.0, 0.0)), 0.0)
    assert (policy == 2).all()


def test_a_read_only_and_a_writable_model_give_the_same_bits():
    mdp = random_mdp(15, 2, seed=9)
    r, mask = np.array(mdp.rewards), np.array(mdp.allowed)
    first, second = np.zeros(15, dtype=np.int64), np.zeros(15, dtype=np.int64)
    V, _, _, _ = kernels.policy_iteration(mdp.P, r, mask, 0.9, first, 100)
    W, _, _, _ = kernels.policy_iteration(np.array(mdp.P), r, mask, 0.9, second, 100)
    assert np.array_equal(V, W)
    assert np.array_equal(first, second)
