"""Claims about Bayesian regret: exponents against those of the bound."""

from __future__ import annotations

import numpy as np

from steering.paper.fits import exponent, scan_exponent, slopes
from steering.paper.rule import Claim, below
from steering.paper.scale import VARIANTS
from steering.paper.tables import Tables, groups, runs_by_x, scores

BOUND = {"S": 1.5, "A": 1.0, "H": 2.0, "K": 0.5}
"""Exponents of the bound of theorem 4.4."""
SUBLINEAR = 0.95
"""Regret growing with a power of the episodes below this is called sublinear."""


def claims(tables: Tables) -> list[Claim]:
    """Shape of Bayesian regret: over episodes for each variant, and in S, A and H for the default."""
    curves = {agent: runs_by_x(part) for agent, part in groups(tables["growth"], "agent").items()}
    growth = {variant: exponent(*curves[agent]) for variant, agent in VARIANTS.items()}
    last = float(tables["growth"]["x"].max())
    kept = np.arange(np.ceil(max(last / 10, 2)), last + 1)
    # The bound has a factor sqrt(log K), which adds to its slope at finite K.
    limit = float(slopes(np.log(kept), np.sqrt(kept * np.log(kept))[None])[0])
    scans = groups(tables["scan_runs"], "scan")

    def scan(name: str, size: str, power: float, where: str = "Theorem 4.4") -> Claim:
        runs = scores(scans[size], by="x")
        values = np.array([float(value) for value in runs])
        return Claim(
            name,
            f"Bayesian regret grows at most as {size}^{power:g}.",
            where,
            f"fitted exponent in {size}, {size} = {values[0]:g} to {values[-1]:g}, default only",
            below(power),
            {"default": scan_exponent(values, list(runs.values()))},
        )

    return [
        Claim(
            "bayes-sublinear",
            "STEERING has sublinear Bayesian regret.",
            "Abstract; Theorem 4.4",
            "fitted exponent in the number of episodes, last 90 % of them, MDPs from the agents' prior",
            below(SUBLINEAR),
            growth,
        ),
        Claim(
            "bayes-K",
            "Bayesian regret grows at most as sqrt(K log K).",
            "Theorem 4.4",
            f"the same exponent, against that of sqrt(K log K) on the same episodes, {limit:.3f}",
            below(limit),
            growth,
        ),
        *(scan(f"bayes-{size}", size, BOUND[size]) for size in scans),
        # In A the text says the same as the theorem: sublinear, with an exponent of at most 1.
        scan("bayes-linear-S", "S", 1.0, where="text below theorem 4.4 (linear in S)"),
        Claim(
            "rates-improve",
            "The regret bound improves upon prior learning rates of information-augmented model-based RL.",
            "Abstract",
            "none",
            untestable="it compares upper bounds of proofs; no run can show which proof is sharper",
        ),
    ]
