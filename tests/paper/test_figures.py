"""Every chapter on real small runs: its tables say what the runs did, its drawings are labelled and readable."""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from reproduction_small import CHAPTERS, SMALL, small_source, small_tables

import steering
from steering.errors import NotAvailable, SteeringError
from steering.paper import looks
from steering.paper.chapters import (
    bayesian,
    bounds,
    concept,
    environments,
    prior_belief,
    psrl_sparsity,
    q_posterior,
    rates,
    schematics,
    weight,
)
from steering.paper.charts import Chart
from steering.paper.contents import ALIASES, NAMES, resolve
from steering.paper.drawing import headline_figure
from steering.paper.fits import Effect
from steering.paper.report.answer import Row
from steering.paper.report.chart_parts import chart_part
from steering.paper.scale import (
    AGENTS,
    BASELINES,
    FULL,
    LEARNED_IDS,
    LEARNED_PSRL,
    QUICK,
    VARIANTS,
    deepsea,
    prior_environment,
)

OVER_STEPS = ("dense_sparse", "psrl_sparsity", "regret", "prior_belief", "environments", "q_posterior", "dsd")
ENOUGH = 2
"""Drawings looked at in a chapter that has many of one kind."""


def test_names_of_chapters_and_those_of_the_paper() -> None:
    assert [chapter.name for chapter in CHAPTERS.values()] == list(NAMES)
    assert resolve(["dsd", "regret"]) == ["regret", "dsd"]
    assert resolve(["fig3"]) == ["regret"]
    assert resolve(["fig2"]) == resolve(["fig2c", "fig2a"]) == ["dense_sparse", "psrl_sparsity"]
    assert resolve(["theorem4.1", "lemma4.3"]) == ["bounds"]
    # Numbers as in the paper, whose appendix counts on.
    places = {4: "schematics", 8: "schematics", 9: "schematics", 10: "q_posterior", 20: "q_posterior", 21: "dsd"}
    for number, name in {**places, 22: "environments"}.items():
        assert resolve([f"fig{number}"]) == [name]
    assert {f"fig{number}" for number in range(1, 23)} <= set(ALIASES)
    assert resolve([]) == resolve(["all"]) == list(NAMES)
    assert not set(ALIASES) & set(NAMES)
    with pytest.raises(SteeringError, match="unknown figure 'regrets': did you mean 'regret'"):
        resolve(["regrets"])


@pytest.mark.parametrize("scale", [QUICK, FULL], ids=["quick", "full"])
def test_both_sizes_use_the_horizons_of_the_paper(scale: object) -> None:
    assert (scale.steps, scale.prior_steps) == (5000, 10_000)
    assert FULL.seeds >= 30
    blocks = [block for chapter in CHAPTERS.values() for block in chapter.needs(scale)]
    steps = {block.steps for block in blocks if not any("priormdp" in env for env in block.environments)}
    assert steps <= {5000, 10_000, 1600}


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_draws_labelled_figures_that_say_how_small_they_are(name: str) -> None:
    chapter = CHAPTERS[name]
    tables = small_tables(name)
    assert all(len(table) for table in tables.values())
    for table in tables.values():
        # Labels of steps are as wide as those of the paper's horizons.
        if name in OVER_STEPS and "x" in table:
            table["x"] = (table["x"] * (5000 / SMALL.steps)).round()
    for figure in list(chapter.figures(tables, SMALL).values())[:ENOUGH]:
        assert_labelled(figure)
        if name != "schematics":
            assert "small" in all_text(figure)
        assert_no_text_overlaps(figure)
    for chart in single_charts(chapter.charts(tables, SMALL)):
        assert chart_part(name, chart).count('class="plot"') == len(chart["panels"])
        assert re.search(r"small: (\d+ (seeds|MDPs)|one seed)|\d+ repetitions", chart["size"])
    for claim in chapter.claims(small_tables(name)):
        assert claim.decision[1], "every verdict has a reason"


def single_charts(charts: list[Chart]) -> list[Chart]:
    """Charts with those behind a choice one by one."""
    return [one for chart in charts for one in (chart["charts"] if chart["type"] == "choice" else [chart])]


