"""Environments that have a name: those of the package, your own (`register_env`), installed plug-ins (`steering.envs`).

An environment is a function that returns a `TabularMDP`; its parameters, their defaults, its summary and its Gymnasium
id are read from the function.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from steering import _plugins
from steering._checks import typed
from steering._code import Code, code_of
from steering.envs.admission import admission_control
from steering.envs.base import SETTINGS_OF_TEXT
from steering.envs.chain import dearden_chain
from steering.envs.deepsea import deep_sea
from steering.envs.garnet import garnet
from steering.envs.griddeepsea import grid_deep_sea
from steering.envs.grids import long_discount
from steering.envs.harvest import renewable_harvest
from steering.envs.inventory import stock_keeping
from steering.envs.jobs import job_offers
from steering.envs.lazychain import lazy_chain
from steering.envs.lock import combination_lock
from steering.envs.loop import dearden_loop
from steering.envs.maintenance import machine_maintenance
from steering.envs.maze import maze
from steering.envs.names import GYM_NAMES, gym_name
from steering.envs.patience import growing_prize
from steering.envs.priormdp import prior_mdp
from steering.envs.queueing import service_queue
from steering.envs.registration import register_name
from steering.envs.rental import car_rental
from steering.envs.reservoir import dam_reservoir
from steering.envs.riverswim import river_swim
from steering.envs.rooms import rooms
from steering.envs.seats import flight_seats
from steering.envs.selling import offer_selling
from steering.envs.widenarrow import wide_narrow
from steering.errors import InvalidOption, SteeringError, UnsupportedEnvironment, unknown_name
from steering.mdp.tabular import TabularMDP

GROUP = "steering.envs"
"""Entry point under which installed packages bring environments."""

OTHER_KINDS = ("gym", "file", "mdp")
"""Words before the colon that name no registered environment."""


@dataclass(frozen=True)
class Entry:
    """One registered environment.

    Parameters
    ----------
    build
        Returns the MDP; its signature and docstring are the documentation of the environment.
    always
        Keyword parameters written in the canonical name even at their default.
    settings
        Settings that differ from the usual ones, from the MDP.
    home
        Module that registers it; None for those of the package and of installed plug-ins.
    code
        What it was when it was registered; None for those of the package.
    """

    build: Callable[..., TabularMDP]
    always: tuple[str, ...] = ()
    settings: Callable[[TabularMDP], dict[str, Any]] = lambda mdp: {}
    home: str | None = None
    code: Code | None = None

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the constructor by name."""
        return inspect.signature(self.build).parameters

    @cached_property
    def positional(self) -> list[str]:
        """Names of the parameters that may be given as plain values, in order."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [name for name, p in self.parameters.items() if p.kind is kind]

    @property
    def summary(self) -> str:
        """One line: what the environment is."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]

    def make(self, name: str, arguments: dict[str, Any]) -> TabularMDP:
        """Build the MDP; what somebody else's function does wrong is said in a sentence.

        The functions of the package check their own parameters. For others the declared types are checked here, and
        `arguments` are put into them, so that 1 and 1.0 are one number in the canonical text.
        """
        if self.code is None:
            return self.build(**arguments)
        hints = _hints(self.build)
        for key, value in arguments.items():
            arguments[key] = typed(f"{key} of environment '{name}'", value, hints.get(key, Any))
        try:
            mdp = self.build(**arguments)
        except SteeringError as error:
            raise type(error)(f"environment '{name}': {error}") from None
        except Exception as error:
            raise InvalidOption(f"environment '{name}' cannot be made: {type(error).__name__}: {error}.") from error
        if not isinstance(mdp, TabularMDP):
            raise UnsupportedEnvironment(
                f"environment '{name}' gives an object of type {type(mdp).__name__}; its function must return a "
                "steering.TabularMDP."
            )
        return mdp


OPERATIONS: dict[str, Callable[..., TabularMDP]] = {
    "inventory": stock_keeping,
    "maintenance": machine_maintenance,
    "queue": service_queue,
    "patience": growing_prize,
    "admission": admission_control,
    "selling": offer_selling,
    "rental": car_rental,
    "harvest": renewable_harvest,
    "reservoir": dam_reservoir,
    "seats": flight_seats,
    "jobs": job_offers,
}
"""Tasks of operations research."""

