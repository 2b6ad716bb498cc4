"""Statistics over seeds: known values, brute force, coverage and, in the slow suite, rliable as an oracle."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steering.errors import InvalidOption
from steering.runs.statistics import (
    area_under_curve,
    interquartile_interval,
    interquartile_mean,
    performance_profile,
    pooled_interval,
    probability_of_improvement,
)

numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))


def test_interquartile_mean_of_known_numbers():
    assert interquartile_mean(np.arange(8.0)) == np.mean([2, 3, 4, 5])
    assert interquartile_mean(np.array([5.0, -1e9, 1e9, 7.0])) == 6.0
    assert interquartile_mean(np.array([3.0])) == 3.0
    assert interquartile_mean(np.arange(8.0).reshape(2, 4)).tolist() == [1.5, 5.5]


@given(arrays(np.float64, st.integers(1, 40), elements=numbers), st.randoms(use_true_random=False))
def test_interquartile_mean_does_not_care_for_order_and_follows_shifts(values, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert interquartile_mean(shuffled) == interquartile_mean(values)
    assert values.min() <= interquartile_mean(values) + 1e-9
    assert interquartile_mean(values + 5) == pytest.approx(interquartile_mean(values) + 5)


@given(arrays(np.float64, st.integers(1, 8), elements=numbers), arrays(np.float64, st.integers(1, 8), elements=numbers))
def test_unpaired_probability_is_the_count_over_all_pairs(x, y):
    wins = [1.0 if a < b else 0.5 if a == b else 0.0 for a, b in itertools.product(x, y)]
    value, low, high = probability_of_improvement({"e": x}, {"e": y}, paired=False, resamples=50)
    assert value == pytest.approx(np.mean(wins))
    assert 0 <= low <= high <= 1 or (np.isnan([low, high]).all() and min(x.size, y.size) < 3)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=10))
def test_paired_probability_counts_pairs_and_is_complementary(pairs):
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    forward = probability_of_improvement({"e": x}, {"e": y}, resamples=50)
    backward = probability_of_improvement({"e": y}, {"e": x}, resamples=50)
    assert forward[0] == pytest.approx(np.mean([1.0 if a < b else 0.5 if a == b else 0.0 for a, b in pairs]))
    assert forward[0] + backward[0] == pytest.approx(1)


def test_environments_weigh_the_same_in_comparisons_and_profiles():
    x = {"a": np.zeros(10), "b": np.ones(2)}
    y = {"a": np.ones(10), "b": np.zeros(2)}
    assert probability_of_improvement(x, y)[0] == 0.5
    share, low, high = performance_profile(x, np.array([-0.5, 0.5, 1.5]))
    assert share.tolist() == [0.0, 0.5, 1.0]
    assert np.isnan([low, high]).all()  # one environment has two seeds
    x = {"a": np.zeros(10), "b": np.ones(3)}
    share, low, high = performance_profile(x, np.array([-0.5, 0.5, 1.5]))
    assert low == pytest.approx(share)
    assert high == pytest.approx(share)


@given(arrays(np.float64, st.integers(1, 30), elements=numbers))
def test_a_profile_is_the_distribution_function(values):
    taus = np.linspace(-1e3, 1e3, 21)
    share, low, high = performance_profile({"e": values}, taus, resamples=40)
    assert share == pytest.approx([np.mean(values <= tau) for tau in taus])
    assert np.all(np.diff(share) >= 0)
    assert np.all((low <= share + 1e-12) & (share <= high + 1e-12)) or values.size < 5
    assert np.isnan(low).all() == (values.size < 3)


def test_area_of_known_curves():
    steps = np.array([1.0, 2.0, 4.0])
    assert area_under_curve(steps, np.array([[1.0, 2.0, 4.0]])) == pytest.approx([2.0])  # a straight line from 0
    assert area_under_curve(steps, np.array([[0.0, 0.0, 0.0]])).tolist() == [0.0]


def test_strata_are_resampled_apart():
    """Two environments far from each other: pooling them would give an interval as wide as their distance."""
    rng = np.random.default_rng(0)
    strata = {"low": rng.normal(0, 0.01, 20), "high": rng.normal(100, 0.01, 20)}
    value, low, high = pooled_interval(strata)
    assert value == pytest.approx(50, abs=0.02)
    assert high - low < 0.02


@pytest.mark.parametrize("interval", [pooled_interval, interquartile_interval])
def test_pooled_intervals_cover_at_about_their_level(interval):
    """300 data sets of 2 x 25 symmetric scores; the truth is 0.5. A share of 0.9 lies outside of 0.83 to 0.96 with
    probability below 1e-3 (binomial)."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        strata = {"a": rng.normal(0, 1, 25), "b": rng.normal(1, 1, 25)}
        _, low, high = interval(strata, level=0.9)
        covered += low <= 0.5 <= high
    assert 0.83 < covered / 300 < 0.96


