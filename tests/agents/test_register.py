"""Agents of somebody's own: a name, options from a dataclass, installed plug-ins, and what is refused."""

import importlib
import importlib.metadata
import warnings
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest

import steering
from steering import _plugins
from steering.agents import Agent, ModelBasedAgent, describe_agent, list_agents, make_agent, register_agent
from steering.agents import registry as agents
from steering.errors import InvalidOption, SteeringError

pytestmark = pytest.mark.usefixtures("own_code")


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes
    ----------
    bonus
        Reward of something.
    """

    bonus: float = 1
    depth: int | None = None
    rule: Literal["first", "last"] = "first"
    weights: tuple[float, ...] = field(default_factory=lambda: (1.0, 2.0))

    def __post_init__(self) -> None:
        if self.bonus < 0:
            raise ValueError("bonus is below 0")


class Uniform(Agent):
    """Any action."""

    def act(self, state, step=0):
        return self.acting_rng.choice(np.flatnonzero(self.problem.mask[state]))

    def observe(self, state, action, reward, next_state, step=0):
        pass


def test_an_agent_without_options_is_run_by_its_name():
    kind = type("Plain", (Uniform,), {"__doc__": "Any action."})
    assert register_agent("plain", kind) is kind
    assert register_agent("plain", kind) is kind  # again is fine
    agent = make_agent("plain")
    assert (describe_agent(agent), type(agent)) == ("plain", kind)
    assert steering.run("deepsea:4", "plain", steps=20, seeds=2).agent == "plain"
    assert {"name": "plain", "group": "others", "summary": "Any action.", "options": {}} in list_agents()
    with pytest.raises(InvalidOption, match="agent 'plain' has no options, and 'eta' was given"):
        make_agent("plain:eta=1")


def test_a_registered_class_stands_for_its_name():
    kind = register_agent("whatever", type("Whatever", (Uniform,), {}))
    assert steering.run("deepsea:4", [kind, "psrl"], steps=20, seeds=1).agents == ("whatever", "psrl")
    with pytest.raises(SteeringError, match=r"register it: steering\.register_agent\('a_name', Nameless\)"):
        make_agent(type("Nameless", (Uniform,), {}))


def test_options_are_those_of_the_dataclass_in_their_types():
    @steering.register_agent("mine", options=Options)
    class Mine(Uniform):
        pass

    assert make_agent("mine:bonus=3").options == make_agent("mine", bonus=3.0).options
    assert describe_agent(make_agent("mine:bonus=3")) == "mine:bonus=3.0"
    assert type(make_agent("mine").options.bonus) is float  # the default is written as 1
    text = "mine:bonus=0.5,depth=4,rule=last,weights=(1.0,3.0)"
    assert describe_agent(make_agent(text)) == text
    assert make_agent("mine:depth=none").options == make_agent("mine").options
    for wrong, says in (
        ("bonus=high", "must be a number"),
        ("depth=1.5", "must be a whole number or none"),
        ("rule=middle", "must be one of: first, last"),
        ("weights=3", "numbers in brackets"),
        ("bonus=-1", "agent 'mine': bonus is below 0."),
        ("bonnus=1", "did you mean 'bonus'"),
    ):
        with pytest.raises(SteeringError, match=says) as caught:
            make_agent(f"mine:{wrong}")
        assert "\n" not in str(caught.value)


def test_options_may_be_declared_by_the_class_alone():
    @register_agent("greedy")
    class Greedy(ModelBasedAgent):
        def plan(self, state=0, step=0):
            super().plan(state, step)
            self.solve(*self.belief.mean_model())

    assert make_agent("greedy:eta=2").options.eta == 2.0
    assert steering.run("deepsea:4", "greedy:replan=learned", steps=30, seeds=1).agent == "greedy:replan=learned"


def test_eta_is_one_text_however_it_is_written():
    assert describe_agent(make_agent("psrl:eta=3")) == describe_agent(make_agent("psrl", eta=3.0)) == "psrl:eta=3.0"


@dataclass
class Needs:
    x: float


@dataclass
class Odd:
    x: object = field(default_factory=dict)


@dataclass
class Wrong:
    x: int = 0.5


@pytest.mark.parametrize(
    ("name", "kind", "options", "says"),
    [
        ("psrl", Uniform, None, "'psrl' is an agent of the package"),
        ("a b", Uniform, None, "cannot be the name of an agent"),
        ("", Uniform, None, "cannot be the name"),
        ("x", Uniform(), None, "register a class that derives from steering.Agent"),
        ("x", int, None, "register a class"),
        ("x", Agent, None, "agent 'x' lacks act, observe"),
        ("x", Uniform, 3, "give a dataclass, or None"),
        ("x", Uniform, int, "give a dataclass, or None"),
        ("x", Uniform, Needs, "x has no default"),
        ("x", Uniform, Odd, "x is of type dict"),
        ("x", Uniform, Wrong, "default of option x of agent 'x' is 0.5; it must be a whole number"),
    ],
)
def test_what_cannot_be_registered_is_refused_in_a_sentence(name, kind, options, says):
    with pytest.raises(InvalidOption, match=says) as caught:
        register_agent(name, kind, options=options)
    assert "\n" not in str(caught.value)
    assert "x" not in agents.AGENTS


def test_a_name_belongs_to_one_class_and_a_class_has_one_name():
    first = register_agent("taken", type("First", (Uniform,), {}))
    with pytest.raises(InvalidOption, match=r"agent 'taken' is already .*First"):
        register_agent("taken", type("Second", (Uniform,), {}))
    with pytest.raises(InvalidOption, match="is called 'taken' and registered as 'other'"):
        register_agent("other", first)
    with pytest.raises(InvalidOption, match="is called 'mine' and registered as 'other'"):
        register_agent("other", type("Third", (Uniform,), {"name": "mine"}))
    again = type("First", (Uniform,), {})  # the same class, defined again: a cell of a notebook run twice
    register_agent("taken", again)
    assert type(make_agent("taken")) is again


def test_a_constructor_that_fails_is_told_in_a_sentence():
    @register_agent("broken")
    class Broken(Uniform):
        def __init__(self):
            raise RuntimeError("no licence")

    with pytest.raises(InvalidOption, match="agent 'broken' cannot be made: RuntimeError: no licence"):
        make_agent("broken")


@pytest.fixture
def installed(own_code, monkeypatch):
    """Install entry points by writing the metadata of a package; nothing is loaded before a name is asked for."""
    monkeypatch.syspath_prepend(str(own_code))

    def install(group, points, module=""):
        info = own_code / "plug-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))
        (own_code / "plug.py").write_text(module)
        importlib.invalidate_caches()
        monkeypatch.setattr(_plugins, "_loaded", set())

    return install


PLUG = """
import steering
from steering.agents import ModelBasedAgent

