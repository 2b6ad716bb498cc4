"""Write docs/licences.md: the licence of every package of constraints.txt, from the metadata of what is installed.

Run by `make licences` after a pin was changed. A package that is not installed here keeps the line that it has.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
EXTRAS = ("dask", "xarray", "tracking", "lab", "docs", "dev")
ROW = re.compile(r"^\| (\S+) \| (.+?) \| (.+?) \|$", flags=re.MULTILINE)
HEAD = """# Licences

This package has the MIT licence. It comes without its dependencies. Listed here are the packages that it asks for, and
those that they ask for in turn, with the licence that each declares: first what `pip install steering-rl` installs,
then the extras (`dev` holds the tools of contributors), then what builds and benchmarks need. `make licences`
writes it from the metadata of the versions in constraints.txt.

| package | licence | needed for |
|---|---|---|
"""


def pinned() -> list[str]:
    """Names in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line.partition("==")[0].strip() for line in lines if "==" in line]


def licence_of(found: metadata.Distribution) -> str:
    """What a package declares: an SPDX expression, a short text, classifiers, or else the text of its licence."""
    about = found.metadata
    if text := about.get("License-Expression"):
        return " ".join(text.split())
    text = (about.get("License") or "").strip()
    if text and text != "UNKNOWN" and "\n" not in text and len(text) <= 60:
        return text
    classifiers = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    if classifiers:
        return ", ".join(one.rpartition(" :: ")[2] for one in classifiers)
    files = [file for file in found.files or [] if file.name.upper().startswith("LICEN")]
    return recognised(" ".join([text, *(file.read_text() for file in files)]))


def recognised(text: str) -> str:
    """Name of the two licences that packages without metadata have, by their words."""
    words = " ".join(text.split())
    if "Permission is hereby granted, free of charge" in words:
        return "MIT"
    if "Redistribution and use in source and binary forms" in words:
        return "BSD-3-Clause" if "Neither the name" in words else "BSD-2-Clause"
    return ""


def closure(name: str, extras: set[str], seen: dict[str, set[str]]) -> dict[str, set[str]]:
    """All that a package asks for on this machine, and what that asks for in turn: names with their extras."""
    name = canonicalize_name(name)
    if name in seen and extras <= seen[name]:
        return seen
    seen[name] = seen.get(name, set()) | extras
    try:
        wanted = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return seen
    for requirement in map(Requirement, wanted):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in extras | {""}):
            closure(requirement.name, set(requirement.extras), seen)
    return seen


def purposes() -> dict[str, str]:
    """What each package is needed for first: the package itself, or one of its extras."""
    found: dict[str, str] = {}
    for extra in ("", *EXTRAS):
        for name in closure("steering-rl", {extra} if extra else set(), {}):
            found.setdefault(name, f"extra `{extra}`" if extra else "the package")
    return found


def rows() -> dict[str, tuple[str, str]]:
    """Licence and purpose of every pinned package; the licence is empty if nothing is known."""
    old = {name: licence for name, licence, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))} if PAGE.exists() else {}
    uses = purposes()
    found = {}
    for name in map(canonicalize_name, pinned()):
        try:
            licence = licence_of(metadata.distribution(name))
        except metadata.PackageNotFoundError:
            licence = old.get(name, "")
        found[name] = licence or old.get(name, ""), uses.get(name, "builds and benchmarks")
    return found


def main() -> None:
    """Write the page, or say which packages have no licence."""
    found = rows()
    if missing := [name for name, (licence, _) in found.items() if not licence]:
        sys.exit(f"no licence is known of {', '.join(missing)}: install them, or write their lines into {PAGE}.")
    order = ["the package", *(f"extra `{extra}`" for extra in EXTRAS), "builds and benchmarks"]
    lines = sorted((order.index(use), f"| {name} | {licence} | {use} |\n") for name, (licence, use) in found.items())
    PAGE.write_text(HEAD + "".join(line for _, line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
