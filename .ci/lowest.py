"""Print the lowest versions that pyproject.toml claims, as a constraints file: `make test-lowest` tries them.

Every requirement of the package and of its extras that has a lower bound is pinned to that bound. What has none (tools
that only lint or type, pinned in constraints.txt) makes no claim.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOUND = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9][0-9A-Za-z.]*)")


def lowest(wanted: list[str]) -> dict[str, str]:
    """Name and lowest version of all requirements that have a lower bound."""
    found = (BOUND.match(one) for one in wanted)
    return {match[1]: match[2] for match in found if match is not None}


def claims() -> list[str]:
    """All requirements of pyproject.toml: to build, to use, and of every extra."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = data["project"]["optional-dependencies"].values()
    return [
        *data["build-system"]["requires"],
        *data["project"]["dependencies"],
        *(one for each in extras for one in each),
    ]


def main() -> None:
    """Print one pin a line."""
    for name, version in sorted(lowest(claims()).items(), key=lambda pin: pin[0].lower()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
