"""What the options of an agent mean: the text under each field of its options class.

    @dataclass(frozen=True)
    class MyOptions:
        bonus: float = 0.5
        \"\"\"Reward of trying a pair for the first time.\"\"\"

Python does not keep such texts, so they are read from the source. A list of `Attributes` in the docstring of the class
does as well.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
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
    """Text of each annotated field of one class: what stands under it, else what its docstring says of it."""
    listed = _listed(vars(kind).get("__doc__") or "")
    texts = {name: listed.get(name, "") for name in vars(kind).get("__annotations__", {})}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # typed in, say: there is no source at hand
        return texts
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    for field, after in pairwise([*body, ast.Pass()]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            constant = after.value if isinstance(after, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                texts[field.target.id] = inspect.cleandoc(constant.value)
    return texts


def _listed(docstring: str) -> dict[str, str]:
    """Entries of the `Attributes` of a docstring: names, then indented text."""
    section = inspect.cleandoc(docstring).partition("Attributes\n----------\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^(\S.*)\n((?:[ \t]+.*(?:\n|$))+)", section, flags=re.MULTILINE)
    return {name.strip(): inspect.cleandoc(f"\n{text}") for names, text in entries for name in names.split(",")}
