"""Theory checks: exponents against those of the bounds, inequalities run by run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper.claims.rule import DECIDES, Claim, Rule, above, below
from steering.paper.fits import Effect, exponent, mean_effect, scan_exponent, share_effect, slopes
from steering.paper.scale import VARIANTS

SLACK = 0.1
"""A decay as 1/k is accepted when the fitted exponent is surely below -1 + this."""
SETTLED = 100
"""Number of samples of a row from which on its decay is fitted."""
SUBLINEAR = 0.95
"""Regret growing with a power of the episodes below this is called sublinear."""


def rate_claims(samples: Floats, rows: Mapping[tuple[str, str], Floats], gains: Mapping[str, Floats]) -> list[Claim]:
    """Decay of the discrepancy of rows (by operator and kind of row) and of the gain along runs (by variant)."""
    fast = below(-1 + SLACK)
    worst = {
        operator: fast.worst([exponent(samples, rows[key], first=SETTLED) for key in rows if key[0] == operator])
        for operator in ("barker", "difference")
    }
    by_variant = {"default": worst["barker"], "sound": worst["barker"], "literal": worst["difference"]}
    runs = {}
    for variant, values in gains.items():
        plans = np.arange(1.0, values.shape[1] + 1)
        runs[variant] = exponent(plans, values, first=values.shape[1] / 10)
    return [
        Claim(
            "lemma-rate",
            "The squared DSD of the model falls as 1/k.",
            "Lemma 4.2",
            "fitted exponent of the discrepancy of a row in its number of samples, from 100 to 10,000; of a full "
            f"and a sparse row {DECIDES}; as fast as 1/k: below -{1 - SLACK:g}",
            fast,
            by_variant,
        ),
        Claim(
            "lemma-gain",
            "The Stein information gain of episode k falls as 1/k.",
            "Lemma 4.3 (2), proof",
            f"fitted exponent in the number of the plan, last 90 % of the plans, DeepSea 8; below -{1 - SLACK:g}",
            fast,
            runs,
        ),
    ]


def never(runs: int) -> Rule:
    """Condition on a share of runs that only runs without an exception fulfil, however many there are.

    The exact interval of n successes out of n begins at 0.025^(1/n): 0.78 for 15 runs, 0.96 for 90.
    """
    return above(0.025 ** (1 / runs) - 1e-9)


def bound_claims(runs: pd.DataFrame) -> list[Claim]:
    """Inequalities from the table of `figures.bounds`: one row for each run."""

    groups = {str(variant): part for variant, part in runs.groupby("variant", sort=False)}

    def size(value: str, bound: str) -> dict[str, Effect]:
        """log10 of value / bound for each variant, the setting that decides."""
        found = {}
        for variant, part in groups.items():
            logs = [np.log10((rows[value] / rows[bound]).to_numpy()) for _, rows in part.groupby("setting")]
            found[variant] = below(0).worst([mean_effect(one) for one in logs])
        return found

    # Groups have the same number of runs.
    runs_each = len(next(iter(groups.values())))
    chosen = f"mean over runs, of three settings {DECIDES}"
    return [
        Claim(
            "theorem-4.1",
            "Regret is at most sqrt(Gamma* K sum of the gains).",
            "Theorem 4.1",
            f"share of {runs_each} runs without a violation: the true value gaps of all plans sum to at most the right "
            f"side; exact binomial interval, which has to begin where that of {runs_each} out of {runs_each} does",
            never(runs_each),
            {name: share_effect((part["regret"] <= part["bound"]).to_numpy()) for name, part in groups.items()},
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
        *_orders(),
    ]


def _orders() -> list[Claim]:
    """What only proofs can decide."""
    return [
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


def bayesian_claims(
    curves: Mapping[str, tuple[Floats, Floats]],
    scans: Mapping[str, tuple[Floats, list[Floats]]],
    bound: Mapping[str, float],
) -> list[Claim]:
    """Shape of Bayesian regret: over episodes for each variant, and in S, A and H for the default."""
    growth = {}
    for variant, agent in VARIANTS.items():
        episodes, regret = curves[agent]
        growth[variant] = exponent(episodes, regret, first=episodes[-1] / 10)
    episodes = curves[next(iter(VARIANTS.values()))][0]
    kept = episodes[episodes >= max(episodes[-1] / 10, 2)]
    # The bound has a factor sqrt(log K), which adds to its slope at finite K.
    limit = float(slopes(np.log(kept), np.sqrt(kept * np.log(kept))[None])[0])
    found = [
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
    ]
    found.extend(
        _scan_claim(f"bayes-{name}", name, power, *scans[name]) for name, power in bound.items() if name in scans
    )
    # In A the text says the same as the theorem: sublinear, with an exponent of at most 1.
    found.append(_scan_claim("bayes-linear-S", "S", 1.0, *scans["S"], where="text below theorem 4.4 (linear in S)"))
    found.append(
        Claim(
            "rates-improve",
            "The regret bound improves upon prior learning rates of information-augmented model-based RL.",
            "Abstract",
            "none",
            untestable="it compares upper bounds of proofs; no run can show which proof is sharper",
        )
    )
    return found


def _scan_claim(
    name: str, size: str, power: float, values: Floats, scores: list[Floats], where: str = "Theorem 4.4"
) -> Claim:
    return Claim(
        name,
        f"Bayesian regret grows at most as {size}^{power:g}.",
        where,
        f"fitted exponent in {size}, {size} = {values[0]:g} to {values[-1]:g}, default only",
        below(power),
        {"default": scan_exponent(values, scores)},
    )