def test_sizes_of_charts_are_those_of_their_runs() -> None:
    uneven = dataclasses.replace(SMALL, name="uneven", seeds=6, posterior_seeds=4, trace_seeds=5, mdps=24, episodes=200)
    for name, size in (
        ("regret", "6 seeds"),
        ("occupancy", "6 seeds"),
        ("q_posterior", "4 seeds"),
        ("weight", "5 seeds"),
    ):
        charts = CHAPTERS[name].charts(small_tables(name), uneven)
        assert {one["size"] for one in single_charts(charts)} == {f"uneven: {size}"}
    curves, _ = bayesian.charts(small_tables("bayesian"), uneven)
    assert curves["size"] == "uneven: 24 MDPs, 200 episodes"


def names_of(chart: Chart, panel: int = 0) -> list[str]:
    return [line["name"] for line in chart["panels"][panel]["series"]]


def test_interactive_charts_have_the_reference_lines_of_the_figures() -> None:
    tables = small_tables("bayesian")
    curves, scans = bayesian.charts(tables, SMALL)
    for chart in (curves, scans):
        for panel in range(len(chart["panels"])):
            assert names_of(chart, panel)[-1] == "slope of the bound"
    slope = scans["panels"][0]["series"][-1]
    np.testing.assert_allclose(slope["mean"][-1] / slope["mean"][0], (9 / 3) ** 1.5, rtol=1e-3)
    rows, runs = rates.charts(small_tables("rates"), SMALL)
    for chart in (rows, runs):
        line = chart["panels"][0]["series"][-1]
        assert line["name"] == "slope -1"
        np.testing.assert_allclose(line["mean"][0] / line["mean"][1], line["x"][1] / line["x"][0], rtol=1e-3)
    assert rows["band"].endswith("over 200 repetitions")
    assert "earns nothing" in names_of(psrl_sparsity.charts(small_tables("psrl_sparsity"), SMALL)[0])
    theory = pd.DataFrame([{"agent": "steering", "mean": 19.2, "low": 14.7, "high": 24.0}])
    regrets = pd.DataFrame([{"panel": "a", "agent": "steering", "x": 1.0, "mean": 0.1, "low": 0.0, "high": 0.2}])
    (line,) = weight.charts({"regret": regrets, "theory": theory}, SMALL)[0]["panels"][0]["lines"]
    assert (line["name"], line["x"], line["low"], line["high"]) == ("the theorem's weight, default", 19.2, 14.7, 24.0)


def test_charts_share_heights_where_the_figures_do() -> None:
    for name in ("dense_sparse", "regret", "prior_belief"):
        (chart,) = CHAPTERS[name].charts(small_tables(name), SMALL)
        assert chart["share_y"]


def all_text(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text))


def assert_labelled(figure: Figure) -> None:
    rows = {}
    for axes in figure.axes:
        if axes.axison and axes.get_label() != "<colorbar>":
            place = axes.get_subplotspec()
            rows.setdefault(place.rowspan.start, []).append(axes)
    for row, members in rows.items():
        shared = figure.get_supylabel()
        assert shared or any(axes.get_ylabel() for axes in members), f"row {row} has no label of heights"
    for axes in rows[max(rows)] if rows else []:
        assert axes.get_xlabel(), "the lowest row has no label below"


def assert_no_text_overlaps(figure: Figure) -> None:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    hidden = texts_out_of_sight(figure)
    boxes = []
    for text in figure.findobj(Text):
        if not text.get_visible() or not text.get_text().strip() or id(text) in hidden:
            continue
        box = text.get_window_extent(renderer)
        boxes.append((text.get_text(), Bbox.from_extents(box.x0 + 1, box.y0 + 1, box.x1 - 1, box.y1 - 1)))
        assert_within(figure, *boxes[-1])
    for (a, one), (b, other) in itertools.combinations(boxes, 2):
        assert not one.overlaps(other), f"'{a}' overlaps '{b}'"


def assert_within(figure: Figure, text: str, box: Bbox) -> None:
    whole = figure.bbox
    within = whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
    assert within, f"'{text}' is cut off by the edge of the figure"


