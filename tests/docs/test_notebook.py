"""The notebook in examples/: every cell runs, in order, and what it ends with shows itself; no kernel is needed."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def shown(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a kernel does: statements, then the value of a last expression."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    names: dict[str, Any] = {"__name__": "__main__"}
    rich = 0
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are made by whoever opens it, and not kept in the repository"
        value = shown("".join(cell["source"]), names)
        if isinstance(value, Figure):
            assert value._repr_png_().startswith(b"\x89PNG"), "a notebook without pyplot shows it too"
            rich += 1
        elif hasattr(value, "_repr_html_"):
            assert "<" in value._repr_html_()
            rich += 1
    assert rich >= 5
    assert list(tmp_path.iterdir()) == []


def test_there_is_one() -> None:
    assert NOTEBOOKS