ENTRIES: dict[str, Entry] = {
    "deepsea": Entry(deep_sea),
    "widenarrow": Entry(wide_narrow, settings=lambda mdp: {"replan_every": mdp.n_states}),
    "priormdp": Entry(prior_mdp, always=("seed",)),
    "riverswim": Entry(river_swim),
    "griddeepsea": Entry(grid_deep_sea, settings=lambda mdp: {"horizon": math.isqrt(mdp.n_states)}),
    "chain": Entry(dearden_chain),
    "loop": Entry(dearden_loop),
    "lazychain": Entry(lazy_chain, settings=lambda mdp: {"discount": 0.999}),
    "lock": Entry(combination_lock),
    "maze": Entry(maze, always=("seed",), settings=long_discount),
    "rooms": Entry(rooms, always=("seed",), settings=long_discount),
    "garnet": Entry(garnet, always=("seed",)),
    **{name: Entry(build, ("seed",), lambda mdp: {"discount": 0.95}) for name, build in OPERATIONS.items()},
}
BUILT_IN = frozenset(ENTRIES)

Build = TypeVar("Build", bound=Callable[..., TabularMDP])


@typing.overload
def register_env(name: str, function: None = None, *, version: str | int | None = None) -> Callable[[Build], Build]: ...


@typing.overload
def register_env(name: str, function: Build, *, version: str | int | None = None) -> Build: ...


def register_env(name: str, function: Any = None, *, version: str | int | None = None) -> Any:
    """Give an environment of your own a name, for `make_env`, `run`, sweeps, the command line and Gymnasium.

    Parameters
    ----------
    name
        Letters, digits and underscores; not that of an environment of the package.
    function
        Returns a `TabularMDP`; leave it out to use this as a decorator. Its parameters are those of the environment:
        numbers, words, true or false, or tuples, checked by their annotations.
    version
        Anything that should count as other code when it changes; the attribute `version` of the function does the
        same. Edits of the source are noticed without it.

    Examples
    --------
    >>> @register_env("ring")                                           # doctest: +SKIP
    ... def ring(size: int = 5, wind: float = 0.1) -> TabularMDP: ...
    >>> steering.make_env("ring:7,wind=0.2")                            # doctest: +SKIP
    """
    home = _plugins.caller_module()
    if function is None:
        return lambda build: _register(name, build, version, home)
    return _register(name, function, version, home)


def _register(name: str, build: Any, version: Any, home: str | None) -> Any:
    _plugins.checked_name("environment", name)
    if name in BUILT_IN or name in OTHER_KINDS:
        raise InvalidOption(f"'{name}' is an environment of the package; give yours another name.")
    if not inspect.isfunction(build):
        raise InvalidOption(f"environment '{name}' is {build!r}; register a function that returns a TabularMDP.")
    known = ENTRIES.get(name)
    if known is not None and not _plugins.same_thing(known.build, build):
        other = f"{known.build.__module__}.{known.build.__qualname__}"
        raise InvalidOption(f"environment '{name}' is already {other}; give one of them another name.")
    _check_signature(name, build)
    twin = next((one for one in ENTRIES if one != name and _gym_name(one) == gym_name(name)), None)
    if twin is not None:
        raise InvalidOption(f"environments '{name}' and '{twin}' would share a Gymnasium id; give yours another name.")
    ENTRIES[name] = Entry(build, home=home, code=code_of([build], version))
    setattr(build, _plugins.MARK, name)
    register_name(name)
    return build


def _gym_name(name: str) -> str:
    return GYM_NAMES[name][0] if name in GYM_NAMES else gym_name(name)


def _check_signature(name: str, build: Callable[..., Any]) -> None:
    what = f"environment '{name}'"
    hints = _hints(build)
    for key, parameter in inspect.signature(build).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidOption(f"{what}: its parameter {key} has no name of its own; list all parameters by name.")
        if key in SETTINGS_OF_TEXT:
            raise InvalidOption(f"{what}: {key} is a setting of every environment; give the parameter another name.")
        if parameter.default is not parameter.empty:
            typed(f"default of {key} of {what}", parameter.default, hints.get(key, Any))


def _hints(build: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(build)
    except (NameError, TypeError):  # a name that only a type checker imports, say: then nothing is checked
        return {}


def find_entry(name: str) -> Entry:
    """What is registered under a name; plug-ins are loaded when nothing else has it."""
    if name not in ENTRIES:
        load_plugins()
    if name not in ENTRIES:
        raise unknown_name("environment", name, [*ENTRIES, "gym", "file"], own=True)
    return ENTRIES[name]


def load_plugins() -> None:
    """Register the environments of installed plug-ins."""
    _plugins.load_plugins(GROUP, ENTRIES.__contains__, lambda name, build: _register(name, build, None, None))
