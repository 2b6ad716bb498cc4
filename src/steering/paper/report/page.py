"""The report as one self-contained page: everything is inlined, and nothing is fetched from anywhere."""

from __future__ import annotations

import base64
import html
import json
import math
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steering._files import write_atomically
from steering.paper.report.settings import settings_rows, size_words, variants_rows
from steering.paper.report.text import RULE, counts, effect_text, markdown
from steering.paper.rule import Claim, Verdict

if TYPE_CHECKING:
    from steering.paper.run import Finished, Reproduction

CLASSES = {
    Verdict.HOLDS: "holds",
    Verdict.HOLDS_SOUND: "sound",
    Verdict.HOLDS_DEFAULT: "own",
    Verdict.DOES_NOT_HOLD: "fails",
    Verdict.NOT_TESTABLE: "open",
}


def write_reports(result: Reproduction) -> None:
    """Write report.html and report.md."""
    write_atomically(result.directory / "report.md", markdown(result).encode())
    write_atomically(result.report, page(result).encode())


def page(result: Reproduction) -> str:
    """The page as text."""
    parts = {
        "STYLE": _asset("page.css"),
        "SCRIPT": _asset("page.js"),
        "SIZE": html.escape(size_words(result.scale)),
        "VARIANTS": _definitions(variants_rows()),
        "VERDICTS": _verdicts(result.claims),
        "RULE": html.escape(RULE),
        "CLAIMS": "\n".join(_claim(claim) for claim in result.claims),
        "CONTENTS": "".join(f'<a href="#{p.chapter.name}">{html.escape(p.chapter.title)}</a>' for p in result.chapters),
        "CHAPTERS": "\n".join(_chapter(part) for part in result.chapters),
        "SETTINGS": _definitions(settings_rows(result)),
    }
    text = _asset("page.html")
    for name, content in parts.items():
        text = text.replace(f"<!--{name}-->", content)
    return text


def _definitions(rows: list[tuple[str, str]]) -> str:
    return "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in rows)


def _asset(name: str) -> str:
    return (files("steering.paper.report") / "assets" / name).read_text(encoding="utf-8")


def _verdicts(claims: list[Claim]) -> str:
    """Buttons that show how many claims got each verdict, and filter the table."""
    by_verdict = counts(claims)
    total = sum(len(part) for part in by_verdict.values())
    buttons = [f'<button class="tile all" data-verdict="" aria-pressed="true"><b>{total}</b> all claims</button>']
    for verdict, part in by_verdict.items():
        kind = CLASSES[verdict]
        label = f"<b>{len(part)}</b> {html.escape(str(verdict))}"
        buttons.append(f'<button class="tile {kind}" data-verdict="{kind}" aria-pressed="false">{label}</button>')
    if len(claims) > total:
        label = f"<b>{len(claims) - total}</b> controls, not counted"
        buttons.append(f'<button class="tile" data-verdict="control" aria-pressed="false">{label}</button>')
    return "".join(buttons)


def _claim(claim: Claim) -> str:
    verdict, reason = claim.decision
    kind = CLASSES[verdict]
    effect = html.escape(effect_text(claim)).replace("; ", "<br>") or "–"
    condition = "" if claim.untestable else f"<br><small>condition: {html.escape(claim.rule.text)}</small>"
    cells = {
        "claim": f'{html.escape(claim.claim)}<br><small class="place">{html.escape(claim.where)}</small>',
        "test": f"{html.escape(claim.test)}{condition}",
        "effect": f'<span class="number">{effect}</span>',
        "verdict": f'<span class="badge {kind}">{html.escape(str(verdict))}</span><br>'
        f"<small>{html.escape(reason)}</small>",
    }
    return (
        f'<tr data-verdict="{"control" if claim.control else kind}" id="claim-{html.escape(claim.name)}">'
        + "".join(f'<td data-label="{name}">{text}</td>' for name, text in cells.items())
        + "</tr>"
    )


def _chapter(part: Finished) -> str:
    chapter = part.chapter
    badges = "".join(
        f'<a class="badge {CLASSES[claim.verdict]}" href="#claim-{html.escape(claim.name)}" '
        f'title="{html.escape(claim.claim)}">{html.escape(claim.name)}</a>'
        for claim in part.claims
    )
    body = "".join(
        f'<div class="chart" data-chart="{chapter.name}-{number}"></div>'
        f'<script type="application/json" id="{chapter.name}-{number}">{chart_json(chart)}</script>'
        for number, chart in enumerate(part.charts)
    )
    if not part.charts:
        body = "".join(_image(path, chapter.title) for path in part.figures)
    return (
        f'<section id="{chapter.name}"><h2>{html.escape(chapter.title)}</h2>'
        f'<p class="place">{html.escape(chapter.paper)}</p><p>{html.escape(chapter.text)}</p>{body}'
        f'<p class="badges">{badges}</p></section>'
    )


def chart_json(chart: object) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(_short(chart), separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def _short(value: Any) -> Any:
    """The same with numbers to four digits, as a page needs them; what is not finite becomes nothing."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    return value


def _image(path: Path, title: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<figure><img alt="{html.escape(title)}" src="data:image/png;base64,{data}"></figure>'
