"""The shape of a sweep file: its tables, and what is said of one that has another shape."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steering.errors import SteeringError
from steering.sweeps.store.plans import MAX_CELLS
from steering.sweeps.toml_lines import Lines, Where

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

    first: Annotated[int, Field(ge=0, le=MAX_SEED - MAX_CELLS)] = 0
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


def nearest(name: str, known: Iterable[str]) -> str:
    """How an error about an unknown name goes on."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f": did you mean '{near[0]}'?" if near else f"; known: {', '.join(names)}"


_MODELS: dict[str, type[BaseModel]] = {"record": RecordTable, "blocks": Block, "seeds": SeedRange}


def structure_errors(error: ValidationError, lines: Lines) -> list[str]:
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
            reason = f"unknown key{nearest(str(one['loc'][-1]), model.model_fields)}"
        else:
            reason = re.sub(r"a valid dictionary or instance of \w+", "a table", one["msg"])
            reason = reason.removeprefix("Input should be ")
            reason = f"it should be {reason}" if "Input should be" in one["msg"] else reason
        found[where] = f"{found[where]}, or {reason}" if where in found and reason not in found[where] else reason
    deepest = [w for w in found if not any(other[: len(w)] == w and other != w for other in found)]
    return [f"{lines.place(where)}: {found[where]}" for where in deepest]


_ALTERNATIVES = {"int", "str", "dict", "SeedRange", "constrained-int", "function-after", "list"}
