"""Published tables: the numbers that are read are those that were written, and they are enough for every exponent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reproduction_small import CHAPTERS, small_tables

from steering.errors import SteeringError
from steering.paper.fits import exponent, fit_points
from steering.paper.tables import band, csv, fitted, per_run, read_csv, read_tables, runs_by_x, scores, write_tables


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats()))
def test_every_number_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, values: np.ndarray) -> None:
    path = tmp_path_factory.mktemp("tables") / "one.csv"
    path.write_bytes(csv(per_run({"agent": "ids:planning=mean,eta=3"}, value=values, whole=5.0)))
    table = read_csv(path)
    np.testing.assert_array_equal(table["value"].to_numpy(dtype=np.float64), values)
    assert list(table.columns) == ["agent", "run", "value", "whole"]
    assert table["whole"].dtype == np.float64


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6) | st.just(np.nan)), st.integers(0, 6))
def test_rounded_numbers_are_read_as_rounded(
    tmp_path_factory: pytest.TempPathFactory, values: np.ndarray, digits: int
) -> None:
    table = per_run({"agent": "ids"}, value=values)
    path = tmp_path_factory.mktemp("tables") / "one.csv"
    path.write_bytes(csv(table, digits))
    read = read_csv(path)["value"].to_numpy(dtype=np.float64)
    np.testing.assert_array_equal(read, [float(f"{value:.{digits}f}") for value in values])
    assert ".0\n" not in path.read_text()
    assert "-0\n" not in path.read_text()


@pytest.mark.parametrize("name", list(CHAPTERS))
def test_tables_of_every_chapter_come_back_the_same(name: str, tmp_path: Path) -> None:
    tables = small_tables(name)
    write_tables(tmp_path, name, tables)
    for key, table in read_tables(tmp_path, name, tables).items():
        pd.testing.assert_frame_equal(table, tables[key], check_dtype=False, check_exact=True)
        assert csv(table) == csv(tables[key])


def test_a_table_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one_empty.csv").write_bytes(b"")
    for name in ("gone", "empty"):
        with pytest.raises(SteeringError, match=rf"one_{name}\.csv cannot be read"):
            read_tables(tmp_path, "one", [name])


@given(st.integers(3, 3000), st.floats(0, 0.5), st.integers(0, 10))
def test_points_of_a_fit_are_chosen_again_among_themselves(count: int, share: float, seed: int) -> None:
    x = np.unique(np.random.default_rng(seed).integers(1, 10 * count, count)).astype(float)
    kept = fit_points(x, share * x[-1])
    np.testing.assert_array_equal(fit_points(x[kept], 0.0), np.arange(kept.size))


def test_an_exponent_of_the_published_points_is_that_of_the_whole_curve() -> None:
    x = np.arange(1.0, 801)
    curves = x**0.7 * (1 + np.random.default_rng(0).normal(0, 0.1, (6, 800)))
    table = fitted({"agent": "a"}, x, curves, first=80)
    assert len(table) < 6 * 30
    assert exponent(*runs_by_x(table)) == exponent(x, curves, first=80)


def test_a_band_has_the_mean_between_its_ends() -> None:
    heights = np.random.default_rng(0).normal(size=(5, 7))
    table = band({"agent": "a"}, np.arange(7), heights)
    np.testing.assert_allclose(table["mean"], heights.mean(axis=0))
    assert (table["low"] < table["mean"]).all()
    assert (table["mean"] < table["high"]).all()
    assert (table["seeds"] == 5).all()


def test_scores_are_in_the_order_of_runs() -> None:
    table = pd.concat([per_run({"agent": a}, regret=np.arange(3.0) + k) for k, a in enumerate("ba")])
    found = scores(table)
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["a"], [1.0, 2.0, 3.0])
