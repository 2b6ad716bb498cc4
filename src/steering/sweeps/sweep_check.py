"""Expand a sweep into its groups and find every error in it."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from steering.agents import Agent, make_agent
from steering.agents.registry import AGENTS
from steering.envs import Environment, make_env
from steering.envs.base import GYM_OBJECT
from steering.envs.entries import ENTRIES
from steering.errors import InvalidOption, SteeringError
from steering.runs.recording import RECORDS
from steering.sweeps.cells import Group, Record, configuration, environment_part
from steering.sweeps.codes import Codes
from steering.sweeps.store.plans import MAX_CELLS, Seeds
from steering.sweeps.sweep_tables import Block, Item, RecordTable, SeedRange, SweepTable, nearest
from steering.sweeps.toml_lines import Lines, Where

MAX_GROUPS = 100_000


@dataclass(frozen=True)
class _Known:
    """What is kept of an environment that was made: a sweep may name many, and each may be large."""

    name: str
    has_table: bool
    part: dict[str, Any]


class Check:
    """Expands the blocks of a sweep and collects every error on the way."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.errors: list[str] = []
        self._made: dict[tuple[str, str], Any] = {}
        self._codes = Codes()
        self._cells = 0
        self._removed: set[Where] = set()

    def sound_part(self, data: dict[str, Any], wrong: Iterable[Where]) -> None:
        """Look for errors in what is left of a sweep without the places of the wrong shape."""
        rest = copy.deepcopy(data)
        for where in wrong:
            self._removed.add(_remove(rest, where))
        with contextlib.suppress(ValidationError, RecursionError):
            self.groups(SweepTable.model_validate(rest))

    def groups(self, table: SweepTable) -> list[Group]:
        """All groups of a sweep, in order; what is wrong goes to `errors`."""
        groups: list[Group] = []
        parts: list[tuple[Block, Where]] = [(table, ())]
        if table.blocks is not None:
            for kind in ("environment", "agent"):
                self._items(kind, getattr(table, f"{kind}s") or [], (f"{kind}s",))
            parts = [(block, ("blocks", i)) for i, block in enumerate(table.blocks)]
        for block, where in parts:
            groups.extend(self._block(block, table, where, len(groups)))
        return groups

    def _block(self, block: Block, top: SweepTable, where: Where, before: int) -> list[Group]:
        def inherited(key: str) -> tuple[Any, Where]:
            own = getattr(block, key)
            return (own, (*where, key)) if own is not None else (getattr(top, key), (key,))

        missing = [key for key in ("environments", "agents") if inherited(key)[0] is None]
        for key in missing:
            if self._removed.isdisjoint({(key,), where, (*where, key)}):
                self._error((*where, key), "missing: a sweep needs at least one of them")
        record, at = inherited("record")
        kept = self._record(record or RecordTable(), (*at, "extra"))
        seeds = self._seeds(*inherited("seeds"))
        if missing:
            return []
        environments = self._items("environment", *inherited("environments"))
        agents = self._items("agent", *inherited("agents"))
        count = len(environments) * len(agents)
        self._cells += count * len(seeds)
        if before + count > MAX_GROUPS or self._cells > MAX_CELLS:
            limit = f"at most {MAX_GROUPS} pairs of environment and agent, and {MAX_CELLS} cells"
            self._error(where or ("seeds",), f"too large: a sweep has {limit}; split it")
            return []
        steps = inherited("steps")[0] or 5000
        for environment, source in environments:
            if kept.extra and not environment.has_table:
                reason = f"'{environment.name}' gives only samples, so {kept.extra[0]} cannot be recorded"
                self._error(source, reason)
        for agent, source in agents:
            if "diagnostics" in kept.extra and type(agent).diagnose is Agent.diagnose:
                self._error(
                    source, f"agent '{agent.name}' has no diagnostics to record; put it in a block without them"
                )
        return [
            Group(configuration(environment.part, agent, steps, kept, self._codes.of("agent", agent.name)), seeds)
            for (environment, _), (agent, _) in itertools.product(environments, agents)
        ]

    def _record(self, record: RecordTable, where: Where) -> Record:
        for name in record.extra:
            if name not in RECORDS:
                self._error(where, f"unknown record '{name}'{nearest(name, RECORDS)}")
        return Record(record.points, record.windows, record.snapshots, tuple(sorted(set(record.extra))))

    def _seeds(self, seeds: Any, where: Where) -> Seeds:
        if seeds is None:
            return range(10)
        if isinstance(seeds, int):
            return range(seeds)
        if isinstance(seeds, SeedRange):
            return range(seeds.first, seeds.first + seeds.count)
        if len(set(seeds)) != len(seeds):
            self._error(where, "a seed is given twice; runs with one seed are identical, so list each once")
        return tuple(seeds)

    def _items(self, kind: str, items: list[Item], where: Where) -> list[tuple[Any, Where]]:
        made = []
        for i, item in enumerate(items):
            at = (*where, i)
            if item is None:
                if at not in self._removed:
                    self._error(at, "it should be a text or a table, not None")
                continue
            for name, options in [(item, {})] if isinstance(item, str) else self._variants(kind, item, at):
                thing = self._make(kind, str(name), options, at)
                if thing is not None:
                    made.append((thing, at))
        return made

    def _variants(self, kind: str, table: dict[str, Any], where: Where) -> Iterable[tuple[str, dict[str, Any]]]:
        """All combinations of the values of a table of options."""
        name = table.get("name")
        if not isinstance(name, str):
            self._error(where, 'a table needs a name, as in { name = "psrl", eta = [0.1, 1] }')
            return []
        grid: dict[str, list[Any]] = {}
        for key, value in table.items():
            if key == "name":
                continue
            grid[key] = [_plain(one) for one in value] if isinstance(value, list) else [_plain(value)]
            if not grid[key]:
                self._error((*where, key), "an empty list of values leaves nothing to run")
            if any(isinstance(one, dict) for one in grid[key]):
                self._error((*where, key), "a table is not a value of an option; give a number, a word or a list")
                return []
            if (usual := _usual_list(kind, name, key)) and not any(isinstance(one, tuple) for one in grid[key]):
                example = f"{key} = [[{', '.join(f'{one:g}' for one in usual)}]]"
                self._error((*where, key), f"a value of {key} is itself a list; write a list in a list: {example}")
                return []
        if math.prod(len(values) for values in grid.values()) > MAX_GROUPS:
            self._error(where, f"more than {MAX_GROUPS} combinations; split the sweep")
            return []
        return [(name, dict(zip(grid, values, strict=True))) for values in itertools.product(*grid.values())]

    def _make(self, kind: str, name: str, options: dict[str, Any], where: Where) -> Any:
        cache = (kind, repr((name, options)))
        if cache not in self._made:
            try:
                if kind == "agent":
                    learner = make_agent(name, **options)
                    self._codes.of(kind, learner.name)
                    self._made[cache] = learner
                else:
                    # Made from its name alone, because a worker builds it again from that.
                    made = make_env(_text_of(make_env(name, **options), name))
                    part = environment_part(made, self._codes.of(kind, made.name))
                    self._made[cache] = _Known(made.name, made.mdp is not None, part)
            except SteeringError as error:
                self._made[cache] = None
                self._error(where, str(error).rstrip("."))
            except (TypeError, ValueError, OverflowError, MemoryError) as error:
                self._made[cache] = None
                self._error(where, f"{kind} '{name}' cannot be made: {error}")
        return self._made[cache]

    def _error(self, where: Where, reason: str) -> None:
        message = f"{self.lines.place(where)}: {reason}"
        if message not in self.errors:
            self.errors.append(message)


