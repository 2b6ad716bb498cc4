"""Environments by name: ``make_env("deepsea:15")``.

What there is by name is in `steering.envs.entries`, your own included. Positional parameters may be given as values
(``deepsea:15``), all of them as options (``deepsea:n=15``), as text or as keyword arguments.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from steering import _checks, _plugins, spec
from steering.envs.base import (
    REWARD_SCALE,
    SETTINGS,
    SETTINGS_OF_TEXT,
    Environment,
    changed_settings,
    default_discount,
)
from steering.envs.entries import ENTRIES, Entry, find_entry, load_plugins
from steering.envs.gym_import import from_gym
from steering.envs.names import GYM_NAMES
from steering.errors import InvalidOption, SteeringError, UnknownName, UnsupportedEnvironment, unknown_name
from steering.mdp import io
from steering.mdp.tabular import TabularMDP


@dataclass(frozen=True)
class EnvInfo:
    """What `list_envs` says of one environment: its name, its parameters with defaults, and one line."""

    name: str
    parameters: str
    summary: str


def list_envs() -> list[EnvInfo]:
    """List the environments that `make_env` knows, with parameters and a one-line summary."""
    load_plugins()
    infos = [EnvInfo(name, _parameter_text(entry), entry.summary) for name, entry in ENTRIES.items()]
    infos.append(EnvInfo("gym", "ID, estimate=none, ...", "Any Gymnasium environment with Discrete spaces."))
    infos.append(EnvInfo("file", "PATH", "An MDP saved as .npz or .json."))
    return infos


def make_env(
    env: str | TabularMDP | gymnasium.Env[Any, Any] | Environment | Callable[..., Any], **options: Any
) -> Environment:
    """Make an environment from text, an MDP, a Gymnasium environment or another `Environment`.

    Parameters
    ----------
    env
        Text such as ``"deepsea:15"``, ``"priormdp:4,2,seed=0"``, ``"gym:FrozenLake-v1,is_slippery=false"`` or
        ``"file:my.npz"``; or an object. A function that is registered stands for its name.
    **options
        `discount`, `horizon`, `replan_every` and `max_iterations` for every environment, with text also
        `reward_scale` (rewards times that), and the parameters of the environment named.
        ``make_env("deepsea:8", horizon=8)`` is the same as ``make_env("deepsea:8,horizon=8")``.

    Examples
    --------
    >>> make_env("deepsea:8").mdp
    TabularMDP(n_states=8, n_actions=2)
    >>> make_env("deepsea:8,reward=dense", horizon=8).name
    'deepsea:8,reward=dense,horizon=8'
    """
    if isinstance(env, Environment):
        return _changed(env, options)
    if isinstance(env, TabularMDP):
        _refuse_unknown("an MDP", options, SETTINGS)
        return _with_settings(_mdp_name(env), env, {}, options)
    if isinstance(env, gymnasium.Env):
        return from_gym(env, **options)
    if callable(env) and _plugins.is_registered(env):
        env = str(getattr(env, _plugins.MARK))
    if not isinstance(env, str):
        own = " (register it first: steering.register_env('a_name', function))" if callable(env) else ""
        raise UnsupportedEnvironment(
            f"an environment cannot be made from an object of type {type(env).__name__}{own}; give text such as "
            "'deepsea:15', a TabularMDP, a gymnasium.Env or an Environment."
        )
    kind = env.partition(":")[0].strip()
    if kind == "mdp":
        raise UnknownName(f"'{env}' names an MDP that was given as an object; save it and write file:PATH.")
    if kind == "file":
        path, given = _split_file(env)
        return _from_file(path, _merged(env, given, options))
    name, values, given = spec.parse(env)
    return _from_text(env, name, values, _merged(env, given, options))


def _from_text(text: str, name: str, values: list[spec.Value], options: dict[str, Any]) -> Environment:
    """What a text names, then its rewards scaled."""
    factor = options.pop(REWARD_SCALE, 1.0)
    made = _from_gym_text(text, values, options) if name == "gym" else _from_entry(name, values, options)
    return _scaled(made, factor)


def _scaled(env: Environment, factor: object) -> Environment:
    scale = _checks.number(REWARD_SCALE, factor, above=0.0)
    if scale == 1.0:
        return env
    if env.mdp is None:
        raise UnsupportedEnvironment(
            f"'{env.name}' can only be stepped, and {REWARD_SCALE} needs a table; estimate one with estimate=N."
        )
    joint = "," if ":" in env.name else ":"
    written = int(scale) if scale.is_integer() else scale
    name = f"{env.name}{joint}{REWARD_SCALE}={spec.describe_value(written)}"
    return env.replace(name=name, mdp=env.mdp.scaled(scale), make_gym=None)


def _from_entry(name: str, values: list[spec.Value], options: dict[str, Any]) -> Environment:
    entry = find_entry(name)
    if len(values) > len(entry.positional):
        raise InvalidOption(
            f"{name} takes {len(entry.positional)} plain value(s) ({', '.join(entry.positional)}), "
            f"{len(values)} were given; write the others as key=value."
        )
    _refuse_unknown(name, options, (*entry.parameters, *SETTINGS_OF_TEXT))
    arguments = dict(zip(entry.positional, values, strict=False))
    for key in options:
        if key in arguments:
            raise InvalidOption(f"{key} of {name} is given twice; keep one of them.")
    arguments.update({key: value for key, value in options.items() if key not in SETTINGS})
    for key, parameter in entry.parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            arguments.setdefault(key, parameter.default)
        elif key not in arguments:
            raise InvalidOption(f"{name} needs {key}; write for example {_example(name, entry)}.")
    mdp = entry.make(name, arguments)
    written = {
        key: _plain(arguments[key])
        for key, parameter in entry.parameters.items()
        if key not in entry.positional and (key in entry.always or arguments[key] != parameter.default)
    }
    text = spec.describe(name, [_plain(arguments[key]) for key in entry.positional], written)
    settings = {key: value for key, value in options.items() if key in SETTINGS}
    return _with_settings(text, mdp, entry.settings(mdp), settings)


def _with_settings(name: str, mdp: TabularMDP, usual: dict[str, Any], settings: dict[str, Any]) -> Environment:
    """Return the environment; its name states the settings that differ from the usual ones."""
    actual = Environment(name=name, mdp=mdp, **{**usual, **settings})
    changed = changed_settings(Environment(name=name, mdp=mdp, **usual), actual)
    if not changed:
        return actual
    joint = "," if ":" in name else ":"
    return actual.replace(name=name + joint + spec.describe("", [], changed)[1:])


def _from_file(path: str, options: dict[str, Any]) -> Environment:
    if not path:
        raise InvalidOption("'file:' has no path; write file:PATH with a .npz or .json file.")
    factor = options.pop(REWARD_SCALE, 1.0)
    _refuse_unknown("a file", options, SETTINGS)
    return _scaled(_with_settings(f"file:{path}", io.load(Path(path)), {}, options), factor)


def _split_file(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``file:PATH[,setting=value...]``; commas that do not begin a setting belong to the path."""
    path = text.partition(":")[2].strip()
    given: dict[str, Any] = {}
    while True:
        head, comma, last = path.rpartition(",")
        if not comma or last.partition("=")[0].strip() not in SETTINGS_OF_TEXT:
            return path, given
        given = _merged(text, spec.parse(f"file:{last}")[2], given)
        path = head


