"""The record: its steps are those of a run, looking changes nothing, and what is packed comes back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering import run
from steering.agents import make_agent
from steering.agents.registry import AGENTS
from steering.envs import make_env
from steering.envs.layout import layout_of, spring
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.lab.packing import KEPT_BITS, pack, rounded, small_unsigned, unpack
from steering.lab.recorder import Track, You
from steering.lab.server import Lab, Setup
from steering.lab.words import HOW, what
from steering.lab.world import likely_moves, world

FRESH = (0, 0, 0, 0)


def recorded(env: str, agent: str, steps: int = 300, seed: int = 3) -> Track:
    track = Track(make_env(env), make_agent(agent), steps, seed)
    track.run()
    assert track.error is None
    return track


@pytest.mark.parametrize(
    ("env", "agent"), [("deepsea:6", "steering"), ("deepsea:6,horizon=6", "psrl"), ("chain", "q_learning")]
)
def test_a_record_is_the_run(env: str, agent: str) -> None:
    track = recorded(env, agent)
    results = run(env, agent, steps=300, seeds=[3])
    np.testing.assert_array_equal(track.simulator.rewards, results.rewards[0])
    _, arrays = world(track.environment, [agent], 300, 3)
    assert results.oracle_rewards is not None
    np.testing.assert_array_equal(arrays["oracle"], results.oracle_rewards[0])


def test_a_record_read_in_pieces_is_the_whole() -> None:
    track = recorded("deepsea:6", "psrl")
    _, whole = track.since(*FRESH)
    half = (150, 10, 7, 5)
    header, later = track.since(*half)
    assert (header["from"], header["to"], header["finished"]) == (150, 300, True)
    for name, skipped in (("states", 150), ("rewards", 150), ("plans", 10), ("frames", 7), ("q", 7), ("policies", 5)):
        np.testing.assert_array_equal(later[name], whole[name][skipped:])


def test_frames_hold_the_belief_of_their_plan() -> None:
    """What the page computes from steps, eta and prior is the belief's own mean model."""
    track = recorded("deepsea:6", "steering:reward_scale=learned", steps=120)
    agent, frame = make_agent("steering:reward_scale=learned"), track.frames[-1]
    short = Track(track.environment, agent, frame.time, 3)
    short.run()
    agent.belief.refresh()
    P, r = agent.belief.mean_model()
    sim, (mean, weight, _, _) = short.simulator, frame.prior
    counts, sums = np.zeros(P.shape), np.zeros(P.shape)
    np.add.at(counts, (sim.states, sim.actions, sim.successors), 1.0)
    np.add.at(sums, (sim.states, sim.actions, sim.successors), sim.rewards)
    own = (frame.eta + counts) / (frame.eta + counts).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(own, P, rtol=1e-12)
    np.testing.assert_allclose((own * (weight * mean + sums) / (weight + counts)).sum(axis=-1), r, atol=1e-12)


def test_large_worlds_are_looked_at_without_draws() -> None:
    """One draw of 900 states has 3 million numbers: Q is that of the mean model, and looking changes nothing."""
    track = recorded("maze:30", "steering", 200)
    np.testing.assert_array_equal(track.simulator.rewards, run("maze:30", "steering", steps=200, seeds=[3]).rewards[0])
    last = track.frames[-1]
    assert np.isnan(last.spread).all()
    agent = make_agent("steering")
    run("maze:30", agent, steps=last.time + 1, seeds=[3], windows=1)
    P, r = agent.belief.mean_model()
    _, Q = agent.solve(P, r)
    np.testing.assert_allclose(last.q, Q[0], rtol=2e-3)


def test_every_agent_is_told_in_plain_words() -> None:
    assert set(HOW) == {name for name, entry in AGENTS.items() if entry.home is None}
    assert all(len(words) < 170 and words.endswith(".") for words in HOW.values())
    assert what("deepsea:8") == "Chain of n states in which only swimming right all the way pays."
    assert what("gym:FrozenLake-v1") == what("mine") == ""


def test_agents_without_a_belief_say_so() -> None:
    track = recorded("deepsea:6", "q_learning")
    assert np.isnan(track.frames[0].eta)
    assert np.isnan(track.frames[0].information).all()


def test_an_agent_that_fails_is_reported_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make_agent("psrl")

    def fail(state: int = 0, step: int = 0) -> None:
        raise RuntimeError("no plan today")

    monkeypatch.setattr(agent, "plan", fail)
    track = Track(make_env("deepsea:6"), agent, 50, 0)
    track.run()
    assert track.finished
    assert track.error == "RuntimeError: no plan today"