def _text_of(environment: Environment, given: str) -> str:
    if environment.name.partition(":")[0] == GYM_OBJECT:
        raise InvalidOption(
            f"the options of '{given}' cannot be written as text, from which workers make it again; give numbers, "
            "true, false, none, and texts without comma, equal sign and bracket that are none of these"
        )
    return environment.name


def _remove(data: dict[str, Any], where: Where) -> Where:
    """Take out what pydantic found wrong: the innermost key, or item of environments or agents; returns its place."""
    parent: Any = data
    place: Where = ()
    cut: tuple[Any, Any, Where] | None = None
    for part in where:  # ends where pydantic appends the alternative that it tried
        if isinstance(parent, dict) and part in parent:
            cut = (parent, part, (*place, part))
        elif isinstance(parent, list) and isinstance(part, int) and part < len(parent):
            if place[-1] in ("environments", "agents", "blocks"):
                cut = (parent, part, (*place, part))
        else:
            break
        parent, place = parent[part], (*place, part)
    if cut is None:
        return place
    holder, key, at = cut
    if isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = {} if at[-2] == "blocks" else None
    return at


def _usual_list(kind: str, text: str, key: str) -> tuple[float, ...] | None:
    """Default of an option whose value is a list; None for all others."""
    name = text.partition(":")[0].strip()
    usual: Any = None
    if kind == "agent" and name in AGENTS:
        options = AGENTS[name].options
        usual = {one.name: one.default for one in dataclasses.fields(options)}.get(key) if options else None
    elif kind == "environment" and name in ENTRIES:
        usual = getattr(ENTRIES[name].parameters.get(key), "default", None)
    return usual if isinstance(usual, tuple) else None


def _plain(value: Any) -> Any:
    return tuple(_plain(one) for one in value) if isinstance(value, list) else value
