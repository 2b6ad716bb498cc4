"""Which beliefs are kept: those of the plans after something was met for the first time, and never too many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steering.agents import make_agent
from steering.envs import make_env
from steering.lab.recorder import Track
from steering.lab.schedule import Schedule, best_paid


def plan_after(plans: list[int], t: int) -> int:
    """The first plan that knows of the step begun at time t."""
    return next(plan for plan in plans if plan > t)


def test_the_belief_of_a_discovery_is_kept() -> None:
    """The best reward of deepsea:8, and every outcome seen for the first time, is in a belief at the next plan."""
    environment = make_env("deepsea:8")
    track = Track(environment, make_agent("steering"), 5000, 0)
    track.run()
    sim, kept = track.simulator, {frame.time for frame in track.frames}
    best = best_paid(environment.table.rewards, environment.mask)
    assert best.sum() == 1
    first = int(np.flatnonzero(best[sim.states, sim.actions])[0])
    assert plan_after(track.plans, first) in kept
    outcomes = np.stack([sim.states, sim.actions, sim.successors], axis=1)
    _, places = np.unique(outcomes, axis=0, return_index=True)
    assert {plan_after(track.plans, int(t)) for t in places} <= kept


def walk(steps: int, n_states: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    states = rng.integers(n_states, size=steps + 1)
    return SimpleNamespace(states=states[:-1], actions=rng.integers(2, size=steps), successors=states[1:])


@settings(max_examples=40, deadline=None)
@given(st.integers(6, 60), st.integers(2, 40), st.integers(1, 9), st.integers(0, 99))
def test_there_are_never_more_than_asked_for_and_the_best_reward_has_its_own(
    frames: int, n_states: int, every: int, seed: int
) -> None:
    steps, best = 600, np.zeros((n_states, 2), dtype=bool)
    best[-1, 1] = True
    steps_made, schedule = walk(steps, n_states, seed), Schedule(steps, frames, best)
    plans = list(range(0, steps, every))
    kept = [now for now in plans if schedule.due(now, steps_made)]
    assert len(kept) <= frames
    assert kept[0] == 0
    paid = np.flatnonzero(best[steps_made.states, steps_made.actions])
    if paid.size and paid[0] < plans[-1]:
        assert plan_after(plans, int(paid[0])) in kept


@pytest.mark.parametrize("last", [500, 5000])
def test_the_whole_run_has_its_share(last: int) -> None:
    """News come first, but cannot use up what is meant for later."""
    schedule, made = Schedule(last, 40, np.zeros((300, 2), dtype=bool)), walk(last, 300, 1)
    kept = [now for now in range(last) if schedule.due(now, made)]
    assert kept[:10] == list(range(10))
    assert max(np.diff(kept)) < 0.06 * last


def test_best_pays_where_it_is_allowed() -> None:
    rewards, allowed = np.array([[1.0, 0.5], [0.5, 0.5 + 1e-13]]), np.array([[False, True], [True, True]])
    np.testing.assert_array_equal(best_paid(rewards, allowed), [[False, True], [True, True]])
