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


def lowest(project: dict[str, object]) -> dict[str, str]:
    """Name and lowest version of everything that the project asks for with a lower bound."""
    extras = project.get("optional-dependencies", {})
    assert isinstance(extras, dict)
    wanted = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]  # type: ignore[misc]
    found = (BOUND.match(one) for one in wanted)
    return {match[1]: match[2] for match in found if match is not None}


def main() -> None:
    """Print one pin a line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, version in sorted(lowest(project).items(), key=lambda pin: pin[0].lower()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
