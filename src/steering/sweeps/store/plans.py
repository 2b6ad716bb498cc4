"""What a results directory was asked to hold, as it is kept in its sweep.json: configurations and their seeds.

The configurations are there in full, so that whoever reads the directory (`status`, `summary`) can name its cells
without making an environment: it may need modules or files that only the machine of the sweep has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

Seeds = range | tuple[int, ...]
Groups = list[tuple[str, Seeds]]

MAX_BYTES = 32 << 20
MAX_CELLS = 10_000_000
PLAN = "plan"
IMPORTS = "imports"
MAX_IMPORTS = 1000


def canonical(config: Mapping[str, Any]) -> str:
    """The text of a configuration that is hashed: JSON with sorted keys and no spaces."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"))


def configuration_id(text: str) -> str:
    """Short name of a configuration (its canonical JSON): 12 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def with_plan(description: Mapping[str, Any], groups: Groups) -> dict[str, Any]:
    """The description of a sweep with its plan; a plan of more than 32 MB is left out and made again when needed."""
    if sum(_size(text, seeds) for text, seeds in groups) > MAX_BYTES:
        return dict(description)
    return {**description, PLAN: [[text, _seeds_as_data(seeds)] for text, seeds in groups]}


def _size(text: str, seeds: Seeds) -> int:
    """Bytes that a group takes in the file, at most: quotes are escaped, and seeds that are no range are listed."""
    listed = 0 if isinstance(seeds, range) or not seeds else len(seeds) * (len(str(max(seeds))) + len(", "))
    return len(json.dumps(text)) + 80 + listed


def without_plan(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The description alone."""
    return {key: value for key, value in saved.items() if key not in (PLAN, IMPORTS)}


def read_imports(saved: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the modules that a saved sweep was started with; what is no name of a module is left out."""
    names = saved.get(IMPORTS)
    kept = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return tuple(name for name in kept[:MAX_IMPORTS] if all(part.isidentifier() for part in name.split(".")))


KINDS = ("environment", "agent")


def name_of(text: str) -> str:
    """What the code of an agent or environment depends on in its text: its name; of Gymnasium environments the id."""
    name, _, rest = text.partition(":")
    return f"gym:{rest.partition(',')[0].strip()}" if name.strip() == "gym" else name.strip()


def code_text(text: str) -> str:
    """Short text of the code in a configuration that is not the package's, ``agent=HASH@VERSION``; often empty."""
    if '"code":' not in text:
        return ""
    try:
        codes = json.loads(text)["code"]
        known = {kind: codes[kind] for kind in KINDS if kind in codes}
        shown = {kind: (str(one["source"] or "")[:8], str(one.get("version", ""))) for kind, one in known.items()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return "?"
    return " ".join(f"{kind}={source}{f'@{version}' if version else ''}" for kind, (source, version) in shown.items())


def codes_of(environment: str, agent: str, code: str) -> dict[tuple[str, str], str]:
    """Code by kind and name, from the texts of a cell and its `code_text`."""
    parts = (part.partition("=") for part in code.split())
    names = {"environment": environment, "agent": agent}
    return {(kind, name_of(names[kind])): value for kind, _, value in parts if kind in names}


def codes_of_plan(groups: Iterable[tuple[str, Any]]) -> dict[tuple[str, str], str]:
    """Code by kind and name that a plan asks for."""
    found: dict[tuple[str, str], str] = {}
    for text, _ in groups:
        if code := code_text(text):
            config = json.loads(text)
            found |= codes_of(config["environment"], config["agent"], code)
    return found


def is_older(codes: Mapping[tuple[str, str], str], wanted: Mapping[tuple[str, str], str]) -> bool:
    """Whether a cell has other code of an agent or environment than the plan asks for."""
    return any(wanted.get(what, code) != code for what, code in codes.items())


def read_plan(saved: Mapping[str, Any]) -> Groups | None:
    """Configurations and seeds of a plan; None where there is none, or something else in its place."""
    try:
        groups = [(_checked(text), _seeds(seeds)) for text, seeds in saved[PLAN]]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return groups if sum(len(seeds) for _, seeds in groups) <= MAX_CELLS else None


def _checked(text: Any) -> str:
    config = json.loads(text)
    if not isinstance(config, dict) or not all(isinstance(config.get(key), str) for key in ("environment", "agent")):
        raise ValueError("not a configuration")
    return str(text)


def _seeds_as_data(seeds: Seeds) -> Any:
    return {"first": seeds.start, "count": len(seeds)} if isinstance(seeds, range) else list(seeds)


def _seeds(data: Any) -> Seeds:
    parts: Iterable[Any] = (data["first"], data["count"]) if isinstance(data, dict) else data
    numbers = tuple(parts)
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise ValueError("not seeds")
    if not isinstance(data, dict):
        return numbers
    if numbers[1] > MAX_CELLS:
        raise ValueError("too many seeds")
    return range(numbers[0], numbers[0] + numbers[1])
