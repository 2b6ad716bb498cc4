"""The shape of the package: which folders may import which, and what a light import costs."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def loaded_modules(statement: str) -> set[str]:
    """Names of all modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import steering", "import steering.stein", "import steering.cli"])
def test_light_imports_do_not_load_the_compiler(statement: str) -> None:
    modules = loaded_modules(statement)
    assert "steering" in modules
    assert not modules & {"numba", "llvmlite", "matplotlib", "gymnasium"}


def test_the_stein_library_does_not_know_about_mdps() -> None:
    modules = loaded_modules("import steering.stein")
    others = ("steering.mdp", "steering.beliefs", "steering.agents", "steering.runs")
    assert not {name for name in modules if name.startswith(others)}


def test_public_names_are_found_on_first_use() -> None:
    import steering

    for name in steering.__all__:
        assert getattr(steering, name) is not None
    assert set(steering.__all__) <= set(dir(steering))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = steering.nothing


def test_imports_follow_the_layers() -> None:
    """The contracts of pyproject.toml, checked by import-linter."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_page_shows_the_layers_and_every_folder() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    contract, *_ = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("steering.", "") for layer in contract["layers"]]
    shown = re.findall(
        r"^    ([a-z_| ]+)$", page.split("## What may import what")[1].split("\n## ")[0], flags=re.MULTILINE
    )
    assert shown == layers
    table = page.split("## Folders")[1].split("\n## ")[0]
    inside = {path.name for path in (ROOT / "src" / "steering").iterdir()}
    for name in inside - {"__init__.py", "__main__.py", "__pycache__", "py.typed", "_version.py"}:
        assert f"`{name}`" in table or f"`{name}/`" in table, f"{name} is not in the table of folders"
