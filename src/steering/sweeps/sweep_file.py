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

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from steering.errors import SteeringError
from steering.sweeps.cells import Group, Plan
from steering.sweeps.objects import as_texts
from steering.sweeps.store.plans import IMPORTS, read_plan, with_plan, without_plan
from steering.sweeps.sweep_check import Check
from steering.sweeps.sweep_tables import SweepError, SweepTable, structure_errors
from steering.sweeps.toml_lines import Lines, by_line

__all__ = ["Sweep", "SweepError", "parse_sweep", "parse_toml", "read_sweep", "saved", "saved_plan", "saved_sweep"]

MAX_FILE_BYTES = 1 << 18
MAX_LINE = 4000


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: what was written, and the plan of its cells."""

    name: str
    description: dict[str, Any]
    plan: Plan


def read_sweep(source: str | Path | Mapping[str, Any] | Sweep) -> Sweep:
    """Read and check a sweep from a TOML file or a dictionary.

    In a dictionary, agents and environments may also be objects that have a name: registered classes and functions, and
    what `make_agent` and `make_env` return.

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
        return parse_sweep(as_texts(source), "the sweep", Lines(""))
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


def saved(sweep: Sweep, imports: Sequence[str] = ()) -> dict[str, Any]:
    """What a results directory keeps of a sweep: its description, its plan in full, and the modules it needs."""
    known = with_plan(sweep.description, [(group.text, group.seeds) for group in sweep.plan.groups])
    return {**known, IMPORTS: list(imports)} if imports else known


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
    try:
        return _parse(data, source, lines)
    except RecursionError:
        raise SweepError(["it is nested too deeply"], source) from None


def _parse(data: dict[str, Any], source: str, lines: Lines) -> Sweep:
    check = Check(lines)
    try:
        table = SweepTable.model_validate(data)
    except ValidationError as error:
        check.sound_part(data, [one["loc"] for one in error.errors(include_url=False)])
        raise SweepError(by_line([*structure_errors(error, lines), *check.errors]), source) from None
    groups = check.groups(table)
    if check.errors:
        raise SweepError(by_line(check.errors), source)
    plan = Plan(groups)
    return Sweep(table.name, table.model_dump(exclude_none=True, exclude_unset=True), plan)
