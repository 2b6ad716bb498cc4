"""DeepSea, WideNarrow and PriorMDP: dynamics entry by entry, and figures that are known from elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from steering.envs import deep_sea, prior_mdp, sample_prior_mdp, wide_narrow
from steering.errors import InvalidOption


@pytest.mark.parametrize("n", [3, 4, 8])
@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_deep_sea_entry_by_entry(n: int, reward: str) -> None:
    mdp, d = deep_sea(n, reward=reward), 0.1 * math.exp(-n / 4)
    for i in range(n):
        left, ahead = max(i - 1, 0), (i + 1) % n
        for s in range(n):
            assert mdp.P[i, 0, s] == (s == left)
            expected = (1 / n) * (s == left) + (1 - 1 / n) * (s == ahead)
            assert mdp.P[i, 1, s] == pytest.approx(expected, abs=1e-15)
        assert mdp.reward_mean[i, 0, left] == 0
        assert mdp.reward_mean[i, 1, left] == pytest.approx(-d)
        success = 1.0 if i == n - 1 else 1 / n if reward == "dense" else -d
        assert mdp.reward_mean[i, 1, ahead] == pytest.approx(success)
    np.testing.assert_allclose(mdp.reward_std, d, rtol=1e-15)
    assert mdp.start[0] == 1
    assert mdp.action_names == ("left", "right")


@pytest.mark.parametrize(("n", "oracle"), [(8, 417.5), (15, 279.3)])
def test_deep_sea_oracle_reward_is_that_of_the_reference(n: int, oracle: float, optimal, gain) -> None:
    mdp = deep_sea(n)
    policy = optimal(mdp, 0.9)
    assert (policy == 1).all()
    assert 5000 * gain(mdp, policy) == pytest.approx(oracle, abs=0.05)


@pytest.mark.parametrize("n", [3, 4, 8, 15, 30, 60])
@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
def test_in_dense_deep_sea_always_right_is_optimal(n: int, discount: float, optimal) -> None:
    assert (optimal(deep_sea(n, reward="dense"), discount) == 1).all()


@pytest.mark.parametrize("n", [3, 4, 8, 15, 30])
def test_dense_and_sparse_have_the_same_optimal_policy(n: int, optimal) -> None:
    assert (optimal(deep_sea(n, reward="dense"), 0.9) == optimal(deep_sea(n), 0.9)).all()


@pytest.mark.parametrize("n", [3, 4, 8, 15, 30])
def test_in_dense_deep_sea_progress_pays_at_once(n: int) -> None:
    """Right beats left in the first reward of every state; in the sparse one only in the last state."""
    dense, sparse = deep_sea(n, reward="dense").rewards, deep_sea(n).rewards
    assert (dense[:, 1] > dense[:, 0]).all()
    assert (sparse[:-1, 1] < sparse[:-1, 0]).all()


def test_deep_sea_delta() -> None:
    mdp = deep_sea(5, delta=0.25)
    assert mdp.reward_mean[0, 1, 1] == -0.25
    assert (mdp.reward_std == 0.25).all()
    assert (deep_sea(5, delta=0).reward_std == 0).all()


@pytest.mark.parametrize(("n", "w"), [(1, 1), (1, 12), (3, 4)])
@pytest.mark.parametrize("odd", ["one-high", "one-low"])
def test_wide_narrow_entry_by_entry(n: int, w: int, odd: str) -> None:
    mdp = wide_narrow(n, w, odd=odd)
    assert (mdp.n_states, mdp.n_actions) == (2 * n + 1, w)
    for s in range(2 * n + 1):
        wide = s % 2 == 0 and s < 2 * n
        assert mdp.mask[s].sum() == (w if wide else 1)
        assert mdp.mask[s, 0]
        for a in np.flatnonzero(mdp.mask[s]):
            nxt = (s + 1) % (2 * n + 1)
            assert mdp.P[s, a, nxt] == 1
            high = not wide or (a == 0) == (odd == "one-high")
            last = s == 2 * n
            assert mdp.reward_mean[s, a, nxt] == (0.0 if last else 0.5 if high else 0.0)
            assert mdp.reward_std[s, a, nxt] == (0.0 if last else 1.0)


def test_wide_narrow_parameters() -> None:
    mdp = wide_narrow(2, 3, mu_h=2.0, mu_l=1.0, mu_n=0.25, sigma=0.5)
    assert mdp.rewards[0].tolist() == [2.0, 1.0, 1.0]
    assert mdp.rewards[1, 0] == 0.25
    assert mdp.rewards[4, 0] == 0.0
    assert mdp.reward_std[1, 0, 2] == 0.5
    assert wide_narrow(2, 3, mu_h=2.0).rewards[1, 0] == 2.0  # narrow states follow mu_h unless told


def test_prior_mdp_is_fixed_by_its_seed() -> None:
    assert prior_mdp(4, 2, seed=3).same_as(prior_mdp(4, 2, seed=3))
    assert not prior_mdp(4, 2, seed=3).same_as(prior_mdp(4, 2, seed=4))
    # Pinned, so that results stay comparable between versions.
    assert prior_mdp(4, 2).P[0, 0, 0] == pytest.approx(PINNED[0], rel=1e-13)
    assert prior_mdp(4, 2).reward_mean[3, 1, 3] == pytest.approx(PINNED[1], rel=1e-13)


PINNED = (0.0748405560750268, 2.4373103048221596)


@pytest.mark.parametrize("kappa", [0.3, 1.0, 5.0])
def test_prior_mdp_rows_are_dirichlet(kappa: float) -> None:
    """One coordinate of Dirichlet(kappa, ...) over S is Beta(kappa, (S-1) kappa); 4 tests at 1e-4 each."""
    rows = sample_prior_mdp(np.random.default_rng(5), 4, 500, kappa).P
    for s in range(4):
        test = stats.kstest(rows[s, :, s], stats.beta(kappa, 3 * kappa).cdf)
        assert test.pvalue > 1e-4


@pytest.mark.parametrize("normal_gamma", [(0, 1, 4, 4), (0, 1, 1, 4), (2.0, 0.5, 3.0, 1.0)])
def test_prior_mdp_rewards_are_normal_gamma(normal_gamma: tuple[float, ...]) -> None:
    """Precision ~ Gamma(alpha, rate beta), standardised mean ~ N(0, 1), independent; 3 tests at 1e-4 each."""
    mu, lam, alpha, beta = normal_gamma
    mdp = sample_prior_mdp(np.random.default_rng(6), 20, 10, 1.0, normal_gamma)  # type: ignore[arg-type]
    tau = mdp.reward_std.ravel() ** -2
    z = (mdp.reward_mean.ravel() - mu) * np.sqrt(lam * tau)
    assert stats.kstest(tau, stats.gamma(alpha, scale=1 / beta).cdf).pvalue > 1e-4
    assert stats.kstest(z, stats.norm.cdf).pvalue > 1e-4
    assert stats.spearmanr(tau, z).pvalue > 1e-4


@settings(max_examples=30)
@given(st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6]), st.sampled_from([1e-3, 1.0, 1e3]), st.integers(0, 99))
def test_prior_mdp_with_extreme_priors_is_valid(kappa: float, alpha: float, seed: int) -> None:
    mdp = prior_mdp(5, 2, seed=seed, kappa=kappa, normal_gamma=(0, 1, alpha, 1))
    np.testing.assert_allclose(mdp.P.sum(axis=2), 1.0, atol=1e-12)


def test_one_state_and_one_action() -> None:
    assert prior_mdp(1, 1).P.tolist() == [[[1.0]]]


REFUSED = [
    (lambda: deep_sea(2), "n of deepsea is 2; it must be at least 3"),
    (lambda: deep_sea(3.5), r"n of deepsea is 3\.5; it must be a whole number"),  # type: ignore[arg-type]
    (lambda: deep_sea(True), "n of deepsea is True; it must be a whole number"),
    (lambda: deep_sea("8"), "n of deepsea is '8'; it must be a whole number"),  # type: ignore[arg-type]
    (lambda: prior_mdp(10**6, 2), "priormdp of 1000000 states and 2 actions as a dense table needs 64.0 TB of memory"),
    (lambda: deep_sea(8, reward="none"), "reward of deepsea is 'none'; it must be one of: sparse, dense"),
    (lambda: deep_sea(8, delta=-1), "delta of deepsea is -1; it must be at least 0"),
    (lambda: deep_sea(8, delta=math.nan), "delta of deepsea is nan; it must be a finite number"),
    (lambda: wide_narrow(0, 1), "n of widenarrow is 0"),
    (lambda: wide_narrow(1, 0), "w of widenarrow is 0; it must be at least 1"),
    (lambda: wide_narrow(1, 2, sigma=-1), "sigma of widenarrow"),
    (lambda: wide_narrow(1, 2, mu_h=math.inf), "mu_h of widenarrow is inf"),
    (lambda: wide_narrow(1, 2, mu_n="a"), "mu_n of widenarrow is 'a'; it must be a number"),  # type: ignore[arg-type]
    (lambda: wide_narrow(1, 2, mu_l=10**400), "it must be a finite number"),
    (lambda: wide_narrow(1, 2, odd="x"), "it must be one of: one-high, one-low"),
    (lambda: prior_mdp(0, 2), "n_states of priormdp is 0"),
    (lambda: prior_mdp(2, 0), "n_actions of priormdp is 0"),
    (lambda: prior_mdp(2, 2, seed=-1), "seed of priormdp is -1"),
    (lambda: prior_mdp(2, 2, kappa=0), "kappa of priormdp is 0; it must be greater than 0"),
    (lambda: prior_mdp(2, 2, normal_gamma=(0, 1, 4)), "four numbers"),  # type: ignore[arg-type]
    (lambda: prior_mdp(2, 2, normal_gamma=(0, 0, 4, 4)), "lambda in normal_gamma is 0"),
    (lambda: prior_mdp(2, 2, normal_gamma=(0, 1, 4, -4)), "beta in normal_gamma is -4"),
]


@pytest.mark.parametrize(("make", "says"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(make, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        make()
