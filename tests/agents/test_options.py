"""Every option is explained under its field, and the command line shows the text."""

from dataclasses import dataclass

import pytest
from cli_tools import call

from helpers import AGENTS
from steering.agents import ModelBasedOptions, list_agents, make_agent
from steering.agents.options import option_docs


@pytest.mark.parametrize("name", [row["name"] for row in list_agents()])
def test_every_option_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = make_agent(name).options
    texts = option_docs(type(options))
    assert set(texts) == set(vars(options))
    assert all(texts.values()), [key for key, text in texts.items() if not text]
    shown = " ".join(call(capsys, "agents", name).out.split())
    for key, text in texts.items():
        assert f"{key} {' '.join(text.split())}" in shown
    assert any(spec.startswith(name) for spec in AGENTS)


@dataclass(frozen=True)
class Own(ModelBasedOptions):
    bonus: float = 0.5
    """Reward of trying
    a pair."""
    eta: float = 2.0
    bare: int = 1


def test_own_options_come_first_and_inherit_texts() -> None:
    texts = option_docs(Own)
    assert list(texts)[:3] == ["bonus", "eta", "bare"]
    assert texts["bonus"] == "Reward of trying\na pair."
    assert texts["eta"] == option_docs(ModelBasedOptions)["eta"]
    assert texts["bare"] == ""


@dataclass(frozen=True)
class Listed(ModelBasedOptions):
    """Options that are explained in a list.

    Attributes
    ----------
    first, second
        Two lines
        about both.
    third
        One.
    """

    first: int = 1
    second: int = 2
    third: int = 3


def test_a_list_of_attributes_does_as_well() -> None:
    texts = option_docs(Listed)
    assert texts["first"] == texts["second"] == "Two lines\nabout both."
    assert (texts["third"], texts["replan"]) == ("One.", option_docs(ModelBasedOptions)["replan"])


def test_a_class_without_source_has_options_without_texts() -> None:
    space: dict = {}
    exec("from dataclasses import dataclass\n@dataclass\nclass Hidden:\n    x: int = 1\n", space)
    assert option_docs(space["Hidden"]) == {"x": ""}
