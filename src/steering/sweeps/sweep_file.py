"""A sweep as data: a TOML file, or the same thing as a dictionary, checked as a whole before anything runs.

::

    name = "sparsity"
    environments = ["deepsea:8", { name = "deepsea", n = [14, 15] }]
    agents = ["psrl", { name = "ids", planning = ["mean", "sampled"], eta = [0.1, 1.0] }]
    steps = 5000
    seeds = 30                       # or [0, 3, 7], or { first = 100, count = 30 }
    record = { points = 200, windows = 10, extra = ["value_gap"] }

An environment or agent is text, or a table with a `name` and options; an option with a list of values is a grid, and
all combinations are run. `[[blocks]]` are parts with settings of their own; what a block does not say is taken from
the top of the file. All errors are listed at once, each with its line or key and the nearest valid name.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import difflib
import itertools
import json
import math
import os
import re
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steering.agents import Agent, make_agent
from steering.agents.registry import AGENTS
from steering.envs import Environment, make_env
from steering.envs.registry import ENTRIES
from steering.errors import SteeringError
from steering.runs.recording import RECORDS
from steering.sweeps.cells import Group, Plan, Record, configuration, environment_part
from steering.sweeps.store.plans import MAX_CELLS, Seeds, read_plan, with_plan, without_plan
from steering.sweeps.toml_lines import Lines, Where, by_line

MAX_FILE_BYTES = 1 << 18
MAX_LINE = 4000
MAX_GROUPS = 100_000
MAX_STEPS = 100_000_000
MAX_SEED = 2**63 - 1
MAX_ERRORS = 50

Count = Annotated[int, Field(ge=1, le=MAX_STEPS)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Item = str | dict[str, Any] | None
"""None stands for an item of the wrong shape, which was reported, while the others are checked."""


class SweepError(SteeringError):
    """A sweep file has errors; the text lists all of them."""

    def __init__(self, errors: list[str], source: str) -> None:
        self.errors = errors
        shown = errors[:MAX_ERRORS]
        more = [f"... and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else []
        count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
        super().__init__("\n  ".join([f"{source} has {count}:", *shown, *more]))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SeedRange(_Strict):
    """Seeds first, first + 1, ..., first + count - 1."""

    first: Seed = 0
    count: Annotated[int, Field(ge=1, le=MAX_CELLS)]


class RecordTable(_Strict):
    """What to keep; see `cells.Record`."""

    points: Annotated[int, Field(ge=2, le=100_000)] = 200
    windows: Annotated[int, Field(ge=1, le=10_000)] = 10
    snapshots: Annotated[int, Field(ge=1, le=10_000)] = 20
    extra: list[str] = []


class Block(_Strict):
    """A part of a sweep: all its environments with all its agents."""

    environments: Annotated[list[Item], Field(min_length=1)] | None = None
    agents: Annotated[list[Item], Field(min_length=1)] | None = None
    steps: Count | None = None
    seeds: Annotated[int, Field(ge=1, le=MAX_CELLS)] | Annotated[list[Seed], Field(min_length=1)] | SeedRange | None = (
        None
    )
    record: RecordTable | None = None


class SweepTable(Block):
    """The top of a sweep file."""

    name: Annotated[str, Field(max_length=200)] = ""
    blocks: Annotated[list[Block], Field(min_length=1)] | None = None


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: what was written, and the plan of its cells."""

    name: str
    description: dict[str, Any]
    plan: Plan


