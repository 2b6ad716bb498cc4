"""Cells: what a sweep expands to. A cell is one run of one seed, keyed by a hash of its complete configuration.

A *group* is everything but the seed: environment, agent with all its options (changed or not), steps, what is
recorded, the `REVISION` of the package, which changes when the numbers of runs do, and the code of agents and
environments that are not the package's (`sweeps.codes`). The key of a cell is

    blake2b-128( canonical JSON of the group + newline + seed ),

so it is the same in every process, on every machine and in every order, and changes with any setting. A plan keeps
its groups and the seeds of each; a million cells cost a few hundred bytes for every group and nothing for a cell.
"""

from __future__ import annotations

import bisect
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from steering._code import Code
from steering._version import REVISION
from steering.agents import Agent, describe_agent
from steering.agents.registry import options_of
from steering.envs import Environment
from steering.errors import InvalidOption
from steering.mdp.tabular import SMALL_ENTRIES
from steering.sweeps.store.plans import Seeds, canonical
from steering.sweeps.store.schema import KEY_BYTES, KEY_SCHEMA

ADDED = {"replan": "every"}
"""Options that came later, with the value that means what was done before: it is not in keys, which stay valid."""


@dataclass(frozen=True)
class Record:
    """What is kept of a run: points of a curve, windows of visits, and extras such as "value_gap"."""

    points: int = 200
    windows: int = 10
    snapshots: int = 20
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Cells that differ in their seed only."""

    config: Mapping[str, Any]
    seeds: Seeds

    @cached_property
    def text(self) -> str:
        """Canonical JSON of the configuration."""
        return canonical(self.config)

    @cached_property
    def _prefix(self) -> Any:
        return hashlib.blake2b(self.text.encode() + b"\n", digest_size=KEY_BYTES)

    def key(self, seed: int) -> bytes:
        """Key of the cell with this seed."""
        digest = self._prefix.copy()
        digest.update(b"%d" % seed)
        return bytes(digest.digest())


def environment_part(environment: Environment, code: Code | None = None) -> dict[str, Any]:
    """What a configuration says of an environment: a few plain values, whatever the size of the MDP.

    `code` is that of an environment that is not the package's.
    """
    part: dict[str, Any] = {
        "environment": environment.name,
        "setting": {
            "discount": float(environment.discount),
            "horizon": environment.horizon,
            "replan_every": environment.replan_every,
            "max_iterations": environment.max_iterations,
        },
    }
    if environment.name.startswith("file:"):
        # The text names a place; what lies there is part of the configuration.
        part["content"] = content_of(environment)
    if code is not None:
        part["code"] = {"environment": code.as_config()}
    return part


def configuration(
    environment: Mapping[str, Any], agent: Agent, steps: int, record: Record, code: Code | None = None
) -> dict[str, Any]:
    """The complete configuration of a group as plain values; `environment` is an `environment_part`.

    `code` is that of an agent that is not the package's; without any such code there is no entry for it.
    """
    config: dict[str, Any] = {
        "schema": KEY_SCHEMA,
        "revision": REVISION,
        **environment,
        "agent": describe_agent(agent),
        "options": {key: value for key, value in options_of(agent).items() if ADDED.get(key, ADDED) != value},
        "steps": steps,
        "record": {**dataclasses.asdict(record), "extra": sorted(record.extra)},
    }
    if code is not None:
        config["code"] = {**environment.get("code", {}), "agent": code.as_config()}
    return json.loads(json.dumps(config))  # type: ignore[no-any-return]


def content_of(environment: Environment) -> str:
    """Hash of the MDP of an environment."""
    mdp = environment.table
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    # A small sparse MDP has the hash of its dense form, which is what it was before there were two.
    for array in mdp.arrays(dense=mdp.entries <= SMALL_ENTRIES):
        digest.update(str(array.shape).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


class Plan:
    """All cells of a sweep, numbered 0, 1, ... in the order of the sweep; expanded only when asked."""

    def __init__(self, groups: Iterable[Group]) -> None:
        merged: dict[str, Group] = {}
        for group in groups:
            known = merged.get(group.text)
            seeds = group.seeds if known is None else _union(known.seeds, group.seeds)
            merged[group.text] = Group(group.config, seeds)
        self.groups = list(merged.values())
        self._starts = [0, *itertools.accumulate(len(group.seeds) for group in self.groups)]

    def __len__(self) -> int:
        return self._starts[-1]

    def locate(self, index: int) -> tuple[int, int]:
        """Number of the group and seed of a cell."""
        group = bisect.bisect_right(self._starts, index) - 1
        return group, self.groups[group].seeds[index - self._starts[group]]

    def key(self, index: int) -> bytes:
        """Key of a cell."""
        group, seed = self.locate(index)
        return self.groups[group].key(seed)

    def keys(self) -> Iterator[bytes]:
        """Keys of all cells, in order."""
        for group in self.groups:
            yield from map(group.key, group.seeds)

    def pieces(self, indices: Sequence[int]) -> list[tuple[Group, list[int]]]:
        """Cells as (group, seeds), in order; neighbours of one group share a piece."""
        pieces: list[tuple[Group, list[int]]] = []
        for index in indices:
            number, seed = self.locate(index)
            group = self.groups[number]
            if not pieces or pieces[-1][0] is not group:
                pieces.append((group, []))
            pieces[-1][1].append(seed)
        return pieces


def _union(a: Seeds, b: Seeds) -> Seeds:
    return a if a == b else tuple(sorted({*a, *b}))


@dataclass(frozen=True)
class Part:
    """Part i of n (i from 1 to n): every n-th cell, so that parts have a like share of every group."""

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise InvalidOption(f"part is {self.number}/{self.of}; i goes from 1 to the number of parts.")

    def __contains__(self, index: int) -> bool:
        return index % self.of == self.number - 1


INDICES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")
"""Variables that tell a task of an array its index; the first that is set counts."""


def parse_part(text: str, environ: Mapping[str, str]) -> Part:
    """Read ``i/n``, or ``auto`` and ``auto/n`` from the index variables of SLURM array jobs and Kubernetes jobs.

    With ``auto/n`` the index itself, from 0 to n - 1, says the part, so that a single task that is submitted again
    (``--array=3``) runs the part it had. ``auto`` is for a SLURM array submitted as a whole, which tells the number of
    its tasks: its ids must begin at 0 or 1 and leave no gap.
    """
    head, slash, tail = text.strip().partition("/")
    variable = next((name for name in INDICES if name in environ), None)
    try:
        if head != "auto":
            return Part(int(head), int(tail))
        if slash and variable is not None:
            parts = int(tail)
            if parts < 1:
                raise InvalidOption(f"--part is '{text}'; the number of parts must be at least 1.")
            place = _index(variable, environ)
            if not 0 <= place < parts:
                raise InvalidOption(
                    f"--part is '{text}', and this task has the index {place}; number tasks from 0 to {parts - 1}."
                )
            return Part(place + 1, parts)
        if "SLURM_ARRAY_TASK_ID" in environ:
            return _whole_array(environ)
    except (ValueError, KeyError) as error:
        if isinstance(error, InvalidOption):
            raise
        raise InvalidOption(f"--part is '{text}'; write i/n, such as 1/8, or auto in an array job.") from None
    raise InvalidOption(
        f"--part is '{text}', and no SLURM_ARRAY_TASK_ID is set (nor JOB_COMPLETION_INDEX with auto/n); write i/n."
    )


def _index(variable: str, environ: Mapping[str, str], default: int | None = None) -> int:
    """Number in a variable of the scheduler; what is wrong there is no fault of --part."""
    if default is not None and variable not in environ:
        return default
    try:
        return int(environ[variable])
    except ValueError:
        raise InvalidOption(
            f"{variable} is '{environ[variable]}', and --part auto needs a whole number there; set it, or write "
            "--part i/n."
        ) from None


def _whole_array(environ: Mapping[str, str]) -> Part:
    count = _index("SLURM_ARRAY_TASK_COUNT", environ)
    first = _index("SLURM_ARRAY_TASK_MIN", environ, 0)
    stride = max(_index("SLURM_ARRAY_TASK_STEP", environ, 1), 1)
    last = _index("SLURM_ARRAY_TASK_MAX", environ, first + (count - 1) * stride)
    place, rest = divmod(_index("SLURM_ARRAY_TASK_ID", environ) - first, stride)
    if first not in (0, 1) or last != first + (count - 1) * stride or rest:
        raise InvalidOption(
            f"--part is 'auto', and the ids of this array ({count} from {first} to {last}) do not begin at 0 or 1 or "
            "leave gaps, so they do not tell the part; write auto/n with n the number of parts, ids from 0 to n - 1."
        )
    return Part(place + 1, count)
