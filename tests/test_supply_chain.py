"""What the package depends on: every package pinned, its licence known, nothing broken, lowest versions that exist."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from steering import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LICENCES = runpy.run_path(str(ROOT / ".ci" / "licences.py"))
CLAIMS = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))
LOWEST = CLAIMS["lowest"](CLAIMS["claims"]())
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
}


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_everything_that_is_installed_is_pinned(extra: str) -> None:
    """The package with an extra, and all that it asks for in turn."""
    wanted = EXTRAS[extra] if extra else PROJECT["dependencies"]
    names: set[str] = set()
    for requirement in map(Requirement, wanted):
        names |= set(LICENCES["closure"](requirement.name, set(requirement.extras), {}))
    assert len(names) >= len(wanted)
    assert names - {"steering-rl"} <= PINS.keys()


def test_every_line_of_the_constraints_is_a_pin_and_all_claims_allow_it() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert len(PINS) == len(lines) > 80
    for requirement in map(
        Requirement, [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
    ):
        if requirement.name != "steering-rl":
            assert PINS[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_what_users_install_has_a_lowest_version() -> None:
    """`make test-lowest` installs these; a requirement without a bound would claim that any version works."""
    for extra, wanted in {"": PROJECT["dependencies"], **EXTRAS}.items():
        names = {Requirement(one).name for one in wanted}
        assert extra == "dev" or names <= LOWEST.keys()
    assert all(Version(version) <= Version(PINS[canonicalize_name(name)]) for name, version in LOWEST.items())


def test_every_pinned_package_has_a_licence() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = {name: licence for name, licence, _ in LICENCES["ROW"].findall(page) if name != "package"}
    assert listed.keys() == PINS.keys()
    for name, licence in listed.items():
        try:
            declared = LICENCES["licence_of"](metadata.distribution(name))
        except metadata.PackageNotFoundError:
            continue
        if PINS[name] == metadata.version(name):
            assert licence == (declared or licence), name


def test_installed_packages_agree() -> None:
    """`pip check`; `make test-slow` installs rliable on purpose without what it asks for."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("rliable ")]
    assert lines in ([], ["No broken requirements found."])
    assert done.returncode == 0 or not lines, done.stderr


def test_the_citation_has_the_version_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r'^version: "(.*)"$', text, flags=re.MULTILINE) == [__version__]
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_smoke_tests_of_the_lowest_versions_are_there() -> None:
    named = re.findall(r"tests/[\w/]+(?:\.py)?", (ROOT / ".ci" / "test_lowest").read_text(encoding="utf-8"))
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []
