"""The committed results of the reproduction: the claims of today's package, verdicts that follow from what is shown."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from reproduction_small import CHAPTERS, small_tables

from steering.paper.fits import Effect
from steering.paper.report.text import kinds
from steering.paper.rule import ALL, Rule, Verdict, decide

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").split("<!-- results: begin -->")[1]
NUMBER = r"(-?[0-9.]+(?:e[-+][0-9]+)?)"


def rows(text: str) -> list[list[str]]:
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row for row in table if row[0] != "claim"]


OURS, OTHERS, CONTROLS = (rows(part) for part in TEXT.split("### ")[1:])
CLAIMS = OURS + OTHERS


def test_the_page_has_the_claims_of_the_package() -> None:
    claims = [claim for name, chapter in CHAPTERS.items() for claim in chapter.claims(small_tables(name))]
    for shown, wanted in zip((OURS, OTHERS, CONTROLS), kinds(claims).values(), strict=True):
        assert [(row[0], row[1]) for row in shown] == [(claim.claim, claim.where) for claim in wanted]


def test_the_summary_counts_the_rows() -> None:
    counts = Counter(re.sub(r" \(.*", "", row[4]) for row in CLAIMS)
    assert set(counts) <= set(Verdict)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    assert f"{len(CLAIMS)} claims: {said}." in TEXT


def rule(condition: str, shift: float = 0.0) -> Rule:
    limits = [float(number) + shift for number in re.findall(NUMBER, condition)]
    if condition.startswith("between"):
        return Rule(*limits)
    return Rule(low=limits[0]) if condition.startswith("above") else Rule(high=limits[0])


@pytest.mark.parametrize("row", CLAIMS + CONTROLS, ids=lambda row: row[0][:60])
def test_a_verdict_follows_from_the_intervals_that_are_shown(row: list[str]) -> None:
    _, _, effect, condition, verdict = row
    if effect == "–":
        assert verdict.startswith(Verdict.NOT_TESTABLE)
        return
    found = re.findall(rf"(?:(\w+) )?{NUMBER} \[{NUMBER}, {NUMBER}\]", effect)
    assert len(found) == effect.count("[") > 0
    effects = {name or ALL: Effect(*map(float, numbers)) for name, *numbers in found}
    ends = {end for one in effects.values() for end in (one.low, one.high)}
    possible = {decide(effects, rule(condition))[0]}
    if ends & {float(number) for number in re.findall(NUMBER, condition)}:  # equal in the digits that are shown
        possible |= {decide(effects, rule(condition, shift))[0] for shift in (-1e-4, 1e-4)}
    assert re.sub(r" \(.*", "", verdict) in possible
