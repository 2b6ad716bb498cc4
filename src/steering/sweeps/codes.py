"""Code of agents and environments that are not the package's, in the keys of cells.

A configuration has an entry ``code`` where an agent or environment of somebody else takes part: the hash of its source
and its declared version (`steering._code`). Editing it gives new keys, so the cells concerned are computed anew; those
of the older code stay in the store, and are told apart here.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steering._code import Code, code_of, source_now
from steering._modules import import_all
from steering._plugins import module_to_import
from steering.agents.registry import AGENTS, find_agent
from steering.envs.entries import ENTRIES, find_entry
from steering.errors import InvalidOption, SteeringError
from steering.sweeps.cells import Group, Plan
from steering.sweeps.store.directory import Store
from steering.sweeps.store.plans import KINDS, canonical, code_text, codes_of, codes_of_plan, is_older, name_of
from steering.sweeps.store.shard_files import UNREADABLE

CODE = "code"
Expected = tuple[tuple[str, str, str], ...]
"""Kind, name and code (canonical JSON) of what is not the package's."""


class CodeWarning(UserWarning):
    """Edits of some code cannot be noticed."""


class Codes:
    """Code of what a sweep names, each looked up once."""

    _told: set[tuple[str, str]] = set()  # noqa: RUF012 (once for a process)
    _first: dict[str, tuple[Any, Code]] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Code | None] = {}

    def of(self, kind: str, text: str) -> Code | None:
        """Code behind the text of an agent or environment; None for those of the package.

        Refused is code that changed on the disk since it was imported: this process would run the old one.
        """
        name = name_of(text)
        if (kind, name) not in self._known:
            self._known[kind, name] = self._checked(kind, name)
        return self._known[kind, name]

    def _checked(self, kind: str, name: str) -> Code | None:
        code = registered_code(kind, name)
        if code is None:
            return None
        now = source_now(code.module)
        if now is not None and now != code.source:
            raise InvalidOption(
                f"the code of {kind} '{name}' (module {code.module}) changed on the disk after it was imported here; "
                "start Python again."
            )
        if not code.whole and (kind, name) not in self._told:
            self._told.add((kind, name))
            warnings.warn(
                f"edits of {kind} '{name}' are not noticed, because not all of its code is source that can be read "
                "(a compiled extension, or typed into a session); declare a version, and raise it with every change.",
                CodeWarning,
                stacklevel=2,
            )
        return code


def registered_code(kind: str, name: str) -> Code | None:
    """Code as it was when it was registered; of a Gymnasium environment, when it was first looked at."""
    if kind == "agent":
        return find_agent(name).code
    if name.startswith("gym:"):
        return _gym_code(name[4:])
    return None if name in ("file", "mdp") else find_entry(name).code


def _gym_code(identity: str) -> Code | None:
    import gymnasium
    from gymnasium.envs.registration import load_env_creator

    known = gymnasium.registry.get(identity)
    if known is None or known.entry_point is None:
        return None
    made = known.entry_point
    module = made.partition(":")[0] if isinstance(made, str) else str(getattr(made, "__module__", ""))
    if module == "steering.envs.registration":  # ours, or registered with `register_env`
        return find_entry(known.kwargs["name"]).code
    if module.partition(".")[0] in ("", "gymnasium", "steering"):
        return None
    first = Codes._first.get(identity)
    creator = load_env_creator(made) if isinstance(made, str) else made
    if first is None or first[0] is not creator:  # new, or its module was reloaded
        Codes._first[identity] = first = (creator, code_of([creator]))
    return first[1]


# Workers


def expected_codes(groups: Iterable[Group]) -> Expected:
    """What workers must have for some groups."""
    found: dict[tuple[str, str, str], None] = {}
    for group in groups:
        codes = group.config.get(CODE)
        for kind in KINDS:
            code = codes.get(kind) if isinstance(codes, dict) else None  # a saved plan may hold anything
            if isinstance(code, dict):
                found.setdefault((kind, name_of(group.config[kind]), canonical(code)))
    return tuple(found)


def modules_for(groups: Iterable[Group], in_process: bool) -> tuple[str, ...]:
    """Modules that workers import to know the agents and environments of groups, beside those that were named."""
    modules: dict[str, None] = {}
    for kind, name, _ in expected_codes(groups):
        entry = AGENTS.get(name) if kind == "agent" else ENTRIES.get(name)
        home = entry.home if entry is not None else None
        if home is None:
            continue
        module = module_to_import(home)
        if module is not None:
            modules.setdefault(module)
        elif not in_process:
            raise SteeringError(
                f"{kind} '{name}' is defined in this session, which workers cannot import; put it in a file and import "
                "that, or use workers=0."
            )
    return tuple(modules)


