"""Several agents in one call: the same numbers as one by one, in one table, summary, figure and text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import steering
from steering.errors import InvalidOption, SteeringError
from steering.mdp import TabularMDP
from steering.runs import Comparison, Interrupted
from steering.runs.results import RunResults

AGENTS = ["psrl", "steering", "q_learning:epsilon=0.3"]


@pytest.fixture(scope="module")
def both() -> Comparison:
    return steering.run("deepsea:4", AGENTS, steps=80, seeds=4)


def test_agents_of_a_list_run_as_if_alone(both: Comparison) -> None:
    assert both.agents == tuple(AGENTS)
    assert len(both) == 3
    for agent, one in zip(AGENTS, both, strict=True):
        alone = steering.run("deepsea:4", agent, steps=80, seeds=4)
        assert isinstance(alone, RunResults)
        np.testing.assert_array_equal(one.rewards, alone.rewards)
        assert both[agent] is one
        np.testing.assert_array_equal(both.regret(normalised="random")[agent], alone.regret(normalised="random"))
        np.testing.assert_array_equal(both.regret_curve()[agent], alone.regret_curve())
    assert isinstance(steering.run("deepsea:4", ("psrl",), steps=5, seeds=1), Comparison)
    assert both[:2].agents == tuple(AGENTS[:2])
    assert both[-1].agent == AGENTS[-1]


def test_the_table_and_the_summary_are_those_of_the_agents(both: Comparison) -> None:
    table = both.table()
    pd.testing.assert_frame_equal(
        table.drop(columns="seconds"),
        pd.concat([one.table() for one in both], ignore_index=True).drop(columns="seconds"),
    )
    rows = both.summary().to_dict("records")
    for one, row in zip(both, rows, strict=True):
        assert one.summary() == pytest.approx(row)
        assert row["failed"] == np.mean(one.regret(normalised="random") > 0.5)
    curves = both.curves
    assert curves.groupby("cell")["agent"].nunique().eq(1).all()
    last = curves.groupby("cell")["regret"].last()
    np.testing.assert_allclose(last, table["realised_regret"])


def test_texts_are_short_and_escaped(both: Comparison) -> None:
    assert repr(both).splitlines()[0] == "Comparison: 3 agents on deepsea:4, 4 seeds of 80 steps"
    assert len(repr(both)) < 300
    page = both._repr_html_()
    assert page.count("<tr") == 4
    one = both[0]
    evil = type(one)(**{**vars(one), "environment": "<script>alert(1)</script>"})
    assert "<script>" not in evil._repr_html_()
    assert "&lt;script&gt;" in evil._repr_html_()


def test_options_belong_to_every_agent_and_twice_is_refused() -> None:
    both = steering.run("deepsea:4", ["psrl", "ids"], steps=5, seeds=1, eta=2.0)
    assert both.agents == ("psrl:eta=2.0", "ids:eta=2.0")
    for agents, match in ((["psrl", "psrl"], "given twice"), ([], "at least one agent")):
        with pytest.raises(InvalidOption, match=match):
            steering.run("deepsea:4", agents, steps=5, seeds=1)
    with pytest.raises(SteeringError, match="'ppo'"):
        steering.run("deepsea:4", ["psrl", "ppo"], steps=5, seeds=1)
    with pytest.raises(InvalidOption, match="choose from: psrl"):
        steering.run("deepsea:4", ["psrl"], steps=5, seeds=1)["ids"]


def test_other_environments_are_not_compared() -> None:
    runs = [steering.run(f"deepsea:{n}", "psrl", steps=5, seeds=1) for n in (3, 4)]
    with pytest.raises(InvalidOption, match="one environment"):
        Comparison(runs)


def test_progress_and_interruption_count_all_runs() -> None:
    seen: list[tuple[int, int]] = []
    steering.run("deepsea:3", ["psrl", "ids"], steps=5, seeds=2, progress=lambda *at: seen.append(at))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        steering.run("deepsea:3", ["psrl", "ids"], steps=5, seeds=2, progress=stop)
    assert [(one.agent, len(one.seeds)) for one in stopped.value.results] == [("psrl", 2), ("ids", 1)]
    assert "1 to 2 seeds" in repr(stopped.value.results)


@pytest.mark.parametrize("horizon", [None, 3])
def test_the_random_policy_earns_what_simulation_says(horizon: int | None) -> None:
    """Exact total of the uniform policy over allowed actions against its recursion by hand over all steps."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), size=(4, 3))
    rewards = rng.normal(size=(4, 3))
    allowed = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    mdp = TabularMDP(P=P, reward_mean=rewards, mask=allowed)
    environment = steering.make_env(mdp, horizon=horizon) if horizon else steering.make_env(mdp)
    results = steering.run(environment, "psrl", steps=20, seeds=1)
    uniform = allowed / allowed.sum(axis=1, keepdims=True)
    chain, step = np.einsum("sa,sat->st", uniform, P), (uniform * rewards).sum(axis=1)
    at = total = 0.0
    for t in range(20):
        if t == 0 or (horizon and t % horizon == 0):
            at = np.array(mdp.start)
        total += float(at @ step)
        at = at @ chain
    assert results.random_total == pytest.approx(total)


def test_a_random_agent_scores_one() -> None:
    """Q-learning that always explores is the random policy: its mean expected score over 200 seeds is 1 within five
    standard errors (fixed seeds)."""
    results = steering.run("riverswim:6", "q_learning:epsilon=1", steps=300, seeds=200)
    scores = results.regret(normalised="random", kind="expected")
    assert abs(scores.mean() - 1) < 5 * scores.std(ddof=1) / np.sqrt(200)


LEARNED = "concentration=learned,reward_scale=learned,replan=learned"


@pytest.mark.parametrize(
    "agents", [["psrl", "ids", "q_learning"], ["mm", f"psrl:{LEARNED}", f"ids:planning=mean,{LEARNED}"]]
)
def test_the_legend_lies_within_the_figure(agents: list[str]) -> None:
    """Also where the names of agents are long: then it has fewer columns."""
    sheet = steering.run("deepsea:4", agents, steps=20, seeds=1).plot()
    sheet.canvas.draw()
    (legend,) = sheet.legends
    extent = legend.get_window_extent()
    assert min(extent.x0, extent.y0) >= 0.0
    assert extent.x1 <= sheet.bbox.width
    assert extent.y1 < min(axes.bbox.y0 for axes in sheet.axes)
    assert len(legend.get_texts()) == len(agents)
