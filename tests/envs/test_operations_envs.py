"""Tasks of operations research: values against closed forms and against all policies, rules entry by entry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from steering.envs import (
    admission_control,
    car_rental,
    growing_prize,
    machine_maintenance,
    make_env,
    offer_selling,
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