def read_sweep(source: str | Path | Mapping[str, Any] | Sweep) -> Sweep:
    """Read and check a sweep from a TOML file or a dictionary.

    Raises
    ------
    SweepError
        With every error found.

    Examples
    --------
    >>> len(read_sweep({"environments": ["deepsea:4"], "agents": ["psrl"], "steps": 50, "seeds": 3}).plan)
    3
    """
    if isinstance(source, Sweep):
        return source
    if isinstance(source, Mapping):
        return parse_sweep(dict(source), "the sweep", Lines(""))
    if not isinstance(source, (str, os.PathLike)):
        raise SteeringError(
            f"a sweep cannot be made from an object of type {type(source).__name__}; give the path of a TOML file, or "
            "a dictionary."
        )
    path = Path(source)
    try:
        if path.exists() and not path.is_file():
            raise SteeringError(f"{path} is not a regular file; a sweep is a TOML file.")
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise SteeringError(f"{path} has more than {MAX_FILE_BYTES} bytes; a sweep file is far smaller.")
        text = content.decode()
    except OSError as error:
        raise SteeringError(f"the sweep file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise SteeringError(f"{path} is not UTF-8 text (byte {error.start}); a sweep is a TOML file.") from None
    return parse_toml(text, str(path))


def saved(sweep: Sweep) -> dict[str, Any]:
    """What a results directory keeps of a sweep: its description, and its plan in full."""
    return with_plan(sweep.description, [(group.text, group.seeds) for group in sweep.plan.groups])


def saved_sweep(data: Mapping[str, Any], source: str = "the sweep") -> Sweep:
    """The sweep that `saved` described, checked again: its environments are made; errors name the `source`."""
    return parse_sweep(without_plan(data), source, Lines(""))


def saved_plan(data: Mapping[str, Any], source: str = "the sweep") -> Plan:
    """The plan that `saved` kept, without making an environment; made again from the description if there is none."""
    groups = read_plan(data)
    if groups is None:
        return saved_sweep(data, source).plan
    return Plan(Group(json.loads(text), seeds) for text, seeds in groups)


def parse_toml(text: str, source: str = "the sweep") -> Sweep:
    """Read and check a sweep from TOML text."""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > MAX_LINE:
            raise SweepError([f"line {number}: it has more than {MAX_LINE} characters; break it"], source)
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SweepError([f"not valid TOML: {reason}"], source) from None
    return parse_sweep(data, source, Lines(text))


def parse_sweep(data: dict[str, Any], source: str, lines: Lines) -> Sweep:
    """Check a sweep given as a dictionary."""
    check = _Check(lines)
    try:
        table = SweepTable.model_validate(data)
    except ValidationError as error:
        check.sound_part(data, [one["loc"] for one in error.errors(include_url=False)])
        raise SweepError(by_line([*_structure_errors(error, lines), *check.errors]), source) from None
    except RecursionError:
        raise SweepError(["it is nested too deeply"], source) from None
    groups = check.groups(table)
    if check.errors:
        raise SweepError(by_line(check.errors), source)
    plan = Plan(groups)
    return Sweep(table.name, table.model_dump(exclude_none=True, exclude_unset=True), plan)


@dataclass(frozen=True)
class _Known:
    """What is kept of an environment that was made: a sweep may name many, and each may be large."""

    name: str
    has_table: bool
    part: dict[str, Any]


class _Check:
    """Expands the blocks of a sweep and collects every error on the way."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.errors: list[str] = []
        self._made: dict[tuple[str, str], Any] = {}
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
            Group(configuration(environment.part, agent, steps, kept), seeds)
            for (environment, _), (agent, _) in itertools.product(environments, agents)
        ]

    def _record(self, record: RecordTable, where: Where) -> Record:
        for name in record.extra:
            if name not in RECORDS:
                self._error(where, f"unknown record '{name}'{_nearest(name, RECORDS)}")
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
                    self._made[cache] = canonical_agent(name, options)
                else:
                    made = canonical_environment(name, options)
                    self._made[cache] = _Known(made.name, made.mdp is not None, environment_part(made))
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


def canonical_environment(name: str, options: dict[str, Any]) -> Environment:
    """An environment that its name alone describes, because a worker builds it again from that."""
    return make_env(make_env(name, **options).name)


def canonical_agent(name: str, options: dict[str, Any]) -> Agent:
    """An agent with the numbers of its options in the type they are declared with: eta = 3 is eta = 3.0."""
    agent = make_agent(name, **options)
    hints = typing.get_type_hints(type(agent.options))
    floats = {
        field.name: float(getattr(agent.options, field.name))
        for field in dataclasses.fields(agent.options)
        if hints[field.name] is float
    }
    return type(agent)(dataclasses.replace(agent.options, **floats))


def _usual_list(kind: str, text: str, key: str) -> tuple[float, ...] | None:
    """Default of an option whose value is a list; None for all others."""
    name = text.partition(":")[0].strip()
    usual: Any = None
    if kind == "agent" and name in AGENTS:
        usual = {one.name: one.default for one in dataclasses.fields(AGENTS[name][1])}.get(key)
    elif kind == "environment" and name in ENTRIES:
        usual = getattr(ENTRIES[name].parameters.get(key), "default", None)
    return usual if isinstance(usual, tuple) else None


def _plain(value: Any) -> Any:
    return tuple(_plain(one) for one in value) if isinstance(value, list) else value


def _nearest(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f": did you mean '{near[0]}'?" if near else f"; known: {', '.join(names)}"


_MODELS: dict[str, type[BaseModel]] = {"record": RecordTable, "blocks": Block, "seeds": SeedRange}


def _structure_errors(error: ValidationError, lines: Lines) -> list[str]:
    """Errors of the wrong shape, one for each place: of the alternatives of a value only the most fitting is shown."""
    found: dict[Where, str] = {}
    for one in error.errors(include_url=False, include_context=False):
        # pydantic appends the alternative that it tried ("list[...]", "SeedRange", ...) to the path
        where = tuple(
            p for p in one["loc"] if isinstance(p, int) or (re.fullmatch(r"[\w-]+", p) and p not in _ALTERNATIVES)
        )
        if one["type"] == "extra_forbidden":
            parents = [p for p in where[:-1] if isinstance(p, str)]
            model = _MODELS.get(parents[-1], SweepTable) if parents else SweepTable
            reason = f"unknown key{_nearest(str(where[-1]), model.model_fields)}"
        else:
            reason = re.sub(r"a valid dictionary or instance of \w+", "a table", one["msg"])
            reason = reason.removeprefix("Input should be ")
            reason = f"it should be {reason}" if "Input should be" in one["msg"] else reason
        found[where] = f"{found[where]}, or {reason}" if where in found and reason not in found[where] else reason
    deepest = [w for w in found if not any(other[: len(w)] == w and other != w for other in found)]
    return [f"{lines.place(where)}: {found[where]}" for where in deepest]


_ALTERNATIVES = {"int", "str", "dict", "SeedRange", "constrained-int", "function-after", "list"}