def texts_out_of_sight(figure: Figure) -> set[int]:
    """Labels of ticks that are not drawn: those beyond the limits of their axis, and those of axes without an axis."""
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            drawn = {id(tick.label1) for tick in axis._update_ticks()} if axes.axison else set()
            ticks = (*axis.get_major_ticks(), *axis.get_minor_ticks())
            hidden |= {id(tick.label1) for tick in ticks} - drawn
            if not axes.axison:
                hidden.add(id(axis.label))
    return hidden


def test_no_text_of_the_headline_is_cut_off() -> None:
    rows = [Row(agent, Effect(0.5, 0.4, 0.6), agent) for agent in (*VARIANTS.values(), LEARNED_IDS, LEARNED_PSRL)]
    assert_no_text_overlaps(headline_figure(rows))


def test_overlapping_text_would_be_seen() -> None:
    figure = Figure()
    FigureCanvasAgg(figure)
    figure.text(0.5, 0.5, "one text")
    figure.text(0.51, 0.5, "another")
    with pytest.raises(AssertionError, match="overlaps"):
        assert_no_text_overlaps(figure)
    cut = Figure()
    cut.text(0.9, 0.5, "a text that is too long for its place")
    with pytest.raises(AssertionError, match="cut off"):
        assert_no_text_overlaps(cut)
    bare = Figure()
    bare.add_subplot()
    with pytest.raises(AssertionError, match="no label"):
        assert_labelled(bare)


def test_regret_curves_are_those_of_the_runs() -> None:
    table = small_tables("regret")["curves"]
    rows = table[(table["panel"] == "low sparsity, N = 8") & (table["agent"] == "psrl")]
    runs = steering.run("deepsea:8", "psrl", steps=SMALL.steps, seeds=SMALL.seeds)
    expected = runs.regret_curve(normalised=True).mean(axis=0)
    np.testing.assert_allclose(rows["mean"], expected[rows["x"].to_numpy() - 1], rtol=1e-12)
    assert set(table["agent"]) == set(AGENTS)
    assert (table["low"] <= table["mean"] + 1e-12).all()
    assert (table["mean"] <= table["high"] + 1e-12).all()


def test_prior_beliefs_are_given_to_every_agent() -> None:
    assert prior_belief.with_eta("psrl", 10) == "psrl:eta=10"
    assert prior_belief.with_eta("steering:preset=paper", 10) == "steering:preset=paper,eta=10"
    strong = prior_belief.blocks(SMALL, "strong")[0]
    assert all(steering.make_agent(agent).options.eta == 10 for agent in strong.agents)
    assert strong.steps == SMALL.prior_steps


def test_shares_of_visits_sum_to_one_in_every_window() -> None:
    table = small_tables("occupancy")["visits"]
    totals = table.groupby(["agent", "window"])["share"].sum()
    np.testing.assert_allclose(totals, 1.0)
    runs = steering.run("deepsea:15", "psrl", steps=SMALL.steps, seeds=SMALL.seeds, windows=20)
    first = runs.visits[:, 0] / runs.visits[:, 0].sum(axis=(1, 2), keepdims=True)
    mine = table[(table["agent"] == "psrl") & (table["window"] == 0)].pivot(
        index="state", columns="action", values="share"
    )
    np.testing.assert_allclose(mine.to_numpy(), first.mean(axis=0))


def test_beliefs_about_q_are_those_of_the_runs() -> None:
    table = small_tables("q_posterior")["posterior"]
    runs = steering.run(
        "deepsea:4",
        "psrl",
        steps=SMALL.steps,
        seeds=SMALL.posterior_seeds,
        record="q_posterior",
        snapshots=40,
    ).q_posterior
    rows = table[(table["n"] == 4) & (table["agent"] == "psrl") & (table["state"] == 2) & (table["action"] == "right")]
    np.testing.assert_array_equal(rows["x"], runs.times)
    np.testing.assert_allclose(rows["mean"], runs.mean[:, :, 0, 1, 1].mean(axis=0))
    np.testing.assert_allclose(rows["optimal"], runs.optimal[0, 1, 1])
    assert set(table["state"].unique()) == {1, 2, 3, 4, 5, 6, 7, 8}


