"""The report as text: the table of claims, the summary, Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from steering.paper.report.answer import NAMES, QUESTIONS, cards, headline, sentences
from steering.paper.report.settings import settings_rows, size_words, variants_rows
from steering.paper.rule import Claim, Verdict

if TYPE_CHECKING:
    from steering.paper.run import Reproduction

COLUMNS = ["claim", "where", "test", "condition", "effect", "verdict", "reason"]

RULE = (
    "Verdicts are computed, never typed in. An effect passes when its whole 95 % interval fulfils the condition "
    "(Student's t, wider for skew values; exact binomial for shares; a single run has no interval). Where several "
    "effects have to pass, the one that decides is shown: one that fails, if there is one, else the one whose interval "
    "comes closest to failing. A "
    "claim holds when the effect of the literal paper passes (or the only effect, where STEERING is not in the claim); "
    "it holds with the sound operator when that of the paper made sound passes instead; it holds for our default only "
    "when neither does but our default passes, which differs from the paper in more than the operator; it is "
    "undecided with this many seeds when none passes and one effect is undecided, not testable when there is no test "
    "or an effect is missing, and it does not hold when all fail. Nothing is corrected for the number of claims: of "
    "the effects that sit exactly at "
    "their threshold one in forty would pass by chance, so a single narrow pass among so many says little. Controls "
    "are questions of ours, with the same rule; they are listed and not counted."
)


def claims_table(claims: Sequence[Claim]) -> pd.DataFrame:
    """One row for each claim: what, where, how tested, effects with intervals, verdict and reason."""
    rows = []
    for claim in claims:
        verdict, reason = claim.decision
        rows.append(
            {
                "name": claim.name,
                "claim": claim.claim,
                "where": claim.where,
                "test": claim.test,
                "condition": "" if claim.untestable else claim.rule.text,
                "effect": effect_text(claim),
                "verdict": str(verdict),
                "reason": reason,
                "control": claim.control,
            }
        )
    return pd.DataFrame(rows, columns=["name", *COLUMNS, "control"])


def effect_text(claim: Claim) -> str:
    """Effects with their intervals, each with its variant where there are several."""
    shown = {name: effect.text() for name, effect in claim.effects.items()}
    return "; ".join(text if name == "all" else f"{name} {text}" for name, text in shown.items())


def counts(claims: Sequence[Claim]) -> dict[Verdict, list[Claim]]:
    """Claims of the paper by verdict, all verdicts in their order; controls are not counted."""
    own = [claim for claim in claims if not claim.control]
    return {verdict: [claim for claim in own if claim.verdict == verdict] for verdict in Verdict}


def summary_lines(result: Reproduction) -> list[str]:
    """The answer in sentences, then how the claims about STEERING and those about other algorithms were judged."""
    said = [" ".join(parts) for parts in sentences(result)]
    about = {
        f"claims about STEERING ({size_words(result.scale)})": [claim for claim in result.claims if claim.ours],
        "claims about other algorithms": [claim for claim in result.claims if not claim.ours],
    }
    return [*said, *(_counted(name, part) for name, part in about.items())]


def _counted(name: str, claims: Sequence[Claim]) -> str:
    by_verdict = counts(claims)
    total = sum(len(part) for part in by_verdict.values())
    shown = ", ".join(f"{verdict} {len(part)}" for verdict, part in by_verdict.items() if part)
    return f"{total} {name}" + (f": {shown}" if shown else "")


def markdown(result: Reproduction) -> str:
    """The whole report as Markdown, in the order of the page; figures are linked."""
    parts = ["# STEERING, reproduced\n", *(f"- **{verdict}** {rest}" for verdict, rest in sentences(result)), ""]
    if headline(result):
        parts.append("![Regret on DeepSea 15, like for like](figures/headline.png)\n")
    columns = ["question", "verdict", *NAMES.values()]
    parts += [markdown_table(columns, card_rows(result)), "", f"*{size_words(result.scale)}*\n"]
    parts += ["Three STEERINGs:\n", *[f"- **{name}**: {text}" for name, text in variants_rows()], ""]
    for part in result.chapters:
        chapter = part.chapter
        parts += [f"## {chapter.paper} · {chapter.title}\n", f"{chapter.text}\n"]
        parts += [f"![{chapter.title}](figures/{path.name})\n" for path in part.figures]
        parts += [f"- **{claim.verdict}**: {claim.claim}" for claim in part.claims]
        parts += [""] * bool(part.claims)
    parts += ["## All claims\n", RULE, ""]
    for title, claims in kinds(result.claims).items():
        rows = claims_table(claims)[COLUMNS].to_numpy().tolist()
        parts += [f"### {title}\n", markdown_table(COLUMNS, rows), ""]
    parts += ["## Settings\n", *[f"- {name}: {text}" for name, text in settings_rows(result)], ""]
    return "\n".join(parts)


def card_rows(result: Reproduction) -> list[list[str]]:
    """The cards as rows: question, verdict, how each STEERING did."""
    rows = []
    for card in cards(result):
        did = [text for name, text in card.rows if name in NAMES.values()]
        rows.append([f"{card.topic}: {QUESTIONS[card.topic]}", card.verdict, *did])
    return rows


def kinds(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Claims by what they are about, those there are."""
    found = {
        "Claims about STEERING": [claim for claim in claims if claim.ours and not claim.control],
        "Claims about other algorithms": [claim for claim in claims if not claim.ours and not claim.control],
        "Controls: questions of ours, not counted": [claim for claim in claims if claim.control],
    }
    return {title: part for title, part in found.items() if part}


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
