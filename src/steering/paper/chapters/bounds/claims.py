"""Claims about bounds: inequalities run by run."""

from __future__ import annotations

import numpy as np

from steering.paper.fits import Effect, mean_effect, share_effect
from steering.paper.rule import DECIDES, Claim, Rule, above, below
from steering.paper.tables import Tables, groups


def never(runs: int) -> Rule:
    """Condition on a share of runs that only runs without an exception fulfil, however many there are.

    The exact interval of n successes out of n begins at 0.025^(1/n): 0.78 for 15 runs, 0.96 for 90.
    """
    return above(0.025 ** (1 / runs) - 1e-9)


def claims(tables: Tables) -> list[Claim]:
    """Inequalities, run by run, and what only proofs can decide."""
    variants = groups(tables["runs"], "variant")

    def size(value: str, bound: str) -> dict[str, Effect]:
        """log10 of value / bound for each variant, the setting that decides."""
        found = {}
        for variant, part in variants.items():
            logs = [np.log10((rows[value] / rows[bound]).to_numpy()) for _, rows in part.groupby("setting")]
            found[variant] = below(0).worst([mean_effect(one) for one in logs])
        return found

    # Variants have the same number of runs.
    runs_each = len(next(iter(variants.values())))
    chosen = f"mean over runs, of three settings {DECIDES}"
    return [
        Claim(
            "theorem-4.1",
            "Regret is at most sqrt(Gamma* K sum of the gains).",
            "Theorem 4.1",
            f"share of {runs_each} runs without a violation: the true value gaps of all plans sum to at most the right "
            f"side; exact binomial interval, which has to begin where that of {runs_each} out of {runs_each} does",
            never(runs_each),
            {name: share_effect((part["regret"] <= part["bound"]).to_numpy()) for name, part in variants.items()},
        ),
        Claim(
            "lemma-ratio",
            "The Stein information ratio of every plan is at most S A H^3 in expectation.",
            "Lemma 4.3 (1)",
            f"log10 of the largest ratio of a run / bound, {chosen}",
            below(0),
            size("ratio_max", "ratio_bound"),
        ),
        Claim(
            "lemma-total",
            "The total Stein information gain is at most H S^2 A log K.",
            "Lemma 4.3 (2)",
            f"log10 of total gain / bound, {chosen}",
            below(0),
            size("gain", "gain_bound"),
        ),
        Claim(
            "corollary-4.5",
            "Under more assumptions on the kernel the total Stein information gain is at most H S A log K.",
            "Corollary 4.5",
            f"log10 of total gain / bound, {chosen}, with the kernel of the experiments, for which the assumptions "
            "are not known to be true",
            below(0),
            size("gain", "gain_bound_improved"),
        ),
        Claim(
            "lemma-factor",
            "The squared DSD is at most of order S^2 A / k, and S A / k under regularity conditions.",
            "Lemma 4.2",
            "none (that it falls as 1/k is tested: lemma-rate)",
            untestable="an order in S and A without its constant, and for other kernels than the experiments use",
        ),
        Claim(
            "select",
            "Selecting the samples that are least similar to the dictionary gives convergence to the true model, and "
            "directed exploration.",
            "Remark 1; Algorithm 1, Select",
            "none",
            untestable="a step of the proof; the paper has no experiment with and without it",
        ),
    ]
