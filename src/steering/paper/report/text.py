"""The report as text: the table of claims, the five-line summary, Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from steering.paper.report.settings import settings_rows, size_words, variants_rows
from steering.paper.rule import Claim, Verdict
from steering.paper.scale import Scale

if TYPE_CHECKING:
    from steering.paper.run import Reproduction

MAX_NAMES = 12
COLUMNS = ["claim", "where", "test", "condition", "effect", "verdict", "reason"]

RULE = (
    "Verdicts are computed, never typed in. An effect passes when its whole 95 % interval fulfils the condition "
    "(Student's t, wider for skew values; exact binomial for shares; a single run has no interval). Where several "
    "effects have to pass, the one that decides is shown: one that fails, if there is one, else the one whose interval "
    "comes closest to failing. A "
    "claim holds when the effect of the literal paper passes (or the only effect, where STEERING is not in the claim); "
    "it holds with the sound operator when that of the paper made sound passes instead; it holds for our default only "
    "when neither does but our default passes, which differs from the paper in more than the operator; it is not "
    "testable when there is no test, or when none passes and one effect is undecided with this many seeds or missing; "
    "it does not hold when all fail. Nothing is corrected for the number of claims: of the effects that sit exactly at "
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


def summary_lines(claims: Sequence[Claim], scale: Scale) -> list[str]:
    """Five lines: all claims and those that are not testable, then each other verdict with the claims that got it."""
    by_verdict = counts(claims)
    total = sum(len(part) for part in by_verdict.values())
    unsettled = _named(Verdict.NOT_TESTABLE, by_verdict.pop(Verdict.NOT_TESTABLE))
    apart = f"; controls, not counted: {len(claims) - total}" if len(claims) > total else ""
    first = f"{total} claims ({size_words(scale)}); {unsettled}{apart}"
    return [first, *(_named(verdict, part) for verdict, part in by_verdict.items())]


def _named(verdict: Verdict, part: Sequence[Claim]) -> str:
    names = ", ".join(claim.name for claim in part[:MAX_NAMES])
    more = f", and {len(part) - MAX_NAMES} more" if len(part) > MAX_NAMES else ""
    return f"{verdict}: {len(part)}" + (f" ({names}{more})" if part else "")


def markdown(result: Reproduction) -> str:
    """The whole report as Markdown; figures are linked."""
    parts = ["# The paper, reproduced\n", "\n".join(f"- {line}" for line in result.summary()), "", RULE, ""]
    parts += ["Three STEERINGs:\n", *[f"- **{name}**: {text}" for name, text in variants_rows()], ""]
    shown = claims_table(result.claims)[COLUMNS]
    parts += ["## Claims\n", markdown_table(COLUMNS, shown.to_numpy().tolist()), ""]
    for part in result.chapters:
        chapter = part.chapter
        parts += [f"## {chapter.title}\n", f"*{chapter.paper}.* {chapter.text}\n"]
        for path in part.figures:
            parts.append(f"![{chapter.title}](figures/{path.name})\n")
    parts += ["## Settings\n", *[f"- {name}: {text}" for name, text in settings_rows(result)], ""]
    return "\n".join(parts)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
