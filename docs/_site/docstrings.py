"""What the reference pages take from the code: Markdown docstrings, and the names that are meant for users.

Docstrings use a few marks of reStructuredText, which become Markdown:

    :math:`x`                  formula in a line
    .. math:: x                formula of its own, up to the next empty line
    text::                     an indented block follows
    =====  =====               a table drawn with signs stays as it is drawn

A module whose package exports some of its names shows those; other names in it are helpers. A module of which nothing
is exported shows every name without an underscore. A page can say otherwise with `members`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from griffe import Extension, Module, Object

MATH_LINE = re.compile(r":math:`([^`]+)`")
MATH_BLOCK = re.compile(r"^\.\. math::[ \t]*\n?(.*?)(?=\n\s*\n|\Z)", flags=re.DOTALL | re.MULTILINE)
ALONE = re.compile(r"^\s*::\n", flags=re.MULTILINE)
LITERAL = re.compile(r"::$", flags=re.MULTILINE)
TABLE = re.compile(r"^=+(?: +=+)+\n.*\n=+(?: +=+)+$", flags=re.DOTALL | re.MULTILINE)


def to_markdown(text: str) -> str:
    """A docstring with its marks replaced."""
    text = TABLE.sub(lambda found: textwrap.indent(found.group(0), "    "), text)
    text = MATH_BLOCK.sub(lambda found: f"$$\n{' '.join(found.group(1).split())}\n$$", text)
    text = MATH_LINE.sub(lambda found: f"${' '.join(found.group(1).split())}$", text)
    return LITERAL.sub(":", ALONE.sub("", text))


def packages(module: Module) -> Iterator[Module]:
    """A package and all packages below it."""
    yield module
    for inner in list(module.modules.values()):
        if inner.is_init_module and not inner.is_alias:
            yield from packages(inner)


class Reference(Extension):
    """Rewrites docstrings as they are loaded, and marks helpers as not public."""

    def on_object(self, *, obj: Object, **kwargs: object) -> None:
        """Called for every object that has been loaded."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)

    def on_package(self, *, pkg: Module, **kwargs: object) -> None:
        """Called when the whole package has been loaded."""
        for package in packages(pkg):
            exported = {str(name) for name in package.exports or ()}
            for module in package.modules.values():
                own = [member for member in module.members.values() if not member.is_alias and not member.is_module]
                if any(member.name in exported for member in own):
                    for member in own:
                        member.public = member.name in exported
