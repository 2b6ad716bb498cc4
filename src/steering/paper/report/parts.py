"""Parts of the page: the answer, the cards, a figure with the claims that it decides, the table of claims."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from steering.errors import NotAvailable
from steering.paper.report.answer import QUESTIONS, Card, Row, cards, headline, sentences
from steering.paper.report.chart_parts import chart_part, headline_part
from steering.paper.report.text import counts, effect_text, kinds
from steering.paper.rule import Claim, Verdict

if TYPE_CHECKING:
    from steering.paper.run import Finished, Reproduction

CLASSES = {
    Verdict.HOLDS: "holds",
    Verdict.HOLDS_SOUND: "sound",
    Verdict.HOLDS_DEFAULT: "own",
    Verdict.DOES_NOT_HOLD: "fails",
    Verdict.UNDECIDED: "undecided",
    Verdict.NOT_TESTABLE: "open",
}
BESIDE = 4
"""Claims that stand beside a figure; more are behind a line that opens."""


def answer_part(result: Reproduction, *, drawn: bool) -> str:
    """The three sentences and the headline figure, which is an image where charts are not drawn."""
    said = "".join(f"<li><b>{escape(verdict)}</b> {escape(rest)}</li>" for verdict, rest in sentences(result))
    rows = headline(result)
    return f'<ol class="answer">{said}</ol>{_headline(rows, result, drawn=drawn) if rows else ""}'


def _headline(rows: Sequence[Row], result: Reproduction, *, drawn: bool) -> str:
    caption = (
        "Share of an oracle's reward lost on DeepSea 15 (Figure 3, high sparsity): 0 is best. Under each STEERING "
        "stands the IDS nearest to it, with the variance for the Stein information and the same priors; mean, 95 % "
        "interval."
    )
    shown = headline_part(rows) if drawn else image(result.directory / "figures" / "headline.png", "Regret, DeepSea 15")
    return f'<figure class="headline">{shown}<figcaption>{escape(caption)}</figcaption></figure>'


def cards_part(result: Reproduction) -> str:
    """Five cards."""
    return "".join(_card(card) for card in cards(result))


def _card(card: Card) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in card.rows)
    links = ", ".join(f'<a href="#{name}">{escape(place)}</a>' for name, place in card.chapters)
    return (
        f'<article class="card {card.kind}"><h3>{escape(str(card.topic))}</h3><p>{escape(QUESTIONS[card.topic])}</p>'
        f'<p class="said">{escape(card.verdict)}</p><dl>{rows}</dl><p class="place">{links}</p></article>'
    )


def chapter_part(part: Finished, *, drawn: bool) -> str:
    """A figure with its claims beside it."""
    chapter = part.chapter
    charts = part.charts if drawn else []
    body = "".join(chart_part(f"{chapter.name}-{number}", chart) for number, chart in enumerate(charts))
    if not charts:
        body = f'<div class="images">{"".join(image(path, chapter.title) for path in part.figures)}</div>'
    beside = f'<aside aria-label="claims">{_beside(part.claims)}</aside>' if part.claims else ""
    return (
        f'<section id="{chapter.name}" class="figure"><h2>{escape(chapter.paper)} · {escape(chapter.title)}</h2>'
        f"<p>{escape(chapter.text)}</p>"
        f'<div class="{"beside" if beside else "alone"}"><div>{body}</div>{beside}</div></section>'
    )


def _beside(claims: Sequence[Claim]) -> str:
    ordered = sorted(claims, key=lambda claim: (claim.control, not claim.ours))
    shown, rest = ordered[:BESIDE], ordered[BESIDE:]
    more = f"<details><summary>{len(rest)} more</summary>{_short(rest)}</details>" if rest else ""
    return f"<h3>What it decides</h3>{_short(shown)}{more}"


def _short(claims: Iterable[Claim]) -> str:
    return "".join(
        f'<p class="decided">{_badge(claim)} <a href="#claim-{escape(claim.name)}">{escape(claim.claim)}</a>'
        f"<br>{_effect(claim)}</p>"
        for claim in claims
    )


def _badge(claim: Claim) -> str:
    return f'<span class="badge {CLASSES[claim.verdict]}">{escape(str(claim.verdict))}</span>'


def _effect(claim: Claim) -> str:
    if claim.untestable:
        return "<small>no test</small>"
    effects = escape(effect_text(claim)).replace("; ", "<br>")
    return f'<small class="number">{effects}<br>condition: {escape(claim.rule.text)}</small>'


# The table -----------------------------------------------------------------------------------------------------------


def verdict_buttons(claims: Sequence[Claim]) -> str:
    """Buttons that show how many claims about STEERING got each verdict, and filter the tables."""
    by_verdict = counts(claims)
    total = sum(len(part) for part in by_verdict.values())
    buttons = [
        f'<button type="button" class="tile all" data-verdict="" aria-pressed="true"><b>{total}</b> all</button>'
    ]
    for verdict, part in by_verdict.items():
        kind = CLASSES[verdict]
        label = f"<b>{len(part)}</b> {escape(str(verdict))}"
        buttons.append(
            f'<button type="button" class="tile {kind}" data-verdict="{kind}" aria-pressed="false">{label}</button>'
        )
    return "".join(buttons)


def tables_part(claims: Sequence[Claim]) -> str:
    """Claims about STEERING, claims about other algorithms, controls: a table each."""
    return "".join(_table(title, part) for title, part in kinds(claims).items())


def _table(title: str, claims: Iterable[Claim]) -> str:
    head = "<thead><tr><th>claim</th><th>test</th><th>effect [95 % interval]</th><th>verdict</th></tr></thead>"
    rows = "\n".join(_row(claim) for claim in claims)
    return f'<h3>{escape(title)}</h3><table class="claims">{head}<tbody>{rows}</tbody></table>'


def _row(claim: Claim) -> str:
    condition = "" if claim.untestable else f"<br><small>condition: {escape(claim.rule.text)}</small>"
    effect = escape(effect_text(claim)).replace("; ", "<br>") or "–"
    cells = {
        "claim": f'{escape(claim.claim)}<br><small class="place">{escape(claim.where)}</small>',
        "test": f"{escape(claim.test)}{condition}",
        "effect": f'<span class="number">{effect}</span>',
        "verdict": f"{_badge(claim)}<br><small>{escape(claim.decision[1])}</small>",
    }
    return (
        f'<tr data-verdict="{CLASSES[claim.verdict]}" id="claim-{escape(claim.name)}">'
        + "".join(f'<td data-label="{name}">{text}</td>' for name, text in cells.items())
        + "</tr>"
    )


def definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Names with their texts."""
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows)


def image(path: Path, title: str) -> str:
    """A figure file in the page."""
    if not path.is_file():
        raise NotAvailable(f"the figure {path} is missing; make it again with: steering reproduce.")
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(title)}" src="data:image/png;base64,{data}">'
