"""What the Python prompt and notebooks show: short texts, small tables, and names from files never run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import steering
from steering import stein
from steering.agents import Agent
from steering.sweeps.store.directory import Store


class Still(Agent):
    """An agent that forgets to call its base."""

    def __init__(self) -> None:
        pass

    def act(self, state: int, step: int = 0) -> int:
        return 0

    def observe(self, state: int, action: int, reward: float, next_state: int, step: int = 0) -> None:
        pass


@pytest.mark.parametrize(
    ("make", "text", "inside"),
    [
        (
            lambda: steering.make_env("deepsea:5"),
            "Environment: deepsea:5, 5 states, 2 actions, continuing, discount 0.9",
            "continuing",
        ),
        (
            lambda: steering.make_env("deepsea:5", horizon=5),
            "Environment: deepsea:5,horizon=5, 5 states, 2 actions, episodes of 5 steps, discount 1",
            "episodes of 5 steps",
        ),
        (lambda: steering.make_env("deepsea:5").mdp, "TabularMDP(n_states=5, n_actions=2)", "dense"),
        (lambda: steering.make_agent("psrl:eta=0.5"), "Agent: psrl:eta=0.5", "concentration"),
        (Still, "Agent: still", "Agent: still"),
    ],
)
def test_texts_and_tables(make: Callable[[], object], text: str, inside: str) -> None:
    made = make()
    assert repr(made) == text
    page = made._repr_html_()  # type: ignore[attr-defined]
    assert page.startswith("<table>")
    assert inside in page
    assert len(page) < 4000


def test_a_test_of_fit_and_a_store(tmp_path) -> None:
    found = stein.goodness_of_fit(np.array([5, 4, 6]), np.full(3, 1 / 3), draws=99)
    assert len(repr(found)) < 200
    assert f"{found.p_value:.6g}" in found._repr_html_()
    assert repr(Store(tmp_path, create=True)) == f"Store: {tmp_path}"


def test_results_of_a_store(tmp_path) -> None:
    wanted = {"environments": ["deepsea:4"], "agents": ["q_learning", "psrl"], "steps": 30, "seeds": 3}
    steering.sweep(wanted, tmp_path, workers=0)
    results = steering.load(tmp_path)
    assert repr(results) == f"Results: {tmp_path}, 6 runs (1 environment, 2 agents)"
    assert results._repr_html_().count("<tr") == 3
    both = steering.run("deepsea:4", ["psrl", "q_learning"], steps=30, seeds=3)
    ours, theirs = results.summary().set_index("agent"), both.summary().set_index("agent")
    for column in ("mean", "low", "high", "score", "failed", "reward"):
        np.testing.assert_allclose(ours[column].loc[list(both.agents)], theirs[column])
    figure = results.plot(tmp_path / "curves.svg")
    assert len(figure.axes) == 1
    assert (tmp_path / "curves.svg").read_bytes().startswith(b"<?xml")


def test_names_are_shown_and_never_run() -> None:
    evil = steering.make_env("deepsea:4").replace(name="<img src=x onerror=alert(1)>")
    assert "<img" not in evil._repr_html_()
    assert "&lt;img" in evil._repr_html_()
