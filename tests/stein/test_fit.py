"""Tests of fit: exactness under the null, power, transition data."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import steering.stein as stein
from steering.errors import InvalidOption
from steering.stein.errors import InvalidDistribution, RareOutcomeWarning
from steering.stein.fit import holm

Q = np.array([0.05, 0.1, 0.15, 0.3, 0.4])


def test_multinomial_p_value_converges_to_the_exact_one() -> None:
    """Three outcomes and six samples: enumerate all tables; 4.5 standard errors of 20,000 replicates, fixed seed."""
    q, counts = np.array([0.2, 0.3, 0.5]), np.array([3, 2, 1])
    observed = stein.discrepancy_from_counts(counts, q)
    exact = 0.0
    for a, b in itertools.product(range(7), repeat=2):
        if a + b <= 6:
            table = np.array([a, b, 6 - a - b])
            if stein.discrepancy_from_counts(table, q) >= observed - 1e-12:
                ways = math.factorial(6) / math.prod(math.factorial(int(c)) for c in table)
                exact += ways * float(np.prod(q**table))
    result = stein.goodness_of_fit(counts, q, draws=20_000, rng=1)
    assert result.statistic == pytest.approx(observed, rel=1e-12)
    assert abs(result.p_value - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 20_000)


@pytest.mark.filterwarnings("ignore::steering.stein.RareOutcomeWarning")
@pytest.mark.parametrize("method", ["multinomial", "wild"])
@pytest.mark.parametrize("statistic", ["V", "U"])
def test_power_rises_to_one(method: str, statistic: str) -> None:
    """40 data sets from a fixed alternative at each size; the rate at n = 1000 is one."""
    wrong = np.array([0.1, 0.1, 0.2, 0.25, 0.35])
    rates = []
    for n in (20, 200, 1000):
        rng = np.random.default_rng(n)
        hits = [
            stein.goodness_of_fit(
                rng.multinomial(n, wrong), Q, statistic=statistic, method=method, draws=199, rng=i
            ).p_value
            <= 0.05
            for i in range(40)
        ]
        rates.append(np.mean(hits))
    assert rates[0] < rates[1] < rates[2] or rates[1] == rates[2] == 1.0
    assert rates[2] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["barker", "gibbs"])
@pytest.mark.parametrize("method", ["multinomial", "wild"])
def test_type_one_error_is_the_level(method: str, operator: str) -> None:
    """1000 null data sets at 5 %: the count lies in its central 99.8 % binomial interval [28, 73] (fixed seeds)."""
    rng = np.random.default_rng(7)
    rejections = sum(
        stein.goodness_of_fit(rng.multinomial(400, Q), Q, operator, method=method, draws=399, rng=i).p_value <= 0.05
        for i in range(1000)
    )
    assert 28 <= rejections <= 73


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n", "limit"),
    [("multinomial", 5, 73), ("multinomial", 20, 73), ("multinomial", 150, 73), ("wild", 300, 73)],
)
def test_type_one_error_with_a_rare_outcome(method: str, n: int, limit: int) -> None:
    """q = (14/15, 1/15), 1000 null data sets at 5 %: at most 73 rejections (99.9 % of a binomial; fixed seeds).

    The exact test may be conservative for few samples; the wild one is asked only where it does not warn.
    """
    q = np.array([14 / 15, 1 / 15])
    rng = np.random.default_rng(9)
    rejections = sum(
        stein.goodness_of_fit(rng.multinomial(n, q), q, method=method, draws=199, rng=i).p_value <= 0.05
        for i in range(1000)
    )
    assert rejections <= limit


def test_wild_bootstrap_warns_of_rare_outcomes() -> None:
    """A table that has probability 0.25 under the model gets 0.001 from the wild bootstrap: not silently."""
    q = [14 / 15, 1 / 15]
    with pytest.warns(RareOutcomeWarning, match="multinomial") as record:
        assert stein.goodness_of_fit([20, 0], q, method="wild").p_value < 0.01
    assert len(record) == 1
    assert record[0].filename == __file__
    assert stein.goodness_of_fit([20, 0], q).p_value > 0.2
    with pytest.warns(RareOutcomeWarning):
        stein.transition_goodness_of_fit([[300, 300], [20, 0]], [[0.5, 0.5], q], method="wild")
    # rows without visits and outcomes that the model forbids are not rare; enough of each is silent
    stein.transition_goodness_of_fit([[300, 300, 0], [0, 0, 0]], [[0.5, 0.5, 0.0], [*q, 0.0]], method="wild")


@pytest.mark.slow
def test_type_one_error_for_transitions() -> None:
    """As above, for six rows with different numbers of visits, one of them never visited."""
    rng = np.random.default_rng(8)
    q = rng.dirichlet(np.ones(4), (3, 2))
    visits = np.array([[5, 40], [0, 100], [17, 30]])
    rejections = 0
    for i in range(1000):
        counts = rng.multinomial(visits, q)
        rejections += stein.transition_goodness_of_fit(counts, q, draws=199, rng=i).p_value <= 0.05
    assert 28 <= rejections <= 73


def test_null_p_values_are_not_small_too_often() -> None:
    """A fast version for every run: 200 null data sets, at most 20 rejections at 5 % (probability 0.2 % beyond)."""
    rng = np.random.default_rng(0)
    p = [stein.goodness_of_fit(rng.multinomial(60, Q), Q, draws=99, rng=i).p_value for i in range(200)]
    assert sum(v <= 0.05 for v in p) <= 20
    assert 0.4 < np.mean(p) < 0.62


def test_transition_test_finds_the_wrong_row() -> None:
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(4) * 3, (3, 2))
    truth = q.copy()
    truth[1, 1] = truth[1, 1][::-1]
    visits = np.array([[100, 80], [0, 300], [60, 150]])
    counts = rng.multinomial(visits, truth)
    result = stein.transition_goodness_of_fit(counts, q, draws=499)
    assert result.p_value <= 0.01
    assert result.rows is not None
    assert result.rows_corrected is not None
    assert np.isnan(result.rows[1, 0])
    assert result.rows_corrected[1, 1] <= 0.02
    others = np.delete(result.rows_corrected.ravel(), [2, 3])
    assert (others > 0.05).all()
    fine = stein.transition_goodness_of_fit(rng.multinomial(100 * visits, q), q, draws=499, method="wild")
    assert fine.p_value > 0.05


def test_a_model_with_zeros_rejects_what_it_forbids() -> None:
    result = stein.goodness_of_fit([10, 10, 1], [0.5, 0.5, 0.0], draws=99)
    assert result.p_value == pytest.approx(0.01)
    assert stein.goodness_of_fit([10, 10, 0], [0.5, 0.5, 0.0], draws=99).p_value == 1.0


def test_results_are_repeatable_and_printable() -> None:
    one, two = (stein.goodness_of_fit([5, 3, 2], [0.3, 0.3, 0.4], rng=4) for _ in range(2))
    assert one.p_value == two.p_value
    assert "p_value" in repr(one)
    assert "replicates" not in repr(one)
    assert len(one.replicates) == one.draws == 999


def test_holm_by_hand() -> None:
    corrected = holm(np.array([[0.01, 0.04], [np.nan, 0.03]]))
    np.testing.assert_allclose(corrected, [[0.03, 0.06], [np.nan, 0.06]])


def test_bad_fit_input() -> None:
    for arguments, error, message in (
        (([1, 2, 3], [0.5, 0.5]), InvalidDistribution, "one length"),
        (([[1, 2]], [[0.5, 0.5]]), InvalidDistribution, "transition_goodness_of_fit"),
        (([0, 0], [0.5, 0.5]), InvalidDistribution, "needs 1"),
    ):
        with pytest.raises(error, match=message):
            stein.goodness_of_fit(*arguments)
    for options, message in (({"draws": 0}, "draws"), ({"method": "x"}, "method"), ({"statistic": "x"}, "'V' or 'U'")):
        with pytest.raises(InvalidOption, match=message):
            stein.goodness_of_fit([1, 2], [0.5, 0.5], **options)
