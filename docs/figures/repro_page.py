"""Put the results of a reproduction into docs/reproduction.md: the answer, small figures, the tables of claims.

    python docs/figures/repro_page.py results/reproduction-full

Everything between the two marks in the page is replaced; nothing there is typed by hand.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import matplotlib.image
import numpy as np
from PIL import Image

from steering.paper import verdicts
from steering.paper.report.answer import NAMES, sentences
from steering.paper.report.text import card_rows, effect_text, kinds, markdown_table
from steering.paper.rule import Claim, Verdict

DOCS = Path(__file__).parents[1]
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
FIGURES = {
    "headline": "Regret on DeepSea 15, every STEERING beside what is like it but for the information",
    "regret": "Regret on DeepSea (the paper's Figure 3)",
    "prior_belief": "Strong and weak prior beliefs (Figure 6)",
    "occupancy": "Where the agents are (Figure 5)",
    "environments": "WideNarrow and PriorMDP (Figures 7 and 22)",
    "dsd": "Convergence of the discrepancy (Figure 21)",
    "rates": "How fast the discrepancy falls (Lemma 4.2)",
    "bayesian": "Bayesian regret (Theorem 4.4)",
}
WIDTH = 1000


def main(directory: Path) -> None:
    """Fill the page from the output directory of `steering reproduce`, whose claims are judged again."""
    result = verdicts(directory)
    claims = kinds(result.claims)
    counted = [claim for claim in result.claims if not claim.control]
    counts = Counter(str(claim.verdict) for claim in counted)
    shown = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    lines = [*(f"{n}. **{verdict}** {rest}" for n, (verdict, rest) in enumerate(sentences(result), 1)), ""]
    for name in FIGURES:
        shrink(directory / "figures" / f"{name}.png", DOCS / "figures" / f"repro_{name}.png")
    lines += [image("headline"), "", markdown_table(["question", "verdict", *NAMES.values()], card_rows(result)), ""]
    lines += [f"Size: `--{result.scale.name}`. {len(counted)} claims: {shown}.", ""]
    for name in list(FIGURES)[1:]:
        lines += [image(name), ""]
    for title, part in claims.items():
        lines += [f"### {title}", "", table(part), ""]
    page = DOCS / "reproduction.md"
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    page.write_text(head + BEGIN + "\n\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")


def image(name: str) -> str:
    """A figure of the page."""
    return f"![{FIGURES[name]}](figures/repro_{name}.png)"


def table(claims: list[Claim]) -> str:
    """A Markdown table of claims."""
    rows = []
    for claim in claims:
        verdict, reason = claim.decision
        shown = [claim.claim, claim.where, effect_text(claim) or "–", "–" if claim.untestable else claim.rule.text]
        why = f" ({reason})" if verdict in (Verdict.NOT_TESTABLE, Verdict.UNDECIDED) else ""
        rows.append([*shown, f"{verdict}{why}"])
    return markdown_table(["claim", "where", "effect [95 % interval]", "condition", "verdict"], rows)


def shrink(source: Path, target: Path) -> None:
    """A smaller copy with few colours, so that the repository stays small."""
    image = Image.fromarray((matplotlib.image.imread(source)[..., :3] * 255).round().astype(np.uint8))
    image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    image.quantize(128).save(target, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