def test_the_discrepancy_is_that_of_the_agent() -> None:
    table = small_tables("dsd")["dsd"]
    runs = steering.run("deepsea:4", "steering", steps=SMALL.steps, seeds=SMALL.trace_seeds, record="diagnostics")
    rows = table[(table["n"] == 4) & (table["variant"] == "default") & (table["state"] == 3)]
    rows = rows[rows["action"] == "right"]
    # Seeds plan at times of their own: at those of the one with the fewest plans, what the others had in force.
    made = [one[one >= 0] for one in runs.plan_times]
    times = min(made, key=len)
    D = runs.diagnostics.information[:, :, 2, 1]
    expected = [[D[k][np.flatnonzero(one <= t)[-1]] for t in times] for k, one in enumerate(made)]
    np.testing.assert_array_equal(rows["x"], times[: len(rows)])
    np.testing.assert_allclose(rows["mean"], np.mean(expected, axis=0)[: len(rows)])


def test_bounds_come_from_the_traced_runs() -> None:
    table = small_tables("bounds")["runs"]
    runs = steering.run("deepsea:8", "steering", steps=SMALL.steps, seeds=1, record=("diagnostics", "value_gap"))
    row = table[(table["variant"] == "default") & (table["setting"] == "DeepSea 8, continuing")].iloc[0]
    _, right = runs.diagnostics.theorem_sides()
    assert row["bound"] == pytest.approx(right[0])
    assert row["regret"] == pytest.approx(runs.value_gaps.sum())
    assert row["ratio_max"] == pytest.approx(runs.diagnostics.ratio.max())
    assert row["ratio_bound"] == pytest.approx(8 * 2 * 10**3)
    assert row["gain_bound"] == pytest.approx(10 * 8**2 * 2 * np.log(row["plans"]))
    expected = np.sqrt(row["plans"] * runs.diagnostics.ratio.max() / runs.diagnostics.gain.sum())
    assert row["theory_weight"] == pytest.approx(expected)


def test_the_figure_of_bounds_draws_what_the_claims_judge() -> None:
    """A point below the line is a run that keeps the bound: the largest ratio of the run, not its mean."""
    table = small_tables("bounds")["runs"]
    axes = bounds.CHAPTER.figures({"runs": table}, SMALL)["bounds"].axes[1]
    drawn = np.concatenate([np.asarray(part.get_offsets()) for part in axes.collections])
    expected = table[["ratio_bound", "ratio_max"]].to_numpy()
    np.testing.assert_allclose(np.sort(drawn[:, 1]), np.sort(np.maximum(expected[:, 1], 1e-6)))
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(expected[:, 0]))


def test_rows_of_the_literal_operator_do_not_vanish() -> None:
    literal = rates.row_discrepancies("difference", "sparse").mean(axis=0)
    sound = rates.row_discrepancies("barker", "sparse").mean(axis=0)
    # What is left whatever the model: (1 - 1/e) times the squared probability of outcomes behind impossible ones.
    floor = (1 - np.exp(-1)) * ((1 / 8) ** 2 + (7 / 8) ** 2)
    assert literal[-1] > floor
    assert sound[-1] < 1e-3 * sound[0]


def test_bayesian_regret_starts_afresh_in_every_episode() -> None:
    source = small_source()
    episodes, curves = bayesian.over_time(source, SMALL, "psrl")
    assert episodes[-1] == SMALL.episodes
    env = prior_environment(4, 2, 5, 1)
    run = steering.run(env, "psrl", steps=SMALL.episodes * 5, seeds=[1])
    np.testing.assert_allclose(curves[1], run.regret_curve(kind="expected")[0][4::5])


def test_an_agent_far_above_the_others_leaves_the_axes_and_is_named() -> None:
    table = small_tables("environments")["curves"]
    table.loc[table["agent"] == "q_learning", ["mean", "low", "high"]] *= 50
    axes = environments.CHAPTER.figures({"curves": table}, SMALL)["environments"].axes
    highest = table[table["agent"] != "q_learning"].groupby("panel", sort=False)["mean"].max()
    for one, top in zip(axes, highest, strict=True):
        assert "Q-learning leaves the axes" in one.get_title()
        assert one.get_ylim()[1] < 2 * top
    for panel, top in zip(environments.charts({"curves": table}, SMALL)[0]["panels"], highest, strict=True):
        assert "Q-learning leaves the axes" in panel["title"]
        assert panel["ylim"][1] < 2 * top


