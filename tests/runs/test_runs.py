"""Regret arithmetic of results that are written down by hand."""

import numpy as np
import pytest

from steering.errors import InvalidOption, NotAvailable
from steering.runs.results import RunResults


def results(oracle_expected: list[float] | None = None) -> RunResults:
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
    assert 0.4 <= summary["low"] <= 0.6 <= summary["high"] <= 0.8
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
