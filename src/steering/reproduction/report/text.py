"""The report as text: the table of claims, the five-line summary, Markdown."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pandas as pd

from steering._version import __version__
from steering.reproduction.claims.rule import Claim, Verdict
from steering.reproduction.scale import Scale

if TYPE_CHECKING:
    from steering.reproduction.run import Reproduction

PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib", "gymnasium")
MAX_NAMES = 12

RULE = (
    "Verdicts are computed, never typed in. An effect passes when its whole 95 % bootstrap interval fulfils the "
    "condition. It holds when the effect of the literal paper passes (or the only effect, where STEERING is not in the "
    "claim); it holds with the sound operator when that of the paper made sound or of the default passes instead; it "
    "is not testable when no effect exists, or when none passes and the interval of one contains the threshold "
    "(undecided with this many seeds); it does not hold when all intervals lie on the other side."
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
            }
        )
    return pd.DataFrame(rows, columns=["name", "claim", "where", "test", "condition", "effect", "verdict", "reason"])


def effect_text(claim: Claim) -> str:
    """Effects with their intervals, each with its variant where there are several."""
    shown = {name: effect.text() for name, effect in claim.effects.items()}
    return "; ".join(text if name == "all" else f"{name} {text}" for name, text in shown.items())


def counts(claims: Sequence[Claim]) -> dict[Verdict, list[Claim]]:
    """Claims by verdict, all verdicts in their order."""
    return {verdict: [claim for claim in claims if claim.verdict == verdict] for verdict in Verdict}


def summary_lines(claims: Sequence[Claim], scale: Scale) -> list[str]:
    """Five lines: all claims, then each verdict with the claims that got it."""
    by_verdict = counts(claims)
    lines = [f"{len(claims)} claims tested ({scale.remark()}, {scale.steps} steps)"]
    for verdict, part in by_verdict.items():
        names = ", ".join(claim.name for claim in part[:MAX_NAMES])
        more = f", and {len(part) - MAX_NAMES} more" if len(part) > MAX_NAMES else ""
        lines.append(f"{verdict}: {len(part)}" + (f" ({names}{more})" if part else ""))
    return lines


def settings_rows(result: Reproduction) -> list[tuple[str, str]]:
    """What the report rests on: size, versions, machine, time."""
    scale = result.scale
    return [
        ("size", f"{scale.name}: {scale.seeds} seeds of {scale.steps} steps ({scale.prior_steps} for prior beliefs)"),
        ("beliefs about Q", f"{scale.posterior_seeds} seeds"),
        ("traced runs", f"{scale.trace_seeds} seeds (figure of the DSD: at most 5, as in the paper)"),
        ("Bayesian regret", f"{scale.mdps} MDPs from the prior, {scale.episodes} episodes each"),
        ("seeds", "0, 1, 2, ... of the number given; all resampling has fixed seeds"),
        ("runs", f"{result.cells}, of which {result.computed} were computed this time"),
        ("versions", f"steering {__version__}, " + ", ".join(f"{name} {_version(name)}" for name in PACKAGES)),
        ("interpreter", f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"),
        ("wall time", ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in result.seconds.items())),
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # pragma: no cover - all of them are dependencies
        return "unknown"


def markdown(result: Reproduction) -> str:
    """The whole report as Markdown; figures are linked."""
    parts = ["# The paper, reproduced\n", "\n".join(f"- {line}" for line in result.summary()), "", RULE, ""]
    parts += ["## Claims\n", _markdown_table(claims_table(result.claims)), ""]
    for part in result.chapters:
        chapter = part.chapter
        parts += [f"## {chapter.title}\n", f"*{chapter.paper}.* {chapter.text}\n"]
        for path in part.figures:
            parts.append(f"![{chapter.title}](figures/{path.name})\n")
    parts += ["## Settings\n", *[f"- {name}: {text}" for name, text in settings_rows(result)], ""]
    return "\n".join(parts)


def _markdown_table(table: pd.DataFrame) -> str:
    columns = ["claim", "where", "test", "condition", "effect", "verdict", "reason"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for _, row in table.iterrows():
        lines.append("| " + " | ".join(str(row[column]).replace("|", "\\|") for column in columns) + " |")
    return "\n".join(lines)