def test_weights_are_given_to_the_agent() -> None:
    assert steering.make_agent(weight.with_weight("sound", 2.5)).options.info_weight == 2.5
    assert steering.make_agent(weight.with_weight("sound", 2.5)).options.preset == "paper-sound"


def test_schematics_show_every_transition() -> None:
    table = schematics.transitions("deepsea:5")
    assert len(table) == 5 + 2 * 5
    np.testing.assert_allclose(table.groupby(["state", "action"])["probability"].sum(), 1.0)
    assert table["reward"].max() == 1.0


def test_the_concept_is_a_real_run_whose_belief_moves_to_the_truth() -> None:
    table = small_tables("concept")["points"]
    means = table[table["kind"] == "mean"].sort_values("step")
    assert means["to_truth"].is_monotonic_decreasing
    assert (table.loc[table["kind"] == "truth", "to_truth"] == 0).all()
    again = small_tables("concept")["points"]
    assert table.equals(again)


def test_bounds_have_colours_of_no_baseline_and_axes_around_the_points() -> None:
    baselines = {looks.colour(agent) for agent in BASELINES}
    assert not baselines & set(looks.SHADES.values())
    assert not baselines & {*rates.COLOURS.values()}
    table = small_tables("bounds")["runs"]
    axes = bounds.CHAPTER.figures({"runs": table}, SMALL)["bounds"].axes
    for one, (value, bound, _) in zip(axes, bounds.PAIRS.values(), strict=True):
        low, high = one.get_xlim()
        assert low < table[bound].min()
        assert high > table[bound].max()
        assert high / low < max(11, 3 * table[bound].max() / table[bound].min())
        assert one.get_ylim()[0] > table[value].clip(lower=1e-6).min() / 2


def test_titles_of_beliefs_name_the_pair_and_whose_bands_there_are() -> None:
    table = small_tables("q_posterior")["posterior"]
    table["std"] = table["agent"].map({"q_learning": 0.0, "ube": 1e6}).fillna(0.01)
    drawn = q_posterior.CHAPTER.figures({"posterior": table}, SMALL)
    titles = {name: " ".join(figure.get_suptitle().split()) for name, figure in drawn.items()}
    assert "DeepSea 4: STEERING and Moment matching (small: 3 seeds; dotted: Q*)" in titles["q_posterior_4_mm"]
    assert titles["q_posterior_4_mm"].endswith("deviation of STEERING, default and Moment matching")
    assert titles["q_posterior_4_q_learning"].endswith("deviation of STEERING, default; Q-learning has none")
    assert titles["q_posterior_8_ube"].endswith("UBE's is wider than the axes and not drawn")
    bands = [len(drawn[f"q_posterior_8_{name}"].axes[0].collections) for name in ("mm", "ube", "q_learning")]
    assert bands == [2, 1, 1]


def test_the_concept_shows_the_distances_of_its_arrows() -> None:
    table = small_tables("concept")["points"]
    for axes, (step, part) in zip(
        concept.CHAPTER.figures({"points": table}, SMALL)["concept"].axes, table.groupby("step"), strict=True
    ):
        one = concept.shown_draw(part)
        assert axes.get_title() == f"step {step}\nto the mean {one['to_mean']:.2f}, to the truth {one['to_truth']:.2f}"
        ends = [(text.xy, text.get_position()) for text in axes.texts]
        assert {start for _, start in ends} == {(one["x"], one["y"])}
        assert all(np.hypot(*np.subtract(end, start)) > 0.1 for end, start in ends)


def test_looks_are_different_for_all_agents() -> None:
    assert len({(looks.colour(agent), looks.line(agent)) for agent in AGENTS}) == len(AGENTS)
    assert len({looks.label(agent) for agent in AGENTS}) == len(AGENTS)
    assert looks.dash(VARIANTS["sound"])


def test_a_missing_run_is_named() -> None:
    block = deepsea(9, SMALL)
    with pytest.raises(NotAvailable, match="deepsea:9 is missing"):
        small_source().regret([block], "psrl")
