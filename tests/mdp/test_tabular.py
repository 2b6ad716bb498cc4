"""TabularMDP accepts what is an MDP, refuses the rest with the first offending entry, and stays read-only."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steering.errors import InvalidMDP
from steering.mdp.tabular import TabularMDP

P = np.array([[[0.1, 0.9], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])


def make(**changes: object) -> TabularMDP:
    return TabularMDP(**{"P": P, "reward_mean": 0.0, **changes})  # type: ignore[arg-type]


def with_entry(array: np.ndarray, where: tuple[int, ...], value: float) -> np.ndarray:
    result = np.array(array, dtype=float)
    result[where] = value
    return result


def test_sizes_and_defaults() -> None:
    mdp = make(reward_mean=[[1.0, 2.0], [3.0, 4.0]])
    assert (mdp.n_states, mdp.n_actions) == (2, 2)
    assert mdp.mask.all()
    assert mdp.allowed is mdp.mask
    assert mdp.start.tolist() == [1.0, 0.0]
    assert mdp.start_distribution is mdp.start
    assert (mdp.reward_std == 0).all()
    np.testing.assert_allclose(mdp.rewards, [[1.0, 2.0], [3.0, 4.0]], rtol=1e-15)
    assert repr(mdp) == "TabularMDP(n_states=2, n_actions=2)"


@pytest.mark.parametrize("reward", [3.0, [3.0], [3.0, 3.0], [[3.0, 3.0]] * 2, np.full((2, 2, 2), 3)])
def test_rewards_are_broadcast(reward: object) -> None:
    mdp = make(reward_mean=reward)
    assert mdp.reward_mean.shape == (2, 2, 2)
    assert (mdp.reward_mean == 3).all()


def test_reward_of_states_and_of_pairs_go_to_the_right_axis() -> None:
    assert make(reward_mean=[1.0, 2.0]).reward_mean[1].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert make(reward_mean=[[1.0, 2.0], [3.0, 4.0]]).reward_mean[0, 1].tolist() == [2.0, 2.0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_expected_rewards(seed: int, S: int, A: int) -> None:
    rng = np.random.default_rng(seed)
    rows, mean = rng.dirichlet(np.ones(S), (S, A)), rng.normal(size=(S, A, S))
    r = TabularMDP(P=rows, reward_mean=mean).rewards
    for s in range(S):
        for a in range(A):
            assert r[s, a] == pytest.approx(sum(rows[s, a, y] * mean[s, a, y] for y in range(S)), abs=1e-12)


BAD = [
    ({"P": np.ones((2, 2))}, r"P has shape \(2, 2\)"),
    ({"P": np.ones((2, 1, 3))}, r"P has shape \(2, 1, 3\)"),
    ({"P": np.ones((0, 1, 0))}, "P has shape"),
    ({"P": np.ones((1, 0, 1))}, "P has shape"),
    ({"P": [[[1.0], [1.0, 0.0]]]}, "P is not an array of numbers"),
    ({"P": "abc"}, "P is not an array of numbers"),
    ({"P": np.array([[["1.0"]]])}, "P is not an array of numbers"),
    ({"P": np.array([[[1.0 + 1j]]])}, "P is not an array of numbers"),
    ({"P": [[[None]]]}, "P is not an array of numbers"),
    ({"P": [[[10**400]]]}, "P is not an array of numbers"),
    ({"P": with_entry(P, (1, 0, 1), np.nan)}, r"P\[1, 0, 1\] is nan"),
    ({"P": with_entry(P, (0, 1, 0), np.inf)}, r"P\[0, 1, 0\] is inf"),
    ({"P": with_entry(P, (1, 1, 0), -0.5)}, r"P\[1, 1, 0\] is -0.5; a probability cannot be negative"),
    ({"P": with_entry(P, (1, 1, 0), 0.5)}, r"P\[1, 1\] sums to 1.5"),
    ({"P": with_entry(P, (0, 0, 0), 0.1 + 2e-9)}, r"P\[0, 0\] sums to 1.000000002"),
    ({"reward_mean": np.ones(3)}, r"reward_mean has shape \(3,\)"),
    ({"reward_mean": np.ones((2, 3))}, r"reward_mean has shape \(2, 3\)"),
    ({"reward_mean": [0.0, np.nan]}, r"reward_mean\[1, 0, 0\] is nan"),
    ({"reward_mean": "x"}, "reward_mean is not an array of numbers"),
    ({"reward_std": [[0.0, 0.0], [0.0, -1.0]]}, r"reward_std\[1, 1, 0\] is -1; a standard deviation"),
    ({"reward_std": np.inf}, r"reward_std\[0, 0, 0\] is inf"),
    ({"mask": [[True, True]]}, r"mask has shape \(1, 2\)"),
    ({"mask": [[1, 0], [0, 0]]}, r"state 1 has no allowed action; allow at least one in mask\[1\]"),
    ({"mask": [[1, 2], [1, 1]]}, "mask must hold only true and false"),
    ({"mask": [["a", "b"], ["c", "d"]]}, "mask must hold only true and false"),
    ({"mask": [[1], [1, 1]]}, "mask is not an array"),
    ({"start": 2}, "start is state 2; with 2 states it must be from 0 to 1"),
    ({"start": -1}, "start is state -1"),
    ({"start": True}, r"start has shape \(\)"),
    ({"start": [1.0]}, r"start has shape \(1,\)"),
    ({"start": [0.5, 0.4]}, "start sums to 0.9"),
    ({"start": [1.5, -0.5]}, r"start\[1\] is -0.5"),
    ({"start": [np.nan, 1.0]}, r"start\[0\] is nan"),
    ({"state_names": ["a"]}, "state_names has 1 entries"),
    ({"state_names": "ab"}, "state_names is one text"),
    ({"action_names": ["a", "a"]}, "action_names has 'a' twice"),
    ({"state_names": ["a", "b\0"]}, "cannot be stored"),
    ({"state_names": ["a", "\ud800"]}, "cannot be stored"),
]


@pytest.mark.parametrize(("changes", "says"), BAD, ids=[says for _, says in BAD])
def test_refuses_with_the_first_offending_entry(changes: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidMDP, match=says) as caught:
        make(**changes)
    assert re.fullmatch(r"[^\n]+\.", str(caught.value))


def test_what_is_given_for_actions_outside_the_mask_is_ignored() -> None:
    mask = np.array([[True, False], [True, True]])
    rows = with_entry(P, (0, 1, 1), np.nan)
    mean = np.zeros((2, 2, 2))
    mean[0, 1] = -np.inf
    mdp = make(P=rows, mask=mask, reward_mean=mean, reward_std=1.0)
    assert mdp.P[0, 1].tolist() == [0.0, 0.0]
    assert mdp.rewards[0, 1] == 0.0
    assert (mdp.reward_std[0, 1] == 0).all()
    assert (mdp.reward_std[0, 0] == 1).all()


def test_one_state_and_one_action_is_an_mdp() -> None:
    mdp = TabularMDP(P=[[[1.0]]], reward_mean=1.0)
    assert mdp.rewards.tolist() == [[1.0]]


@pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_arrays_are_read_only_also_in_copies(remake) -> None:
    given_p = P.copy()
    mdp = make(P=given_p)
    given_p[0, 0, 0] = 7.0  # the caller's array is not shared
    again = remake(mdp)
    assert again.same_as(mdp)
    for array in (again.P, again.reward_mean, again.reward_std, again.mask, again.start, again.rewards):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        mdp.P = P  # type: ignore[misc]


def test_same_as_sees_every_part() -> None:
    base = make(state_names=["x", "y"])
    others = [
        {"P": with_entry(with_entry(P, (0, 0, 0), 0.2), (0, 0, 1), 0.8)},
        {"reward_mean": np.nextafter(0, 1)},
        {"reward_std": 1.0},
        {"mask": [[1, 1], [0, 1]]},
        {"start": 1},
        {"state_names": ["x", "z"]},
        {"action_names": ["x", "z"]},
    ]
    assert base.same_as(make(state_names=["x", "y"]))
    for changes in others:
        assert not base.same_as(make(**{"state_names": ["x", "y"], **changes}))


def test_minus_zero_is_zero() -> None:
    mdp = make(P=with_entry(P, (0, 1, 1), -0.0), reward_mean=-0.0)
    assert not np.signbit(mdp.P).any()
    assert not np.signbit(mdp.reward_mean).any()


def test_replace_checks_again() -> None:
    assert make().replace(start=1).start.tolist() == [0.0, 1.0]
    with pytest.raises(InvalidMDP):
        make().replace(start=5)
