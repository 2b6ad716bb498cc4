"""Tasks of operations research: values against closed forms and against all policies, rules entry by entry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from steering.envs import (
    admission_control,
    car_rental,
    dam_reservoir,
    flight_seats,
    growing_prize,
    job_offers,
    machine_maintenance,
    make_env,
    offer_selling,
    renewable_harvest,
    service_queue,
    stock_keeping,
)
from steering.envs.entries import OPERATIONS
from steering.envs.garnet import garnet
from steering.envs.queueing import COSTS, SPEEDS
from steering.errors import InvalidOption
from steering.mdp import evaluate, policy_iteration

G = 0.95
SMALL = {
    "inventory": stock_keeping(3, orders=3, lot=1),
    "maintenance": machine_maintenance(5),
    "queue": service_queue(4),
    "patience": growing_prize(6),
    "admission": admission_control(1),
    "selling": offer_selling(4),
    "rental": car_rental(1, moves=1),
    "harvest": renewable_harvest(5),
    "reservoir": dam_reservoir(5, release=2),
    "seats": flight_seats(1, periods=2),
    "jobs": job_offers(3, types=2),
}


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_the_best_of_all_policies_is_found(name: str) -> None:
    mdp = SMALL[name]
    values = [
        evaluate(mdp, np.array(policy), G) for policy in itertools.product(range(mdp.n_actions), repeat=mdp.n_states)
    ]
    np.testing.assert_allclose(policy_iteration(mdp, G).V, np.max(values, axis=0), rtol=1e-9)


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_a_seed_is_an_instance_and_rewards_are_of_tens(name: str) -> None:
    one, same, other = (make_env(f"{name},seed={seed}" if ":" in name else f"{name}:seed={seed}") for seed in (7, 7, 8))
    assert one == same
    assert not one.mdp.same_as(other.mdp)
    assert one.discount == G
    assert make_env(one.name) == one
    assert 5 < np.abs(one.mdp.rewards).max() < 100


def test_a_base_stock_is_best_without_a_fixed_cost() -> None:
    price, unit, hold, n = 9.0, 4.0, 0.5, 20
    mdp = stock_keeping(n, orders=21, lot=1, price=price, unit=unit, hold=hold, fixed=0.0, seed=3)
    rate = _demand(mdp, n)
    y = next(y for y in range(n) if stats.poisson.cdf(y, rate) >= (price - unit - hold) / (price - G * unit))
    policy = policy_iteration(mdp, G).policy
    np.testing.assert_array_equal(policy, np.maximum(y - np.arange(n + 1), 0))


def _demand(mdp, n: int) -> float:
    """Mean of the Poisson demand, from the chance that nothing is asked for of a full stock."""
    return float(-np.log(mdp.P[n, 0, n]))


def test_inventory_entry_by_entry() -> None:
    mdp = stock_keeping(4, orders=3, lot=2, seed=1)
    rate = _demand(mdp, 4)
    assert 0.15 * 4 <= rate <= 0.3 * 4
    np.testing.assert_allclose(mdp.P[1, 1], [stats.poisson.sf(2, rate), *stats.poisson.pmf([2, 1, 0], rate), 0.0])
    np.testing.assert_allclose(mdp.reward_mean[1, 1, :4], [8 * k - 4 - 3 * 2 - 0.5 * 3 for k in (3, 2, 1, 0)])
    np.testing.assert_allclose(mdp.P[3, 2], mdp.P[4, 0])  # only one more fits in
    assert mdp.reward_mean[3, 2, 4] == -4 - 3 - 0.5 * 4


@pytest.mark.parametrize("k", [1, 3, 7, 10])
def test_run_then_replace_is_worth_what_the_formula_says(k: int) -> None:
    n, profit = 11, 8.0
    mdp = machine_maintenance(n, profit=profit, seed=5)
    s = np.arange(n)
    u = mdp.P[s[:-1], 0, s[1:]]
    np.testing.assert_allclose(u, u[0] + 0.3 * s[:-1] / n)
    assert 0.2 <= u[0] <= 0.5
    r = profit * (1 - 0.9 * (s / (n - 1)) ** 2)
    stays = 1 - G * (1 - u)
    X = np.concatenate([[1.0], np.cumprod(G * u / stays)])
    earned = (X[:k] * r[:k] / stays[:k]).sum() - 2.5 * profit * X[k]
    assert evaluate(mdp, np.where(s < k, 0, 2), G)[0] == pytest.approx(earned / (1 - G * X[k]), rel=1e-10)
    assert mdp.P[-1, 0, -1] == 1
    assert mdp.rewards[-1, 0] == -profit


@pytest.mark.parametrize("action", [0, 1, 2])
def test_one_speed_for_ever_is_a_birth_and_death_chain(action: int, gain) -> None:
    mdp = service_queue(9, seed=2)
    m, p = SPEEDS[action], float(mdp.P[0, 0, 1])
    assert 0.25 <= p <= 0.4
    up, down = p * (1 - m), m * (1 - p)
    pi = np.concatenate([[1.0], p / down * (up / down) ** np.arange(8)])
    pi /= pi.sum()
    expected = -COSTS[action] - pi @ np.arange(9)
    assert gain(mdp, np.full(9, action)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_waiting_is_worth_what_the_formula_says(k: int) -> None:
    mdp = growing_prize(10, seed=4)
    q = float(mdp.P[3, 0, 0])
    assert 0.01 <= q <= 0.05
    x = G * (1 - q)
    prize = 30 * (k / 9) ** 3
    value = x**k * prize / (1 - G * x**k - G * q * (1 - x**k) / (1 - x))
    assert evaluate(mdp, (np.arange(10) >= k).astype(int), G)[0] == pytest.approx(value, rel=1e-10)
    assert evaluate(mdp, np.ones(10, dtype=int), G)[0] == pytest.approx(0.3 / (1 - G))


@pytest.mark.parametrize("seed", range(5))
def test_patience_pays_more_than_the_lure(seed: int) -> None:
    solution = policy_iteration(growing_prize(seed=seed), G)
    assert solution.V[0] > 3 * 0.3 / (1 - G)
    assert (solution.policy[:8] == 0).all()


def test_everybody_is_taken_where_nobody_has_to_wait() -> None:
    mdp = admission_control(4, hold=0.0, service=1.0)
    solution = policy_iteration(mdp, G)
    assert solution.V[0] == pytest.approx((0.4 * 5 + 0.2 * 30) * G / (1 - G), rel=1e-10)
    assert evaluate(mdp, np.ones(15, dtype=int), G)[0] == pytest.approx(solution.V[0])


def test_low_customers_are_refused_from_some_length_on() -> None:
    policy = policy_iteration(admission_control(6, seed=1), G).policy.reshape(7, 3)
    low = policy[:6, 1]
    assert 0 < low.sum() < 6
    assert (np.diff(low) <= 0).all()
    assert (policy[:6, 2] == 1).all()


def test_admission_entry_by_entry() -> None:
    mdp = admission_control(2, service=0.3)
    door = np.array([0.4, 0.4, 0.2])
    np.testing.assert_allclose(mdp.P[4, 1].reshape(3, 3), [0 * door, 0.3 * door, 0.7 * door])
    np.testing.assert_allclose(mdp.P[4, 0].reshape(3, 3), [0.3 * door, 0.7 * door, 0 * door])
    np.testing.assert_allclose(mdp.P[8, 1], mdp.P[8, 0])  # full
    np.testing.assert_allclose(mdp.rewards[[4, 8, 3]], [[-1, 5 - 2], [-2, -2], [-1, -1]])


@pytest.mark.parametrize("i", [0, 3, 7])
def test_a_reservation_price_is_worth_what_the_formula_says(i: int) -> None:
    mdp = offer_selling(8, seed=2)
    chance, offers = mdp.P[0, 0, :8], np.linspace(5, 50, 8)
    F = chance[i:].sum()
    m = chance[i:] @ offers[i:] / F
    V = (F * m - (1 - F)) / (1 - G * (1 - F) - F * G * 0.25 * G / (1 - 0.75 * G))
    values = evaluate(mdp, np.append(np.arange(8) >= i, 0).astype(int), G)
    assert chance @ values[:8] == pytest.approx(V, rel=1e-10)
    assert values[8] == pytest.approx(0.25 * G * V / (1 - 0.75 * G), rel=1e-10)


def test_rental_is_what_simulated_days_give() -> None:
    """200,000 days from one state: every probability and the earnings within 5 standard errors."""
    mdp = car_rental(3, moves=1, seed=6)
    rates = np.random.Generator(np.random.PCG64(np.random.SeedSequence(6, spawn_key=(0xCA12,)))).uniform(1, 4, (2, 2))
    rng, days = np.random.default_rng(0), 200_000
    i, j = 2 - 1, 1 + 1  # state (2, 1), one car is moved to the second place
    cars, earned = [], np.zeros(days)
    for start, (asked, back) in zip((i, j), rates, strict=True):
        rented = np.minimum(rng.poisson(asked, days), start)
        earned += 10 * rented
        cars.append(np.minimum(start - rented + rng.poisson(back, days), 3))
    seen = np.bincount(cars[0] * 4 + cars[1], minlength=16) / days
    p = mdp.P[2 * 4 + 1, 2]
    assert (np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / days) + 1e-12).all()
    assert mdp.rewards[2 * 4 + 1, 2] == pytest.approx(earned.mean() - 2, abs=5 * earned.std() / np.sqrt(days))
    np.testing.assert_allclose(mdp.P[0, 0], mdp.P[0, 1])  # no car to move


@pytest.mark.parametrize("k", [1, 2, 7, 9])
def test_taking_all_is_worth_what_the_formula_says(k: int) -> None:
    mdp = renewable_harvest(10, recover=0.1, seed=3)
    q = float(1 - mdp.P[1, 0, 1])
    assert 0.4 <= q <= 0.8
    path = [1]
    while path[-1] < k:
        path.append(int(mdp.P[path[-1], 0].nonzero()[0][-1]))
    w = 0.1 * G / (1 - 0.9 * G) * (G * q / (1 - G * (1 - q))) ** (len(path) - 1)
    value = w * (4 * path[-1] - 3) / (1 - w)
    assert evaluate(mdp, np.where(np.arange(10) >= k, 3, 0), G)[0] == pytest.approx(value, rel=1e-10)


def test_harvest_entry_by_entry() -> None:
    n = 20
    mdp = renewable_harvest(n, seed=1)
    q, c = np.random.Generator(np.random.PCG64(np.random.SeedSequence(1, spawn_key=(0x4A2F,)))).uniform(
        [0.4, 0.2], [0.8, 0.8]
    )
    for s, taken in ((0, (0, 0, 0, 0)), (1, (0, 1, 1, 1)), (10, (0, 3, 5, 10)), (19, (0, 5, 10, 19))):
        np.testing.assert_allclose(mdp.rewards[s], [4 * h - 3 * (h > 0) for h in taken])
        for action, h in enumerate(taken):
            np.testing.assert_array_equal(mdp.P[s, action], mdp.P[s - h, 0])
    np.testing.assert_allclose(mdp.P[0, 0, :2], [0.95, 0.05])
    for y in range(1, n - 1):
        grown = y + int(np.ceil(c * y * (1 - y / (n - 1)) - 1e-12))
        np.testing.assert_allclose(mdp.P[y, 0, [y, grown]], [1 - q, q])
    assert mdp.P[n - 1, 0, n - 1] == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_stock_is_left_to_grow_and_never_emptied(seed: int) -> None:
    mdp = renewable_harvest(seed=seed)
    solution = policy_iteration(mdp, G)
    assert (solution.policy[1:] != 3).all()
    assert solution.policy[1] == 0
    greedy = [evaluate(mdp, np.where(np.arange(20) >= k, 3, 0), G)[19] for k in range(1, 20)]
    assert solution.V[19] > max(greedy) + 20


def test_letting_out_all_is_worth_what_the_formula_says() -> None:
    mdp = dam_reservoir(8, seed=2)
    chance = mdp.P[0, 0, :5]
    ratio = chance[1:] / chance[:-1]
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0.5 <= ratio[0] <= 1
    roots = 10 * np.sqrt(np.arange(5))
    expected = roots + (G * chance @ roots - 20 * chance[0]) / (1 - G)
    np.testing.assert_allclose(evaluate(mdp, np.full(8, 4), G)[:5], expected, rtol=1e-10)


def test_reservoir_entry_by_entry() -> None:
    mdp = dam_reservoir(6, release=2, seed=4)
    chance = mdp.P[0, 0, :5]
    np.testing.assert_allclose(mdp.P[4, 2], [0, 0, *chance[:3], chance[3:].sum()])
    np.testing.assert_allclose(mdp.reward_mean[4, 2, 2:], 10 * np.sqrt(2) - np.array([0, 0, 0, 50]))
    np.testing.assert_allclose(mdp.P[1, 2], mdp.P[1, 1])  # no more than there is
    np.testing.assert_allclose(mdp.reward_mean[1, 2, :5], 10 - np.array([20, 0, 0, 0, 0]))
    np.testing.assert_allclose(mdp.P[5, 0], [0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("seed", range(5))
def test_more_is_let_out_of_a_fuller_dam(seed: int) -> None:
    policy = policy_iteration(dam_reservoir(seed=seed), G).policy
    assert (np.diff(policy) >= 0).all()
    assert policy[0] < policy[-1]


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("action", [0, 1, 2])
def test_one_price_for_ever_is_worth_what_the_formula_says(n: int, action: int) -> None:
    T = 6
    mdp = flight_seats(n, periods=T, seed=3)
    begin = T * (n + 1) + n
    assert mdp.start[begin] == 1
    price, d = (10, 30, 60)[action], float(mdp.P[begin, action, begin - (n + 1) - 1])
    assert (0.8, 0.4, 0.05)[action] <= d <= (1.0, 0.7, 0.35)[action]
    i = np.arange(T)
    value = price * d * (G**i * stats.binom.cdf(n - 1, i, d)).sum() / (1 - G ** (T + 1))
    assert evaluate(mdp, np.full(mdp.n_states, action), G)[begin] == pytest.approx(value, rel=1e-10)


def test_seats_that_are_scarce_are_dearer() -> None:
    mdp = flight_seats(seed=2)
    policy = policy_iteration(mdp, G).policy.reshape(9, 5)[1:, 1:]
    assert (np.diff(policy, axis=0) >= 0).all()  # with more periods left
    assert (np.diff(policy, axis=1) <= 0).all()  # with more seats left
    assert policy.min() < policy.max()
    P, mean = mdp.P.reshape(9, 5, 3, 9, 5), mdp.reward_mean.reshape(9, 5, 3, 9, 5)
    assert (P[0, :, :, 8, 4] == 1).all()  # the next flight, whatever was sold
    assert (P[1:, 0, :, :, 0].sum(axis=-1) == 1).all()
    np.testing.assert_allclose(P[3, 2, :, 2, 1] + P[3, 2, :, 2, 2], 1)
    np.testing.assert_array_equal(mean[3, 2, :, 2, 1], [10, 30, 60])
    assert (mean[3, 2, :, 2, 2] == 0).all()
    assert (mdp.rewards.reshape(9, 5, 3)[[0, 0, 5], [0, 4, 0]] == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_jobs_are_those_that_the_formula_says(seed: int) -> None:
    """With an abort that is too dear the best policy is the best set of types, taken when idle."""
    n, types = 8, 3
    mdp = job_offers(n, types=types, abort=1000.0, seed=seed)
    c, pay = 0.6 / types, mdp.rewards[1 : types + 1, 1]
    steps = 1 + mdp.P[1 : types + 1, 1].argmax(axis=1) // (types + 1)
    door = np.array([0.4, c, c, c])
    values = {}
    for chosen in itertools.product([False, True], repeat=types):
        K = np.array(chosen)
        values[chosen] = c * pay[K].sum() / (1 - G * (1 - c * K.sum()) - c * (G ** steps[K]).sum())
        policy = np.zeros((n, types + 1), dtype=int)
        policy[0, 1:] = K
        value = evaluate(mdp, policy.ravel(), G)
        assert door @ value[: types + 1] == pytest.approx(values[chosen], rel=1e-10, abs=1e-10)
    solution = policy_iteration(mdp, G)
    assert door @ solution.V[: types + 1] == pytest.approx(max(values.values()), rel=1e-10)
    assert (solution.policy[types + 1 :] == 0).all()


def test_jobs_entry_by_entry() -> None:
    mdp = job_offers(5, types=2, seed=6)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(6, spawn_key=(0x10B5,))))
    steps, pay = rng.integers(1, 6, size=2), rng.uniform(10, 60, size=2)
    door = [0.4, 0.3, 0.3]
    P, mean = mdp.P.reshape(5, 3, 2, 5, 3), mdp.rewards.reshape(5, 3, 2)
    for r in range(5):
        for k in range(3):
            np.testing.assert_allclose(P[r, k, 0, max(r - 1, 0)], door)
            assert mean[r, k, 0] == 0
        np.testing.assert_array_equal(P[r, 0, 1], P[r, 0, 0])
        assert mean[r, 0, 1] == 0
        for k in (1, 2):
            np.testing.assert_allclose(P[r, k, 1, steps[k - 1] - 1], door)
            assert mean[r, k, 1] == pytest.approx(pay[k - 1] - 10 * r)


@pytest.mark.parametrize("name", ["harvest", "reservoir", "seats", "jobs"])
@pytest.mark.parametrize("seed", range(10))
def test_there_is_something_to_learn_in_every_instance(name: str, seed: int) -> None:
    mdp = OPERATIONS[name](seed=seed)
    assert 10 <= mdp.n_states <= 60
    chance = evaluate(mdp, np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions), G)
    assert mdp.start @ policy_iteration(mdp, G).V > 1.25 * (mdp.start @ chance)


def test_costs_of_garnet_come_last_and_leave_the_rest_alone() -> None:
    plain, costly = (garnet(20, 3, 3, seed=5, **more) for more in ({}, {"cost": 1.0, "traps": 4}))
    np.testing.assert_array_equal(plain.P, costly.P)
    assert (costly.rewards == -20).sum() == 4
    rest = costly.rewards[costly.rewards != -20]
    assert (plain.rewards[costly.rewards != -20] > rest).all()
    many = garnet(60, 40, 2, seed=1, cost=2.0, pays=0.0)
    assert many.rewards.mean() == pytest.approx(-2, abs=5 * 2 / np.sqrt(2400))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("inventory:0", "n of inventory is 0"),
        ("inventory:5,price=-1", "price of inventory is -1"),
        ("maintenance:1", "n of maintenance is 1"),
        ("maintenance:5,profit=0", "profit of maintenance is 0"),
        ("queue:1", "n of queue is 1"),
        ("patience:1", "n of patience is 1"),
        ("admission:3,service=2", "service of admission is 2"),
        ("selling:1", "n of selling is 1"),
        ("rental:0", "n of rental is 0"),
        ("harvest:1", "n of harvest is 1"),
        ("harvest:5,cost=-1", "cost of harvest is -1"),
        ("harvest:5,recover=1.5", "recover of harvest is 1.5"),
        ("reservoir:2", "n of reservoir is 2"),
        ("reservoir:5,release=0", "release of reservoir is 0"),
        ("reservoir:5,flood=-1", "flood of reservoir is -1"),
        ("seats:0", "n of seats is 0"),
        ("seats:3,periods=0", "periods of seats is 0"),
        ("seats:3,middle=-1", "middle of seats is -1"),
        ("jobs:1", "n of jobs is 1"),
        ("jobs:5,types=0", "types of jobs is 0"),
        ("jobs:5,abort=-1", "abort of jobs is -1"),
        ("garnet:5,2,2,traps=11", "traps of garnet is 11"),
        ("garnet:5,2,2,cost=-1", "cost of garnet is -1"),
    ],
)
def test_refusals(text: str, word: str) -> None:
    with pytest.raises(InvalidOption, match=word):
        make_env(text)


# Rewards times a number ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["deepsea:5", "maze:40,seed=1", "gym:FrozenLake-v1", "riverswim", "patience:5,seed=2"])
@pytest.mark.parametrize("factor", [0.01, 100])
def test_a_reward_scale_multiplies_rewards_and_nothing_else(text: str, factor: float) -> None:
    plain, scaled = make_env(text), make_env(text, reward_scale=factor)
    assert make_env(scaled.name) == scaled
    assert f"reward_scale={factor:g}" in scaled.name
    assert scaled.discount == plain.discount
    assert scaled.table.is_sparse == plain.table.is_sparse
    for key, array in scaled.table.stored_rewards().items():
        np.testing.assert_array_equal(array, factor * plain.table.stored_rewards()[key])
    np.testing.assert_array_equal(scaled.table.transitions.probabilities, plain.table.transitions.probabilities)


def test_a_reward_scale_is_kept_and_changed_like_any_option(tmp_path) -> None:
    from steering.mdp import io

    env = make_env("deepsea:5,reward_scale=100")
    assert make_env(env, horizon=4) == make_env("deepsea:5,horizon=4,reward_scale=100")
    assert make_env(env, reward_scale=2.0) == make_env("deepsea:5,reward_scale=2")
    assert make_env("deepsea:5,reward_scale=1").name == "deepsea:5"
    path = tmp_path / "mine.npz"
    io.save(make_env("deepsea:5").table, path)
    filed = make_env(f"file:{path},reward_scale=10")
    assert filed.name == f"file:{path},reward_scale=10"
    np.testing.assert_allclose(filed.table.rewards, 10 * make_env("deepsea:5").table.rewards)
    for bad in ("deepsea:5,reward_scale=0", "deepsea:5,reward_scale=-1", "deepsea:5,reward_scale=much"):
        with pytest.raises(InvalidOption, match="reward_scale"):
            make_env(bad)
