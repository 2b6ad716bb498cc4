"""Hardness of MDPs: closed forms of known chains, and brute force over all policies of small random MDPs."""

from __future__ import annotations

import doctest
import itertools
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steering.envs import make_env
from steering.errors import NotAvailable
from steering.mdp import TabularMDP, bias, evaluate, gain, hardness, policy_iteration
from steering.mdp.communication import communication_class, diameter
from steering.mdp.hardness import optimal_bias
from steering.mdp.long_run import limiting_matrix


def small(seed: int, S: int = 4, A: int = 2, sparse: float = 0.5) -> TabularMDP:
    """A random MDP with many zeros, so that all classes of communication occur."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(S), size=(S, A)) * (rng.random((S, A, S)) > sparse)
    empty = P.sum(axis=2) == 0
    P[empty, rng.integers(S, size=empty.sum())] = 1.0
    mask = rng.random((S, A)) < 0.8
    mask[np.arange(S), rng.integers(A, size=S)] = True
    return TabularMDP(P / P.sum(axis=2, keepdims=True), rng.normal(size=(S, A)), mask=mask)


def policies(mdp: TabularMDP):
    return itertools.product(*(np.flatnonzero(allowed) for allowed in mdp.mask))


def chain_of(mdp: TabularMDP, policy) -> np.ndarray:
    return mdp.P[np.arange(mdp.n_states), list(policy)]


def hitting_times(P: np.ndarray, target: int) -> np.ndarray:
    """Expected steps to a target, infinite where it may never come; by definition, P^t summed up."""
    S = len(P)
    others = np.delete(np.arange(S), target)
    reach = np.linalg.matrix_power(np.eye(S) + (P > 0), S) > 0
    into = np.array([reach[s, target] for s in range(S)])
    # certain: no reachable state from which the target cannot be reached (before the target is met)
    stopped = P.copy()
    stopped[target] = np.eye(S)[target]
    seen = np.linalg.matrix_power(np.eye(S) + (stopped > 0), S) > 0
    certain = np.array([all(into[t] for t in np.flatnonzero(seen[s])) for s in range(S)])
    times = np.full(S, np.inf)
    times[target] = 0
    alive = [s for s in others if certain[s]]
    if alive:
        times[alive] = np.linalg.solve(np.eye(len(alive)) - P[np.ix_(alive, alive)], np.ones(len(alive)))
    return times


@given(st.integers(0, 100_000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_the_diameter_is_the_best_of_all_policies(seed: int, S: int, A: int) -> None:
    mdp = small(seed, S, A)
    brute = 0.0
    for target in range(S):
        times = np.min([hitting_times(chain_of(mdp, policy), target) for policy in policies(mdp)], axis=0)
        brute = max(brute, times.max())
    assert diameter(mdp) == pytest.approx(brute, rel=1e-9)


@given(st.integers(0, 100_000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_classes_of_communication_by_all_policies(seed: int, S: int, A: int) -> None:
    mdp = small(seed, S, A, sparse=0.3 + 0.5 * (seed % 3) / 2)
    recurrent = []
    for policy in policies(mdp):
        limit = limiting_matrix(chain_of(mdp, policy))
        recurrent.append(np.array([limit[s, s] > 1e-12 for s in range(S)]))
    edges = np.linalg.matrix_power(np.eye(S) + (mdp.P > 0).any(axis=1), S) > 0
    ergodic = all(
        r.all() and (limiting_matrix(chain_of(mdp, p)) > 1e-12).all()
        for r, p in zip(recurrent, policies(mdp), strict=True)
    )
    ever = np.any(recurrent, axis=0)
    if ergodic:
        expected = "ergodic"
    elif edges.all():
        expected = "communicating"
    elif edges[np.ix_(ever, ever)].all():  # every state that some policy stays in can be reached from every such other
        expected = "weakly communicating"
    else:
        expected = "multichain"
    assert communication_class(mdp) == expected


@given(st.integers(0, 100_000), st.integers(1, 4), st.integers(1, 3))
@example(230, 2, 2)  # a state that is worth leaving at a cost: once it was not left
@settings(max_examples=60, deadline=None)
def test_the_bias_solves_the_optimality_equation_of_the_best_gain(seed: int, S: int, A: int) -> None:
    mdp = small(seed, S, A)
    h = optimal_bias(mdp)
    best = np.max([gain(mdp, list(policy)) for policy in policies(mdp)], axis=0)
    if communication_class(mdp) == "multichain":
        return
    assert np.ptp(best) < 1e-9
    values = np.where(mdp.mask, mdp.rewards + mdp.P @ h, -np.inf)
    np.testing.assert_allclose(values.max(axis=1), best + h, atol=1e-7)


def test_bias_is_the_sum_of_what_is_earned_beyond_the_gain() -> None:
    mdp = small(3, sparse=0.0)
    policy = [0 if allowed[0] else 1 for allowed in mdp.mask]
    P, r = chain_of(mdp, policy), mdp.rewards[np.arange(4), policy]
    g = gain(mdp, policy)
    total, power = np.zeros(4), np.eye(4)
    for _ in range(2000):
        total += power @ r - g
        power = power @ P
    np.testing.assert_allclose(bias(mdp, policy), total, atol=1e-10)


def test_river_swim_against_its_closed_forms() -> None:
    """The way up is the longest: sum of the expected times of one step up, t_i = (1 + down t_(i-1)) / up."""
    found = hardness(make_env("riverswim").mdp, 0.95)
    times = [1 / 0.6]
    for _ in range(4):
        times.append((1 + 0.05 * times[-1]) / 0.35)
    assert found.diameter == pytest.approx(sum(times), rel=1e-12)
    assert found.communication == "communicating"
    assert found.n_states == 6


@pytest.mark.parametrize("n", [2, 4, 7])
def test_the_lock_against_its_closed_forms(n: int) -> None:
    """Without slips a random policy needs a + a^2 + ... + a^n steps, and one more at the open lock."""
    found = hardness(make_env(f"lock:{n},3").mdp)
    assert found.reward_time == pytest.approx(sum(3**k for k in range(1, n + 1)) + 1, rel=1e-9)
    assert found.diameter == n
    # one round is n + 1 steps and pays 1, so being k steps nearer to the open lock is worth k / (n + 1)
    assert found.span == pytest.approx(n / (n + 1))
    g = 0.9
    V = g**n / (1 - g ** (n + 1))
    losses = [V / g**k - g * V for k in range(n)]
    assert found.min_gap == pytest.approx(min(losses))
    assert found.inverse_gaps == pytest.approx(sum(2 / loss for loss in losses))
    assert found.value_std == 0.0


def test_the_deep_sea_of_bsuite() -> None:
    """Only reachable cells count; a random episode reaches the corner and goes right there once in 2^n."""
    for n in (3, 5):
        found = hardness(make_env(f"griddeepsea:{n}").mdp, horizon=n)
        assert found.n_states == n * (n + 1) // 2
        assert found.reward_time == pytest.approx(n * 2**n, rel=1e-9)
        assert found.min_gap == pytest.approx(0.01 / n)


def test_multichain_and_unreachable_rewards_are_infinite() -> None:
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[1, :, 1] = P[2, :, 2] = 1
    found = hardness(TabularMDP(P, [[0, 0], [1, 1], [0, 0]]))
    assert found.communication == "multichain"
    assert found.diameter == np.inf
    assert found.reward_time == np.inf
    assert found.min_gap == pytest.approx(9.0)


def test_reward_time_by_simulation() -> None:
    """4000 runs, 5 standard errors, both settings (fixed seed)."""
    mdp = make_env("chain").mdp
    rng = np.random.default_rng(0)
    for horizon in (None, 7):
        taken = []
        for _ in range(4000):
            s, t = 0, 0
            while True:
                if horizon is not None and t % horizon == 0:
                    s = 0
                a = int(rng.integers(2))
                t += 1
                if (s, a) == (4, 0):
                    break
                s = int(rng.choice(5, p=mdp.P[s, a]))
            taken.append(t)
        expected = hardness(mdp, horizon=horizon).reward_time
        assert abs(np.mean(taken) - expected) < 5 * np.std(taken) / np.sqrt(len(taken))


@pytest.mark.parametrize("seed", range(20))
def test_greedy_depth_by_its_definition(seed: int) -> None:
    mdp = small(seed, 5, 3, sparse=0.4)
    mdp = TabularMDP(mdp.P, mdp.reward_mean, mask=mdp.mask, start=np.full(5, 0.2))
    found = hardness(mdp, 0.9)
    V = evaluate(mdp, mdp.mask / mdp.mask.sum(axis=1, keepdims=True), 0.9)
    best = policy_iteration(mdp, 0.9).V
    k = 0
    while k < 200:
        k += 1
        Q = np.where(mdp.mask, mdp.rewards + 0.9 * mdp.P @ V, -np.inf)
        if np.allclose(evaluate(mdp, Q.argmax(axis=1), 0.9), best, atol=1e-9):
            break
        V = Q.max(axis=1)
    assert found.greedy_depth == k


def test_every_measure_has_a_sentence() -> None:
    rows = hardness(make_env("deepsea:4").mdp).explained()
    assert {"diameter", "span", "min_gap", "greedy_depth"} <= {name for name, _, _ in rows}
    assert all(sentence.endswith(".") for _, _, sentence in rows)


def test_examples() -> None:
    import sys

    result = doctest.testmod(sys.modules["steering.mdp.hardness"])
    assert result.attempted > 0
    assert result.failed == 0


def test_a_policy_that_stays_where_less_is_earned_is_improved() -> None:
    """Two places to stay, one of which pays more; for a discount near 1 the way between them is within rounding."""
    mdp = TabularMDP([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0.70393216, -1.75370916], [1.03964993, 0.34833979]])
    h = optimal_bias(mdp)
    assert h[1] - h[0] == pytest.approx(1.03964993 + 1.75370916)


def test_a_bias_that_is_not_found_is_said_in_a_sentence(monkeypatch) -> None:
    """As if rounding made some action look better for ever."""
    monkeypatch.setattr(sys.modules["steering.mdp.hardness"], "TIE", -1.0)
    with pytest.raises(NotAvailable, match="bias of an optimal policy was not found in 1000 improvements"):
        optimal_bias(small(3))
