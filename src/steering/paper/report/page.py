"""The report as one self-contained page: everything is inlined, nothing is fetched, and its policy allows nothing else.

Charts are drawn by Bokeh, whose script comes with its package (extra `lab`). Where it is not installed the page shows
the figures as images instead and says so.
"""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

from steering._files import write_atomically
from steering.lab.chart import script
from steering.paper.report import parts
from steering.paper.report.settings import settings_rows, size_words, variants_rows
from steering.paper.report.text import RULE, markdown

if TYPE_CHECKING:
    from steering.paper.run import Reproduction

STATIC = "Charts are images here; install Bokeh for charts to point at: pip install 'steering-rl[lab]'."


def write_reports(result: Reproduction) -> None:
    """Write report.html and report.md."""
    write_atomically(result.directory / "report.md", markdown(result).encode())
    write_atomically(result.report, page(result).encode())


def page(result: Reproduction) -> str:
    """The page as text."""
    drawn = find_spec("bokeh") is not None
    # What ends a script element in HTML is text to the script; only strings and comments can hold it.
    code = [part.replace("</script", "<\\/script") for part in ([script()] if drawn else []) + [_asset("page.js")]]
    contents = "".join(
        f'<a href="#{part.chapter.name}">{html.escape(part.chapter.paper)}</a>' for part in result.chapters
    )
    filled = {
        "POLICY": html.escape(_policy(code)),
        "STYLE": _asset("page.css"),
        "SIZE": html.escape(size_words(result.scale)),
        "ANSWER": parts.answer_part(result, drawn=drawn),
        "CARDS": parts.cards_part(result),
        "CONTENTS": contents,
        "CHAPTERS": "\n".join(parts.chapter_part(part, drawn=drawn) for part in result.chapters),
        "VERDICTS": parts.verdict_buttons(result.claims),
        "RULE": html.escape(RULE),
        "VARIANTS": parts.definitions(variants_rows()),
        "CLAIMS": parts.tables_part(result.claims),
        "SETTINGS": parts.definitions(settings_rows(result)),
        "STATIC": "" if drawn else f'<p class="note">{html.escape(STATIC)}</p>',
        "SCRIPTS": "".join(f"<script>{part}</script>" for part in code),
    }
    # Each place is filled once, so that no text of a result is taken for a place.
    pieces = _asset("page.html").split("<!--")
    text = pieces[0]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("-->")
        text += filled[name] + rest
    return text


def _policy(code: list[str]) -> str:
    """Exactly these scripts, styles and images of the page itself, and no connection."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in code)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("steering.paper.report") / "assets" / name).read_text(encoding="utf-8")
