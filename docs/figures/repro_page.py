"""Put the results of a reproduction into docs/reproduction.md: the table of claims, the summary, small figures.

    python docs/figures/repro_page.py results/reproduction-full

Everything between the two marks in the page is replaced; nothing there is typed by hand.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path

import matplotlib.image
import numpy as np
from PIL import Image

from steering.paper.report.text import markdown_table
from steering.paper.rule import Verdict

DOCS = Path(__file__).parents[1]
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
FIGURES = {
    "regret": "Regret on DeepSea (the paper's Figure 3)",
    "prior_belief": "Strong and weak prior beliefs (Figure 6)",
    "occupancy": "Where the agents are (Figure 5)",
    "environments": "WideNarrow and PriorMDP (Figure 7)",
    "dsd": "Convergence of the discrepancy (appendix)",
    "rates": "How fast the discrepancy falls (Lemma 4.2)",
    "bayesian": "Bayesian regret (Theorem 4.4)",
}
WIDTH = 1000


def main(directory: Path) -> None:
    """Fill the page from the output directory of `steering reproduce`."""
    with open(directory / "claims.csv", newline="", encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    scale = json.loads((directory / "numbers.json").read_text(encoding="utf-8"))["scale"]
    controls = [claim for claim in claims if claim["control"] == "True"]
    claims = [claim for claim in claims if claim not in controls]
    counts = Counter(claim["verdict"] for claim in claims)
    lines = [f"Size: `--{scale}`. {len(claims)} claims: " + ", ".join(f"{counts[v]} {v}" for v in Verdict) + ".", ""]
    for name, title in FIGURES.items():
        shrink(directory / "figures" / f"{name}.png", DOCS / "figures" / f"repro_{name}.png")
        lines += [f"![{title}](figures/repro_{name}.png)", ""]
    lines.append(table(claims))
    if controls:
        lines += ["", "Controls, which are not claims of the paper and are not counted:", "", table(controls)]
    page = DOCS / "reproduction.md"
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    page.write_text(head + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1], encoding="utf-8")


def table(claims: list[dict[str, str]]) -> str:
    """A Markdown table of claims."""
    rows = []
    for claim in claims:
        reason = f" ({claim['reason']})" if claim["verdict"] == "not testable" else ""
        shown = [claim["claim"], claim["where"], claim["effect"] or "–", claim["condition"] or "–"]
        rows.append([*shown, claim["verdict"] + reason])
    return markdown_table(["claim", "where", "effect [95 % interval]", "condition", "verdict"], rows)


def shrink(source: Path, target: Path) -> None:
    """A smaller copy with few colours, so that the repository stays small."""
    image = Image.fromarray((matplotlib.image.imread(source)[..., :3] * 255).round().astype(np.uint8))
    image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    image.quantize(128).save(target, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
