"""Every number of every agent at the edges of floating point: one sentence, or a run with numbers and no warning."""

from __future__ import annotations

import numpy as np
import pytest

from steering import run
from steering._checks import LARGEST, MOST, SMALLEST, moderate_options
from steering.agents import list_agents, make_agent
from steering.agents.registry import BUILT_IN
from steering.errors import SteeringError

EDGES = ("1e-320", "1e308", "nan", "-0.0")
MANY = (
    *EDGES, "5e-324", "1e-300", "1e-200", "1e-100", "1e-17", "1e100", "1e200", "1.7e308", "inf", "-inf", "-1", "0",
    "2147483648", "9223372036854775807", "9223372036854775808", "1" + "0" * 400,
)  # fmt: skip
OPTIONS = {one["name"]: one["options"] for one in list_agents() if one["name"] in BUILT_IN}


def texts(name, values):
    """The agent with one of its numbers replaced, for every number and every value; words are tried too."""
    for option, default in OPTIONS[name].items():
        if isinstance(default, tuple):
            places = range(len(default))
            for value in values:
                for changed in places:
                    given = ",".join(value if place == changed else str(default[place]) for place in places)
                    yield f"{name}:{option}=({given})"
        elif not isinstance(default, bool):
            yield from (f"{name}:{option}={value}" for value in values)


def try_all(name, values, environments):
    """Run all of them; warnings are errors in all tests. Returns how many were refused and how many ran."""
    refused = ran = 0
    for text in texts(name, values):
        for environment in environments:
            try:
                results = run(environment, make_agent(text), steps=40, seeds=1)
            except SteeringError:
                refused += 1
            else:
                assert np.isfinite(results.regret()).all(), text
                assert np.isfinite(results.rewards).all(), text
                ran += 1
    return refused, ran


@pytest.mark.parametrize("name", OPTIONS)
def test_extreme_numbers(name):
    refused, ran = try_all(name, EDGES, ["deepsea:3"])
    assert refused
    assert ran or name in ("q_learning", "bayesian_q", "psrl")  # -0.0, where 0 is fine


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_many_extreme_numbers(name):
    refused, ran = try_all(name, MANY, ["deepsea:3", "riverswim:3"])
    assert refused
    assert ran


def test_the_sentence_says_what_is_possible():
    with pytest.raises(SteeringError, match=r"eta is 1e-320; numbers other than 0 must be 1e-200 to 1e\+200 in size"):
        make_agent("steering:eta=1e-320")
    with pytest.raises(SteeringError, match=r"beta of normal_gamma is 1e\+308; .* 1e-200 to 1e\+100"):
        make_agent("psrl:normal_gamma=(0,4,3,1e308)")
    with pytest.raises(SteeringError, match="samples is 2147483648; it must be at most 2147483647"):
        make_agent("opsrl:samples=2147483648")


def test_numbers_at_the_borders_are_taken():
    for value in (SMALLEST, LARGEST):
        moderate_options(make_agent("ids", info_weight=value).options)
    moderate_options(make_agent("rmax", m=MOST).options)
