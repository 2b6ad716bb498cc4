"""The compiled simulator: rows, frequencies, rewards, starts, and trajectories that no cutting changes."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering._compiled import simulate
from steering.mdp import TabularMDP
from steering.mdp.simulator import Simulator, tables_of, watch_nothing
from steering.runs.seeds import environment_streams


def random_mdp(seed: int, S: int = 4, A: int = 3) -> TabularMDP:
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.6), size=(S, A))
    P[P < 0.05] = 0.0
    P[..., 0] += P.sum(axis=-1) == 0
    P /= P.sum(axis=-1, keepdims=True)
    start = rng.dirichlet(np.ones(S))
    return TabularMDP(P, rng.normal(size=P.shape), rng.uniform(0.1, 2, size=P.shape), start=start)


def simulator(mdp: TabularMDP, steps: int, seed: int = 0) -> Simulator:
    return Simulator(mdp, tables_of(mdp), steps, environment_streams(seed))


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 3))
@settings(max_examples=60)
def test_compressed_rows_hold_exactly_the_positive_entries(seed: int, S: int, A: int) -> None:
    P = random_mdp(seed, S, A).P
    offsets, successors, cumulative, *_ = tables_of(TabularMDP(P, 0.0))
    assert offsets[0] == 0
    assert offsets[-1] == successors.size == cumulative.size == np.count_nonzero(P)
    for s in range(S):
        for a in range(A):
            low, high = offsets[s * A + a], offsets[s * A + a + 1]
            support = np.flatnonzero(P[s, a])
            np.testing.assert_array_equal(successors[low:high], support)
            np.testing.assert_allclose(cumulative[low:high], np.cumsum(P[s, a, support]), rtol=1e-14)


def test_a_step_inverts_the_distribution_function_of_its_row() -> None:
    # 40 successors, so that the bisection before the scan is used; zero entries must never be reached.
    rng = np.random.default_rng(1)
    S = 60
    P = np.zeros((S, 1, S))
    support = np.sort(rng.choice(S, 40, replace=False))
    P[:, 0, support] = rng.dirichlet(np.ones(40))
    mdp = TabularMDP(P, np.arange(S, dtype=float)[None, None, :] * np.ones((S, 1, 1)), 0.5)
    tables = tables_of(mdp)
    edges = np.cumsum(P[3, 0, support])
    for u in np.concatenate([[0.0], rng.random(500), edges[:-1], np.nextafter(edges, 0)]):
        y, r = simulate.step(tables, 3, 0, u, 2.0)
        wanted = support[min(int(np.searchsorted(edges, u, side="right")), 39)]
        assert y == wanted
        assert r == mdp.reward_mean[3, 0, y] + 0.5 * 2.0


def test_rows_that_sum_to_slightly_less_than_one_stay_inside() -> None:
    P = np.array([[[0.5, 0.5 - 5e-10]], [[0.5, 0.5]]])
    tables = tables_of(TabularMDP(P, 0.0))
    assert simulate.step(tables, 0, 0, np.nextafter(1.0, 0.0), 0.0)[0] == 1


def test_frequencies_and_reward_moments_are_those_of_the_mdp() -> None:
    """Largest of 36 standardised deviations each; Bonferroni at 1e-4 in total (fixed seed)."""
    mdp = random_mdp(7)
    steps = 200_000
    sim = simulator(mdp, steps, seed=3)
    sim.begin_episode()
    rng = np.random.default_rng(0)
    for _ in range(steps // 100):
        sim.follow(rng.integers(0, 3, size=(1, 4)), 100)
    counts = np.zeros(mdp.P.shape)
    np.add.at(counts, (sim.states, sim.actions, sim.successors), 1.0)
    n = counts.sum(axis=-1, keepdims=True)
    inner = (mdp.P > 0) & (mdp.P < 1)
    z = ((counts - n * mdp.P)[inner]) / np.sqrt((n * mdp.P * (1 - mdp.P))[inner])
    assert np.abs(z).max() < 5.0
    assert counts[mdp.P == 0].sum() == 0
    deviations = sim.rewards - mdp.reward_mean[sim.states, sim.actions, sim.successors]
    standard = deviations / mdp.reward_std[sim.states, sim.actions, sim.successors]
    assert abs(standard.mean()) * np.sqrt(steps) < 4.5
    assert abs((standard**2).mean() - 1) * np.sqrt(steps / 2) < 4.5
    # Each step begins where the last one ended.
    np.testing.assert_array_equal(sim.states[1:], sim.successors[:-1])


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12))
@settings(max_examples=40)
def test_cutting_a_run_changes_no_bit(pieces: list[int]) -> None:
    mdp = random_mdp(2)
    policy = np.array([[0, 2, 1, 0]])
    total = sum(pieces)
    whole, cut = simulator(mdp, total), simulator(mdp, total)
    for sim in (whole, cut):
        sim.begin_episode()
    whole.follow(policy, total)
    for n in pieces:
        cut.follow(policy, n)
    for name in ("states", "actions", "rewards", "successors"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))
    assert whole.state == cut.state
    assert whole.time == cut.time == total


def test_cuts_across_the_chunks_of_noise_change_no_bit() -> None:
    mdp, policy = random_mdp(2), np.array([[0, 2, 1, 0]])
    whole, cut = simulator(mdp, 30_000), simulator(mdp, 30_000)
    whole.follow(policy, 30_000)
    for n in (8191, 3, 8190, 9000, 4816):
        cut.follow(policy, n)
    np.testing.assert_array_equal(whole.rewards, cut.rewards)


def test_starts_follow_the_start_distribution() -> None:
    """Multinomial chi-square with 2 degrees of freedom below its 1 - 1e-5 quantile, 23.03 (fixed seed)."""
    start = np.array([0.1, 0.0, 0.6, 0.3])
    mdp = TabularMDP(np.tile(np.eye(4)[:, None, :], (1, 2, 1)), 0.0, start=start)
    sim = simulator(mdp, 1)
    drawn = np.zeros(4)
    for _ in range(20_000):
        sim.begin_episode()
        drawn[sim.state] += 1
    assert drawn[1] == 0
    expected = 20_000 * start[start > 0]
    assert ((drawn[start > 0] - expected) ** 2 / expected).sum() < 23.03


def test_time_dependent_policies_use_one_layer_a_step() -> None:
    mdp = random_mdp(5)
    policy = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2]])
    sim = simulator(mdp, 6)
    for _ in range(2):
        sim.begin_episode()
        sim.follow(policy, 3)
    np.testing.assert_array_equal(sim.actions, [0, 1, 2, 0, 1, 2])


def test_common_random_numbers_two_policies_meet_the_same_noise() -> None:
    # Rewards of an absorbing state are mean + std z_t, whatever happened before.
    mdp = TabularMDP(np.ones((1, 2, 1)), [[[0.0], [5.0]]], 1.0)
    runs = []
    for action in (0, 1):
        sim = simulator(mdp, 50, seed=9)
        sim.follow(np.array([[action]]), 50)
        runs.append(sim.rewards)
    np.testing.assert_allclose(runs[1] - runs[0], 5.0, rtol=1e-12)


def test_noisy_argmax_takes_the_best_allowed_value() -> None:
    mean, scale = np.array([1.0, 5.0, 2.0]), np.array([1.0, 1.0, 2.0])
    mask = np.array([True, False, True])
    assert simulate.noisy_argmax(mean, scale, mask, np.array([0.0, 9.0, -1.0])) == 0
    assert simulate.noisy_argmax(mean, scale, mask, np.array([0.0, 9.0, 1.0])) == 2


@pytest.mark.parametrize("layers", [1, 4])
def test_noisy_values_without_noise_follow_the_greedy_policy(layers: int) -> None:
    mdp = random_mdp(8)
    mean = np.random.default_rng(0).normal(size=(layers, 4, 3))
    greedy = mean.argmax(axis=-1)
    one, two = simulator(mdp, 4), simulator(mdp, 4)
    one.follow(greedy, 4)
    values = (mean, np.zeros_like(mean), np.ones((4, 3), bool), np.ones((4, 3)), 0, watch_nothing())
    two.advance(partial(simulate.follow_noisy_values, two.tables, *values), 4)
    np.testing.assert_array_equal(one.actions, two.actions)
    np.testing.assert_array_equal(one.rewards, two.rewards)
