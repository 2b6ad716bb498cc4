"""Stein's identity, closed forms against definitions, invariances, supports."""

from __future__ import annotations

import numpy as np
import pytest
import stein_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption, SteeringError, UnknownName
from steering.stein.errors import InvalidDistribution
from steering.stein.operators import OPERATORS as REGISTRY
from steering.stein.operators import Operator, Reversible, barker, minimum


@given(q=oracle.pmfs(smallest=1e-300), name=st.sampled_from(oracle.OPERATORS), kernel=st.sampled_from(oracle.KERNELS))
def test_steins_identity(q: np.ndarray, name: str, kernel: str) -> None:
    op = stein.get_operator(name)
    assert np.abs(stein.get_kernel(kernel).apply(op.flow(q, q))).max() <= 1e-12
    scale = 1.0 if name not in ("sqrt", "difference") else max(1.0, float(np.sqrt(q.max() / q.min())))
    through_rows = q @ op.generator(q)
    assert np.abs(stein.get_kernel(kernel).apply(through_rows)).max() <= 1e-12 * scale


def test_successor_in_place_of_predecessor_breaks_the_identity() -> None:
    """The mistake of public code: harmless for two outcomes, silently wrong for three or more."""
    for n, holds in ((2, True), (3, False), (7, False)):
        q = np.random.default_rng(n).dirichlet(np.ones(n))
        wrong = np.roll(q, 1) - q * np.roll(q, -1) / q
        assert bool(np.abs(wrong).max() < 1e-12) is holds
        assert np.abs(stein.get_operator("difference").flow(q, q)).max() < 1e-12


@settings(max_examples=60)
@given(q=oracle.pmfs(), name=st.sampled_from(oracle.OPERATORS))
def test_generator_rows_and_flow_follow_the_definition(q: np.ndarray, name: str) -> None:
    op = stein.get_operator(name)
    expected = np.array([oracle.operator_image(name, q, y) for y in range(len(q))])
    scale = np.abs(expected).max() + 1e-300
    np.testing.assert_allclose(op.generator(q), expected, rtol=1e-10, atol=1e-12 * scale)
    y = len(q) // 2
    np.testing.assert_allclose(op.row(q, y), expected[y], rtol=1e-10, atol=1e-12 * scale)
    p = np.random.default_rng(len(q)).dirichlet(np.ones(len(q)))
    np.testing.assert_allclose(op.flow(p, q), p @ expected, rtol=1e-10, atol=1e-11 * scale)


@settings(max_examples=50)
@given(data=oracle.counts_and_pmf(1e-200), name=st.sampled_from(["barker", "gibbs", "min"]), seed=st.integers(0, 99))
def test_reversible_operators_do_not_depend_on_numbering(data: tuple, name: str, seed: int) -> None:
    counts, q = data
    order = np.random.default_rng(seed).permutation(len(q))
    one = stein.discrepancy_from_counts(counts, q, name)
    assert stein.discrepancy_from_counts(counts[order], q[order], name) == pytest.approx(one, rel=1e-9, abs=1e-14)


def test_difference_depends_on_numbering_a_lot() -> None:
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(15)), rng.dirichlet(np.ones(15))
    orders = [rng.permutation(15) for _ in range(200)]
    values = [stein.discrepancy(p[o], q[o], "difference") for o in orders]
    assert max(values) > 10 * min(values)


@settings(max_examples=60)
@given(
    p=oracle.pmfs(1e-3, (2, 12)),
    seed=st.integers(0, 10_000),
    size=st.floats(1e-5, 1.0),
    name=st.sampled_from(oracle.OPERATORS),
)
def test_zero_if_and_only_if_equal(p: np.ndarray, seed: int, size: float, name: str) -> None:
    assert stein.discrepancy(p, p, name) <= 1e-24
    other = (1 - size) * p + size * np.random.default_rng(seed).dirichlet(np.ones(len(p)))
    gap = float(np.abs(p - other).max())
    assert stein.discrepancy(p, other, name) > 1e-4 * gap**2


def test_mass_where_the_model_has_none_is_seen() -> None:
    q = np.array([0.5, 0.5, 0.0, 0.0])
    p = np.array([0.4, 0.4, 0.2, 0.0])
    for name in ("barker", "min", "gibbs"):
        assert stein.discrepancy(q, q, name) == 0.0
        assert stein.discrepancy(p, q, name) > 0.01
    # w(y) = -p(y) * number of outcomes the model allows
    assert barker.flow(p, q)[2] == pytest.approx(-0.4)
    assert barker.flow(p, q)[3] == 0.0