def _from_gym_text(text: str, values: list[spec.Value], options: dict[str, Any]) -> Environment:
    if len(values) != 1 or not isinstance(values[0], str):
        raise InvalidOption(f"'{text}' does not name one Gymnasium id; write gym:FrozenLake-v1,key=value.")
    colon = next((value for value in (values[0], *options.values()) if isinstance(value, str) and ":" in value), None)
    if colon is not None:
        raise InvalidOption(
            f"'{colon}' would import a module, and text may only name registered ids; import the module "
            "yourself and give make_env the environment that gymnasium.make returns."
        )
    return from_gym(values[0], **options)


def _changed(env: Environment, options: dict[str, Any]) -> Environment:
    """Return the environment with other options: made again from its name where that gives the same one."""
    if not options:
        return env
    kind = env.name.partition(":")[0]
    if kind == "mdp" and env.mdp is not None:
        return make_env(env.mdp, **{**spec.parse(env.name)[2], **options})
    if _is_described(env):
        if kind == "file":
            path, given = _split_file(env.name)
            return _from_file(path, {**given, **options})
        name, values, given = spec.parse(env.name)
        if kind == "gym":
            return _from_text(env.name, name, values, {**given, **options})
        positional = dict(zip(find_entry(name).positional, values, strict=False))
        return _from_text(env.name, name, [], {**positional, **given, **options})
    _refuse_unknown(f"'{env.name}'", options, SETTINGS)
    if env.make_gym is not None and env.mdp is not None and "horizon" in options:
        raise InvalidOption(f"the table of '{env.name}' was made for its horizon; give the horizon to from_gym.")
    return env.replace(**{**_discount_of(env), **options})


def _discount_of(env: Environment) -> dict[str, Any]:
    """Discount to keep under another horizon: one that was chosen, not one that the old horizon implied."""
    return {"discount": None if env.discount == default_discount(env.horizon) else env.discount}


def _is_described(env: Environment) -> bool:
    try:
        return make_env(env.name) == env
    except SteeringError:
        return False


def _merged(text: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    twice = [key for key in given if key in options]
    if twice:
        raise InvalidOption(f"option '{twice[0]}' of '{text}' is given twice; keep one of them.")
    return {**given, **options}


def _refuse_unknown(what: str, options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in options:
        if key not in known:
            raise unknown_name(f"option of {what}", key, known)


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)) or hasattr(value, "tolist"):
        items = value.tolist() if hasattr(value, "tolist") else value
        return tuple(_plain(item) for item in items) if isinstance(items, (tuple, list)) else items
    return value


def _parameter_text(entry: Entry) -> str:
    parts = []
    for key, parameter in entry.parameters.items():
        empty = parameter.default is inspect.Parameter.empty
        parts.append(key if empty else f"{key}={spec.describe_value(parameter.default)}")
    return ", ".join(parts)


def _example(name: str, entry: Entry) -> str:
    if name not in GYM_NAMES:
        needed = [key for key, one in entry.parameters.items() if one.default is inspect.Parameter.empty]
        return spec.describe(name, [], dict.fromkeys(needed, "..."))
    return spec.describe(name, list(GYM_NAMES[name][1].values()), {})


def _mdp_name(mdp: TabularMDP) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for array in mdp.arrays():
        digest.update(array.view(np.uint8).data)
    digest.update(repr((mdp.state_names, mdp.action_names)).encode())
    return f"mdp:{mdp.n_states}x{mdp.n_actions}-{digest.hexdigest()}"
