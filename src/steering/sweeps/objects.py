"""Agents and environments given to a sweep as objects: the texts that describe them, where there are such."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from steering._plugins import MARK, is_registered
from steering.agents import Agent, describe_agent, make_agent
from steering.agents.registry import registered_name
from steering.envs import Environment, make_env
from steering.errors import SteeringError
from steering.mdp import TabularMDP
from steering.sweeps.sweep_tables import SweepError


def as_texts(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description with its objects replaced by their texts; refused are those that have none."""
    errors: list[str] = []
    changed = _block(description, "", errors)
    if isinstance(blocks := changed.get("blocks"), list):
        changed["blocks"] = [
            _block(block, f"blocks[{i}].", errors) if isinstance(block, Mapping) else block
            for i, block in enumerate(blocks)
        ]
    if errors:
        raise SweepError(errors, "the sweep")
    return changed


def _block(block: Mapping[str, Any], place: str, errors: list[str]) -> dict[str, Any]:
    changed = dict(block)
    for key, text_of in (("environments", environment_text), ("agents", agent_text)):
        items = changed.get(key)
        if not isinstance(items, (list, tuple)):
            continue
        changed[key] = texts = []
        for i, item in enumerate(items):
            try:
                if isinstance(item, Mapping) and "name" in item:
                    texts.append({**item, "name": text_of(item["name"])})
                else:
                    texts.append(text_of(item))
            except SteeringError as error:
                errors.append(f"{place}{key}[{i}]: {str(error).rstrip('.')}")
    return changed


def agent_text(item: Any) -> Any:
    """Text of an agent or of a registered class; anything else as it is."""
    kind = item if isinstance(item, type) else type(item)
    if not issubclass(kind, Agent):
        return item
    name = registered_name(kind)
    if item is kind:
        return name
    text = describe_agent(item)
    given, again = (agent.options for agent in (item, make_agent(text)))
    if dataclasses.is_dataclass(given) and given != again:
        raise SteeringError(f"the text of this agent, '{text}', does not give the same options; use simpler values.")
    return text


def environment_text(item: Any) -> Any:
    """Text of an environment or of a registered function; anything else as it is."""
    if isinstance(item, Environment):
        if _described(item):
            return item.name
        what = f"'{item.name}' cannot be made from its name alone"
    elif isinstance(item, TabularMDP):
        what = "an MDP given as an object has no name"
    elif callable(item):
        if is_registered(item):
            return str(getattr(item, MARK))
        what = f"{getattr(item, '__qualname__', item)} has no name that workers know"
    else:
        return item
    raise SteeringError(
        f"{what}; save the MDP (steering.mdp.io.save) and write 'file:PATH', or register a function that makes it: "
        "steering.register_env('a_name', function)."
    )


def _described(environment: Environment) -> bool:
    try:
        return make_env(environment.name) == environment
    except SteeringError:
        return False
