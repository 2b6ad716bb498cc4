"""Sparse MDPs: constructors, merging, refusals, files, and the same runs as the dense form."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import mdps, random_actions
from scipy import sparse

from steering.errors import InvalidMDP, SteeringError, TooLarge
from steering.mdp import TabularMDP, load, save
from steering.mdp.simulator import Simulator, tables_of
from steering.runs.seeds import environment_streams

SEEDS = st.integers(0, 2**32 - 1)
from_transitions = TabularMDP.from_transitions


def columns(mdp: TabularMDP) -> dict[str, np.ndarray]:
    s, a, y = np.nonzero(mdp.P)
    return {
        "states": s,
        "actions": a,
        "next_states": y,
        "probabilities": mdp.P[s, a, y],
        "rewards": mdp.reward_mean[s, a, y],
        "reward_std": mdp.reward_std[s, a, y],
    }


def same(sparse_mdp: TabularMDP, dense: TabularMDP, *, exact: bool = True) -> None:
    """Equal wherever a transition is possible."""
    tolerance = 0.0 if exact else 1e-12
    possible = dense.P > 0
    assert sparse_mdp.is_sparse
    np.testing.assert_array_equal(sparse_mdp.mask, dense.mask)
    np.testing.assert_array_equal(sparse_mdp.start, dense.start)
    np.testing.assert_allclose(sparse_mdp.P, dense.P, rtol=0, atol=tolerance)
    for name in ("reward_mean", "reward_std"):
        ours, theirs = getattr(sparse_mdp, name)[possible], getattr(dense, name)[possible]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=10 * tolerance)
    np.testing.assert_allclose(sparse_mdp.rewards, dense.rewards, rtol=0, atol=1e-12)


@given(mdps(), SEEDS)
@settings(deadline=None)
def test_every_constructor_gives_the_same_mdp(mdp: TabularMDP, seed: int) -> None:
    S, A = mdp.mask.shape
    parts = columns(mdp)
    order = np.random.default_rng(seed).permutation(parts["states"].size)
    shuffled = {name: column[order] for name, column in parts.items()}
    sizes = {"n_states": S, "n_actions": A, "start": mdp.start}
    table = pd.DataFrame({name.removesuffix("s"): column for name, column in shuffled.items()})
    table = table.rename(columns={"probabilitie": "probability", "reward_std": "reward_std"})
    matrix = sparse.csr_array(mdp.P.reshape(S * A, S))
    means = sparse.coo_array((mdp.reward_mean * (mdp.P > 0)).reshape(S * A, S))
    stack = [sparse.csc_array(mdp.P[:, a]) for a in range(A)]
    mean_stack = [sparse.csr_array(mdp.reward_mean[:, a] * (mdp.P[:, a] > 0)) for a in range(A)]
    for built in (
        mdp.to_sparse(),
        from_transitions(**shuffled, **sizes),
        from_transitions(table, **sizes),
        TabularMDP(matrix, means, 0.0, mdp.mask, mdp.start),
        TabularMDP(stack, mean_stack, 0.0, None, mdp.start),
        pickle.loads(pickle.dumps(mdp.to_sparse())),
    ):
        same(built, mdp)
    for s in range(S):
        for a in range(A):
            successors, p, mean, std = mdp.to_sparse().row(s, a)
            np.testing.assert_array_equal(successors, np.flatnonzero(mdp.P[s, a]))
            np.testing.assert_array_equal(p, mdp.P[s, a, successors])
            np.testing.assert_array_equal(mean, mdp.reward_mean[s, a, successors])
            np.testing.assert_array_equal(std, mdp.reward_std[s, a, successors])


@given(mdps(), SEEDS)
@settings(deadline=None)
def test_transitions_given_in_pieces_keep_mean_and_variance(mdp: TabularMDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = columns(mdp)
    share = rng.uniform(0.1, 0.9, parts["states"].size)
    spread = rng.uniform(0, 2, parts["states"].size)
    twice = {name: np.concatenate([column, column]) for name, column in parts.items()}
    twice["probabilities"] *= np.concatenate([share, 1 - share])
    # Two means that average to the given one: their spread becomes part of the deviation.
    twice["rewards"] += np.concatenate([spread * (1 - share), -spread * share])
    built = from_transitions(**twice, n_states=mdp.n_states, n_actions=mdp.n_actions, start=mdp.start)
    std = np.sqrt(parts["reward_std"] ** 2 + share * (1 - share) * spread**2)
    where = (parts["states"], parts["actions"], parts["next_states"])
    np.testing.assert_allclose(built.P, mdp.P, rtol=0, atol=1e-12)
    np.testing.assert_allclose(built.reward_mean[where], mdp.reward_mean[where], rtol=0, atol=1e-12)
    np.testing.assert_allclose(built.reward_std[where], std, rtol=0, atol=1e-11)


def test_what_is_constant_is_stored_once() -> None:
    P = np.full((4, 2, 4), 0.25)
    by_pair = np.arange(8.0).reshape(4, 2)
    table = TabularMDP(P, by_pair, 0.5).to_sparse().transitions
    assert (table.mean.shape, table.std.shape) == ((8,), (1,))
    assert TabularMDP(P, by_pair, 0.5).to_sparse().to_dense().same_as(TabularMDP(P, by_pair, 0.5))
    by_state = TabularMDP(sparse.csr_array(P.reshape(8, 4)), [1.0, 2.0, 3.0, 4.0])
    assert by_state.rewards.tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]]


def test_labels_become_names(tmp_path: Path) -> None:
    text = (
        "state,action,next_state,probability,reward\nhome,walk,work,0.9,0\nhome,walk,home,0.1,0\nwork,drive,home,1,2\n"
    )
    (tmp_path / "trip.csv").write_text(text)
    for mdp in (from_transitions(tmp_path / "trip.csv", start="work"), from_transitions(str(tmp_path / "trip.csv"))):
        assert mdp.state_names == ("home", "work")
        assert mdp.action_names == ("walk", "drive")
        assert mdp.mask.tolist() == [[True, False], [False, True]]
        assert mdp.rewards[1, 1] == 2.0
    assert mdp.start.tolist() == [1.0, 0.0]


def test_tabs_separate_as_commas_do(tmp_path: Path) -> None:
    text = HEADER + 'b,"walk, slowly",a,1,0\na,run,b,1,2\n'
    (tmp_path / "commas.csv").write_text(text)
    (tmp_path / "tabs.tsv").write_text(text.replace(",", "\t").replace("k\t", "k,"))
    mdp = from_transitions(tmp_path / "tabs.tsv")
    assert mdp.action_names == ("walk, slowly", "run")
    assert mdp.same_as(from_transitions(tmp_path / "commas.csv"))


def test_names_with_underscores_are_no_numbers(tmp_path: Path) -> None:
    cells = [f"{x}_{y}" for x in range(2) for y in range(10)]
    rows = [(cell, move, cells[(i + move) % 20], 1, i) for i, cell in enumerate(cells) for move in (1, 2)]
    table = pd.DataFrame(rows, columns=["state", "action", "next_state", "probability", "reward"])
    table.to_csv(tmp_path / "grid.csv", index=False)
    mdp = from_transitions(tmp_path / "grid.csv")
    assert mdp.state_names[:11] == ("0_0", "0_1", "0_2", "0_3", "0_4", "0_5", "0_6", "0_7", "0_8", "0_9", "1_0")
    assert mdp.same_as(from_transitions(table))


HEADER = "state,action,next_state,probability,reward\n"
BAD_FILES = [
    (HEADER.replace("probability", "probabilty") + "0,0,0,1,0\n", "did you mean 'probability' by 'probabilty'?"),
    (HEADER.replace("reward", "rewad") + "0,0,0,1,0\n", "a column 'rewad', which is not known; did you mean 'reward'"),
    ("a,b\n0,0\n", "no column 'state'; .*its columns are a, b."),
    (HEADER + "\n0,0,0,1,0\n0,1,0,1,\n", "the reward in line 4 of '.*' is missing."),
    (HEADER + "0,0,0,one,0\n", "the probability in line 2 of '.*' is 'one', which is not a number."),
    (HEADER + "0,0,0,1,1_000\n", "the reward in line 2 of '.*' is '1_000', which is not a number."),
    (HEADER.strip() + ",reward\n0,0,0,1,0,5\n", "two columns of the reward, 'reward' and 'reward'; keep the one"),
    (HEADER.strip() + ",rewards\n0,0,0,1,0,5\n", "two columns of the reward, 'reward' and 'rewards'; keep the one"),
    (HEADER + ",go,a,1,0\n", r"^the state of transition 0 \(line 2\) is missing.$"),
    (HEADER + "0,0,0,1,0\n\n1,0,,1,0\n", r"^the next state of transition 1 \(line 4\) is missing.$"),
    (HEADER + "a, ,a,1,0\n", r"^the action of transition 0 \(line 2\) is missing.$"),
    (
        HEADER + "1e300,0,0,1,0\n",
        r"^the state of transition 0 \(line 2\) is 1e\+300; numbers of states go from 0 to 21",
    ),
    (
        HEADER + "0,0,0,1,0\n9" + 19 * "9" + ",0,0,1,0\n",
        r"state of transition 1 \(line 3\) is 9{20}; numbers of states",
    ),
    (HEADER + "0,0,0,1,0\n0,inf,0,1,0\n", r"action of transition 1 \(line 3\) is inf; numbers of actions go from 0"),
    (HEADER + "0,0,0,1,0\n-1,0,0,1,0\n", r"state of transition 1 \(line 3\) is -1; it must be at least 0"),
    ("s\ta,b\n0,0\n", r"its columns are s\\ta, b\.$"),
    (HEADER + "A,go,A,0.9,0\n", r"^P\[0, 0\], that is \('A', 'go'\), sums to 0.9; every row"),
    (HEADER + "A,0,B,1,0\nB,0,A,0.9,0\n", r"^P\[1, 0\], that is \('B', 0\), sums to 0.9; every row"),
    (HEADER + "0,0,0,1\n", "line 2 of '.*' has 4 entries; there are 5 columns."),
    (HEADER.replace(",", ";") + "0;0;0;1;0\n", "separated by semicolons; separate them by commas."),
    (HEADER + "0,0,1,1,0\n1,0,o,1,0\n", "state 'o' has no transitions"),
]


@pytest.mark.parametrize(("text", "says"), BAD_FILES, ids=[says for _, says in BAD_FILES])
def test_files_with_mistakes(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(SteeringError, match=says) as caught:
        from_transitions(tmp_path / "bad.csv")
    assert re.fullmatch(r"[^\n]+[.?]", str(caught.value))


def test_a_table_with_a_misspelt_column() -> None:
    table = pd.DataFrame({"state": [0], "action": [0], "next_state": [0], "probability": [1.0], "note": ["x"]})
    assert from_transitions(table).rewards[0, 0] == 0.0
    with pytest.raises(SteeringError, match="did you mean 'reward_std' by 'rewardstd'"):
        from_transitions(table.assign(rewardstd=[1.0]))


def test_a_table_with_a_column_twice() -> None:
    table = pd.DataFrame([[0, 0, 0, 1.0, 0.0, 5.0]], columns=[*HEADER.strip().split(","), "reward"])
    with pytest.raises(SteeringError, match="two columns of the reward, 'reward' and 'reward'; keep the one"):
        from_transitions(table)
    table.columns = pd.Index([*HEADER.strip().split(","), "note"])
    assert from_transitions(pd.concat([table, table[["note"]]], axis=1)).rewards[0, 0] == 0.0  # notes are not read


def test_states_of_a_function_are_found_breadth_first() -> None:
    def jump(x: str, a: int) -> list[tuple[float, str, float]]:
        return [] if a and x == "" else [(0.5, x[:-1], 0.0), (0.5, (x + "ab"[a])[-2:], 1.0)]

    mdp = TabularMDP.from_function(jump, {"": 0.25, "a": 0.75}, [0, 1])
    assert mdp.state_names[:3] == ("", "a", "aa")
    assert mdp.start[:2].tolist() == [0.25, 0.75]
    assert mdp.mask[0].tolist() == [True, False]
    assert set(mdp.state_names) == {"", "a", "b", "aa", "ab", "ba", "bb"}
    by_state = TabularMDP.from_function(lambda s, a: [(1.0, (s + a) % 5, 0.0, 2.0)], 0, lambda s: [1] if s else [1, 2])
    assert by_state.n_states == 5
    assert by_state.row(0, 1)[3].tolist() == [2.0]


GOOD = {"states": [0, 1], "actions": [0, 0], "next_states": [1, 0], "probabilities": [1.0, 1.0], "rewards": [0.0, 1.0]}
BAD = [
    ({"next_states": [1, 2]}, "state 2 has no transitions; every state needs at least one action"),
    ({"next_states": [1, 2], "n_states": 2}, "next state of transition 1 is 2; with 2 states it must be from 0 to 1"),
    ({"states": [-1, 1]}, "the state of transition 0 is -1"),
    ({"actions": [0, 3], "n_actions": 2}, "the action of transition 1 is 3; with 2 actions"),
    ({"probabilities": [1.0, 0.9]}, r"P\[1, 0\] sums to 0.9; every row of an allowed action must sum to 1"),
    ({"probabilities": [1.0, 0.0]}, r"P\[1, 0\] sums to 0"),
    ({"probabilities": [1.0, -1.0]}, r"probabilities\[1\] is -1; a probability cannot be negative"),
    ({"probabilities": [np.nan, 1.0]}, r"probabilities\[0\] is nan"),
    ({"rewards": [0.0, np.inf]}, r"rewards\[1\] is inf"),
    ({"rewards": [0.0, 1.0, 2.0]}, r"rewards has shape \(3,\); it must be a column of 2 entries"),
    ({"reward_std": -1.0}, r"reward_std\[0\] is -1; a standard deviation"),
    ({"actions": [0]}, "actions has 1 entries and states has 2"),
    ({"actions": None}, "actions is missing"),
    ({"probabilities": None}, "probabilities is missing"),
    ({"states": [0.5, 1.0]}, "the state of transition 0 is 0.5; states are whole numbers"),
    ({"states": [np.nan, 1.0]}, "^the state of transition 0 is missing.$"),
    ({"states": ["a", None], "next_states": ["a", "a"]}, "^the state of transition 1 is missing.$"),
    ({"next_states": np.array([1, 2**63], dtype=np.uint64)}, "next state of transition 1 is 9223372036854775808; num"),
    ({"states": [[0], [1]]}, "states has shape"),
    ({"states": []}, "states has shape"),
    ({"start": 5}, "start is state 5"),
    ({"start": "here"}, "start is 'here', which is not the name of a state"),
    ({"mask": [[True], [False]]}, "state 1 has no allowed action"),
    ({"mask": [[1, 1], [1, 0]], "n_actions": 2}, r"mask\[0, 1\] allows an action that has no transitions"),
    ({"states": [1, 2], "next_states": [2, 1]}, "state 0 has no transitions; .*; numbers of states begin at 0.$"),
    ({"n_states": 10**12}, "at most 2147483646 can be numbered"),
]


@pytest.mark.parametrize(("changes", "says"), BAD, ids=[says for _, says in BAD])
def test_refuses_with_the_first_offending_entry(changes: dict[str, object], says: str) -> None:
    with pytest.raises(SteeringError, match=says) as caught:
        from_transitions(**{**GOOD, **changes})  # type: ignore[arg-type]
    assert re.fullmatch(r"[^\n]+\.", str(caught.value))


def test_refusals_of_a_mask_and_of_tables_say_the_names() -> None:
    names: dict[str, Any] = {"state_names": ["A", "B"], "action_names": ["go", "stay"]}
    with pytest.raises(InvalidMDP, match=r"^mask\[1, 1\], that is \('B', 'stay'\), allows an action that has no"):
        from_transitions(**GOOD, **names, n_actions=2, mask=[[1, 0], [1, 1]])
    for bad, says in (
        ([0.5, 0.4], "0, 1], that is ('A', 'stay'), sums"),
        ([2, -1], "0, 1, 1], that is ('A', 'stay', 'B')"),
    ):
        P = [[[1, 0], bad], [[1, 0], [1, 0]]]
        with pytest.raises(InvalidMDP, match=re.escape(f"P[{says}")):
            TabularMDP(P, 0.0, **names)
    with pytest.raises(InvalidMDP, match=r"^P\[1, 0\] sums to 2"):  # names that are too few are refused later
        TabularMDP([[[1, 0]], [[1, 1]]], 0.0, state_names=["A"])


def test_unreachable_states_are_fine() -> None:
    mdp = from_transitions([0, 1, 2], 0 * np.arange(3), [0, 0, 1], np.ones(3), 1.0)
    assert mdp.n_states == 3


def test_large_tables_are_refused_in_one_sentence() -> None:
    n = 10**5
    large = from_transitions(np.arange(n), np.zeros(n, int), np.arange(n), np.ones(n), 0.0)
    for ask in (
        lambda: large.P,
        lambda: large.to_dense(),
        lambda: TabularMDP(np.broadcast_to(0.0, (n, 2, n)), 0.0),
    ):
        with pytest.raises(TooLarge, match=r"^[^\n]*dense table[^\n]*\.$"):
            ask()
    with pytest.raises(InvalidMDP, match="mask of a sparse MDP cannot be replaced"):
        large.replace(mask=large.mask)
    assert large.replace(start=7).start[7] == 1.0


@given(mdps(), SEEDS)
@settings(deadline=None, max_examples=25)
def test_both_forms_give_the_same_run_to_the_bit(mdp: TabularMDP, seed: int) -> None:
    policy = random_actions(mdp, seed)[None].astype(np.int64)
    runs = []
    for form in (mdp, mdp.to_sparse()):
        simulator = Simulator(form, tables_of(form), 200, environment_streams(seed % 1000))
        simulator.begin_episode()
        runs.append(simulator.follow(policy, 200))
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)


@given(mdps(), st.sampled_from([".npz", ".json"]))
@settings(deadline=None, max_examples=25)
def test_files_give_the_same_mdp_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, mdp: TabularMDP, ending: str
) -> None:
    path = tmp_path_factory.mktemp("mdp") / f"sparse{ending}"
    save(mdp.to_sparse(), path)
    assert load(path).same_as(mdp.to_sparse())


def test_a_json_file_of_transitions_can_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    path.write_text(json.dumps({"schema": "steering-mdp", "version": 2, **GOOD}))
    assert load(path).rewards.ravel().tolist() == [0.0, 1.0]
    path.write_text(json.dumps({"schema": "steering-mdp", "version": 2, **GOOD, "next_states": [1, 7]}))
    with pytest.raises(InvalidMDP, match=r"hand.json' does not hold a valid MDP: state 2 has no transitions"):
        load(path)


@pytest.mark.parametrize("change", ["offsets", "mask", "reward_mean", "successors"])
def test_rows_in_a_file_that_do_not_fit_are_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "bad.npz"
    save(from_transitions(**GOOD), path)  # type: ignore[arg-type]
    with np.load(path) as file:
        parts = dict(file)
    changed = {"mask": ~parts["mask"], "reward_mean": np.zeros(3)}
    parts[change] = changed.get(change, parts[change][:-1])
    np.savez(path, **parts)
    with pytest.raises(InvalidMDP, match=r"bad\.npz"):
        load(path)
