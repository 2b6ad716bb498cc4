"""All agents by name: those of the package, your own (`register_agent`) and installed plug-ins (`steering.agents`)."""

from __future__ import annotations

import dataclasses
import functools
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from steering import _plugins
from steering._checks import typed
from steering._code import Code, code_of
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
from steering.agents.steering import Steering
from steering.agents.steering_options import SteeringOptions
from steering.agents.ube import UBE, UBEOptions
from steering.agents.ucb_q import UCBQ, UCBQOptions
from steering.agents.ucbvi import UCBVI, UCBVIOptions
from steering.agents.ucrl2b import UCRL2B, UCRL2BOptions
from steering.agents.vapor import VAPOR, VAPOROptions
from steering.agents.vbrb import VBRB, VBRBOptions
from steering.errors import InvalidOption, SteeringError, UnknownName, unknown_name
from steering.spec import Value, describe, parse

GROUP = "steering.agents"
"""Entry point under which installed packages bring agents."""


@dataclass(frozen=True)
class AgentEntry:
    """One agent.

    Attributes
    ----------
    kind, options
        The class, and the dataclass of its options; None for an agent without any.
    home
        Module that registers it; None for those of the package and of installed plug-ins.
    code
        What it was when it was registered; None for those of the package.
    """

    kind: type[Agent]
    options: type | None
    home: str | None = None
    code: Code | None = None

    @property
    def summary(self) -> str:
        """One line: what the agent is, from the docstring of its class if it has one, else of its file."""
        module = sys.modules.get(self.kind.__module__)
        own = vars(self.kind).get("__doc__") if self.code is not None else None
        return next(iter((own or getattr(module, "__doc__", None) or "").strip().splitlines()), "")


AGENTS: dict[str, AgentEntry] = {
    "steering": AgentEntry(Steering, SteeringOptions),
    "q_learning": AgentEntry(QLearning, QLearningOptions),
    "bayesian_q": AgentEntry(BayesianQ, BayesianQOptions),
    "ube": AgentEntry(UBE, UBEOptions),
    "mm": AgentEntry(MomentMatching, MomentMatchingOptions),
    "psrl": AgentEntry(PSRL, PSRLOptions),
    "ids": AgentEntry(IDS, IDSOptions),
    "ucrl2b": AgentEntry(UCRL2B, UCRL2BOptions),
    "ucbvi": AgentEntry(UCBVI, UCBVIOptions),
    "mbie_eb": AgentEntry(MBIEEB, MBIEEBOptions),
    "rmax": AgentEntry(RMax, RMaxOptions),
    "opsrl": AgentEntry(OPSRL, OPSRLOptions),
    "rlsvi": AgentEntry(RLSVI, RLSVIOptions),
    "eubrl": AgentEntry(EUBRL, EUBRLOptions),
    "k_learning": AgentEntry(KLearning, KLearningOptions),
    "vapor": AgentEntry(VAPOR, VAPOROptions),
    "ucb_q": AgentEntry(UCBQ, UCBQOptions),
    "beb": AgentEntry(BEB, BEBOptions),
    "vbrb": AgentEntry(VBRB, VBRBOptions),
    "bamcp": AgentEntry(BAMCP, BAMCPOptions),
}
BUILT_IN = frozenset(AGENTS)

Kind = TypeVar("Kind", bound=type[Agent])


@typing.overload
def register_agent(
    name: str, agent: None = None, *, options: type | None = None, version: str | int | None = None
) -> Callable[[Kind], Kind]: ...


@typing.overload
def register_agent(
    name: str, agent: Kind, *, options: type | None = None, version: str | int | None = None
) -> Kind: ...


def register_agent(
    name: str, agent: Any = None, *, options: type | None = None, version: str | int | None = None
) -> Any:
    """Give an agent of your own a name, for `run`, sweeps and the command line.

    Parameters
    ----------
    name
        Letters, digits and underscores; not that of an agent of the package.
    agent
        The class; leave it out to use this as a decorator of the class.
    options
        Dataclass of its options, each with a default; what the class declares (``options: MyOptions``) if it is left
        out. An agent may have none.
    version
        Anything that should count as other code when it changes, such as the version of a library that the agent
        calls; the attribute `version` of the class does the same. Edits of the source are noticed without it.

    Examples
    --------
    >>> @register_agent("greedy")                                       # doctest: +SKIP
    ... class Greedy(ModelBasedAgent): ...
    """
    home = _plugins.caller_module()
    if agent is None:
        return lambda kind: _register(name, kind, options, version, home)
    return _register(name, agent, options, version, home)


