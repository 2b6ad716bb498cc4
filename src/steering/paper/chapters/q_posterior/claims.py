"""Claims about the belief about Q (the paper's appendix): who is close to Q*, who is too sure, who is too unsure.

For the last four states of DeepSea: the *error* of a run is |mean - Q*| / Q*, the *spread* the posterior standard
deviation, both averaged over states (the error before the division). *Concentrates* means an error below `CLOSE` at the
end. A belief converges faster than another when the area under its error is smaller, and when it converges at all:
a prior that merely starts nearer to Q* has the smaller area too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper.fits import mean_effect
from steering.paper.rule import ALL, DECIDES, Claim, Rule, above, ahead, below, variants_ahead
from steering.paper.scale import VARIANTS
from steering.paper.tables import Tables, groups, runs_by_x

PAIRS = {
    "q_learning": "Q-learning",
    "bayesian_q": "Bayesian Q-learning",
    "ube": "UBE",
    "mm": "moment matching",
    "psrl": "PSRL",
}
SURE = 2.0
"""Overconfident: the error in posterior standard deviations."""
CLOSE = 0.1
"""Concentrates: |mean - Q*| / Q* at the end. Two errors within ± this of each other are comparable."""
ERROR = "|posterior mean - Q*| / Q* of right actions, mean over the last four states"
AT_END = f"{ERROR}, at the end"
SPREAD = "posterior standard deviation of right actions at the end"


@dataclass(frozen=True)
class Beliefs:
    """Numbers of every run at one size, by agent: the error over time and at the end, spreads at the end, |Q*|."""

    area: dict[str, Floats]
    error: dict[str, Floats]
    left: dict[str, Floats]
    right: dict[str, Floats]
    level: dict[str, float]


def beliefs(table: pd.DataFrame) -> Beliefs:
    """From the rows of one size."""
    agents = groups(table, "agent")
    errors = {agent: runs_by_x(part, "error")[1] for agent, part in agents.items()}
    end = {agent: part[part["x"] == part["x"].max()].sort_values("run") for agent, part in agents.items()}
    return Beliefs(
        area={agent: values.mean(axis=1) for agent, values in errors.items()},
        error={agent: values[:, -1] for agent, values in errors.items()},
        left={agent: part["left"].to_numpy() for agent, part in end.items()},
        right={agent: part["right"].to_numpy() for agent, part in end.items()},
        level={agent: float(part["level"].iloc[0]) for agent, part in end.items()},
    )


def claims(tables: Tables) -> list[Claim]:
    """Claims at each size, between sizes, and about the actions of UBE."""
    sizes = {n: beliefs(part) for n, part in groups(tables["runs"], "n").items()}
    small, large = min(sizes), max(sizes)
    found: list[Claim] = []
    for n, one in sizes.items():
        found += [*_at_size(n, one), *(_small(n, one) if n == small else _large(n, one))]
    return [*found, *_with_sparsity(sizes[small], sizes[large], small, large), _random(tables["actions"])]


def _caption(agent: str, n: int) -> str:
    return f"Appendix, STEERING and {PAIRS[agent]}, N = {n}"


def _at_size(n: int, one: Beliefs) -> list[Claim]:
    converges = {variant: mean_effect(one.error[agent]) for variant, agent in VARIANTS.items()}
    stops = {variant: mean_effect(one.left[agent] - one.right[agent]) for variant, agent in VARIANTS.items()}
    sure = one.error["bayesian_q"] * one.level["bayesian_q"] / np.maximum(one.right["bayesian_q"], 1e-12)
    return [
        *(_faster(n, one, other) for other in PAIRS),
        Claim(
            f"q-converges-{n}",
            f"STEERING's Q̂ concentrates on Q*, N = {n}.",
            "Appendix, STEERING alone; Experiments (4)",
            f"{AT_END}; concentrates: below {CLOSE:g}",
            below(CLOSE),
            converges,
        ),
        Claim(
            f"q-left-{n}",
            f"STEERING stops exploring left actions: their Q̂ keeps the higher variance, N = {n}.",
            "Appendix, captions of all pairs",
            "posterior standard deviation at the end: left - right actions, mean over the last four states",
            above(0),
            stops,
        ),
        *(
            Claim(
                f"q-variance-{other}-{n}",
                f"STEERING's Q̂ of right actions has a lower variance than {PAIRS[other]}'s, N = {n}.",
                _caption(other, n),
                f"{SPREAD}: the baseline's - STEERING's, paired by seed",
                above(0),
                variants_ahead(one.right, [other]),
            )
            for other in ("psrl", "ube")
        ),
        Claim(
            f"q-overconfident-{n}",
            f"Bayesian Q-learning is overconfident about incorrect predictions, N = {n}.",
            "Appendix, STEERING and BQL",
            f"|posterior mean - Q*| in posterior standard deviations, right actions, at the end; overconfident: above "
            f"{SURE:g}",
            above(SURE),
            {ALL: mean_effect(sure)},
        ),
        _misses(n, one, "bayesian_q", "fails to concentrate on Q*"),
    ]


def _faster(n: int, one: Beliefs, other: str) -> Claim:
    return Claim(
        f"q-{other}-{n}",
        f"STEERING's Q̂ converges to Q* faster than that of {PAIRS[other]}, N = {n}.",
        _caption(other, n),
        f"{ERROR}: mean over time, the baseline's - STEERING's, paired by seed; and {CLOSE:g} - STEERING's own at the "
        f"end (what does not converge is not faster); {DECIDES}",
        above(0),
        {
            variant: above(0).worst([ahead(one.area, agent, [other]), mean_effect(CLOSE - one.error[agent])])
            for variant, agent in VARIANTS.items()
        },
    )


def _misses(n: int, one: Beliefs, agent: str, words: str) -> Claim:
    """A baseline that ends away from Q*."""
    return Claim(
        f"q-misses-{agent}-{n}",
        f"{PAIRS[agent][0].upper()}{PAIRS[agent][1:]} {words}, N = {n}.",
        _caption(agent, n),
        f"{AT_END}; away from Q*: above {CLOSE:g}",
        above(CLOSE),
        {ALL: mean_effect(one.error[agent])},
    )


def _small(n: int, one: Beliefs) -> list[Claim]:
    """What is said of the smaller size only."""
    return [
        Claim(
            f"q-mm-well-{n}",
            f"Moment matching performs well, N = {n}.",
            _caption("mm", n),
            f"{AT_END}; well: below {CLOSE:g}",
            below(CLOSE),
            {ALL: mean_effect(one.error["mm"])},
        ),
        Claim(
            f"q-psrl-comparable-{n}",
            f"PSRL is comparable to STEERING, N = {n}.",
            _caption("psrl", n),
            f"{ERROR}, mean over time: PSRL's - STEERING's, paired by seed; comparable: within ± {CLOSE:g}",
            Rule(-CLOSE, CLOSE),
            variants_ahead(one.area, ["psrl"]),
        ),
        Claim(
            f"q-ube-wide-{n}",
            f"UBE fails to concentrate: its variance is too high, N = {n}.",
            _caption("ube", n),
            f"posterior standard deviation / Q* of right actions at the end, mean over the last four states; too high: "
            f"above {CLOSE:g}",
            above(CLOSE),
            {ALL: mean_effect(one.right["ube"] / one.level["ube"])},
        ),
    ]


def _large(n: int, one: Beliefs) -> list[Claim]:
    """What is said of the larger size only."""
    return [_misses(n, one, "mm", "converges to a suboptimal Q̂")]


def _with_sparsity(before: Beliefs, after: Beliefs, small: int, large: int) -> list[Claim]:
    """What happens from the smaller to the larger size."""
    change = f"N = {large} - N = {small}, paired by seed"
    return [
        *(
            Claim(
                f"q-spread-{agent}",
                f"The variance of the Q̂ of {PAIRS[agent]} grows with sparsity.",
                _caption(agent, large),
                f"{SPREAD}: {change}",
                above(0),
                {ALL: mean_effect(after.right[agent] - before.right[agent])},
            )
            for agent in ("ube", "mm", "psrl")
        ),
        *(
            Claim(
                f"q-degrades-{agent}",
                f"The Q̂ of {PAIRS[agent]} degrades with sparsity.",
                _caption(agent, large),
                f"{AT_END}: {change}",
                above(0),
                {ALL: mean_effect(after.error[agent] - before.error[agent])},
            )
            for agent in ("q_learning", "mm", "psrl")
        ),
    ]


def _random(table: pd.DataFrame) -> Claim:
    """What UBE does in the last window on DeepSea 8."""
    return Claim(
        "q-ube-random",
        "UBE degrades to random action selection, N = 8.",
        "Appendix, STEERING and UBE, N = 8",
        "share of left actions in the last window; random: between 0.4 and 0.6",
        Rule(0.4, 0.6),
        {ALL: mean_effect(table["left"].to_numpy())},
    )
