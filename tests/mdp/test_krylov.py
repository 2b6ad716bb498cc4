"""Expected rewards of large chains from a small matrix: the same numbers as step by step, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from steering import make_env
from steering.mdp import _krylov, expected_reward_curve, expected_total_reward, policy_iteration
from steering.mdp.evaluation import policy_chain


def step_by_step(P, r, mu, steps):
    rewards = np.empty(steps)
    for t in range(steps):
        rewards[t] = mu @ r
        mu = P.T @ mu
    return rewards


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(70, 3000), st.floats(0.0, 0.98))
@settings(max_examples=40, deadline=None)
def test_the_curve_of_a_random_chain(seed: int, S: int, steps: int, lazy: float) -> None:
    rng = np.random.default_rng(seed)
    P = (1.0 - lazy) * rng.dirichlet(np.full(S, 0.3), size=S) + lazy * np.eye(S)
    r, mu = rng.normal(size=S), rng.dirichlet(np.ones(S))
    found = _krylov.curve(sparse.csr_array(P), r, mu, steps)
    if found is not None:  # few steps give room for few vectors only
        np.testing.assert_allclose(found, step_by_step(P, r, mu, steps), rtol=0, atol=1e-11 * np.abs(r).max())
    else:
        assert steps < 1000 or S > 10


def test_a_large_basis_of_all_states_ends_by_itself() -> None:
    """Four states span four vectors: nothing is new after that, and the curve is exact."""
    P = sparse.csr_array(np.roll(np.eye(4), 1, axis=1))
    found = _krylov.curve(P, np.array([1.0, 0.0, 0.0, 2.0]), np.array([1.0, 0, 0, 0]), 5000)
    np.testing.assert_allclose(found, np.tile([1.0, 0.0, 0.0, 2.0], 1250), atol=1e-12)


def test_a_chain_that_needs_more_vectors_than_allowed_is_left_to_the_loop() -> None:
    """A cycle of a prime number of states has as many modes, none of which dies out."""
    S = 997
    P = sparse.csr_array(np.roll(np.eye(S), 1, axis=1))
    r, mu = np.zeros(S), np.zeros(S)
    r[-1] = mu[0] = 1.0
    assert _krylov.curve(P, r, mu, 100_000) is None


def test_no_rewards_no_work() -> None:
    assert not _krylov.curve(sparse.eye_array(3).tocsr(), np.zeros(3), np.full(3, 1 / 3), 10).any()


@pytest.mark.parametrize("random_policy", [False, True])
def test_both_ways_agree_on_a_maze(monkeypatch: pytest.MonkeyPatch, random_policy: bool) -> None:
    mdp = make_env("maze:24").table.to_sparse()
    policy = mdp.allowed / 4 if random_policy else policy_iteration(mdp, 0.99).policy
    assert sparse.issparse(policy_chain(mdp, policy)[0])
    plain = expected_reward_curve(mdp, policy, 20_000)
    monkeypatch.setattr(_krylov, "WORTH", 0)
    fast = expected_reward_curve(mdp, policy, 20_000)
    assert not np.array_equal(plain, fast)  # it was another way
    np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-13)
    assert expected_total_reward(mdp, policy, 20_000) == pytest.approx(plain.sum(), rel=1e-10)
