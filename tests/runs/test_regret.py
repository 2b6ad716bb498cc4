"""The regret figure: its table is checked number by number, its drawing by what stands on the axes and in the file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure

import steering
from steering.errors import InvalidOption, NotAvailable
from steering.runs import Comparison, style
from steering.runs import figure as regret
from steering.runs.drawing import save_figure
from steering.runs.results import RunResults
from steering.runs.statistics import mean_interval
from steering.runs.tables import POINTS


def made(agent: str, rewards: list[list[float]], oracle: float = 1.0) -> RunResults:
    """Results with known rewards, against an oracle that gets the same in every step."""
    received = np.array(rewards)
    seeds, steps = received.shape
    return RunResults(
        environment="toy",
        agent=agent,
        seeds=tuple(range(seeds)),
        discount=0.9,
        horizon=None,
        rewards=received,
        expected_rewards=received,
        oracle_rewards=np.full((seeds, steps), oracle),
        oracle_expected=np.full(steps, oracle),
        visits=np.zeros((seeds, 1, 1, 1)),
        windows=np.array([0, steps]),
        seconds=np.zeros(seeds),
    )


def test_data_is_the_mean_of_the_normalised_regret() -> None:
    table = regret.data(made("psrl", [[1, 0, 0, 1], [0, 0, 0, 1]]))
    assert table["step"].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(table["mean"], np.array([0.5, 1.5, 2.5, 2.5]) / 4)
    assert table["low"].isna().all()  # two seeds have no interval
    assert table["high"].isna().all()
    assert table["seeds"].tolist() == [2] * 4
    assert table.attrs == {"measure": "normalised_regret"}


def test_bands_are_the_intervals_of_the_runs() -> None:
    rewards = np.random.default_rng(0).random((5, 4))
    runs = made("psrl", rewards.tolist())
    table = regret.data(runs)
    for step, row in enumerate(table.to_dict("records")):
        expected = mean_interval(runs.regret_curve(normalised=True)[:, step])
        assert (row["mean"], row["low"], row["high"]) == pytest.approx(expected)
    sheet = runs.plot()
    assert len(sheet.axes[0].collections) == 1
    assert "95 % interval" in sheet.get_suptitle()


def test_two_seeds_have_no_band() -> None:
    sheet = made("psrl", [[1.0, 0.0], [0.0, 0.0]]).plot()
    assert len(sheet.axes[0].collections) == 0
    assert sheet.get_suptitle() == "Mean over seeds"


def test_the_title_counts_the_seeds_of_all_agents() -> None:
    two, one = made("psrl", [[1, 0], [0, 0]]), made("ids", [[1, 0]])
    for runs, says in (([two], "toy, 2 seeds"), ([one], "toy, 1 seed"), ([two, one], "toy, 1 to 2 seeds")):
        axes = Figure().add_subplot()
        regret.draw(axes, regret.data(Comparison(runs)))
        assert axes.get_title() == says


def test_data_falls_back_to_raw_regret_and_to_reward() -> None:
    costs = made("psrl", [[-3.0, -2.0]], oracle=-1.0)
    raw = regret.data(costs)
    assert raw.attrs["measure"] == "realised_regret"
    assert raw["mean"].tolist() == [2.0, 3.0]
    samples = dataclasses.replace(costs, expected_rewards=None, oracle_rewards=None, oracle_expected=None)
    reward = regret.data(samples)
    assert reward.attrs["measure"] == "reward"
    assert reward["mean"].tolist() == [-3.0, -5.0]


def test_data_keeps_the_ends_of_a_long_curve() -> None:
    table = regret.data(made("psrl", [[0.0] * 5000]))
    assert len(table) == POINTS
    assert (table["step"].iloc[0], table["step"].iloc[-1]) == (1, 5000)
    assert table["mean"].iloc[-1] == pytest.approx(1.0)


def test_data_refuses_nothing() -> None:
    with pytest.raises(InvalidOption, match="at least one run"):
        Comparison([])


def test_draw_puts_every_agent_on_the_axes() -> None:
    agents = ("psrl", "ids", "ids:planning=mean,eta=3", "mine")
    runs = [made(agent, [[0.0, 1.0], [1.0, 1.0], [0.5, 1.0]]) for agent in agents]
    sheet = Comparison(runs).plot()
    axes = sheet.axes[0]
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == ["PSRL", "Var-IDS", "Var-IDS (planning=mean, eta=3)", "mine"]
    assert [line.get_linestyle() for line in lines] == ["-", "-", "--", "-"]
    assert lines[0].get_color() == style.COLOURS["psrl"]
    assert lines[1].get_color() != lines[2].get_color()
    assert lines[3].get_color() == style.OTHER
    np.testing.assert_allclose(lines[0].get_ydata(), [0.25, 0.25])
    assert len(axes.collections) == 4  # the bands
    assert axes.get_xlabel() == "step"
    assert "oracle" in sheet.get_supylabel()
    assert "3 seeds" in axes.get_title()
    assert "95 %" in sheet.get_suptitle()


def test_colours_differ_between_agents() -> None:
    assert len(set(style.COLOURS.values())) == len(style.COLOURS)
    assert style.COLOURS.keys() == style.LABELS.keys()
    assert {row["name"] for row in steering.list_agents()} <= style.COLOURS.keys()


def test_png_has_content_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    runs = [made("psrl", [[0.0, 1.0, 0.5]]), made("ids", [[1.0, 1.0, 0.5]])]
    first, again, other = (tmp_path / name for name in ("a.png", "b.png", "c.png"))
    Comparison(runs).plot(first)
    Comparison(runs).plot(again)
    runs[0].plot(other)
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != other.read_bytes()
    image = matplotlib.image.imread(first)
    assert image.shape[:2] == (660, 1080)
    blue = np.array([0x00, 0x72, 0xB2]) / 255
    assert (np.abs(image[..., :3] - blue).max(axis=-1) < 0.02).sum() > 200  # PSRL's line is there


@pytest.mark.parametrize(("ending", "magic"), [(".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")])
def test_other_formats_are_reproducible_too(tmp_path: Path, ending: str, magic: bytes) -> None:
    one = made("psrl", [[0.0, 1.0]])
    first = save_figure(one.plot(), tmp_path / f"a{ending}").read_bytes()
    assert first.startswith(magic)
    assert first == save_figure(one.plot(), tmp_path / f"b{ending}").read_bytes()


def test_unknown_formats_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for name in ("a.docx", "a"):
        with pytest.raises(NotAvailable, match=r"use \.png, \.svg or \.pdf"):
            made("psrl", [[0.0]]).plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_score_is_said_once() -> None:
    text = repr(steering.run("gym:CliffWalking-v1", "psrl", steps=50, seeds=3))
    assert text.count("score") == 1
    assert "of runs failed" in text
