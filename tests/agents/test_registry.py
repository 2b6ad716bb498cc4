"""Agents by name: options as text and as keywords, and text that builds the same agent again."""

import sys
import types

import numpy as np
import pytest

from helpers import AGENTS
from steering.agents import describe_agent, list_agents, make_agent, registry
from steering.errors import InvalidOption, SteeringError, UnknownName


@pytest.mark.parametrize("spec", AGENTS)
def test_a_description_builds_the_same_agent(spec: str) -> None:
    agent = make_agent(spec)
    again = make_agent(describe_agent(agent))
    assert type(again) is type(agent)
    assert again.options == agent.options
    assert describe_agent(again) == describe_agent(agent)


def test_options_come_from_text_and_keywords() -> None:
    agent = make_agent("ids:planning=mean", eta=3, information="gain")
    assert (agent.options.eta, agent.options.planning, agent.options.information) == (3, "mean", "gain")
    assert make_agent("psrl:normal_gamma=(0,1,4,4)").options.normal_gamma == (0, 1, 4, 4)
    assert make_agent("psrl", normal_gamma=[0, 1, 4, 4]).options.normal_gamma == (0, 1, 4, 4)
    assert make_agent("ube", eta=np.int64(2), zeta=np.float32(0.5), samples=np.int32(7)).options.samples == 7


def test_a_finished_agent_is_returned_and_takes_no_options() -> None:
    agent = make_agent("psrl")
    assert make_agent(agent) is agent
    with pytest.raises(InvalidOption, match="finished agent"):
        make_agent(agent, eta=2)


def test_options_are_frozen() -> None:
    with pytest.raises(AttributeError):
        make_agent("psrl").options.eta = 2


def test_defaults_are_the_papers() -> None:
    assert make_agent("psrl").options.eta == 1.0
    assert make_agent("psrl").options.normal_gamma == (0.0, 4.0, 3.0, 3.0)
    assert make_agent("ube").options.zeta == 0.1
    assert make_agent("mm").options.zeta == 1.0
    assert make_agent("ids").options.info_weight == 0.5
    assert make_agent("q_learning").options.epsilon == 0.5
    assert make_agent("q_learning").options.learning_rate == 0.1
    assert make_agent("bayesian_q").options.samples == 1000


def test_the_list_names_options_and_says_what_agents_are() -> None:
    rows = {row["name"]: row for row in list_agents()}
    assert {"q_learning", "bayesian_q", "ube", "mm", "psrl", "ids"} <= set(rows)
    assert rows["ids"]["options"]["planning"] == "sampled"
    assert all(row["summary"] for row in rows.values())


def test_an_agent_whose_file_has_no_docstring_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says nothing of itself must not take the list of all others with it."""
    module = types.ModuleType("undocumented")
    known = registry.AGENTS["psrl"]
    mine = type("Mine", (known.kind,), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.AGENTS, "mine", registry.AgentEntry(mine, known.options))
    rows = {row["name"]: row["summary"] for row in list_agents()}
    assert rows["mine"] == ""
    assert rows["psrl"]


@pytest.mark.parametrize(
    ("spec", "options", "error", "word"),
    [
        ("psrll", {}, UnknownName, "did you mean 'psrl'"),
        ("zzz", {}, UnknownName, "known: "),
        ("steering", {"seed": 5}, UnknownName, r"has no option 'seed': give seeds=\[5\], or --seeds, to the run\.$"),
        ("psrl:seed=5", {}, UnknownName, r"has no option 'seed': give seeds=\[5\], or --seeds, to the run\.$"),
        ("psrl:etta=1", {}, UnknownName, "did you mean 'eta'"),
        ("psrl:1", {}, InvalidOption, "without a name"),
        ("psrl:eta=big", {}, InvalidOption, "must be a number"),
        ("psrl:eta=true", {}, InvalidOption, "must be a number"),
        ("ube:samples=2.5", {}, InvalidOption, "whole number"),
        ("mm:divide_by_discount=1", {}, InvalidOption, "true or false"),
        ("ids:planning=1", {}, InvalidOption, "a word"),
        ("psrl:normal_gamma=3", {}, InvalidOption, "numbers in brackets"),
        ("psrl:normal_gamma=(1,2)", {}, InvalidOption, "four numbers"),
        ("psrl:eta=0", {}, InvalidOption, "agent 'psrl': eta is 0"),
        ("psrl:eta=nan", {}, InvalidOption, "eta is nan"),
        ("psrl:eta=1,eta=2", {}, InvalidOption, "given twice"),
        ("psrl:eta=2", {"eta": 2}, InvalidOption, "given twice"),
        ("psrl", {"eta": None}, InvalidOption, "must be a number"),
        ("", {}, InvalidOption, "no name"),
    ],
)
def test_mistakes_get_one_sentence(spec: str, options, error, word: str) -> None:
    with pytest.raises(error, match=word) as caught:
        make_agent(spec, **options)
    assert isinstance(caught.value, SteeringError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 3, ["psrl"]])
def test_what_is_not_an_agent_is_refused(wrong) -> None:
    with pytest.raises(SteeringError, match="agent"):
        make_agent(wrong)
