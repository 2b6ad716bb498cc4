"""Claims about the belief about Q (the paper's appendix): who is close to Q*, who is too sure, who is too unsure.

For the last four states of DeepSea: the *error* of a run is |mean - Q*|, the *spread* the posterior standard deviation,
both averaged over states. Convergence is compared by the error averaged over time (the area under its curve): the
earlier and the closer, the smaller.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steering.reproduction.claims.comparisons import variants_ahead
from steering.reproduction.claims.rule import ALL, Claim, Rule, above, below
from steering.reproduction.fits import mean_effect
from steering.reproduction.scale import VARIANTS

Floats = NDArray[np.float64]
Belief = tuple[NDArray[np.int64], Floats, Floats, Floats]

LEFT, RIGHT = 0, 1
PAIRS = {
    "q_learning": "Q-learning",
    "bayesian_q": "Bayesian Q-learning",
    "ube": "UBE",
    "mm": "moment matching",
    "psrl": "PSRL",
}
ERROR = "|posterior mean - Q*| of right actions, mean over time and the last four states"
SURE = 2.0


def posterior_claims(beliefs: Mapping[int, Mapping[str, Belief]], states: int) -> list[Claim]:
    """Beliefs by N and agent: steps, means and deviations (runs, times, S, A), Q* (S, A)."""
    found: list[Claim] = []
    for n, by_agent in beliefs.items():
        errors = {agent: _error(belief, states, RIGHT).mean(axis=1) for agent, belief in by_agent.items()}
        found.extend(
            Claim(
                f"q-{agent}-{n}",
                f"STEERING's Q̂ converges to Q* faster than that of {name}, N = {n}.",
                f"Appendix, STEERING and {name}, N = {n}",
                f"{ERROR}: the baseline's - STEERING's, paired by seed",
                above(0),
                variants_ahead(errors, [agent]),
            )
            for agent, name in PAIRS.items()
        )
        found.append(_converges(n, by_agent, states))
        found.append(_stops_left(n, by_agent, states))
        found.append(_less_variance(n, by_agent, states))
        found.append(_overconfident(n, by_agent, states))
    sizes = sorted(beliefs)
    if len(sizes) > 1:
        found.extend(_grows(beliefs, sizes[0], sizes[-1], agent, states) for agent in ("ube", "mm", "psrl"))
        found.extend(_degrades(beliefs, sizes[0], sizes[-1], agent, states) for agent in ("q_learning", "mm", "psrl"))
    return found


def _converges(n: int, by_agent: Mapping[str, Belief], states: int) -> Claim:
    effects = {v: mean_effect(_relative_error(by_agent[agent], states)) for v, agent in VARIANTS.items()}
    return Claim(
        f"q-converges-{n}",
        f"STEERING's Q̂ concentrates on Q*, N = {n}.",
        "Appendix, STEERING alone; Experiments (4)",
        "|posterior mean - Q*| / Q* of right actions at the end, mean over the last four states; concentrates: below "
        "0.1",
        below(0.1),
        effects,
    )


def _stops_left(n: int, by_agent: Mapping[str, Belief], states: int) -> Claim:
    effects = {}
    for variant, agent in VARIANTS.items():
        left, right = (_spread(by_agent[agent], states, action)[:, -1] for action in (LEFT, RIGHT))
        effects[variant] = mean_effect(left - right)
    return Claim(
        f"q-left-{n}",
        f"STEERING stops exploring left actions: their Q̂ keeps the higher variance, N = {n}.",
        "Appendix, captions of all pairs",
        "posterior standard deviation at the end: left - right actions, mean over the last four states",
        above(0),
        effects,
    )


def _less_variance(n: int, by_agent: Mapping[str, Belief], states: int) -> Claim:
    spreads = {agent: _spread(belief, states, RIGHT)[:, -1] for agent, belief in by_agent.items()}
    return Claim(
        f"q-variance-{n}",
        f"STEERING's Q̂ of right actions has a lower variance than PSRL's and UBE's, N = {n}.",
        "Appendix, STEERING and PSRL, STEERING and UBE",
        "posterior standard deviation of right actions at the end: the baseline's - STEERING's, paired by seed, for "
        "the baseline that comes closest",
        above(0),
        variants_ahead(spreads, ("psrl", "ube")),
    )


def _overconfident(n: int, by_agent: Mapping[str, Belief], states: int) -> Claim:
    belief = by_agent["bayesian_q"]
    error, spread = _error(belief, states, RIGHT)[:, -1], _spread(belief, states, RIGHT)[:, -1]
    return Claim(
        f"q-overconfident-{n}",
        f"Bayesian Q-learning is overconfident about incorrect predictions, N = {n}.",
        "Appendix, STEERING and BQL",
        f"|posterior mean - Q*| in posterior standard deviations, right actions, at the end; overconfident: above "
        f"{SURE:g}",
        above(SURE),
        {ALL: mean_effect(error / np.maximum(spread, 1e-12))},
    )


def _grows(beliefs: Mapping[int, Mapping[str, Belief]], small: int, large: int, agent: str, states: int) -> Claim:
    small_spread = _spread(beliefs[small][agent], states, RIGHT)[:, -1]
    large_spread = _spread(beliefs[large][agent], states, RIGHT)[:, -1]
    return Claim(
        f"q-spread-{agent}",
        f"The variance of the Q̂ of {PAIRS[agent]} grows with sparsity.",
        f"Appendix, STEERING and {PAIRS[agent]}, N = {large}",
        f"posterior standard deviation of right actions at the end: N = {large} - N = {small}, paired by seed",
        above(0),
        {ALL: mean_effect(large_spread - small_spread)},
    )


def _degrades(beliefs: Mapping[int, Mapping[str, Belief]], small: int, large: int, agent: str, states: int) -> Claim:
    before, after = (_relative_error(beliefs[n][agent], states) for n in (small, large))
    return Claim(
        f"q-degrades-{agent}",
        f"The Q̂ of {PAIRS[agent]} degrades with sparsity.",
        f"Appendix, STEERING and {PAIRS[agent]}, N = {large}",
        f"|posterior mean - Q*| / Q* of right actions at the end: N = {large} - N = {small}, paired by seed",
        above(0),
        {ALL: mean_effect(after - before)},
    )


def random_action_claims(visits: Floats) -> list[Claim]:
    """Visits (runs, windows, S, A) of UBE on DeepSea 8."""
    end = visits[:, -1]
    return [
        Claim(
            "q-ube-random",
            "UBE degrades to random action selection, N = 8.",
            "Appendix, STEERING and UBE, N = 8",
            "share of left actions in the last window; random: between 0.4 and 0.6",
            Rule(0.4, 0.6),
            {ALL: mean_effect(end[:, :, LEFT].sum(axis=1) / end.sum(axis=(1, 2)))},
        )
    ]


def _relative_error(belief: Belief, states: int) -> Floats:
    """|mean - Q*| / Q* of right actions at the end, averaged over the last states before the division."""
    scale = float(np.abs(_last(belief[3][None], states, RIGHT)).mean())
    error: Floats = _error(belief, states, RIGHT)[:, -1] / scale
    return error


def _last(table: Floats, states: int, action: int) -> Floats:
    part: Floats = table[..., -states:, action]
    return part


def _error(belief: Belief, states: int, action: int) -> Floats:
    """|mean - Q*| averaged over the last states, (runs, times)."""
    _, mean, _, optimal = belief
    error: Floats = np.abs(_last(mean, states, action) - _last(optimal, states, action)).mean(axis=-1)
    return error


def _spread(belief: Belief, states: int, action: int) -> Floats:
    """Posterior standard deviation averaged over the last states, (runs, times)."""
    spread: Floats = _last(belief[2], states, action).mean(axis=-1)
    return spread