def _register(name: str, kind: Any, options: type | None, version: Any, home: str | None) -> Any:
    _plugins.checked_name("agent", name)
    if name in BUILT_IN:
        raise InvalidOption(f"'{name}' is an agent of the package; give yours another name.")
    if not isinstance(kind, type) or not issubclass(kind, Agent):
        raise InvalidOption(f"agent '{name}' is {kind!r}; register a class that derives from steering.Agent.")
    if getattr(kind, "__abstractmethods__", None):
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise InvalidOption(f"agent '{name}' lacks {missing}; write them in {kind.__qualname__}.")
    known = AGENTS.get(name)
    if known is not None and not _plugins.same_thing(known.kind, kind):
        other = f"{known.kind.__module__}.{known.kind.__qualname__}"
        raise InvalidOption(f"agent '{name}' is already {other}; give one of them another name.")
    own = vars(kind).get(_plugins.MARK) or vars(kind).get("name", name)
    if own not in (name, kind.__name__.lower()) or vars(kind).get(_plugins.MARK, name) != name:
        raise InvalidOption(f"{kind.__qualname__} is called '{own}' and registered as '{name}'; keep one of the names.")
    options = options if options is not None else _declared_options(kind)
    if options is not None:
        _check_option_class(name, options)
    code = code_of([kind, *([options] if options is not None else [])], version)
    kind.name = name
    setattr(kind, _plugins.MARK, name)
    AGENTS[name] = AgentEntry(kind, options, home, code)
    return kind


def _declared_options(kind: type) -> type | None:
    """The dataclass that the class declares as type of its `options`, if it does."""
    try:
        hint = typing.get_type_hints(kind).get("options")
    except NameError:
        return None
    return hint if isinstance(hint, type) and dataclasses.is_dataclass(hint) else None


def _check_option_class(name: str, options: Any) -> None:
    what = f"options of agent '{name}'"
    if not isinstance(options, type) or not dataclasses.is_dataclass(options):
        raise InvalidOption(f"{what} are {options!r}; give a dataclass, or None.")
    try:
        hints = typing.get_type_hints(options)
        defaults = _defaults(options, None)
    except (NameError, TypeError) as error:
        raise InvalidOption(f"{what}: the types of {options.__qualname__} cannot be read ({error}).") from None
    for key, value in defaults.items():
        if value is dataclasses.MISSING:
            raise InvalidOption(f"{what}: {key} has no default; give it one.")
        if not _is_plain(value):
            kind = type(value).__name__
            raise InvalidOption(f"{what}: {key} is of type {kind}; use numbers, words, true or false, or tuples.")
        typed(f"default of option {key} of agent '{name}'", value, hints.get(key, Any))


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def registered_name(kind: type[Agent]) -> str:
    """Name under which a class is registered; refused if it is not."""
    name = str(getattr(kind, "name", ""))
    if name not in AGENTS or AGENTS[name].kind is not kind:
        raise UnknownName(
            f"{kind.__qualname__} is not registered under a name; register it: steering.register_agent('a_name', "
            f"{kind.__qualname__})."
        )
    return name


def make_agent(agent: str | type[Agent] | Agent, **options: Any) -> Agent:
    """Build an agent from its name and options.

    Parameters
    ----------
    agent
        For example ``"psrl"`` or ``"ids:information=variance,planning=mean"``; or a class that is registered, which
        stands for its name. An agent is returned as it is.
    options
        The same options as keywords.

    Examples
    --------
    >>> make_agent("ids:planning=mean", eta=3).options.eta
    3.0
    """
    if isinstance(agent, Agent):
        if options:
            raise InvalidOption("options cannot be added to a finished agent; build it from its name instead.")
        return agent
    if isinstance(agent, type) and issubclass(agent, Agent):
        agent = registered_name(agent)
    if not isinstance(agent, str):
        raise InvalidOption(f"{agent!r} is not an agent; give a name such as 'psrl', or what make_agent returns.")
    name, positional, given = parse(agent)
    entry = find_agent(name)
    if positional:
        raise InvalidOption(f"'{agent}' has a value without a name; write {name}:key=value.")
    twice = sorted(given.keys() & options.keys())
    if twice:
        raise InvalidOption(f"option '{twice[0]}' of '{agent}' is given twice; keep one of them.")
    values = _build_options(name, entry.options, {**given, **options})
    if entry.code is None:
        return entry.kind(values)
    try:
        return entry.kind(values) if entry.options is not None else entry.kind()
    except SteeringError:
        raise
    except Exception as error:
        raise InvalidOption(f"agent '{name}' cannot be made: {type(error).__name__}: {error}.") from error