def sources_of(modules: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Modules and hashes of their source, as far as it can be read."""
    found = {}
    for module in modules:
        with contextlib.suppress(InvalidOption):  # too much of it
            found[module] = source_now(module.partition(".")[0])
    return tuple((module, source) for module, source in found.items() if source is not None)


def prepare(
    imports: Sequence[str], folders: Sequence[str], expected: Expected, sources: Sequence[tuple[str, str]] = ()
) -> None:
    """Import modules in a worker, and refuse to work with other code than that of the keys, or of the owner."""
    import_all(imports, folders)
    have_sources = dict(sources_of(imports))
    for module, source in sources:
        if have_sources.get(module) != source:
            raise SteeringError(
                f"the source of the module '{module}' is not the one that the sweep was started with; give every "
                "machine the same files, and start the sweep again."
            )
    for kind, name, code in expected:
        have = registered_code(kind, name)
        if have is None or canonical(have.as_config()) != code:
            raise SteeringError(
                f"the code of {kind} '{name}' is not the one that the sweep was started with; give every machine the "
                "same files, and start the sweep again."
            )


# Cells of older code


class Older:
    """Cells in a store with other code of agents and environments of a plan."""

    def __init__(self, store: Store, plan: Plan) -> None:
        coded = (group for group in plan.groups if isinstance(group.config.get(CODE), dict))
        self._groups = {_without_code(group.config): group for group in coded}
        self._wanted = codes_of_plan((group.text, group.seeds) for group in plan.groups)
        self._cells: dict[str, list[tuple[Mapping[str, Any], set[int]]]] = {}
        self.count = 0
        """How many there are."""
        if self._groups:
            self._read(store)

    def _read(self, store: Store) -> None:
        seeds: dict[str, set[int]] = {}
        for _, pieces in store.read(["config", "seed"], []):
            with contextlib.suppress(*UNREADABLE):  # the scan tells of such files
                for rows in pieces:
                    for text, seed in zip(*(rows.column(name).to_pylist() for name in ("config", "seed")), strict=True):
                        if text is not None and f'"{CODE}":' in text:
                            seeds.setdefault(text, set()).add(seed)
        for text, found in seeds.items():
            try:
                config = json.loads(text)
                bare = _without_code(config)
                codes = codes_of(config["environment"], config["agent"], code_text(text))
            except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
                continue
            if is_older(codes, self._wanted):
                self.count += len(found)
            group = self._groups.get(bare)
            if group is not None and group.text != text and isinstance(config.get(CODE), dict):
                self._cells.setdefault(group.text, []).append((config[CODE], found))

    def reasons(self, cells: Iterable[tuple[Group, int]]) -> list[str]:
        """Sentences on those of some cells that were computed before, with other code."""
        counts: Counter[tuple[str, ...]] = Counter()
        for group, seed in cells:
            before = [code for code, seeds in self._cells.get(group.text, ()) if seed in seeds]
            if before:
                counts[min((_changes(group.config, code) for code in before), key=len)] += 1
        return [
            f"{count} {'cell is' if count == 1 else 'cells are'} computed anew: {' and '.join(changes)} changed"
            for changes, count in counts.items()
        ]


def _without_code(config: Mapping[str, Any]) -> str:
    return canonical({key: value for key, value in config.items() if key != CODE})


def _changes(config: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[str, ...]:
    """What is different, for each of environment and agent."""
    found = []
    for kind in KINDS:
        now, then = config[CODE].get(kind), before.get(kind)
        if now != then:
            sources = [one.get("source") if isinstance(one, dict) else one for one in (now, then)]
            what = "version" if now and then and sources[0] == sources[1] else "code"
            found.append(f"the {what} of {kind} '{name_of(config[kind])}'")
    return tuple(found)


def edited(plan: Plan) -> list[str]:
    """Sentences on code that is not what the plan was made with, as far as its files can be found from here."""
    found: dict[str, None] = {}
    for kind, name, text in expected_codes(plan.groups):
        code = json.loads(text)
        now = source_now(str(code.get("module"))) if code.get("source") else None
        if now is not None and now != code["source"]:
            found.setdefault(
                f"the code of {kind} '{name}' has changed since; start the sweep again to compute its cells anew"
            )
    return list(found)
