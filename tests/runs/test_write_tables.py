"""The files of a comparison: they hold what the runs hold, and enough to run again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import steering
from steering._version import REVISION
from steering.runs import write_tables
from steering.runs.results import RunResults


@pytest.fixture(scope="module")
def runs() -> list[RunResults]:
    return [steering.run("deepsea:4", agent, steps=60, seeds=[2, 5]) for agent in ("psrl", "ids:planning=mean")]


def test_finals_hold_every_seed_of_every_agent(runs: list[RunResults], tmp_path: Path) -> None:
    paths = write_tables(runs, tmp_path / "new" / "place")
    assert [path.name for path in paths] == ["finals.csv", "settings.json"]
    table = pd.read_csv(paths[0])
    assert list(zip(table["agent"], table["seed"], strict=True)) == [
        ("psrl", 2),
        ("psrl", 5),
        ("ids:planning=mean", 2),
        ("ids:planning=mean", 5),
    ]
    for one in runs:
        rows = table[table["agent"] == one.agent]
        np.testing.assert_allclose(rows["normalised_regret"], one.regret(normalised=True), rtol=1e-12)
        np.testing.assert_allclose(rows["reward"], one.rewards.sum(axis=1), rtol=1e-12)


def test_settings_are_enough_to_run_again(runs: list[RunResults], tmp_path: Path) -> None:
    settings = json.loads(write_tables(runs, tmp_path)[1].read_text())
    assert len(settings) == len(runs)
    for given, one in zip(settings, runs, strict=True):
        again = steering.run(given["environment"], given["agent"], steps=given["steps"], seeds=given["seeds"])
        np.testing.assert_array_equal(again.rewards, one.rewards)
        assert given["version"] == steering.__version__
        assert given["revision"] == REVISION  # decides whether another version gives the same numbers


def test_writing_again_replaces_and_leaves_nothing_behind(runs: list[RunResults], tmp_path: Path) -> None:
    write_tables(runs, tmp_path)
    write_tables(runs[:1], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["finals.csv", "settings.json"]
    assert set(pd.read_csv(tmp_path / "finals.csv")["agent"]) == {"psrl"}
