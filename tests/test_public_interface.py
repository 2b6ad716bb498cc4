"""The interface that docs/api/public_interface.md states is the one there is: a change of it is seen, and meant."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "api" / "public_interface.md"
STATED = {
    title: re.findall(r"`(\w+)`", text)
    for title, text in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
}
MODULES = ("steering", "steering.mdp", "steering.envs", "steering.agents", "steering.stein")


def test_the_page_states_every_module_once() -> None:
    assert tuple(STATED) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_the_stated_names_are_those_of_the_code(module: str) -> None:
    there = sorted(importlib.import_module(module).__all__)
    assert STATED[module] == there, f"if the change is meant, state it: {', '.join(f'`{name}`' for name in there)}"


@pytest.mark.parametrize("module", MODULES)
def test_every_stated_name_can_be_imported_and_is_explained(module: str) -> None:
    found = importlib.import_module(module)
    for name in STATED[module]:
        value = getattr(found, name)
        assert name.startswith("__") or (value.__doc__ or "").strip(), f"{module}.{name} has no docstring"
        assert name in dir(found)
