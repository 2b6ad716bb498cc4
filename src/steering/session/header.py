"""The first line of a journal: what a session was made with. It never changes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steering import _plugins
from steering._checks import whole
from steering._modules import folders_of, import_all
from steering._types import Bools, Floats
from steering._version import REVISION, __version__
from steering.agents import Agent, describe_agent, make_agent
from steering.agents.registry import AGENTS, options_of
from steering.errors import InvalidOption, SteeringError
from steering.session.errors import JournalDamaged
from steering.session.journal import FORMAT, Event
from steering.session.labels import Labels, checked_names
from steering.session.mind import Mind, checked_discount
from steering.session.priors import prior_of_range, range_of_log, reward_range
from steering.session.state import State, checked_risk
from steering.spec import describe

LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Settings:
    """What `Session.create` was given, checked."""

    states: Sequence[Any]
    actions: Sequence[Any]
    allowed: Any
    agent: str | Agent
    discount: float
    seed: int
    rewards: Any
    risk: Any
    replan_every: int
    import_modules: Sequence[str]
    options: Mapping[str, Any]

    def header(self, logged: Floats | None) -> Event:
        """The first line of the journal; `logged` are the rewards of a log."""
        states, actions = Labels("state", self.states), Labels("action", self.actions)
        mask = allowed_mask(self.allowed, states, actions)
        modules = list(self.import_modules)
        import_all(modules)
        agent, rewards = self._agent(logged)
        home = AGENTS[agent.name].home if agent.name in AGENTS else None
        module = None if home is None else _plugins.module_to_import(home)
        if module is not None and module not in modules:
            modules.append(module)
        event: Event = {
            "steering_session": FORMAT,
            "version": __version__,
            "revision": REVISION,
            "time": round(time.time(), 3),
            "agent": describe_agent(agent),
            "agent_in_full": describe(agent.name, [], options_of(agent)),
            "discount": checked_discount(self.discount),
            "seed": whole("seed", self.seed, 0, LARGEST_SEED),
            "replan_every": whole("replan_every", self.replan_every, 1),
            "states": states.names,
            "actions": actions.names,
        }
        if not mask.all():
            event["allowed"] = {
                str(states.names[s]): [actions.names[a] for a in np.flatnonzero(mask[s])]
                for s in range(len(states))
                if not mask[s].all()
            }
        if rewards is not None:
            event["rewards"] = list(rewards)
        if (risk := checked_risk(self.risk)) is not None:
            event["risk"] = list(risk)
        if modules:
            event["import_modules"] = modules
            event["folders"] = list(folders_of(modules))
        return event

    def _agent(self, logged: Floats | None) -> tuple[Agent, tuple[float, float] | None]:
        """The agent, with the prior of rewards that was asked for or that the log suggests; and their range."""
        agent = make_agent(self.agent, **self.options)
        known = hasattr(agent.options, "normal_gamma")
        if self.rewards is not None:
            found: tuple[float, float] | None = reward_range(self.rewards)
            if not known:
                raise InvalidOption(
                    f"agent '{agent.name}' has no prior of rewards, so rewards= cannot be used with it."
                )
        else:
            found = range_of_log(logged) if logged is not None and known else None
        if found is None:
            return agent, None
        given = options_of(agent)["normal_gamma"] != options_of(make_agent(agent.name))["normal_gamma"]
        if given:
            if self.rewards is not None:
                raise InvalidOption("both rewards= and normal_gamma= are given; keep one of them.")
            return agent, None
        options = {**options_of(agent), "normal_gamma": prior_of_range(*found)}
        return make_agent(agent.name, **options), found


def allowed_mask(allowed: Any, states: Labels, actions: Labels) -> Bools:
    """Allowed actions as a table (S, A), from None (all), a table, or a dict from states to lists of actions."""
    mask = np.ones((len(states), len(actions)), dtype=bool)
    if allowed is None:
        return mask
    if isinstance(allowed, Mapping):
        for state, names in allowed.items():
            s = states.number(state)
            mask[s] = False
            mask[s, numbers_of(actions, names, f"allowed actions of the state '{state}'")] = True
        return mask
    try:
        table = np.asarray(allowed)
    except ValueError:
        table = np.zeros(0)
    if table.shape != mask.shape or table.dtype != bool:
        raise InvalidOption(
            f"allowed must be a dict from states to lists of actions, or a table {mask.shape} of true and false."
        )
    if not table.any(axis=1).all():
        raise InvalidOption(f"no action is allowed in the state '{states.names[int(table.any(axis=1).argmin())]}'.")
    return table.copy()


def numbers_of(labels: Labels, names: Any, what: str) -> list[int]:
    """Numbers of a list of names, in order and each once."""
    if isinstance(names, (str, bytes, Mapping)) or not hasattr(names, "__iter__"):
        raise InvalidOption(f"{what}: {names!r} is not a list of names.")
    found = sorted({labels.number(name) for name in names})
    if not found:
        raise InvalidOption(f"{what}: the list is empty; name at least one.")
    return found


def state_of(header: Event, path: Any) -> State:
    """The state of a session before its first event."""
    try:
        states = Labels("state", checked_names("state", header["states"]))
        actions = Labels("action", checked_names("action", header["actions"]))
        mask = allowed_mask(header.get("allowed"), states, actions)
        return State(states, actions, mask, risk=checked_risk(header.get("risk")))
    except (KeyError, TypeError, AttributeError, SteeringError) as error:
        raise JournalDamaged(f"{path}: its first line is not that of a session ({error}).") from None


def mind_of(header: Event, text: str) -> Mind:
    """The mind of a session whose agent is `text`; numbers that no session can have are refused."""
    seed = whole("seed", header["seed"], 0, LARGEST_SEED)
    return Mind(text, header["discount"], seed, whole("replan_every", header["replan_every"], 1))


def agent_text(header: Event) -> tuple[str, list[str]]:
    """Text of the agent with all its options as they were, and what may differ from when the session was made."""
    notes = []
    version, revision = header.get("version"), header.get("revision")
    if (version, revision) != (__version__, REVISION):
        notes.append(
            f"this session was made by version {version} (revision {revision} of the numbers), and this is version "
            f"{__version__} (revision {REVISION}); what was told and suggested stands as recorded, new suggestions may "
            "differ from those of the other version, and options that it did not have are those of now."
        )
    import_all(header.get("import_modules", []), header.get("folders", []))
    short, full = str(header.get("agent", "")), str(header.get("agent_in_full", ""))
    try:
        make_agent(full)
        return full, notes
    except SteeringError:
        agent = make_agent(short)
        notes.append(f"options of the agent have changed since the session was made; it goes on as '{short}'.")
        return describe(agent.name, [], options_of(agent)), notes
