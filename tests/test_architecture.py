"""The shape of the package: which folders may import which, and what a light import costs."""

import subprocess
import sys
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
