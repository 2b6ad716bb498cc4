"""Sweeps by blocks of states: exact values from any start, for any size of the blocks, and less work on large grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdp_strategies import DISCOUNTS, mdps

from steering import mdp as planners
from steering._compiled import sparse_blocks, sparse_orders
from steering.envs import make_env
from steering.mdp import TabularMDP, _rows, solve
from steering.mdp import sparse_planning as planning


@pytest.fixture
def _blocks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_rows, "DENSE_PLANNING", 0)
    monkeypatch.setattr(planning, "FAR", 0)
    monkeypatch.setattr(_rows, "order_of", lambda mdp, r: (np.arange(mdp.n_states, dtype=np.int32)[::-1].copy(), True))


@pytest.mark.usefixtures("_blocks_for_all")
@pytest.mark.parametrize("size", [1, 3])
@given(mdps(), DISCOUNTS, st.floats(-1.0, 1.0), st.sampled_from(["mpi", "vi"]))
@settings(deadline=None)
def test_any_blocks_from_any_start_find_the_values(
    size: int, mdp: TabularMDP, discount: float, start: float, method: str
) -> None:
    exact = planners.policy_iteration(mdp, discount).V
    scale = float(np.abs(mdp.rewards).max()) / (1 - discount)
    first = start * scale * np.cos(7.0 * np.arange(mdp.n_states))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "BLOCK", size)
        found = solve(mdp.to_sparse(), discount, method, relative=1e-9, V=first)
    top = float(np.abs(exact).max())
    assert np.abs(found.V - exact).max() <= found.error_bound + 1e-13 * scale
    assert found.error_bound <= 1e-9 * top * (1 + 1e-6) or not found.converged
    values = planners.evaluate(mdp, found.policy, discount)
    assert (exact - values).max() <= found.error_bound + 1e-13 * scale


@pytest.mark.parametrize("text", ["maze:130,lava=0.1", "rooms:129", "deepsea:20000"])
def test_blocks_agree_with_sweeps_of_all_states(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = make_env(text).table.to_sparse()
    start = np.linspace(-1.0, 1.0, mdp.n_states)
    blocked = [solve(mdp, 0.97, relative=1e-9, V=V) for V in (None, start)]
    monkeypatch.setattr(planning, "FAR", 10**9)
    whole = solve(mdp, 0.97, relative=1e-9)
    for found in blocked:
        assert found.converged
        assert np.abs(found.V - whole.V).max() <= found.error_bound + whole.error_bound
        backup = planners.action_values(mdp, found.V, 0.97)
        assert np.abs(np.where(mdp.allowed, found.Q, 0) - np.where(mdp.allowed, backup, 0)).max() <= found.error_bound


def test_a_block_reads_the_blocks_of_its_successors() -> None:
    rng = np.random.default_rng(0)
    S, A, size = 50, 3, 7
    states, actions = np.divmod(np.arange(S * A), A)
    heads = rng.integers(0, S, S * A)
    mdp = TabularMDP.from_transitions(states, actions, heads, np.ones(S * A), np.zeros(S * A))
    first, end = sparse_blocks.ranges(_rows.rows_of(mdp), S, A, size)
    for b in range(-(-S // size)):
        read = np.append(heads[states // size == b] // size, b)
        assert (first[b], end[b]) == (read.min(), read.max() + 1)


@pytest.mark.parametrize("text", ["garnet:3000,3,4", "garnet:2000,2,1", "maze:40", "deepsea:24", "deepsea:25"])
def test_a_shallow_mdp_is_one_of_few_layers(text: str) -> None:
    mdp = make_env(text).table.to_sparse()
    rows, top = _rows.rows_of(mdp), np.array(mdp.rewards).max(axis=1)
    _, depth = sparse_orders.backward_order(rows, top, mdp.n_actions)
    shallow = sparse_orders.shallow(rows, top, mdp.n_actions)
    assert depth <= sparse_orders.DEEP or not shallow
    assert shallow or not text.startswith("garnet:3000")


def test_a_solution_takes_one_round() -> None:
    """One look at the solution is enough, and nothing is swept again."""
    mdp = make_env("deepsea:400").table.to_sparse()
    order = np.arange(400, dtype=np.int32)[::-1].copy()
    rows = sparse_orders.renumbered(_rows.rows_of(mdp), order, mdp.n_actions)
    r, mask = np.array(mdp.rewards)[order], mdp.mask[order]
    V = solve(mdp, 0.5, "pi").V[order]
    args = (0.5, V, 64, 1e-9, 0.0, 20, 1000, 0.0, 2)
    *_, iterations, bound = sparse_blocks.blocked_policy_iteration(rows, r, mask, *args)
    assert iterations == 1
    assert bound <= 1e-9
