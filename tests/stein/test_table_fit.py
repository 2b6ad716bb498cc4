"""Two-way tables: fit to a joint pmf and independence, exactly, and raw samples in place of counts everywhere."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steering.stein as stein
from steering.errors import InvalidOption, SteeringError
from steering.stein.errors import InvalidDistribution

Q = np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])


def test_the_p_value_of_a_table_converges_to_the_exact_one() -> None:
    """2 x 2 cells and five samples: enumerate all tables; 4.5 standard errors of 20,000 replicates, fixed seed."""
    q, counts = np.array([[0.4, 0.2], [0.1, 0.3]]), np.array([[1, 2], [1, 1]])
    observed = stein.vector_discrepancy_from_counts(counts, q)
    exact = 0.0
    for cells in itertools.product(range(6), repeat=3):
        if sum(cells) <= 5:
            table = np.array([*cells, 5 - sum(cells)]).reshape(2, 2)
            if stein.vector_discrepancy_from_counts(table, q) >= observed - 1e-12:
                ways = math.factorial(5) / math.prod(math.factorial(int(c)) for c in table.ravel())
                exact += ways * float(np.prod(q**table))
    result = stein.table_goodness_of_fit(counts, q, draws=20_000, rng=1)
    assert result.statistic == pytest.approx(observed, rel=1e-12)
    assert abs(result.p_value - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 20_000)


def test_independence_is_exact_given_the_margins() -> None:
    """All tables with margins (3, 2) and (2, 3), weighed as random pairing weighs them (hypergeometric)."""
    counts = np.array([[2, 1], [0, 2]])
    model = np.outer([3, 2], [2, 3]) / 25
    observed = stein.vector_discrepancy_from_counts(counts, model)
    exact = 0.0
    for a in range(3):  # the upper left cell
        table = np.array([[a, 3 - a], [2 - a, a]])
        if (table >= 0).all():
            share = math.comb(2, a) * math.comb(3, 3 - a) / math.comb(5, 3)
            exact += share * (stein.vector_discrepancy_from_counts(table, model) >= observed - 1e-12)
    result = stein.independence_test(counts, draws=20_000, rng=3)
    assert result.statistic == pytest.approx(observed, rel=1e-12)
    assert abs(result.p_value - exact) < 4.5 * math.sqrt(max(exact * (1 - exact), 1e-3) / 20_000)


@pytest.mark.parametrize("test", ["table", "independence"])
def test_the_level_is_held_and_power_rises(test: str) -> None:
    """200 null data sets at 10 %: at most 34 rejections (99.9 % of the binomial, fixed seeds); then power."""
    rng = np.random.default_rng(5)
    product = np.outer(Q.sum(axis=1), Q.sum(axis=0))
    null = Q if test == "table" else product

    def p_value(table: np.ndarray, seed: int) -> float:
        if test == "table":
            return stein.table_goodness_of_fit(table, Q, draws=99, rng=seed).p_value
        return stein.independence_test(table, draws=99, rng=seed).p_value

    hits = sum(p_value(rng.multinomial(60, null.ravel()).reshape(2, 3), i) <= 0.1 for i in range(200))
    assert hits <= 34
    other = product if test == "table" else Q
    found = [p_value(rng.multinomial(600, other.ravel()).reshape(2, 3), i) <= 0.05 for i in range(20)]
    assert np.mean(found) == 1.0


def test_three_axes_and_forbidden_cells() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    counts = rng.multinomial(300, q.ravel()).reshape(q.shape)
    assert stein.table_goodness_of_fit(counts, q, draws=199).p_value > 0.05
    q = Q.copy()
    q[0, 0], q[0, 1] = 0.0, 0.3
    counts = np.ones((2, 3), dtype=int)
    assert stein.table_goodness_of_fit(counts, q, draws=199).p_value == 1 / 200, "a cell that q forbids cannot happen"


def test_empty_rows_say_nothing_about_independence() -> None:
    counts = np.array([[5, 0, 3], [0, 0, 0], [2, 0, 6]])
    assert stein.independence_test(counts).p_value == stein.independence_test([[5, 3], [2, 6]]).p_value


@given(seed=st.integers(0, 200))
def test_samples_stand_for_their_counts_everywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(4))
    samples = rng.choice(4, size=30, p=q)
    counts = np.bincount(samples, minlength=4)
    assert stein.discrepancy_from_counts(samples=samples, q=q) == stein.discrepancy_from_counts(counts, q)
    one, other = (stein.goodness_of_fit(**given, q=q, draws=19) for given in ({"samples": samples}, {"counts": counts}))
    assert (one.statistic, one.p_value) == (other.statistic, other.p_value)
    rows = rng.dirichlet(np.ones(4), size=(3, 2))
    moves = np.stack([rng.integers(0, n, 40) for n in (3, 2, 4)], axis=1)
    table = np.zeros((3, 2, 4), dtype=int)
    np.add.at(table, tuple(moves.T), 1)
    assert stein.joint_discrepancy(samples=moves, q=rows) == stein.joint_discrepancy(table, rows)
    tests = [
        stein.transition_goodness_of_fit(q=rows, draws=19, **kind) for kind in ({"samples": moves}, {"counts": table})
    ]
    assert tests[0].p_value == tests[1].p_value
    joint = rows / rows.sum()
    fits = [stein.table_goodness_of_fit(q=joint, draws=19, **kind) for kind in ({"samples": moves}, {"counts": table})]
    assert fits[0].p_value == fits[1].p_value
    pairs = moves[:, :2]
    whole = stein.independence_test(samples=pairs, sizes=(3, 2), draws=19)
    assert stein.independence_test(samples=pairs, draws=19).p_value == whole.p_value  # sizes are what was seen
    assert whole.p_value == stein.independence_test(table.sum(axis=2), draws=19).p_value


def test_what_is_ambiguous_is_refused() -> None:
    law = [0.5, 0.3, 0.2]
    with pytest.raises(InvalidDistribution, match="both of counts and samples are given"):
        stein.goodness_of_fit([1, 2, 3], law, samples=[0, 1])
    with pytest.raises(InvalidDistribution, match="neither of counts and samples"):
        stein.goodness_of_fit(q=law)
    with pytest.raises(InvalidDistribution, match="model q is missing"):
        stein.goodness_of_fit([1, 2, 3])
    for function in (stein.goodness_of_fit, stein.discrepancy_from_counts):
        with pytest.raises(InvalidDistribution, match="look like raw samples; if they are, pass samples="):
            function([0, 1, 2, 1, 0], law)
        with pytest.raises(InvalidDistribution, match="whole numbers"):
            function(samples=[0.0, 1.0], q=law)
        with pytest.raises(InvalidDistribution, match=r"samples\[1, 0\] is 3, outside q"):
            function(samples=[0, 3], q=law)
    with pytest.raises(InvalidDistribution, match="look like raw samples"):
        stein.transition_goodness_of_fit([[0, 1], [1, 0], [1, 1]], np.full((2, 2), 0.5))
    with pytest.raises(InvalidDistribution, match=r"every row of q sums to 1.*transition_goodness_of_fit"):
        stein.table_goodness_of_fit([[1, 2], [3, 4]], np.full((2, 2), 0.5))
    with pytest.raises(InvalidDistribution, match="two tables of one shape"):
        stein.table_goodness_of_fit([1, 2, 3], law)
    with pytest.raises(InvalidDistribution, match="two-way table"):
        stein.independence_test([1, 2, 3])
    with pytest.raises(InvalidDistribution, match="with or without their sizes"):
        stein.independence_test([[1, 2]], samples=[[0, 1]])
    pairs = np.random.default_rng(0).integers(0, 2, (40, 2))
    with pytest.raises(InvalidDistribution, match=r"\(40, 2\) with 3 different rows.*Pass pairs as samples=.*counts.T"):
        stein.independence_test(pairs)
    assert stein.independence_test(pairs.T, draws=19).p_value > 0  # the way out for a table of such counts
    assert stein.independence_test(pairs[:7], draws=19).p_value > 0  # small tables repeat by chance
    with pytest.raises(InvalidDistribution, match="table_goodness_of_fit for tables"):
        stein.goodness_of_fit([[1, 2], [3, 4]], Q[:, :2] / Q[:, :2].sum(axis=1, keepdims=True))
    with pytest.raises(InvalidOption, match="draws"):
        stein.independence_test([[1, 2], [3, 4]], draws=0)
    # What broadcasts is counts, whatever it looks like.
    assert np.shape(stein.discrepancy_from_counts([[0, 1], [0, 1], [0, 1]], [[0.5, 0.5]])) == (3,)
    with pytest.raises(SteeringError):
        stein.independence_test([[0, 0], [0, 0]])
