"""Gymnasium environments as MDPs: the tables, what termination becomes, estimation, refusals."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from steering.envs import LiveGym, estimate_mdp, from_gym, make_env
from steering.envs.gym_import import exact_mdp
from steering.errors import InvalidMDP, InvalidOption, UnsupportedEnvironment
from steering.mdp.tabular import TabularMDP

TABLES = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"map_name": "8x8"}),
    ("CliffWalking-v1", {}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True}),
]


@pytest.mark.parametrize(("env_id", "options"), TABLES)
@pytest.mark.parametrize("horizon", [None, 50])
def test_the_table_is_exact(env_id: str, options: dict[str, Any], horizon: int | None) -> None:
    """Every row equals the stated table; terminal states lead to the start, or stay with a horizon."""
    inner = gymnasium.make(env_id, **options).unwrapped
    mdp = from_gym(env_id, horizon=horizon, **options).table
    S, A = int(inner.observation_space.n), int(inner.action_space.n)  # type: ignore[attr-defined]
    assert (mdp.n_states, mdp.n_actions) == (S, A)
    np.testing.assert_allclose(mdp.start, inner.initial_state_distrib, atol=1e-15)  # type: ignore[attr-defined]
    table = inner.P  # type: ignore[attr-defined]
    terminal = {y for s in range(S) for a in range(A) for _, y, _, over in table[s][a] if over}
    assert terminal
    for s in range(S):
        for a in range(A):
            expected, reward = np.zeros(S), 0.0
            for p, y, r, _ in table[s][a]:
                expected[y] += p
                reward += p * r
            if s in terminal:
                expected, reward = (mdp.start if horizon is None else np.eye(S)[s]), 0.0
            np.testing.assert_allclose(mdp.P[s, a], expected, atol=1e-12)
            assert mdp.rewards[s, a] == pytest.approx(reward, abs=1e-12)


def value_of(mdp: TabularMDP, policy: np.ndarray, horizon: int) -> float:
    V = np.zeros(mdp.n_states)
    for _ in range(horizon):
        V = (policy * (mdp.rewards + mdp.P @ V)).sum(axis=1)
    return float(mdp.start @ V)


@pytest.mark.parametrize(
    ("env_id", "options", "horizon", "episodes"),
    [
        ("FrozenLake-v1", {}, 40, 1500),
        ("CliffWalking-v1", {"is_slippery": True}, 30, 800),
        ("Taxi-v4", {"is_rainy": True}, 30, 800),
    ],
)
def test_returns_in_gymnasium_are_those_of_the_mdp(
    env_id: str, options: dict[str, Any], horizon: int, episodes: int
) -> None:
    """Mean return of a fixed random policy, within 4.4 standard errors: false alarm 1e-5 each."""
    env = from_gym(env_id, horizon=horizon, **options)
    mdp = env.table
    rng = np.random.default_rng(3)
    policy = rng.dirichlet(np.full(mdp.n_actions, 0.5), mdp.n_states)
    cumulative = policy.cumsum(axis=1)
    assert env.make_gym is not None
    returns = np.zeros(episodes)
    with LiveGym(env.make_gym, seed=11, episodic=True) as live:
        for i in range(episodes):
            live.reset()
            for u in rng.random(horizon):
                action = min(int(np.searchsorted(cumulative[live.state], u)), mdp.n_actions - 1)
                returns[i] += live.step(action)[1]
    error = returns.std(ddof=1) / np.sqrt(episodes)
    assert error > 0
    assert abs(returns.mean() - value_of(mdp, policy, horizon)) < 4.4 * error


def stationary(P: np.ndarray) -> np.ndarray:
    n = len(P)
    return np.linalg.lstsq(np.vstack([P.T - np.eye(n), np.ones(n)]), np.append(np.zeros(n), 1.0), rcond=None)[0]


def test_long_run_reward_continuing() -> None:
    """Reward a step of the uniform policy on FrozenLake, resets included; batch means, 4.9 standard errors."""
    env = make_env("gym:FrozenLake-v1")
    gain = float(stationary(env.table.P.mean(axis=1)) @ env.table.rewards.mean(axis=1))
    assert env.make_gym is not None
    rng = np.random.default_rng(0)
    with LiveGym(env.make_gym, seed=0) as live:
        live.reset()
        rewards = np.array([live.step(int(a))[1] for a in rng.integers(4, size=30_000)])
    batches = rewards.reshape(30, -1).mean(axis=1)
    assert abs(batches.mean() - gain) < 4.9 * batches.std(ddof=1) / np.sqrt(30)


class Table(gymnasium.Env[Any, Any]):
    """An environment that is nothing but its table."""

    def __init__(self, P: Any, n_states: int, n_actions: int = 1, first: int = 0, start: Any = None) -> None:
        self.P = P
        self.observation_space = gymnasium.spaces.Discrete(n_states, start=first)
        self.action_space = gymnasium.spaces.Discrete(n_actions)
        self.first = first
        if start is not None:
            self.initial_state_distrib = start

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return self.first + int(self.np_random.random() < 0.25), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        raise AssertionError("a table needs no step")


def test_a_state_entered_both_ways_gets_an_end() -> None:
    """State 1 is visited on the way, and is also where an episode can end."""
    P = {0: {0: [(0.5, 1, 1.0, False), (0.5, 1, 5.0, True)]}, 1: {0: [(1.0, 0, 2.0, False)]}}
    mdp = exact_mdp(Table(P, 2, start=[1.0, 0.0]))
    assert mdp is not None
    assert mdp.state_names == ("0", "1", "end")
    assert mdp.P[:, 0].tolist() == [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]]
    assert mdp.reward_mean[0, 0].tolist() == [0.0, 1.0, 5.0]
    assert mdp.rewards[2, 0] == 0
    episodic = exact_mdp(Table(P, 2, start=[1.0, 0.0]), episodic=True)
    assert episodic is not None
    assert episodic.P[2, 0].tolist() == [0, 0, 1]


def test_a_start_state_that_ends_an_episode_is_not_terminal() -> None:
    P = {0: {0: [(1.0, 0, 1.0, True)]}}
    mdp = exact_mdp(Table(P, 1, start=[1.0]))
    assert mdp is not None
    assert mdp.P[:, 0].tolist() == [[0, 1], [1, 0]]


def test_rows_of_terminal_states_do_not_matter() -> None:
    """State 1 is terminal; its own row, which would make state 0 terminal too, is not used."""
    P = {0: {0: [(1.0, 1, 1.0, True)]}, 1: {0: [(1.0, 0, 9.0, True)]}}
    mdp = exact_mdp(Table(P, 2, start=[1.0, 0.0]))
    assert mdp is not None
    assert mdp.n_states == 2
    assert mdp.P[:, 0].tolist() == [[0, 1], [1, 0]]
    assert mdp.rewards[1, 0] == 0


def test_outcomes_with_the_same_next_state_are_a_mixture() -> None:
    P = {0: {0: [(0.25, 1, 1.0, False), (0.5, 0, 7.0, False), (0.25, 1, 3.0, False), (0.0, 1, 99.0, True)]}}
    P[1] = {0: [(1.0, 1, 0.0, False)]}
    mdp = exact_mdp(Table(P, 2, start=[1.0, 0.0]))
    assert mdp is not None
    assert mdp.P[0, 0].tolist() == [0.5, 0.5]
    assert mdp.reward_mean[0, 0].tolist() == [7.0, 2.0]
    assert mdp.reward_std[0, 0].tolist() == [0.0, 1.0]


def test_start_is_estimated_by_resets_and_states_may_begin_elsewhere() -> None:
    """1000 resets, one state with probability 1/4: within 4.4 standard errors (false alarm 1e-5)."""
    P = {7: {0: [(1.0, 8, 1.0, False)]}, 8: {0: [(1.0, 7, 0.0, False)]}}
    mdp = exact_mdp(Table(P, 2, first=7))
    assert mdp is not None
    assert mdp.P[:, 0].tolist() == [[0, 1], [1, 0]]
    assert abs(mdp.start[1] - 0.25) < 4.4 * np.sqrt(0.25 * 0.75 / 1000)
    assert mdp.start.sum() == 1


def test_an_unseen_start_is_not_taken_for_a_terminal_state() -> None:
    """State 2 is never seen in a reset but may be a start; it enters state 1 without an end."""
    P = {0: {0: [(1.0, 1, 1.0, True)]}, 1: {0: [(1.0, 0, 0.0, False)]}, 2: {0: [(1.0, 1, 0.0, False)]}}
    estimated, exact = exact_mdp(Table(P, 3)), exact_mdp(Table(P, 3, start=[1.0, 0.0, 0.0]))
    assert estimated is not None
    assert exact is not None
    assert estimated.state_names[-1] == "end"
    assert exact.n_states == 3  # here state 2 is known to be out of reach


@pytest.mark.parametrize(
    "P",
    [
        np.full((2, 2), 0.5),
        {0: {0: [(1.0, 1, 0.0, False)]}},
        {0: {0: [(1.0, 5, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}},
        {0: {0: [(1.0, 1)]}, 1: {0: [(1.0, 0)]}},
    ],
    ids=["matrix", "missing state", "next state outside", "short outcomes"],
)
def test_what_is_not_a_table_is_not_used(P: Any) -> None:
    assert exact_mdp(Table(P, 2)) is None


def test_bad_tables_are_refused() -> None:
    half = {0: {0: [(0.5, 0, 0.0, False)]}}
    with pytest.raises(InvalidMDP, match=r"P\[0, 0\] sums to 0\.5"):
        exact_mdp(Table(half, 1, start=[1.0]))
    with pytest.raises(UnsupportedEnvironment, match="table is empty"):
        exact_mdp(Table({0: {0: []}}, 1, start=[1.0]))


def without_table() -> gymnasium.Env[Any, Any]:
    """FrozenLake behind a wrapper that could change anything: its table is not trusted."""
    return gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 2 * r)


def test_without_a_table_the_environment_is_live() -> None:
    env = from_gym(without_table())
    assert env.mdp is None
    assert env.make_gym is not None
    assert (env.n_states, env.n_actions) == (16, 4)
    with LiveGym(env.make_gym, seed=0) as live:
        assert live.reset() == 0


def test_estimate_agrees_with_the_exact_table() -> None:
    """Rows with 100 expected visits, within 5 standard errors at half of them: false alarm below 1e-4 in all."""
    samples = 30_000
    estimate = estimate_mdp(without_table(), samples=samples, seed=1)
    exact = make_env("gym:FrozenLake-v1").table
    assert (estimate.n_states, estimate.n_actions) == (16, 4)
    assert estimate.start.tolist() == exact.start.tolist()
    visits = samples * stationary(exact.P.mean(axis=1)) / 4
    holes = [5, 7, 11, 12]
    rows = [s for s in range(15) if visits[s] > 100 and s not in holes]
    assert len(rows) >= 6
    for s in rows:
        error = np.sqrt(exact.P[s] * (1 - exact.P[s]) / (visits[s] / 2))
        assert (np.abs(estimate.P[s] - exact.P[s]) <= 5 * error).all()
    assert np.array_equal(estimate.P[holes], exact.P[holes])  # terminal states lead to the start
    paid = estimate.reward_mean[14, :, 15][estimate.P[14, :, 15] > 0]
    assert paid.size > 0
    assert (paid == 2.0).all()


def test_estimate_rewards_have_their_moments() -> None:
    """Noise is recovered on a noisy chain; means within 5 standard errors (12 cells: false alarm below 1e-5)."""
    env = gymnasium.make("steering/PriorMDP-v0", n_states=3, n_actions=2)
    exact, estimate = env.unwrapped.mdp, estimate_mdp(env, samples=20_000)  # type: ignore[attr-defined]
    n = 20_000 / 6 * exact.P / 4  # a quarter of an even share of visits, to be safe
    seen = n > 50
    assert seen.sum() > 8
    assert (np.abs(estimate.reward_mean - exact.reward_mean)[seen] < 5 * (exact.reward_std / np.sqrt(n))[seen]).all()
    assert (np.abs(estimate.reward_std / exact.reward_std - 1)[seen] < 5 / np.sqrt(2 * n)[seen]).all()


def test_pairs_never_tried_stay_where_they_are() -> None:
    estimate = estimate_mdp(without_table(), samples=1)
    assert estimate.P[14, 2, 14] == 1
    assert estimate.rewards[14, 2] == 0


def test_estimate_is_fixed_by_its_seed_and_episodic_ends_absorb() -> None:
    one, two = (estimate_mdp(without_table, samples=500, seed=4) for _ in range(2))
    assert one.same_as(two)
    assert not one.same_as(estimate_mdp(without_table, samples=500, seed=5))
    assert estimate_mdp(without_table, samples=2000, episodic=True).P[5, 0, 5] == 1


def test_estimate_as_an_option() -> None:
    env = from_gym(without_table(), estimate=300, horizon=9)
    assert env.horizon == 9
    assert env.table.same_as(estimate_mdp(without_table, samples=300, episodic=True))
    with pytest.raises(InvalidOption, match="estimate is not needed"):
        make_env("gym:FrozenLake-v1,estimate=100")
    with pytest.raises(InvalidOption, match="estimate is 0"):
        from_gym(without_table(), estimate=0)


@pytest.mark.parametrize(
    ("env_id", "space"), [("Blackjack-v1", "Tuple"), ("CartPole-v1", "Box"), ("Pendulum-v1", "Box")]
)
def test_other_spaces_are_refused(env_id: str, space: str) -> None:
    with pytest.raises(UnsupportedEnvironment, match=f"observation space of .* is {space}; tabular agents need"):
        make_env(f"gym:{env_id}")


def test_objects() -> None:
    env = make_env(gymnasium.make("FrozenLake-v1", is_slippery=False))
    assert env.name == "gym:FrozenLake-v1,is_slippery=false"
    assert make_env(env.name) == env
    own_map = make_env(gymnasium.make("FrozenLake-v1", desc=["SF", "FG"]))
    assert own_map.name == "gym-object:FrozenLakeEnv"  # a map has no text form here
    changed = gymnasium.make("FrozenLake-v1")
    changed.unwrapped.P[0][0] = [(1.0, 0, 0.5, False)]  # type: ignore[attr-defined]
    assert make_env(changed).name == "gym-object:FrozenLakeEnv"
    with pytest.raises(InvalidOption, match="option 'is_slippery' cannot be given with an environment object"):
        make_env(gymnasium.make("FrozenLake-v1"), is_slippery=False)
    with pytest.raises(UnsupportedEnvironment, match="int is neither"):
        from_gym(3)  # type: ignore[arg-type]


def test_an_object_whose_id_no_longer_makes_it() -> None:
    env = gymnasium.make("FrozenLake-v1")
    assert env.unwrapped.spec is not None
    env.unwrapped.spec.kwargs["unknown"] = 1
    assert make_env(env).name == "gym-object:FrozenLakeEnv"


def test_deprecated_versions_say_so() -> None:
    with pytest.raises(UnsupportedEnvironment, match="Please use `Taxi-v4`"):
        make_env("gym:Taxi-v3")