def test_the_same_seed_gives_the_same_interval_and_blocks_do_not_matter(monkeypatch):
    from steering.runs import statistics

    x, y = np.random.default_rng(1).random((2, 29))
    both = {"a": x}, {"a": y}
    once = probability_of_improvement(*both)
    assert once == probability_of_improvement(*both)
    assert once != probability_of_improvement(*both, seed=2)
    monkeypatch.setattr(statistics, "BLOCK_NUMBERS", 100)
    assert once == pytest.approx(probability_of_improvement(*both))


def test_resamples_are_not_all_held_in_memory(monkeypatch):
    """2000 resamples of 1000 numbers are 16 MB at once; in blocks of 20,000 numbers they are 0.2 MB."""
    from steering.runs import statistics

    monkeypatch.setattr(statistics, "BLOCK_NUMBERS", 20_000)
    x, y = np.random.default_rng(0).random((2, 1000))
    for call in (
        lambda: probability_of_improvement({"a": x}, {"a": y}),
        lambda: performance_profile({"a": x}, np.array([0.5])),
    ):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2e6


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: pooled_interval({}), "at least one value"),
        (lambda: interquartile_interval({"a": np.array([])}), "at least one value"),
        (lambda: pooled_interval({"a": np.array([np.nan])}), "not finite"),
        (lambda: interquartile_interval({"a": np.ones(2)}, level=1.0), "level is 1"),
        (lambda: probability_of_improvement({"a": np.ones(2)}, {"b": np.ones(2)}), "same environments"),
        (lambda: probability_of_improvement({"a": np.ones(2)}, {"a": np.ones(3)}), "2 and 3"),
    ],
)
def test_bad_input_gets_a_sentence(call, match):
    with pytest.raises(InvalidOption, match=match):
        call()


def oracle_scores():
    rng = np.random.default_rng(3)
    return rng.gamma(2.0, 0.2, (30, 4)), rng.gamma(2.0, 0.3, (30, 4))


def columns(scores):
    return {f"e{i}": scores[:, i] for i in range(scores.shape[1])}


# Intervals of rliable 1.2.0 (arch 7.2.0, numpy 2.4.6, pandas 2.3.3, which is the newest it imports with) for the scores
# above: library.get_interval_estimates with reps=50_000, which ignores its seed.
RLIABLE = {
    "iqm": (0.3796, 0.33166, 0.43169),
    "mean": (0.44084, 0.39033, 0.49335),
    "improvement": (0.67083, 0.60278, 0.73694),
}


@pytest.mark.parametrize(("name", "interval"), [("iqm", interquartile_interval), ("mean", pooled_interval)])
def test_intervals_are_close_to_those_of_rliable_with_many_runs(name, interval):
    """The two methods agree for many runs: with 4 x 30, values to the digits given, ends to a tenth of the interval."""
    found = interval(columns(oracle_scores()[0]))
    assert found[0] == pytest.approx(RLIABLE[name][0], abs=5e-5)
    assert found == pytest.approx(RLIABLE[name], abs=0.1 * (RLIABLE[name][2] - RLIABLE[name][1]))


def test_probability_of_improvement_agrees_with_rliable():
    """rliable counts higher scores as better, so that its P(Y > X) is our P(X < Y); noise as above, allowed is 0.01."""
    x, y = oracle_scores()
    found = probability_of_improvement(columns(x), columns(y), paired=False, resamples=20_000)
    assert found == pytest.approx(RLIABLE["improvement"], abs=0.01)


@pytest.mark.slow
@given(arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 5)), elements=numbers))
def test_point_estimates_equal_those_of_rliable(scores):
    from rliable import metrics

    assert interquartile_mean(scores.reshape(-1)) == pytest.approx(metrics.aggregate_iqm(scores))
    assert pooled_interval({"e": scores.reshape(-1)})[0] == pytest.approx(metrics.aggregate_mean(scores))
    other = np.round(scores[::-1] * 1.5 + 1, 2)
    ours = probability_of_improvement(columns(scores), columns(other), paired=False, resamples=10)[0]
    assert ours == pytest.approx(metrics.probability_of_improvement(other, scores))
