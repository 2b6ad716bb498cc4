"""Planners against the linear program, rational arithmetic, the literature and each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import (
    DISCOUNTS,
    TOYMAKER,
    exact_optimum,
    exact_value,
    mdps,
    random_actions,
    random_mdp,
)

import steering
from steering.errors import InvalidMDP, InvalidOption
from steering.mdp import (
    TabularMDP,
    evaluate,
    linear_program,
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)
from steering.mdp._checks import LARGEST_DISCOUNT

steady = settings(max_examples=200)

PUTERMAN = TabularMDP(
    P=[[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]],
    reward_mean=[[5.0, 10.0], [-1.0, 0.0]],
    mask=[[True, True], [True, False]],
)
"""The two-state problem of Puterman (1994), section 3.1."""

FOREST = TabularMDP(
    P=[
        [[0.1, 0.9, 0.0], [1.0, 0.0, 0.0]],
        [[0.1, 0.0, 0.9], [1.0, 0.0, 0.0]],
        [[0.1, 0.0, 0.9], [1.0, 0.0, 0.0]],
    ],
    reward_mean=[[0.0, 0.0], [0.0, 1.0], [4.0, 2.0]],
)
"""Forest management (wait or cut, a fire with probability 0.1), the example of the MDP toolboxes."""


def solvers(epsilon=1e-9):
    return {
        "policy iteration": lambda mdp, g: policy_iteration(mdp, g),
        "value iteration": lambda mdp, g: value_iteration(mdp, g, epsilon=epsilon),
        "modified policy iteration": lambda mdp, g: modified_policy_iteration(mdp, g, epsilon=epsilon, sweeps=5),
        "linear program": lambda mdp, g: linear_program(mdp, g),
    }


@pytest.mark.parametrize("name", solvers())
@pytest.mark.parametrize(
    ("mdp", "discount", "values", "actions"),
    [
        (PUTERMAN, 0.95, [-60 / 7, -20.0], [0, 0]),
        (PUTERMAN, 0.9, [1.0, -10.0], [1, 0]),  # the better action changes at discount 10/11
        (TOYMAKER, 0.9, [2.02 / 0.091, 1.12 / 0.091], [1, 1]),  # printed as 22.2 and 12.3
        (FOREST, 0.9, [26.244, 29.484, 33.484], [0, 0, 0]),
    ],
)
def test_values_from_the_literature(name, mdp, discount, values, actions):
    found = solvers()[name](mdp, discount)
    assert np.allclose(found.V, values, rtol=0, atol=1e-8)
    assert found.policy.tolist() == actions


@steady
@given(mdps(), DISCOUNTS)
def test_every_solver_agrees_with_the_linear_program(mdp, discount):
    oracle = linear_program(mdp, discount)
    size = max(1.0, np.abs(mdp.rewards).max()) / (1.0 - discount)
    assert oracle.error_bound <= 1e-6 * size
    for name, solve in solvers(epsilon=1e-9 * size).items():
        found = solve(mdp, discount)
        assert found.converged, name
        assert found.error_bound <= 1e-6 * size, name
        assert np.abs(found.V - oracle.V).max() <= found.error_bound + oracle.error_bound, name
        assert mdp.allowed[np.arange(mdp.n_states), found.policy].all(), name
        loss = oracle.V - evaluate(mdp, found.policy, discount)
        assert loss.max() <= found.error_bound + oracle.error_bound, name


@settings(max_examples=60)
@given(mdps(max_states=3, max_actions=2), DISCOUNTS, st.sampled_from([1.0, 1e-3, 1e-8, 1e-300]))
def test_the_certified_bound_holds_in_rational_arithmetic(mdp, discount, epsilon):
    optimum = exact_optimum(mdp, discount)
    for name, solve in solvers(epsilon).items():
        found = solve(mdp, discount)
        bound = Fraction(found.error_bound)
        assert max(abs(Fraction(v) - best) for v, best in zip(found.V.tolist(), optimum, strict=True)) <= bound, name
        value = exact_value(mdp, tuple(found.policy.tolist()), discount)
        assert max(best - v for v, best in zip(value, optimum, strict=True)) <= bound, name


def test_the_bound_is_asked_for_and_not_vacuous():
    mdp = random_mdp(10, 3, seed=4)
    exact = policy_iteration(mdp, 0.99).V
    rough, fine = (value_iteration(mdp, 0.99, epsilon=e) for e in (1e-1, 1e-9))
    assert rough.error_bound <= 1e-1
    assert fine.error_bound <= 1e-9
    assert rough.iterations < fine.iterations
    assert 1e-9 < np.abs(rough.V - exact).max() <= 1e-1


def test_a_request_beyond_rounding_stops_and_says_so():
    found = value_iteration(random_mdp(5, 2, seed=0), 0.99, epsilon=1e-300)
    assert not found.converged
    assert 1e-300 < found.error_bound < 1e-9


def test_modified_policy_iteration_needs_fewer_improvements():
    """On a deterministic cycle the span shrinks only by the discount at each sweep."""
    P = np.zeros((6, 2, 6))
    P[np.arange(6), 0, (np.arange(6) + 1) % 6] = 1.0
    P[:, 1] = P[:, 0]
    mdp = TabularMDP(P=P, reward_mean=np.outer(np.arange(6), [1.0, 0.5]))
    slow, fast = value_iteration(mdp, 0.9), modified_policy_iteration(mdp, 0.9, sweeps=30)
    assert 10 * fast.iterations < slow.iterations
    assert np.allclose(slow.V, fast.V, atol=1e-8)


@steady
@given(mdps(), DISCOUNTS, st.integers(0, 1000))
def test_a_warm_start_reaches_the_same_policy(mdp, discount, seed):
    cold = policy_iteration(mdp, discount)
    warm = policy_iteration(mdp, discount, policy=random_actions(mdp, seed))
    assert warm.policy.tolist() == cold.policy.tolist()
    assert np.allclose(warm.V, cold.V, rtol=1e-10, atol=1e-10 / (1 - discount))
    again = policy_iteration(mdp, discount, policy=cold.policy)
    assert again.iterations == 1
    assert again.policy.tolist() == cold.policy.tolist()


@steady
@given(mdps(), DISCOUNTS, st.integers(0, 1000))
def test_renumbering_scaling_and_shifting(mdp, discount, seed):
    base = policy_iteration(mdp, discount)
    order = np.random.default_rng(seed).permutation(mdp.n_states)
    moved = TabularMDP(
        P=mdp.P[order][:, :, order], reward_mean=mdp.reward_mean[order][:, :, order], mask=mdp.allowed[order]
    )
    close = {"rtol": 1e-9, "atol": 1e-9 / (1 - discount)}
    assert np.allclose(policy_iteration(moved, discount).V, base.V[order], **close)
    affine = policy_iteration(mdp, discount, rewards=4.0 * mdp.rewards + 2.0)
    assert np.allclose(affine.V, 4.0 * base.V + 2.0 / (1 - discount), **close)


@steady
@given(mdps(), DISCOUNTS)
def test_action_values_are_minus_infinity_exactly_where_not_allowed(mdp, discount):
    for name, solve in solvers(1e-6).items():
        found = solve(mdp, discount)
        assert np.array_equal(np.isneginf(found.Q), ~mdp.allowed), name
        assert np.allclose(found.Q.max(axis=1), found.V, atol=found.error_bound + 1e-12), name


def test_rewards_of_disallowed_actions_never_count():
    mdp = random_mdp(6, 3, seed=1)
    wild = np.where(mdp.allowed, mdp.rewards, np.nan)
    expected = policy_iteration(mdp, 0.9)
    for solve in (policy_iteration, value_iteration, modified_policy_iteration, linear_program):
        assert np.allclose(solve(mdp, 0.9, rewards=wild).V, expected.V, atol=1e-7)


def all_tied(S=3, A=4):
    mask = np.ones((S, A), dtype=bool)
    mask[:, 0] = False
    P = np.broadcast_to(np.full(S, 1.0 / S), (S, A, S))
    return TabularMDP(P=P, reward_mean=np.full((S, A), 0.1), mask=mask)


def test_ties_go_to_the_lowest_allowed_action_from_any_start():
    mdp = all_tied()
    for start in ([3, 3, 3], [1, 2, 3], None):
        found = policy_iteration(mdp, 0.9, policy=start)
        assert found.policy.tolist() == [1, 1, 1]
        assert found.iterations == 1


def test_ties_up_to_rounding_are_ties():
    """0.1 + 0.2 and 0.3 differ in the last bit; so do sums over states in another order."""
    mdp = TabularMDP(P=np.ones((1, 3, 1)), reward_mean=[[0.3, 0.1 + 0.2, 0.3 - 1e-9]])
    assert mdp.rewards[0, 1] > mdp.rewards[0, 0]
    assert policy_iteration(mdp, 0.9).policy.tolist() == [0]
    draws = {int(policy_iteration(mdp, 0.9, ties="random", rng=seed).policy[0]) for seed in range(50)}
    assert draws == {0, 1}


def test_a_small_but_real_difference_is_not_a_tie():
    mdp = TabularMDP(P=np.ones((1, 2, 1)), reward_mean=[[0.3, 0.3 + 1e-9]])
    found = policy_iteration(mdp, 0.9, policy=[0])
    assert found.policy.tolist() == [1]
    assert found.iterations == 2
    assert found.V[0] == pytest.approx((0.3 + 1e-9) / 0.1, rel=1e-14)


def test_random_ties_are_uniform_and_reproducible():
    """Chi-squared over 3 tied actions: 13.8 is exceeded with probability 0.001; the seeds are fixed."""
    mdp = all_tied(S=100)
    draws = [policy_iteration(mdp, 0.9, ties="random", rng=seed).policy for seed in range(30)]
    counts = np.bincount(np.concatenate(draws), minlength=4)
    assert counts[0] == 0
    assert ((counts[1:] - 1000) ** 2 / 1000).sum() < 13.8
    assert draws[0].tolist() == policy_iteration(mdp, 0.9, ties="random", rng=0).policy.tolist()
    assert draws[0].tolist() != draws[1].tolist()


def corridor(S=8):
    """Go right (action 1) to the only reward; policy iteration learns it one state a round."""
    P = np.zeros((S, 2, S))
    P[np.arange(S), 0, np.maximum(np.arange(S) - 1, 0)] = 1.0
    P[np.arange(S), 1, np.minimum(np.arange(S) + 1, S - 1)] = 1.0
    r = np.zeros((S, 2))
    r[:-1, 1] = -0.01
    r[-1, 1] = 1.0
    return TabularMDP(P=P, reward_mean=r)


def test_the_cap_returns_the_policy_reached():
    mdp = corridor()
    start = np.zeros(8, dtype=int)
    reached = policy_iteration(mdp, 0.9, policy=start, max_iterations=3)
    assert reached.iterations == 3
    assert not reached.converged
    assert reached.policy.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    full = policy_iteration(mdp, 0.9, policy=start)
    assert full.converged
    assert full.policy.tolist() == [1] * 8
    assert (full.V - reached.V).max() <= reached.error_bound
    capped = value_iteration(mdp, 0.9, max_iterations=2)
    assert capped.iterations == 2
    assert not capped.converged
    assert np.abs(capped.V - full.V).max() <= capped.error_bound


def test_one_state_and_one_action():
    mdp = TabularMDP(P=[[[1.0]]], reward_mean=3.0)
    for name, solve in solvers().items():
        found = solve(mdp, 0.75)
        assert np.allclose(found.V, [12.0], atol=1e-8), name
        assert found.policy.tolist() == [0], name


def test_more_states_than_the_elimination_written_by_hand():
    mdp = random_mdp(90, 3, seed=2, density=0.1)
    found, other = policy_iteration(mdp, 0.95), value_iteration(mdp, 0.95, epsilon=1e-10)
    assert np.abs(found.V - other.V).max() <= found.error_bound + other.error_bound < 1e-9
    assert found.policy.tolist() == other.policy.tolist()
    assert found.policy.dtype == np.int64


@pytest.mark.parametrize("planner", [policy_iteration, value_iteration, modified_policy_iteration, linear_program])
@pytest.mark.parametrize("discount", [1.0, -0.1, 1.5, float("nan"), 1.0 - 1e-9, "0.9", True])
def test_a_bad_discount_is_refused(planner, discount):
    with pytest.raises(InvalidOption, match="discount is"):
        planner(FOREST, discount)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policy": [0, 0]}, "one whole action number for each of the 3 states"),
        ({"policy": [0.0, 0.0, 0.0]}, "one whole action number"),
        ({"policy": [[0, 0, 0]]}, r"policy has shape \(1, 3\)"),
        ({"policy": [0, 2, 0]}, r"policy\[1\] is 2; actions are numbered from 0 to 1"),
        ({"max_iterations": 0}, "max_iterations is 0; it must be at least 1"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5; it must be a whole number"),
        ({"ties": "first"}, "ties is 'first'; it must be 'lowest' or 'random'"),
        ({"ties": "random"}, "give rng a generator or a seed"),
    ],
)
def test_bad_options_are_refused(options, sentence):
    with pytest.raises(InvalidOption, match=sentence):
        policy_iteration(FOREST, 0.9, **options)


def test_a_disallowed_warm_start_is_refused_with_what_is_allowed():
    with pytest.raises(InvalidOption, match=r"policy\[1\] is 1, .* not allowed in state 1; choose one of \[0\]"):
        policy_iteration(PUTERMAN, 0.9, policy=[0, 1])


@pytest.mark.parametrize(
    ("rewards", "sentence"),
    [
        ([[1.0, 2.0]], r"rewards has shape \(1, 2\); it must be \(S, A\) = \(3, 2\)"),
        ([[0, 0], [0, float("nan")], [0, 0]], r"rewards\[1, 1\] is nan"),
        ("abc", "rewards is not an array of numbers"),
    ],
)
def test_bad_rewards_are_refused(rewards, sentence):
    with pytest.raises(InvalidMDP, match=sentence):
        policy_iteration(FOREST, 0.9, rewards=rewards)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bad_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidOption, match="epsilon is"):
        value_iteration(FOREST, 0.9, epsilon=epsilon)
    with pytest.raises(InvalidOption, match="sweeps is -1"):
        modified_policy_iteration(FOREST, 0.9, sweeps=-1)


def test_an_environment_is_no_mdp() -> None:
    env = steering.make_env("chain")
    with pytest.raises(InvalidOption, match=r"give a TabularMDP, for an environment solve\(env.mdp, env.discount\)"):
        steering.mdp.solve(env, 0.9)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="mdp is of type Environment; give a TabularMDP"):
        policy_iteration(env, 0.9)  # type: ignore[arg-type]


@pytest.mark.parametrize("worse", [0.5, 0.8, 0.99])
def test_the_largest_discount_still_tells_rewards_apart(worse: float) -> None:
    mdp = TabularMDP(P=[[[1.0], [1.0]]], reward_mean=[[worse, 1.0]])
    for method in ("pi", "mpi", "vi"):
        assert steering.mdp.solve(mdp, LARGEST_DISCOUNT, method).policy.tolist() == [1]
    with pytest.raises(InvalidOption, match="at most 1 - 1e-6"):
        steering.mdp.solve(mdp, 1 - 1e-7)
