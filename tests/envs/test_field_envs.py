"""Chain, Loop, LazyChain and the lock: rules entry by entry, optimal values against closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from steering.envs import combination_lock, dearden_chain, dearden_loop, lazy_chain, make_env
from steering.errors import InvalidOption
from steering.mdp import evaluate, policy_iteration


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize("slip", [0.0, 0.2])
@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_chain_is_worth_what_the_formula_says(n: int, slip: float, discount: float) -> None:
    mdp = dearden_chain(n, slip=slip)
    q, p = slip, 1 - slip
    value = evaluate(mdp, np.zeros(n, dtype=int), discount)[0]
    assert value == pytest.approx((2 * q + 10 * p * (p * discount) ** (n - 1)) / (1 - discount), rel=1e-12)
    solution = policy_iteration(mdp, discount)
    if n < 9:  # with nine states it is too far away to be worth it, or nearly
        assert solution.V[0] == pytest.approx(value, rel=1e-10)


def test_the_classic_chain_pays_3677_in_1000_steps(gain) -> None:
    assert gain(dearden_chain(), np.zeros(5, dtype=int)) == pytest.approx(3.677, abs=5e-4)


def test_chain_entry_by_entry() -> None:
    mdp = dearden_chain(3, slip=0.25, near=1.5, far=7.0)
    np.testing.assert_allclose(mdp.P[:, 0], [[0.25, 0.75, 0], [0.25, 0, 0.75], [0.25, 0, 0.75]])
    np.testing.assert_allclose(mdp.P[:, 1], [[0.75, 0.25, 0], [0.75, 0, 0.25], [0.75, 0, 0.25]])
    np.testing.assert_allclose(mdp.rewards[:, 0], [0.25 * 1.5, 0.25 * 1.5, 0.25 * 1.5 + 0.75 * 7])


@pytest.mark.parametrize(("loops", "length"), [(2, 5), (4, 5), (3, 2), (1, 3)])
def test_loop_is_worth_what_the_formula_says(loops: int, length: int, gain) -> None:
    mdp = dearden_loop(loops, length=length)
    assert (mdp.n_states, mdp.n_actions) == (loops * (length - 1) + 1, loops)
    solution = policy_iteration(mdp, 0.9)
    assert solution.V[0] == pytest.approx(2 * 0.9 ** (length - 1) / (1 - 0.9**length), rel=1e-12)
    assert gain(mdp, solution.policy) == pytest.approx(2 / length)
    for first in range(loops - 1):  # all other loops close by themselves and pay 1
        policy = np.random.default_rng(first).integers(loops, size=mdp.n_states)
        policy[0] = first
        assert gain(mdp, policy) == pytest.approx(1 / length)


def test_the_last_loop_forgives_nothing() -> None:
    mdp = dearden_loop()
    assert mdp.n_states == 9
    for s in range(5, 9):
        assert mdp.P[s, 0, 0] == 1
        assert mdp.rewards[s, 0] == 0
        assert mdp.P[s, 1, s + 1 if s < 8 else 0] == 1
    assert mdp.rewards.sum() == 1 + 1 + 2


@pytest.mark.parametrize("c", [1, 2, 5, 10])
@pytest.mark.parametrize("p_error", [0.0, 0.2])
@pytest.mark.parametrize("discount", [0.5, 0.9, 0.999])
def test_lazy_chain_is_worth_what_the_formula_says(c: int, p_error: float, discount: float) -> None:
    mdp = lazy_chain(c, p_error=p_error)
    x = discount * (1 - p_error) / (1 - discount * p_error)
    right = (x**c * (2 * c - 1) - (1 - x**c) / (1 - discount)) / (1 - discount * x**c)
    assert evaluate(mdp, np.ones(2 * c + 1, dtype=int), discount)[c] == pytest.approx(right, rel=1e-9)
    assert policy_iteration(mdp, discount).V[c] == pytest.approx(max(right, 0.0), rel=1e-9, abs=1e-12)


def test_lazy_chain_says_from_where_on_laziness_wins_at_09() -> None:
    """And with c = 1, where the right end pays just what the way costs."""
    lazy = [c for c in range(1, 40) if policy_iteration(lazy_chain(c), 0.9).V[c] < 1e-9]
    assert lazy == [1, *range(11, 40)]


def test_lazy_chain_has_a_discount_of_its_own() -> None:
    assert make_env("lazychain:10,p_error=0.2").discount == 0.999
    assert make_env("lazychain:10,p_error=0.2").name == "lazychain:10,p_error=0.2"
    assert make_env("lazychain:10").mdp.n_states == 21
    for text in ("lazychain:3,discount=0.9", "lazychain:3,horizon=5", "lazychain:3,horizon=5,discount=1"):
        env = make_env(text)
        assert make_env(env.name) == env
    assert make_env("lazychain:3,horizon=5,discount=1").discount == 1


@pytest.mark.parametrize(("n", "a"), [(1, 1), (2, 3), (6, 5)])
@pytest.mark.parametrize("slip", [0.0, 0.1])
def test_lock_is_worth_what_the_formula_says(n: int, a: int, slip: float) -> None:
    mdp = combination_lock(n, a, slip=slip, seed=4)
    digits = np.append(np.random.RandomState(4).randint(a, size=n), 0)
    p, g = 1 - slip + slip / a, 0.9
    x = p * g
    value = x**n / (1 - g * x**n - g * (1 - p) * (1 - x**n) / (1 - x))
    assert evaluate(mdp, digits, g)[0] == pytest.approx(value, rel=1e-12)
    assert policy_iteration(mdp, g).V[0] == pytest.approx(value, rel=1e-10)


def test_only_the_digits_open_the_lock_and_the_lure_is_a_wrong_one() -> None:
    mdp = combination_lock(3, 3, lure=0.05, seed=1)
    opened = [code for code in itertools.product(range(3), repeat=3) if _final(mdp, code) == 3]
    assert opened == [tuple(np.random.RandomState(1).randint(3, size=3))]
    assert np.count_nonzero(mdp.rewards[0]) == 1
    lure = int(mdp.rewards[0].argmax())
    assert mdp.P[0, lure, 0] == 1
    assert mdp.rewards[0, lure] == 0.05


def test_the_lock_of_the_study_is_worth_more_than_its_lure() -> None:
    solution = policy_iteration(make_env("lock:6,5,slip=0.1,lure=0.05").mdp, 0.9)
    assert solution.V[0] > 0.05 / 0.1
    assert (solution.policy[:6] == np.random.RandomState(0).randint(5, size=6)).all()


def _final(mdp, code) -> int:
    s = 0
    for action in code:
        s = int(mdp.P[s, action].argmax())
    return s


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("chain:1", "n of chain is 1"),
        ("chain:5,slip=1.5", "slip of chain is 1.5; a probability"),
        ("loop:0", "l of loop is 0"),
        ("loop:2,length=1", "length of loop is 1"),
        ("lazychain", "lazychain needs c"),
        ("lazychain:3,p_error=-0.1", "p_error of lazychain is -0.1"),
        ("lock:3", "lock needs a"),
        ("lock:3,1,lure=0.1", "lure of lock"),
    ],
)
def test_refusals(text: str, word: str) -> None:
    with pytest.raises(InvalidOption, match=word):
        make_env(text)
