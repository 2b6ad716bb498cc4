"""Bayesian regret: averages over drawn MDPs, and ranks agents as it must."""

import numpy as np
import pytest

import steering
from steering.errors import InvalidOption, SteeringError
from steering.runs import BayesianRegret, bayesian_regret, run


def test_it_is_the_average_of_expected_regret() -> None:
    result = bayesian_regret("priormdp:3,2", "psrl", mdps=[4, 7], steps=60, runs_per_mdp=3)
    assert result.curves.shape == (2, 60)
    for row, seed in zip(result.curves, (4, 7), strict=True):
        runs = run(f"priormdp:3,2,seed={seed}", "psrl", steps=60, seeds=range(3 * seed, 3 * seed + 3))
        np.testing.assert_array_equal(row, runs.regret_curve(kind="expected").mean(axis=0))
    finals = result.curves[:, -1]
    assert result.mean() == finals.mean()
    assert result.standard_error() == pytest.approx(abs(finals[0] - finals[1]) / 2)
    assert np.isnan(result.interval()).all()  # two MDPs have no interval
    three = BayesianRegret("psrl", "hand", (0, 1, 2), np.array([[1.0], [2.0], [3.0]]))
    reach = 4.302652729911275 / np.sqrt(3)  # t(2) at 97.5 %
    assert three.interval() == pytest.approx((2 - reach, 2 + reach))
    assert result.table()["mdp"].tolist() == [4, 7]
    assert result.table()["agent"].unique().tolist() == ["psrl"]


def test_psrl_beats_random_actions_on_its_own_prior() -> None:
    """Paired over 20 MDPs: the mean difference is more than 5 standard errors (fixed seeds)."""
    psrl, random = (
        bayesian_regret("priormdp:4,2", agent, mdps=20, steps=400).curves[:, -1]
        for agent in ("psrl", "q_learning:epsilon=1")
    )
    difference = random - psrl
    assert difference.mean() > 5 * difference.std(ddof=1) / np.sqrt(20)
    assert psrl.mean() > 0


def test_a_prior_can_be_a_function() -> None:
    def mine(seed: int):
        return steering.make_env("priormdp:3,2", seed=seed, kappa=0.3)

    calls: list[tuple[int, int]] = []
    result = bayesian_regret(mine, "psrl", mdps=2, steps=20, progress=lambda *x: calls.append(x))
    assert isinstance(result, BayesianRegret)
    assert result.prior == "mine"
    assert calls == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("prior", "options"),
    [
        ("priormdp:4,2", {"mdps": 0}),
        ("priormdp:4,2", {"mdps": [-1]}),
        ("priormdp:4,2", {"runs_per_mdp": 0}),
        ("priormdp:4,2", {"runs_per_mdp": 1.5}),
        ("priormdp:4,2", {"steps": 0}),
        ("priormdp:4,2,seed=1", {}),
        ("deepsea:8", {}),
    ],
)
def test_bad_input_gets_one_sentence(prior: str, options) -> None:
    with pytest.raises(SteeringError) as caught:
        bayesian_regret(prior, "psrl", **{"mdps": 2, "steps": 10, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, []])
def test_wrong_numbers_of_mdps_are_called_mdps(wrong) -> None:
    with pytest.raises(InvalidOption, match="mdps is"):
        bayesian_regret("priormdp:4,2", "psrl", mdps=wrong)


def test_a_standard_error_needs_two_mdps() -> None:
    with pytest.raises(InvalidOption, match="at least two"):
        bayesian_regret("priormdp:3,2", "psrl", mdps=1, steps=10).standard_error()
