"""Mazes, rooms and garnets: rules entry by entry, ways to the goal, pictures, and runs in large worlds."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import steering
from steering.envs import make_env
from steering.envs.garnet import garnet
from steering.envs.maze import maze
from steering.envs.rooms import rooms
from steering.errors import NotAvailable, SteeringError
from steering.mdp import TabularMDP, solve

SEEDS = st.integers(0, 1000)
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


def reached(mdp: TabularMDP) -> np.ndarray:
    """Steps from the start to every state on the graph."""
    S, A = mdp.mask.shape
    table = mdp.transitions
    tails = np.repeat(np.arange(S), np.diff(table.offsets[::A]))
    graph = np.zeros((S, S), dtype=bool)
    graph[tails, table.successors] = True
    return csgraph.shortest_path(graph, unweighted=True, indices=0)


@given(st.integers(2, 9), SEEDS, st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
@settings(deadline=None, max_examples=60)
def test_rows_of_a_maze_follow_its_rules(k: int, seed: int, slip: float, walls: float, permuted: bool) -> None:
    mdp = maze(k, seed=seed, walls=walls, slip=slip, lava=0.2, step_cost=0.01, permuted=permuted)
    goal = k * k - 1
    assert np.isfinite(reached(mdp)[goal])
    rows = [mdp.row(s, a) for s in range(goal) for a in range(4)]
    lava = {int(y) for successors, _, mean, _ in rows for y in successors[mean < -0.5]}
    assert not lava & {0, goal}
    for s in range(k * k):
        chances = np.zeros((4, 4))  # action, direction
        for a in range(4):
            for y, p, mean, _ in zip(*mdp.row(s, a), strict=True):
                if s == goal:
                    assert (y, p, mean) == (0, 1.0, 1.0)
                    continue
                assert mean == pytest.approx(-0.01 - (y in lava))
                move = (int(y) // k - s // k, int(y) % k - s % k)
                assert move == (0, 0) or move in STEPS
                if move in STEPS:
                    chances[a, STEPS.index(move)] = p
        for d in range(4):
            taken = chances[:, d]
            if taken.any():  # no wall: one action intends this direction, the others slip into it
                np.testing.assert_allclose(np.sort(taken), [slip / 4] * 3 + [1 - 0.75 * slip], atol=1e-12)
                if not permuted and slip < 1:
                    assert taken.argmax() == d


def test_a_wall_stands_on_both_sides_and_walls_of_1_leave_a_tree() -> None:
    mdp = maze(12, seed=3, walls=1.0, slip=0.0)
    openings = {(s, int(y)) for s in range(143) for a in range(4) for y in mdp.row(s, a)[0] if y != s}
    assert all((y, s) in openings or y == 143 for s, y in openings)
    assert len({frozenset(pair) for pair in openings}) == 143


@given(st.integers(2, 13), st.integers(1, 6), SEEDS)
@settings(deadline=None, max_examples=40)
def test_rooms_are_joined_by_one_door(k: int, room: int, seed: int) -> None:
    mdp = rooms(k, room=room, seed=seed, slip=0.0)
    assert np.isfinite(reached(mdp)).all()
    doors: dict[tuple[int, int, int, int], int] = {}
    for s in range(k * k - 1):
        for y in (int(mdp.row(s, a)[0][0]) for a in (1, 2)):
            a, b = (s // k // room, s % k // room), (y // k // room, y % k // room)
            if a != b:
                doors[(*a, *b)] = doors.get((*a, *b), 0) + 1
    n = math.ceil(k / room)
    assert len(doors) == 2 * n * (n - 1)
    assert set(doors.values()) <= {1}


@given(st.integers(1, 30), st.integers(1, 4), st.data())
@settings(deadline=None, max_examples=60)
def test_garnets_have_their_branches(S: int, A: int, data: st.DataObject) -> None:
    B, seed = data.draw(st.integers(1, S)), data.draw(SEEDS)
    mdp = garnet(S, A, B, seed=seed, pays=0.3, sigma=0.5)
    assert (np.diff(mdp.transitions.offsets) == B).all()
    assert np.count_nonzero(mdp.rewards) <= max(1, round(0.3 * S * A))
    assert mdp.rewards.max() > 0
    assert (mdp.transitions.std == 0.5).all()


def test_successors_of_garnets_are_uniform() -> None:
    """Frequencies of 10 states in 4000 rows of 3: a chi-squared test with an error rate below 1e-4."""
    counts = np.bincount(garnet(10, 400, 3, seed=5).transitions.successors, minlength=10)
    expected = 4000 * 3 / 10
    assert ((counts - expected) ** 2 / (expected * 0.7)).sum() < 35


@pytest.mark.parametrize("text", ["maze:100,seed=0,slip=0.1", "rooms:60", "garnet:3000,4,5"])
def test_large_worlds_are_sparse_and_described_by_their_name(text: str) -> None:
    env = make_env(text)
    assert env.table.is_sparse
    assert make_env(env.name) == env
    assert make_env(text.replace(",seed=0", ""), seed=1) != env


def test_the_discount_of_a_maze_can_be_chosen_and_is_named() -> None:
    assert make_env("maze:6").discount == 0.99
    env = make_env("maze:6,discount=0.9")
    assert env.discount == 0.9
    assert make_env(env.name) == env


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("maze:1", "k of maze is 1; it must be at least 2"),
        ("maze:5,slip=2", "slip of maze is 2"),
        ("maze:5,walls=-1", "walls of maze is -1"),
        ("maze:5,lava=1.5", "lava of maze is 1.5"),
        ("maze:1000000", "needs .* TB of memory, and .* are free; make it smaller"),
        ("rooms:5,room=0", "room of rooms is 0"),
        ("garnet:3,2,4", "branches of garnet is 4; it must be from 1 to 3"),
        ("garnet:3,2,2,pays=2", "pays of garnet is 2"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    with pytest.raises(SteeringError, match=says):
        make_env(text)


def test_pictures_show_cells_walls_and_values() -> None:
    env = make_env("maze:6,lava=0.2,walls=1")
    image = env.render(cell=10)
    assert image.shape == (60, 60, 3)
    assert image.dtype == np.uint8
    assert tuple(image[55, 55]) == (0, 150, 80)
    assert tuple(image[5, 5]) == (40, 90, 200)
    assert (image[5::10, 5::10] == (215, 60, 40)).all(axis=2).sum() == round(0.2 * 36)
    standing = (image[5::10, 9::10] == 30).all(axis=2)[:, :-1].sum() + (image[9::10, 5::10] == 30).all(axis=2)[
        :-1
    ].sum()
    assert standing == 2 * 6 * 5 - 35
    values = np.arange(36.0)
    shaded = env.render(values, state=7, cell=10)
    assert shaded[5, 5].sum() > shaded[25, 25].sum() > shaded[55, 55].sum()
    with pytest.raises(NotAvailable, match="one for each of 36 states"):
        env.render(np.zeros(5))


def test_gymnasium_renders_the_current_state() -> None:
    env = gymnasium.make("steering/Maze-v0", k=5, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    while env.unwrapped._state == 0:
        env.step(env.action_space.sample())
    assert before.shape == (80, 80, 3)
    assert not np.array_equal(env.render(), before)


def test_a_run_in_a_large_world_keeps_visits_sparse() -> None:
    results = steering.run("maze:60,slip=0.1", "q_learning", steps=2000, seeds=2)
    visits = results.visits
    assert visits.shape == (2, 10, 3600, 4)
    assert np.asarray(visits).sum(axis=(2, 3)).tolist() == [[200.0] * 10] * 2
    np.testing.assert_array_equal(results.state_visits(), np.asarray(visits).sum(axis=(1, 3)))
    assert make_env(results.environment).render(results.state_visits().mean(axis=0)).shape == (480, 480, 3)


def test_the_oracle_of_a_maze_reaches_the_goal() -> None:
    env = make_env("maze:40")
    found = solve(env.table, env.discount)
    assert found.converged
    assert found.V[0] > 0.01
    results = steering.run(env, "q_learning", steps=3000, seeds=1)
    assert results.oracle_rewards is not None
    assert results.oracle_rewards.sum() > 5
