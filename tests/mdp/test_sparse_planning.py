"""Planning on sparse rows agrees with dense planning, with linear programs and, on large MDPs, with itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import DISCOUNTS, mdps, random_actions, random_policy

from steering import mdp as planners
from steering.envs import make_env
from steering.mdp import TabularMDP, _rows, solve

LARGE = ("maze:40,lava=0.05,step_cost=0.001", "garnet:2000,3,4", "deepsea:500", "rooms:30")
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _rows_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_rows, "DENSE_PLANNING", 0)


def close(a: object, b: object, scale: float) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(scale, 1e-3))


@given(mdps(), DISCOUNTS, SEEDS)
@settings(deadline=None)
def test_evaluation_and_occupancy_agree_with_the_dense_form(mdp: TabularMDP, discount: float, seed: int) -> None:
    rows = mdp.to_sparse()
    scale = float(np.abs(mdp.rewards).max()) / (1 - discount)
    close(rows.rewards, mdp.rewards, scale)
    for policy in (random_actions(mdp, seed), random_policy(mdp, seed)):
        V = planners.evaluate(mdp, policy, discount)
        close(planners.evaluate(rows, policy, discount), V, scale)
        close(planners.action_values(rows, V, discount), planners.action_values(mdp, V, discount), scale)
        close(planners.occupancy(rows, policy, discount), planners.occupancy(mdp, policy, discount), 1.0)
        close(planners.gain(rows, policy), planners.gain(mdp, policy), scale)
        curves = [planners.expected_reward_curve(m, policy, 50) for m in (rows, mdp)]
        close(*curves, scale)
        finite = [planners.evaluate_finite(m, policy, 7) for m in (rows, mdp)]
        close(*finite, 7 * scale)
        close(*(planners.occupancy_finite(m, policy, 7) for m in (rows, mdp)), 1.0)


@given(mdps(), DISCOUNTS)
@settings(deadline=None)
def test_every_planner_agrees_with_dense_policy_iteration(mdp: TabularMDP, discount: float) -> None:
    rows, exact = mdp.to_sparse(), planners.policy_iteration(mdp, discount)
    scale = float(np.abs(mdp.rewards).max()) / (1 - discount)
    sparse = planners.policy_iteration(rows, discount)
    close(sparse.V, exact.V, scale)
    np.testing.assert_array_equal(sparse.policy, exact.policy)
    assert sparse.converged
    for method in ("auto", "mpi", "vi"):
        found = solve(rows, discount, method, relative=1e-9)
        top = float(np.abs(exact.V).max())
        assert np.abs(found.V - exact.V).max() <= found.error_bound + 1e-13 * scale
        assert found.error_bound <= 1e-9 * top * (1 + 1e-6) or not found.converged
        loss = exact.V - planners.evaluate(mdp, found.policy, discount)
        assert loss.max() <= found.error_bound + 1e-13 * scale


@given(mdps(), st.integers(1, 8), st.sampled_from([0.7, 1.0]))
@settings(deadline=None)
def test_backward_induction_agrees_with_the_dense_form(mdp: TabularMDP, horizon: int, discount: float) -> None:
    a, b = (planners.backward_induction(m, horizon, discount) for m in (mdp.to_sparse(), mdp))
    scale = horizon * float(np.abs(mdp.rewards).max())
    close(a.V, b.V, scale)
    close(a.Q, b.Q, scale)
    np.testing.assert_array_equal(a.policy, b.policy)


@pytest.mark.parametrize("discount", [0.5, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_planners_agree_with_the_linear_program(seed: int, discount: float) -> None:
    mdp = make_env(f"garnet:40,3,3,seed={seed}").table.to_sparse()
    program = solve(mdp, discount, "lp")
    for method in ("mpi", "vi", "pi"):
        np.testing.assert_allclose(solve(mdp, discount, method).V, program.V, rtol=0, atol=1e-6)


@pytest.mark.parametrize("text", LARGE)
@pytest.mark.parametrize("discount", [0.99, 0.999])
def test_planners_agree_on_large_mdps(text: str, discount: float) -> None:
    mdp = make_env(text).table
    assert mdp.is_sparse
    exact = solve(mdp, discount, "pi")
    assert exact.converged
    assert exact.error_bound <= 1e-9 * np.abs(exact.V).max()
    for method in ("mpi", "vi"):
        found = solve(mdp, discount, method, relative=1e-7)
        assert found.converged
        assert np.abs(found.V - exact.V).max() <= found.error_bound <= 1e-7 * np.abs(found.V).max() * (1 + 1e-6)
    again = solve(mdp, discount, V=exact.V)
    assert again.iterations <= 3
    assert solve(mdp, discount, "pi", policy=exact.policy).iterations == 1


@pytest.mark.parametrize("text", LARGE)
def test_sweeps_and_factorisation_agree(text: str) -> None:
    mdp = make_env(text).table
    policy = solve(mdp, 0.99).policy
    P, r = planners.policy_chain(mdp, policy)
    V = _rows.solve(P, r, 0.99)
    np.testing.assert_allclose(V, _rows.factorised(P, r, 0.99), rtol=0, atol=1e-11 * np.abs(V).max())


@pytest.mark.parametrize("text", LARGE)
def test_gain_and_occupancy_of_large_chains(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stationary distribution gives the gain; visits at a discount near 1 come close to it."""
    from steering.mdp import long_run

    mdp = make_env(text).table
    policy = solve(mdp, 0.99).policy
    direct = planners.average_reward(mdp, policy)
    monkeypatch.setattr(long_run, "LARGE", 50)
    assert planners.average_reward(mdp, policy) == pytest.approx(direct, rel=1e-10, abs=1e-13)
    visits = planners.occupancy(mdp, policy, 0.999)
    assert visits.sum() == pytest.approx(1.0, abs=1e-11)
    assert (visits * mdp.rewards).sum() == pytest.approx(
        0.001 * mdp.start @ planners.evaluate(mdp, policy, 0.999), rel=1e-9
    )


def test_a_system_whose_sweeps_do_not_settle_is_factorised(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make_env("rooms:12").table
    policy = np.zeros(mdp.n_states, dtype=int)
    V = planners.evaluate(mdp, policy, 0.99)
    gain = planners.average_reward(mdp, policy)
    monkeypatch.setattr(_rows, "MAX_SWEEPS", 1)
    np.testing.assert_allclose(planners.evaluate(mdp, policy, 0.99), V, rtol=0, atol=1e-12)
    assert planners.average_reward(mdp, policy) == pytest.approx(gain, abs=1e-13)


def test_unknown_methods_are_refused() -> None:
    from steering.errors import InvalidOption

    with pytest.raises(InvalidOption, match="method is 'best'; it must be one of: auto, mpi, vi, pi, lp"):
        solve(make_env("deepsea:4").table, 0.9, "best")
