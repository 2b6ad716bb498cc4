"""What the options of an agent mean: the text under each field of its options class.

    @dataclass(frozen=True)
    class MyOptions:
        bonus: float = 0.5
        \"\"\"Reward of trying a pair for the first time.\"\"\"

Python does not keep such texts, so they are read from the source.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from itertools import pairwise


def option_docs(options: type) -> dict[str, str]:
    """Text of every option: those that the class declares first, then those of its bases; empty where there is none."""
    known = {field.name for field in dataclasses.fields(options)}
    found: dict[str, str] = {}
    for kind in options.__mro__:
        for name, text in _texts(kind).items():
            if name in known and not found.get(name):
                found[name] = text
    return found


def _texts(kind: type) -> dict[str, str]:
    """Text under each annotated field of one class; nothing where the source is not at hand."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return dict.fromkeys(vars(kind).get("__annotations__", {}), "")
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    texts = {}
    for field, after in pairwise([*body, ast.Pass()]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            constant = after.value if isinstance(after, ast.Expr) else None
            said = constant.value if isinstance(constant, ast.Constant) else ""
            texts[field.target.id] = inspect.cleandoc(said) if isinstance(said, str) else ""
    return texts
