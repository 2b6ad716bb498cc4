"""Records of agents whose seeds plan at different times."""

import numpy as np
import pandas as pd
import pytest

import steering
from steering.runs.recording import padded
from steering.runs.results import RunResults

RECORD = ["value_gap", "diagnostics", "q_posterior"]
ENV, AGENT, STEPS = "deepsea:5,horizon=9", "steering:replan=learned", 120


@pytest.fixture(scope="module")
def results() -> RunResults:
    return steering.run(ENV, AGENT, steps=STEPS, seeds=4, record=RECORD)


def test_a_seed_among_others_is_the_seed_alone(results: RunResults) -> None:
    assert results.plan_times.ndim == 2
    sizes = set()
    for i, seed in enumerate(results.seeds):
        alone = steering.run(ENV, AGENT, steps=STEPS, seeds=[seed], record=RECORD)
        n, m = alone.plan_times.size, alone.q_posterior.times.size
        sizes.add(n)
        for many, one, k in (
            (results.value_gaps, alone.value_gaps, n),
            (results.diagnostics.information, alone.diagnostics.information, n),
            (results.diagnostics.true_regret, alone.diagnostics.true_regret, n),
            (results.q_posterior.mean, alone.q_posterior.mean, m),
        ):
            np.testing.assert_array_equal(many[i, :k], one[0])
            assert np.isnan(many[i, k:]).all()
        np.testing.assert_array_equal(
            results.plan_times[i], [*alone.plan_times, *[-1] * (results.plan_times.shape[1] - n)]
        )
        for many, one in zip(results.diagnostics.theorem_sides(), alone.diagnostics.theorem_sides(), strict=True):
            assert many[i] == pytest.approx(one[0], rel=1e-12)
        assert results.diagnostics.true_sum()[i] == pytest.approx(alone.value_gaps.sum(), rel=1e-12)
    assert len(sizes) > 1


def test_value_gaps_in_the_middle_of_an_episode_are_those_of_its_layer(results: RunResults) -> None:
    """No policy beats the optimal one in any layer, and with one step to go little can be lost."""
    times, gaps = results.plan_times, results.value_gaps
    made = times >= 0
    assert (times[made] % 9 > 0).any()
    assert (gaps[made] > -1e-12).all()
    last = made & (times % 9 == 8)
    assert last.any()
    assert (gaps[last] <= 1.03).all()


def test_the_store_keeps_the_plans_that_a_seed_made(tmp_path, results: RunResults) -> None:
    sweep = {
        "steps": STEPS,
        "seeds": 4,
        "blocks": [{"environments": [ENV], "agents": [AGENT], "record": {"extra": RECORD, "snapshots": 20}}],
    }
    steering.sweep(sweep, tmp_path / "store", workers=0)
    stored = steering.load(tmp_path / "store")
    for i in results.seeds:
        times = results.plan_times[i][results.plan_times[i] >= 0]
        rows = stored.diagnostics.query("seed == @i")
        for kind, group in rows.groupby("diagnostic", observed=True):
            assert group["step"].tolist() == times.tolist(), kind
        gaps = rows[rows["diagnostic"] == "value_gap"]["value"]
        np.testing.assert_array_equal(gaps, results.value_gaps[i, : times.size])
        information: pd.DataFrame = stored.information.query("seed == @i")
        np.testing.assert_array_equal(
            information["information"].to_numpy().reshape(times.size, -1),
            results.diagnostics.information[i, : times.size].reshape(times.size, -1),
        )
        q = np.atleast_2d(results.q_posterior.times)
        q = q[i if len(q) > 1 else 0]
        assert np.unique(stored.posterior.query("seed == @i")["step"]).tolist() == q[q >= 0].tolist()


def test_rows_are_padded_with_nan() -> None:
    np.testing.assert_array_equal(padded([[1.0], [2.0, 3.0], []]), [[1, np.nan], [2, 3], [np.nan, np.nan]])
    assert padded([[np.ones((2, 3))], []]).shape == (2, 1, 2, 3)


@pytest.mark.parametrize("replan", ["doubling", "tsde"])
def test_a_plan_that_is_kept_is_recorded_once(replan: str) -> None:
    """The environment asks for a plan every few steps; one that goes on is no new plan."""
    agent = steering.make_agent(f"psrl:replan={replan}")
    made: list[int] = []
    plan = agent.plan
    agent.plan = lambda state, step: (made.append(1), plan(state, step))  # type: ignore[method-assign]
    results = steering.run("deepsea:5", agent, steps=400, seeds=[1], record=["value_gap", "q_posterior"])
    assert results.plan_times.size == results.value_gaps.shape[1] == len(made)
    assert set(results.q_posterior.times) <= set(results.plan_times)


def test_every_agent_of_a_comparison_is_recorded() -> None:
    """What to record may be a generator, which can be read once."""
    both = steering.run("deepsea:4", ["psrl", "ids"], steps=30, seeds=1, record=(name for name in ["value_gap"]))
    assert all(one.value_gaps is not None for one in both.runs)


def test_times_of_plans_are_there_if_something_is_recorded() -> None:
    agent = "steering:replan=learned"
    assert steering.run("deepsea:4", agent, steps=40, seeds=2).plan_times is None
    one = steering.run("deepsea:4", agent, steps=40, seeds=1, record=["value_gap"])
    assert one.plan_times is not None
    assert (one.plan_times.shape, one.value_gaps.shape) == ((one.plan_times.size,), (1, one.plan_times.size))