def find_agent(name: str) -> AgentEntry:
    """What is registered under a name; plug-ins are loaded when nothing else has it."""
    if name not in AGENTS:
        load_plugins()
    if name not in AGENTS:
        parts = [part.strip() for part in name.split(",")]
        if len(parts) > 1 and all(part.lower() in AGENTS for part in parts):
            several = " ".join(f"-a {part.lower()}" for part in parts)
            raise UnknownName(f"'{name}' is several agents; give one at a time: {several} (in Python, a list).")
        if len(parts) > 1 and parts[0].lower() in AGENTS and all("=" in part for part in parts[1:]):
            right = f"{parts[0].lower()}:{','.join(parts[1:])}"
            raise UnknownName(f"unknown agent '{name}'; options follow a colon: '{right}'.")
        raise unknown_name("agent", name, AGENTS, own=True)
    return AGENTS[name]


def load_plugins() -> None:
    """Register the agents of installed plug-ins."""
    _plugins.load_plugins(GROUP, AGENTS.__contains__, lambda name, kind: _register(name, kind, None, None, None))


def describe_agent(agent: Agent) -> str:
    """The shortest text from which `make_agent` builds the same agent: its name and the options that were changed."""
    if not dataclasses.is_dataclass(agent.options) or isinstance(agent.options, type):
        return agent.name
    usual = _defaults(type(agent.options), getattr(agent.options, "preset", None))
    values: dict[str, Value] = {key: getattr(agent.options, key) for key in usual}
    changed = {key: value for key, value in values.items() if value != usual[key]}
    if "preset" in values and values["preset"] != "default":
        changed = {"preset": values["preset"], **changed}
    return describe(agent.name, [], changed)


def options_of(agent: Agent) -> dict[str, Any]:
    """All options of an agent with their values, changed or not."""
    options = agent.options
    return dataclasses.asdict(options) if dataclasses.is_dataclass(options) and not isinstance(options, type) else {}


def list_agents() -> list[dict[str, Any]]:
    """Name, one-line summary and options (with their defaults) of every agent."""
    load_plugins()
    return [
        {"name": name, "group": entry.kind.group, "summary": entry.summary, "options": _defaults(entry.options, None)}
        for name, entry in AGENTS.items()
    ]


def _presets(option_class: type) -> dict[Any, dict[str, Any]]:
    """Named sets of options of an agent; most have none."""
    return getattr(option_class, "presets", {})


def _defaults(option_class: Any, preset: str | None) -> dict[str, Any]:
    """Default of every option, under a preset."""
    if option_class is None:
        return {}
    plain = {field.name: _default(field) for field in dataclasses.fields(option_class) if field.init}
    return {**plain, **_presets(option_class).get(preset, {}), **({"preset": preset} if preset else {})}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


@functools.lru_cache(maxsize=256)
def _hints(option_class: Any) -> dict[str, Any]:
    return typing.get_type_hints(option_class)


def _build_options(name: str, option_class: Any, given: dict[str, Any]) -> Any:
    known = list(_defaults(option_class, None))
    for key in given:
        if key not in known:
            if key == "seed":  # of a run, and none of its agents takes it
                raise UnknownName(
                    f"agent '{name}' has no option 'seed': give seeds=[{given[key]}], or --seeds, to the run."
                )
            if not known:
                raise InvalidOption(f"agent '{name}' has no options, and '{key}' was given; leave it out.")
            raise unknown_name(f"option of agent '{name}'", key, known)
    if option_class is None:
        return None
    hints = _hints(option_class)
    values = dict(_presets(option_class).get(given.get("preset", ""), {}))
    values |= {key: typed(f"option {key} of agent '{name}'", value, hints[key]) for key, value in given.items()}
    try:
        options = option_class(**values)
    except (ValueError, TypeError) as error:
        raise InvalidOption(f"agent '{name}': {str(error).rstrip('.')}.") from None
    # Defaults too: one text and one key, whether 3 or 3.0 was written.
    floats = {key: float(getattr(options, key)) for key in known if hints[key] is float}
    return dataclasses.replace(options, **{k: v for k, v in floats.items() if type(getattr(options, k)) is not float})