@pytest.mark.parametrize("name", ["difference", "sqrt"])
def test_zero_probability_is_refused_where_the_operator_divides(name: str) -> None:
    with pytest.raises(InvalidDistribution, match=r"q\[2\] is zero.*barker"):
        stein.discrepancy([0.3, 0.3, 0.4], [0.5, 0.5, 0.0], name)


def test_probabilities_down_to_the_smallest_number() -> None:
    q = np.array([5e-324, 1e-310, 1.0])
    for name in ("barker", "min", "gibbs"):
        value = stein.discrepancy([0.2, 0.3, 0.5], q, name)
        assert np.isfinite(value)
        assert value > 0
    with pytest.raises(InvalidDistribution, match="double precision"):
        stein.discrepancy([0.2, 0.3, 0.5], q, "difference")


def test_complete_graph_is_all_pairs_and_a_path_is_not() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(6), (4, 1)), rng.dirichlet(np.ones(6), 3)
    full = barker.on(np.ones((6, 6)))
    np.testing.assert_allclose(stein.discrepancy(p, q, full), stein.discrepancy(p, q), rtol=1e-12)
    path = np.diag(np.ones(5), 1)
    local = minimum.on(path + path.T)
    assert local.flow(q[0], q[0]) == pytest.approx(0, abs=1e-15)
    expected = p[0, 0] @ local.generator(q[0])
    np.testing.assert_allclose(local.flow(p[0, 0], q[0]), expected, atol=1e-14)
    np.testing.assert_allclose(local.row(q[0], 2), local.generator(q[0])[2], atol=1e-15)
    assert stein.discrepancy(p, q, local).shape == (4, 3)


def test_identifies_says_when_a_graph_hides_a_difference() -> None:
    edges = np.zeros((4, 4))
    edges[0, 1] = edges[1, 0] = edges[2, 3] = edges[3, 2] = 1
    split = barker.on(edges)
    q = np.full(4, 0.25)
    assert not split.identifies(q)
    assert stein.discrepancy([0.4, 0.4, 0.1, 0.1], q, split) == pytest.approx(0, abs=1e-30)
    assert barker.identifies(q)
    path = barker.on(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    assert path.identifies(q)
    assert path.identifies(np.array([0.5, 0.5, 0.0, 0.0])) is False  # outcome 3 touches only outcome 2


def test_graph_mistakes_are_named() -> None:
    with pytest.raises(InvalidOption, match="symmetric"):
        barker.on(np.array([[0, 1], [0, 0]]))
    with pytest.raises(InvalidOption, match="square"):
        barker.on(np.ones((2, 3)))
    with pytest.raises(InvalidOption, match="3 nodes and q has 2"):
        stein.discrepancy([0.5, 0.5], [0.5, 0.5], barker.on(np.ones((3, 3))))


def test_a_new_operator_is_one_function() -> None:
    harmonic = Reversible("test-sum-of-squares", lambda qy, qz: np.sqrt(qy * qy + qz * qz))
    stein.register_operator(harmonic)
    try:
        q = np.array([0.2, 0.3, 0.5])
        assert stein.discrepancy(q, q, "test-sum-of-squares") == pytest.approx(0, abs=1e-30)
        assert "test-sum-of-squares" in stein.operator_names()
    finally:
        del REGISTRY["test-sum-of-squares"]


def test_an_operator_given_by_its_generator_alone() -> None:
    class Slow(Operator):
        name = "slow"

        def generator(self, q: np.ndarray) -> np.ndarray:
            return barker.generator(q)

    p, q = np.array([0.1, 0.2, 0.7]), np.array([0.3, 0.3, 0.4])
    assert stein.discrepancy(p, q, Slow()) == pytest.approx(stein.discrepancy(p, q), rel=1e-12)
    np.testing.assert_allclose(Slow().row(q, 1), barker.row(q, 1), atol=1e-15)


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'barker'"):
        stein.discrepancy([1.0], [1.0], "baker")
    with pytest.raises(UnknownName, match="exp-hamming"):
        stein.discrepancy([1.0], [1.0], kernel="exp-haming")
    assert issubclass(UnknownName, SteeringError)