def test_you_meet_the_noise_of_the_agents() -> None:
    track = recorded("deepsea:6,horizon=7", "psrl", steps=100)
    you = You(track.environment, 100, 3)
    for t in range(100):
        assert you.simulator.state == track.simulator.states[t]
        got = you.act(int(track.simulator.actions[t]))
        assert got["reward"] == track.simulator.rewards[t]
        assert got["successor"] == track.simulator.successors[t]
    with pytest.raises(NotAvailable, match="steps are over"):
        you.act(0)


def test_you_cannot_do_what_is_not_allowed() -> None:
    with pytest.raises(NotAvailable, match="not allowed"):
        You(make_env("deepsea:6"), 10, 0).act(2)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=20), st.integers(0, 70_000))
def test_packing_gives_back_what_it_took(values: list[float], most: int) -> None:
    numbers = np.array(values)
    whole = small_unsigned(np.array([0, most]), most)
    header, arrays = unpack(
        pack({"name": "ä <b>", "bad": float("nan")}, {"a": numbers, "b": whole, "c": rounded(numbers)})
    )
    assert header == {"name": "ä <b>", "bad": None}
    np.testing.assert_array_equal(arrays["a"], numbers)
    np.testing.assert_array_equal(arrays["b"], [0, most])
    tiny = np.finfo(np.float32).tiny
    np.testing.assert_allclose(arrays["c"], numbers, rtol=2.0**-KEPT_BITS, atol=tiny)


def test_rounding_keeps_what_is_not_finite() -> None:
    np.testing.assert_array_equal(rounded(np.array([np.nan, np.inf, 0.0])), [np.nan, np.inf, 0.0])


@pytest.mark.parametrize(
    ("env", "kind", "width", "height"),
    [
        ("rooms:6", "grid", 6, 6),
        ("gym:FrozenLake-v1", "grid", 4, 4),
        ("deepsea:8", "chain", 8, 1),
        ("deepsea:40", "chain", 16, 3),
        ("riverswim", "chain", 6, 1),
        ("garnet:20,2,3", "graph", 1, 1),
        ("garnet:300,2,3", "cells", 18, 17),
    ],
)
def test_maps(env: str, kind: str, width: int, height: int) -> None:
    place = layout_of(make_env(env))
    assert (place.kind, place.width, place.height) == (kind, width, height)
    spots = set(zip(place.x.tolist(), place.y.tolist(), strict=True))
    assert len(spots) == make_env(env).n_states


def test_rooms_have_their_walls_and_others_none() -> None:
    assert len(layout_of(make_env("rooms:6")).walls) == 2 * (6 - 2)
    assert len(layout_of(make_env("gym:FrozenLake-v1")).walls) == 0


def test_connected_states_are_drawn_near() -> None:
    points = spring(6, np.array([0, 1, 3, 4]), np.array([1, 2, 4, 5]))
    assert np.linalg.norm(points[0] - points[1]) < np.linalg.norm(points[0] - points[4])
    assert points.min() >= 0
    assert points.max() <= 1


def test_likely_moves_are_the_most_likely() -> None:
    mdp = make_env("rooms:6").table.to_dense()
    np.testing.assert_array_equal(
        np.take_along_axis(mdp.P, likely_moves(mdp)[..., None], axis=-1)[..., 0], mdp.P.max(axis=-1)
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("deepsea:6", [], 10, 0), "1 to 4"),
        (("deepsea:6", ["psrl", "psrl"], 10, 0), "twice"),
        (("deepsea:6", ["psrl"], 0, 0), "steps"),
        (("deepsea:6", ["psrl"], 10, -1), "seed"),
        (("deepsea:6", "psrl", 10, 0), "list of agents"),
        (("rooms:101", ["q_learning"], 10, 0), "at most 10000"),
        (("gym:Blackjack-v1", ["psrl"], 10, 0), "."),
    ],
)
def test_bad_setups_are_refused_in_a_sentence(given: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(SteeringError, match=sentence):
        Setup.checked(*given)


def test_news_of_another_run_are_refused() -> None:
    lab = Lab(Setup.checked("deepsea:6", ["psrl"], 20, 0))
    for seen in ("", "0,0,0", "0,0,0,0;0,0,0,0", "a,b,c,d"):
        with pytest.raises(InvalidOption, match="another run"):
            lab.news(seen)
    lab.stop()
