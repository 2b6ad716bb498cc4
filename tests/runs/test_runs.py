"""Regret arithmetic of results that are written down by hand."""

import numpy as np
import pytest

from steering.errors import InvalidOption, NotAvailable
from steering.runs.results import RunResults


def results(oracle_expected: list[float] | None = None, random: float | None = None) -> RunResults:
    known = oracle_expected is not None
    return RunResults(
        environment="paper",
        agent="pencil",
        seeds=(0, 1),
        discount=0.9,
        horizon=None,
        rewards=np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]),
        expected_rewards=np.array([[0.5, 0.5, 1.0], [0.5, 0.0, 1.0]]) if known else None,
        oracle_rewards=np.array([[2.0, 1.0, 2.0], [1.0, 3.0, 1.0]]) if known else None,
        oracle_expected=np.array(oracle_expected) if known else None,
        random_total=random if known else None,
        visits=np.zeros((2, 1, 1, 1)),
        windows=np.array([0, 3]),
        seconds=np.array([0.1, 0.3]),
    )


def test_regret_by_hand() -> None:
    paper = results([1.0, 2.0, 2.0])
    np.testing.assert_array_equal(paper.regret_curve(), [[1, 2, 2], [1, 4, 4]])
    np.testing.assert_array_equal(paper.regret(), [2, 4])
    np.testing.assert_array_equal(paper.regret(kind="expected"), [3.0, 3.5])
    np.testing.assert_allclose(paper.regret(normalised=True), [2 / 5, 4 / 5])
    np.testing.assert_allclose(paper.regret_curve(kind="expected", normalised=True)[0], [0.1, 0.4, 0.6])
    summary = paper.summary()
    assert summary["measure"] == "normalised_regret"
    assert summary["mean"] == pytest.approx(0.6)
    assert summary["low"] is None  # two seeds have no interval
    assert summary["high"] is None
    assert summary["seconds"] == pytest.approx(0.2)


def test_an_unknown_kind_of_regret_is_named() -> None:
    with pytest.raises(InvalidOption, match="kind is 'real'"):
        results([1.0, 1.0, 1.0]).regret(kind="real")


@pytest.mark.parametrize("total", [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 0.0, 0.0]])
def test_no_ratio_to_an_oracle_that_earns_nothing(total: list[float]) -> None:
    with pytest.raises(NotAvailable, match="use the raw regret"):
        results(total).regret(normalised=True)
    np.testing.assert_array_equal(results(total).regret(), [2, 4])


def test_without_an_oracle_there_are_rewards_only() -> None:
    live = results(None)
    with pytest.raises(NotAvailable, match="needs the true MDP"):
        live.regret()
    table = live.table()
    assert table["reward"].tolist() == [3.0, 1.0]
    assert not [column for column in table if "regret" in column]
    assert live.summary()["measure"] == "reward"
    assert "score" not in live.summary()
    with pytest.raises(NotAvailable, match="needs the true MDP"):
        live.regret(normalised="random")


def test_the_score_by_hand() -> None:
    """Costs: the oracle pays 1, a random policy 5; regrets of 2 and 4 are a half and all of the difference."""
    costs = results([-1.0, 0.0, 0.0], random=-5.0)
    np.testing.assert_allclose(costs.regret(normalised="random"), [0.5, 1.0])
    np.testing.assert_allclose(costs.regret_curve(normalised="random")[1], [0.25, 1.0, 1.0])
    np.testing.assert_allclose(costs.regret(normalised="random", kind="expected"), costs.regret(kind="expected") / 4)
    with pytest.raises(NotAvailable, match="normalised='random'"):
        costs.regret(normalised=True)
    assert costs.table()["score"].tolist() == [0.5, 1.0]
    summary = costs.summary()
    assert (summary["measure"], summary["score"]) == ("score", 0.75)
    assert summary["failed"] == 0.5  # a run with a score of exactly 0.5 has not failed


def test_both_normalisations_where_both_exist() -> None:
    paper = results([1.0, 2.0, 2.0], random=1.0)
    np.testing.assert_array_equal(paper.regret(normalised="oracle"), paper.regret(normalised=True))
    np.testing.assert_allclose(paper.regret(normalised="random"), [2 / 4, 4 / 4])
    assert paper.summary()["measure"] == "normalised_regret"
    assert paper.summary()["failed"] == 0.5


@pytest.mark.parametrize("random", [5.0, 5.0 - 1e-10, 6.0])
def test_no_score_where_nothing_is_to_be_gained_over_random(random: float) -> None:
    same = results([1.0, 2.0, 2.0], random=random)
    with pytest.raises(NotAvailable, match="score is not defined on 'paper'"):
        same.regret(normalised="random")
    assert "score" not in same.table()
    assert "failed" not in same.summary()
    with pytest.raises(NotAvailable, match="run again"):
        results([1.0, 2.0, 2.0]).regret(normalised="random")


def test_an_unknown_normalisation_is_named() -> None:
    with pytest.raises(InvalidOption, match="normalised is 'best'"):
        results([1.0, 1.0, 1.0]).regret(normalised="best")


def test_texts_of_results_are_short() -> None:
    text = repr(results([1.0, 2.0, 2.0], random=1.0))
    assert text.splitlines()[0] == "RunResults: pencil on paper, 2 seeds of 3 steps"
    assert text.splitlines()[1] == "normalised regret 0.600, score 0.750, 50 % of runs failed"
    assert repr(results()).splitlines()[1] == "reward 2.000"
    page = results([1.0, 2.0, 2.0], random=1.0)._repr_html_()
    assert "<table" in page
    assert "pencil" in page
