"""Theory checks: exponents against those of the bounds, inequalities run by run, the theorem's weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steering.reproduction.claims.rule import Claim, above, below, worst_below
from steering.reproduction.fits import Effect, exponent, mean_effect, scan_exponent, slopes
from steering.reproduction.scale import VARIANTS

Floats = NDArray[np.float64]

SLACK = 0.1
"""A decay as 1/k is accepted when the fitted exponent is surely below -1 + this."""
CLOSE = 0.1
"""The theorem's weight is called good when it costs at most this much normalised regret over the best of the grid."""


def rate_claims(samples: Floats, rows: Mapping[tuple[str, str], Floats], gains: Mapping[str, Floats]) -> list[Claim]:
    """Decay of the discrepancy of rows (by operator and kind of row) and of the gain along runs (by variant)."""
    worst = {
        operator: worst_below([exponent(samples, rows[key], first=100) for key in rows if key[0] == operator])
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
            "fitted exponent of the discrepancy of a row in its number of samples, from 100 to 10,000; the slower of a "
            f"full and a sparse row; as fast as 1/k: below -{1 - SLACK:g}",
            below(-1 + SLACK),
            by_variant,
        ),
        Claim(
            "lemma-gain",
            "The Stein information gain of episode k falls as 1/k.",
            "Lemma 4.3 (2), proof",
            f"fitted exponent in the number of the plan, last 90 % of the plans, DeepSea 8; below -{1 - SLACK:g}",
            below(-1 + SLACK),
            runs,
        ),
    ]


def bound_claims(runs: pd.DataFrame) -> list[Claim]:
    """Inequalities from the table of `figures.bounds`: one row for each run."""

    def share(value: str, bound: str, factor: float = 1.0) -> dict[str, Effect]:
        return {
            str(variant): mean_effect(np.array(part[value] <= factor * part[bound], dtype=np.float64))
            for variant, part in runs.groupby("variant", sort=False)
        }

    def size(value: str, bound: str) -> dict[str, Effect]:
        found = {}
        for variant, part in runs.groupby("variant", sort=False):
            logs = [np.log10((rows[value] / rows[bound]).to_numpy()) for _, rows in part.groupby("setting")]
            found[str(variant)] = worst_below([mean_effect(one) for one in logs])
        return found

    return [
        Claim(
            "theorem-4.1",
            "Regret is at most sqrt(Gamma* K sum of the gains).",
            "Theorem 4.1",
            "share of runs on which the true value gaps of all plans sum to at most the right side",
            above(0.99),
            share("regret", "bound"),
        ),
        Claim(
            "theorem-4.6",
            "The regularised objective has the same bound times sqrt(3/2).",
            "Theorem 4.6",
            "share of runs (all are regularised) on which the true value gaps sum to at most that",
            above(0.99),
            share("regret", "bound", float(np.sqrt(1.5))),
        ),
        Claim(
            "lemma-ratio",
            "The Stein information ratio is at most S A H^3 in expectation.",
            "Lemma 4.3 (1)",
            "log10 of mean ratio / bound, mean over runs, the largest of three settings",
            below(0),
            size("ratio", "ratio_bound"),
        ),
        Claim(
            "lemma-total",
            "The total Stein information gain is at most H S^2 A log K.",
            "Lemma 4.3 (2)",
            "log10 of total gain / bound, mean over runs, the largest of three settings",
            below(0),
            size("gain", "gain_bound"),
        ),
    ]


def bayesian_claims(
    curves: Mapping[str, tuple[Floats, Floats]],
    scans: Mapping[str, tuple[Floats, list[Floats]]],
    bound: Mapping[str, float],
) -> list[Claim]:
    """Shape of Bayesian regret: over episodes for each variant, and in S, A and H for the default."""
    growth = {}
    limit = bound["K"]
    for variant, agent in VARIANTS.items():
        episodes, regret = curves[agent]
        growth[variant] = exponent(episodes, regret, first=episodes[-1] / 10)
        kept = episodes[episodes >= max(episodes[-1] / 10, 2)]
        # The bound has a factor sqrt(log K), which adds to its slope at finite K.
        limit = float(slopes(np.log(kept), np.sqrt(kept * np.log(kept))[None])[0])
    found = [
        Claim(
            "bayes-sublinear",
            "STEERING has sublinear Bayesian regret.",
            "Abstract; Theorem 4.4",
            "fitted exponent in the number of episodes, last 90 % of them, MDPs from the agents' prior",
            below(0.95),
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
    for name, (values, scores) in scans.items():
        found.append(
            Claim(
                f"bayes-{name}",
                f"Bayesian regret grows at most as {name}^{bound[name]:g}.",
                "Theorem 4.4",
                f"fitted exponent in {name}, {name} = {values[0]:g} to {values[-1]:g}, default only",
                below(bound[name]),
                {"default": scan_exponent(values, scores)},
            )
        )
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


def weight_claims(
    weights: Sequence[float], regret: Mapping[str, Sequence[Floats]], theory: Mapping[str, Floats]
) -> list[Claim]:
    """Is the theorem's weight, on the grid, as good as the best weight?"""
    effects = {}
    for variant, scores in regret.items():
        means = np.array([one.mean() for one in scores])
        if not np.isfinite(theory[variant]).all():
            continue
        nearest = int(np.abs(np.log(np.array(weights)) - np.log(theory[variant].mean())).argmin())
        effects[variant] = mean_effect(scores[nearest] - scores[int(means.argmin())])
    return [
        Claim(
            "weight",
            "The regularised objective with lambda = sqrt(K Gamma* / sum of the gains) does as well as the ratio.",
            "Theorem 4.6",
            "normalised regret at the weight of the grid that is nearest to the theorem's - at the best of the grid, "
            f"DeepSea 8; as well: at most {CLOSE:g} more",
            below(CLOSE),
            effects,
        )
    ]
