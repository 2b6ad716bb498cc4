"""All agents by name. A new agent is one new file and one line here."""

from __future__ import annotations

import dataclasses
import importlib
import typing
from typing import Any

import numpy as np

from steering.agents.bamcp import BAMCP, BAMCPOptions
from steering.agents.base import Agent
from steering.agents.bayesian_q import BayesianQ, BayesianQOptions
from steering.agents.beb import BEB, BEBOptions
from steering.agents.eubrl import EUBRL, EUBRLOptions
from steering.agents.ids import IDS, IDSOptions
from steering.agents.k_learning import KLearning, KLearningOptions
from steering.agents.mbie_eb import MBIEEB, MBIEEBOptions
from steering.agents.moment_matching import MomentMatching, MomentMatchingOptions
from steering.agents.opsrl import OPSRL, OPSRLOptions
from steering.agents.psrl import PSRL, PSRLOptions
from steering.agents.q_learning import QLearning, QLearningOptions
from steering.agents.rlsvi import RLSVI, RLSVIOptions
from steering.agents.rmax import RMax, RMaxOptions
from steering.agents.steering import Steering, SteeringOptions
from steering.agents.ube import UBE, UBEOptions
from steering.agents.ucb_q import UCBQ, UCBQOptions
from steering.agents.ucbvi import UCBVI, UCBVIOptions
from steering.agents.ucrl2b import UCRL2B, UCRL2BOptions
from steering.agents.vapor import VAPOR, VAPOROptions
from steering.agents.vbrb import VBRB, VBRBOptions
from steering.errors import InvalidOption, unknown_name
from steering.spec import Value, describe, parse

AGENTS: dict[str, tuple[type[Agent], type]] = {
    "steering": (Steering, SteeringOptions),
    "q_learning": (QLearning, QLearningOptions),
    "bayesian_q": (BayesianQ, BayesianQOptions),
    "ube": (UBE, UBEOptions),
    "mm": (MomentMatching, MomentMatchingOptions),
    "psrl": (PSRL, PSRLOptions),
    "ids": (IDS, IDSOptions),
    "ucrl2b": (UCRL2B, UCRL2BOptions),
    "ucbvi": (UCBVI, UCBVIOptions),
    "mbie_eb": (MBIEEB, MBIEEBOptions),
    "rmax": (RMax, RMaxOptions),
    "opsrl": (OPSRL, OPSRLOptions),
    "rlsvi": (RLSVI, RLSVIOptions),
    "eubrl": (EUBRL, EUBRLOptions),
    "k_learning": (KLearning, KLearningOptions),
    "vapor": (VAPOR, VAPOROptions),
    "ucb_q": (UCBQ, UCBQOptions),
    "beb": (BEB, BEBOptions),
    "vbrb": (VBRB, VBRBOptions),
    "bamcp": (BAMCP, BAMCPOptions),
}


def make_agent(agent: str | Agent, **options: Any) -> Agent:
    """Build an agent from its name and options.

    Parameters
    ----------
    agent
        For example ``"psrl"`` or ``"ids:information=variance,planning=mean"``. An agent is returned as it is.
    options
        The same options as keywords.

    Examples
    --------
    >>> make_agent("ids:planning=mean", eta=3).options.eta
    3
    """
    if isinstance(agent, Agent):
        if options:
            raise InvalidOption("options cannot be added to a finished agent; build it from its name instead.")
        return agent
    if not isinstance(agent, str):
        raise InvalidOption(f"{agent!r} is not an agent; give a name such as 'psrl', or what make_agent returns.")
    name, positional, given = parse(agent)
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    if positional:
        raise InvalidOption(f"'{agent}' has a value without a name; write {name}:key=value.")
    twice = sorted(given.keys() & options.keys())
    if twice:
        raise InvalidOption(f"option '{twice[0]}' of '{agent}' is given twice; keep one of them.")
    kind, option_class = AGENTS[name]
    return kind(_build_options(name, option_class, {**given, **options}))


def describe_agent(agent: Agent) -> str:
    """The shortest text from which `make_agent` builds the same agent: its name and the options that were changed."""
    if agent.options is None:
        return agent.name
    usual = _defaults(type(agent.options), getattr(agent.options, "preset", None))
    values: dict[str, Value] = {key: getattr(agent.options, key) for key in usual}
    changed = {key: value for key, value in values.items() if value != usual[key]}
    if "preset" in values and values["preset"] != "default":
        changed = {"preset": values["preset"], **changed}
    return describe(agent.name, [], changed)


def list_agents() -> list[dict[str, Any]]:
    """Name, one-line summary and options (with their defaults) of every agent."""
    rows = []
    for name, (kind, option_class) in AGENTS.items():
        module = importlib.import_module(kind.__module__)
        options = _defaults(option_class, None)
        summary = next(iter((module.__doc__ or "").strip().splitlines()), "")  # a docstring is asked for, not needed
        rows.append({"name": name, "group": kind.group, "summary": summary, "options": options})
    return rows


def _presets(option_class: type) -> dict[Any, dict[str, Any]]:
    """Named sets of options of an agent; most have none."""
    return getattr(option_class, "presets", {})


def _defaults(option_class: type, preset: str | None) -> dict[str, Any]:
    """Default of every option, under a preset."""
    plain = {field.name: field.default for field in dataclasses.fields(option_class)}
    return {**plain, **_presets(option_class).get(preset, {}), **({"preset": preset} if preset else {})}


def _build_options(name: str, option_class: type, given: dict[str, Any]) -> Any:
    hints = typing.get_type_hints(option_class)
    known = [field.name for field in dataclasses.fields(option_class)]
    values = dict(_presets(option_class).get(given.get("preset", ""), {}))
    for key, value in given.items():
        if key not in known:
            raise unknown_name(f"option of agent '{name}'", key, known)
        values[key] = _checked_type(f"option {key} of agent '{name}'", value, hints[key])
    try:
        return option_class(**values)
    except InvalidOption as error:
        raise InvalidOption(f"agent '{name}': {error}") from None


def _checked_type(what: str, value: Any, hint: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if hint is str and value is None:
        return "none"  # the grammar reads the word none as nothing
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint in (bool, str) and isinstance(value, hint):
        return value
    if typing.get_origin(hint) is tuple and isinstance(value, (tuple, list)):
        return tuple(value)
    expected = {float: "a number", int: "a whole number", bool: "true or false", str: "a word"}
    raise InvalidOption(
        f"{what} is {value!r}; it must be {expected.get(hint, 'numbers in brackets, as (0, 4, 3, 3)')}."
    )
