"""Verdicts are computed: synthetic scores make them flip, by the rule that is stated."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steering.errors import InvalidOption
from steering.experiments.studies.verdicts import MARGIN, compare, verdict


def finals(gap: float, noise: float = 0.01, seeds: int = 30, normalised: bool = True, scale: float = 1.0):
    """Ours at 0.3, the other at 0.3 + gap, with noise that the two share and noise that they do not."""
    rng = np.random.default_rng(0)
    shared, own = rng.normal(0, 0.2, seeds), rng.normal(0, noise, (2, seeds))
    rows = []
    for i, (family, mean) in enumerate((("steering", 0.3), ("psrl", 0.3 + gap))):
        rows += [
            {"cell": "C", "family": family, "setting": family, "environment": "e", "seed": seed, "steps": 10}
            | {"score": (mean + shared[seed] + own[i, seed]) * scale, "normalised": normalised}
            for seed in range(seeds)
        ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("gap", "noise", "expected"),
    [
        (0.1, 0.01, "better"),
        (-0.1, 0.01, "worse"),
        (0.1, 2.0, "tied"),  # lost in the noise
        (-0.1, 2.0, "tied"),
        (0.003, 1e-4, "tied"),  # certain, and nobody would notice
        (-0.003, 1e-4, "tied"),
        (0.0, 0.01, "tied"),
    ],
)
def test_verdicts_flip_with_the_data(gap: float, noise: float, expected: str) -> None:
    row = compare(finals(gap, noise)).iloc[0]
    assert row["verdict"] == expected
    assert row["low"] <= row["difference"] <= row["high"]


def test_pairing_removes_the_noise_that_both_met() -> None:
    """Shared noise of 0.2 hides a gap of 0.03 from 30 unpaired seeds; pairs see it."""
    table = finals(0.03, 0.01)
    assert compare(table).iloc[0]["verdict"] == "better"
    shuffled = table.copy()
    theirs = shuffled["family"] == "psrl"
    shuffled.loc[theirs, "seed"] = (shuffled.loc[theirs, "seed"] + 7) % 30
    assert compare(shuffled).iloc[0]["verdict"] == "tied"


def test_numbers_of_a_comparison() -> None:
    table = finals(0.1, 0.05)
    row = compare(table).iloc[0]
    x, y = (table[table["family"] == f]["score"].to_numpy() for f in ("steering", "psrl"))
    assert row["difference"] == pytest.approx((y - x).mean())
    assert (row["ours"], row["theirs"]) == (pytest.approx(x.mean()), pytest.approx(y.mean()))
    assert row["p_lower"] == pytest.approx((x < y).mean())
    assert row["pairs"] == 30


def test_only_common_seeds_are_paired() -> None:
    table = finals(0.1)
    table = table[(table["family"] == "steering") | (table["seed"] < 6)]
    assert compare(table).iloc[0]["pairs"] == 6


def test_the_margin_follows_the_scores_where_they_are_not_normalised() -> None:
    large = finals(0.1, 0.001, normalised=False, scale=1000.0)
    assert compare(large).iloc[0]["verdict"] == "better"
    assert compare(finals(0.0011, 1e-5, normalised=False, scale=1000.0)).iloc[0]["verdict"] == "tied"


def test_environments_of_a_class_are_resampled_apart() -> None:
    """Two MDPs that differ by far more than the agents do: the interval knows nothing of that difference."""
    one, other = finals(0.05), finals(0.05)
    other["environment"] = "f"
    other["score"] += 10.0
    both = compare(pd.concat([one, other])).iloc[0]
    assert both["pairs"] == 60
    assert both["high"] - both["low"] < 0.05


def test_a_cell_without_ours_is_refused() -> None:
    table = finals(0.1)
    with pytest.raises(InvalidOption, match="nothing can be compared"):
        compare(table[table["family"] != "steering"])


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_rule_is_symmetric(mean: float, below: float, above: float) -> None:
    opposite = {"better": "worse", "worse": "better", "tied": "tied"}
    one = verdict(mean, mean - below, mean + above, MARGIN)
    assert opposite[one] == verdict(-mean, -mean - above, -mean + below, MARGIN)
