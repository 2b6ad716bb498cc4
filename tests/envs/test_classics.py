"""RiverSwim and the grid deep sea against published numbers and a step-by-step simulation of the rules."""

from __future__ import annotations

import numpy as np
import pytest

from steering.envs import grid_deep_sea, make_env, river_swim
from steering.errors import InvalidOption
from steering.mdp import TabularMDP


@pytest.mark.parametrize(
    ("variant", "first", "between", "last", "start"),
    [
        ("osband", [0.4, 0.6], [0.05, 0.6, 0.35], [0.4, 0.6], [1, 0, 0, 0, 0, 0]),
        ("strehl", [0.7, 0.3], [0.1, 0.6, 0.3], [0.7, 0.3], [0, 0.5, 0.5, 0, 0, 0]),
    ],
)
def test_river_swim(variant: str, first: list, between: list, last: list, start: list) -> None:
    mdp = river_swim(variant=variant)
    assert mdp.n_states == 6
    assert mdp.P[0, 1, :2].tolist() == first
    for s in range(1, 5):
        assert mdp.P[s, 1, s - 1 : s + 2].tolist() == between
    assert mdp.P[5, 1, 4:].tolist() == last
    for s in range(6):
        assert mdp.P[s, 0, max(s - 1, 0)] == 1
    expected = np.zeros((6, 2))
    expected[0, 0], expected[5, 1] = 0.005, 1.0
    np.testing.assert_allclose(mdp.rewards, expected, rtol=1e-15, atol=0)
    assert mdp.start.tolist() == start
    assert (mdp.reward_std == 0).all()


def test_river_swim_is_worth_the_swim(optimal, gain) -> None:
    """With six states swimming right is best at gamma = 0.95; its gain is 0.43, 86 times that of resting."""
    mdp = river_swim()
    assert (optimal(mdp, 0.95) == 1).all()
    ratio = np.array([0.6 / 0.05] + [0.35 / 0.05] * 3 + [0.35 / 0.4])  # detailed balance of the chain
    weights = np.append(1.0, np.cumprod(ratio))
    assert gain(mdp, np.ones(6, dtype=int)) == pytest.approx(weights[-1] / weights.sum(), rel=1e-12)


def test_river_swim_refuses() -> None:
    with pytest.raises(InvalidOption, match="n of riverswim is 2"):
        river_swim(2)
    with pytest.raises(InvalidOption, match="variant of riverswim is 'x'; it must be one of: osband, strehl"):
        river_swim(variant="x")


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("seed", [None, 0, 42])
def test_grid_returns(n: int, seed: int | None, best_return) -> None:
    """bsuite: 1 - 0.01 when deterministic; always right gives (1 - 1/n)^(n - 1) - 0.01 when stochastic."""
    assert best_return(grid_deep_sea(n, mapping_seed=seed), n) == pytest.approx(0.99, abs=1e-12)
    windy = grid_deep_sea(n, stochastic=True, mapping_seed=seed)
    right = np.ones((n, n), dtype=int) if seed is None else np.random.RandomState(seed).binomial(1, 0.5, (n, n))
    mask = np.eye(2, dtype=bool)[right.ravel()]
    always_right = best_return(TabularMDP(windy.P, windy.reward_mean, windy.reward_std, mask, windy.start), n)
    assert always_right == pytest.approx((1 - 1 / n) ** (n - 1) - 0.01, abs=1e-12)
    assert always_right <= best_return(windy, n) < always_right + 0.01


@pytest.mark.parametrize("stochastic", [False, True])
def test_grid_follows_the_rules_cell_by_cell(stochastic: bool) -> None:
    n, cost = 4, 0.08
    mdp = grid_deep_sea(n, stochastic=stochastic, mapping_seed=7, move_cost=cost)
    right_action = np.random.RandomState(7).binomial(1, 0.5, (n, n))
    for row in range(n):
        for column in range(n):
            s = row * n + column
            for a in range(2):
                right = a == right_action[row, column]
                outcomes = {min(column + 1, n - 1): 1.0} if right else {max(column - 1, 0): 1.0}
                if right and stochastic:
                    outcomes = {column: 1 / n}
                    outcomes[min(column + 1, n - 1)] = outcomes.get(min(column + 1, n - 1), 0) + 1 - 1 / n
                expected = np.zeros(n * n)
                for c, p in outcomes.items():
                    expected[0 if row == n - 1 else (row + 1) * n + c] += p
                np.testing.assert_allclose(mdp.P[s, a], expected, atol=1e-15)
                reward = right * ((column == n - 1) - cost / n)
                assert mdp.rewards[s, a] == pytest.approx(reward, abs=1e-15)
                noisy = stochastic and row == n - 1 and column in (0, n - 1)
                assert mdp.reward_std[s, a].max() == float(noisy)
    assert mdp.state_names[5] == "(1, 1)"


def test_grid_without_mapping_has_action_1_right() -> None:
    mdp = grid_deep_sea(3, mapping_seed=None)
    assert mdp.P[0, 1, 4] == 1
    assert mdp.P[0, 0, 3] == 1


def test_grid_is_episodic_and_continuing_is_the_same_fall_again(best_return) -> None:
    env = make_env("griddeepsea:5")
    assert (env.horizon, env.discount) == (5, 1.0)
    again = make_env("griddeepsea:5,horizon=none")
    assert (again.horizon, again.discount) == (None, 0.9)
    assert again.table.same_as(env.table)
    assert best_return(again.table, 10) == pytest.approx(2 * best_return(env.table, 5), rel=1e-12)


def test_grid_refuses() -> None:
    with pytest.raises(InvalidOption, match="n of griddeepsea is 1"):
        grid_deep_sea(1)
    with pytest.raises(InvalidOption, match="stochastic of griddeepsea is 'yes'; it must be true or false"):
        grid_deep_sea(3, stochastic="yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match=r"mapping_seed of griddeepsea is \d+; it must be from 0 to"):
        grid_deep_sea(3, mapping_seed=2**32)