class Mean(ModelBasedAgent):
    def plan(self, state=0, step=0):
        super().plan(state, step)
        self.solve(*self.belief.mean_model())

@steering.register_agent("self_made")
class SelfMade(Mean):
    pass
"""


def test_installed_plug_ins_are_found_and_a_broken_one_is_told_once(installed):
    points = {"gone": "plug:Nothing", "psrl": "plug:Mean", "mean": "plug:Mean", "self_made": "plug:SelfMade"}
    installed("steering.agents", points, PLUG)
    assert make_agent("psrl").options.eta == 1.0
    with pytest.warns(_plugins.PluginWarning) as told:
        assert make_agent("mean:eta=2").name == "mean"
    texts = [str(warning.message) for warning in told]
    assert len(texts) == 2
    assert "the plug-in 'gone' (steering.agents) of the package plug cannot be used: AttributeError" in texts[0]
    assert "'psrl' is an agent of the package; give yours another name" in texts[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {"mean", "self_made", "psrl"} <= {row["name"] for row in list_agents()}
    assert agents.AGENTS["mean"].code.module == "plug"


def test_a_plug_in_that_does_not_load_takes_nobody_down(installed):
    installed("steering.agents", {"bad": "plug:X"}, "raise SystemExit(3)")
    with pytest.warns(_plugins.PluginWarning, match="the plug-in 'bad'"), pytest.raises(SteeringError, match="unknown"):
        make_agent("bad")
    assert make_agent("psrl").name == "psrl"
