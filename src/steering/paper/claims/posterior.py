"""Claims about the belief about Q (the paper's appendix): who is close to Q*, who is too sure, who is too unsure.

For the last four states of DeepSea: the *error* of a run is |mean - Q*| / Q*, the *spread* the posterior standard
deviation, both averaged over states (the error before the division). *Concentrates* means an error below `CLOSE` at the
end. A belief converges faster than another when the area under its error is smaller, and when it converges at all:
a prior that merely starts nearer to Q* has the smaller area too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steering._types import Floats
from steering.paper.claims.comparisons import ahead, variants_ahead
from steering.paper.claims.rule import ALL, DECIDES, Claim, Rule, above, below
from steering.paper.fits import Effect, mean_effect
from steering.paper.scale import VARIANTS

Belief = tuple[NDArray[np.int64], Floats, Floats, Floats]

LEFT, RIGHT = 0, 1
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


def posterior_claims(beliefs: Mapping[int, Mapping[str, Belief]], states: int) -> list[Claim]:
    """Beliefs by N and agent: steps, means and deviations (runs, times, S, A), Q* (S, A)."""
    found: list[Claim] = []
    sizes = sorted(beliefs)
    for n, by_agent in beliefs.items():
        errors = {agent: _error(belief, states) for agent, belief in by_agent.items()}
        found.extend(_faster(n, errors, agent) for agent in PAIRS)
        found.append(_converges(n, errors))
        found.append(_stops_left(n, by_agent, states))
        found.extend(_less_variance(n, by_agent, states, agent) for agent in ("psrl", "ube"))
        found.append(_overconfident(n, by_agent, states))
        found.append(_misses(n, errors, "bayesian_q", "fails to concentrate on Q*"))
        if n == sizes[0]:
            found += [_performs(n, errors), _comparable(n, errors), _too_wide(n, by_agent, states)]
        else:
            found.append(_misses(n, errors, "mm", "converges to a suboptimal Q̂"))
    if len(sizes) > 1:
        found.extend(_grows(beliefs, sizes[0], sizes[-1], agent, states) for agent in ("ube", "mm", "psrl"))
        found.extend(_degrades(beliefs, sizes[0], sizes[-1], agent, states) for agent in ("q_learning", "mm", "psrl"))
    return found


def _caption(agent: str, n: int) -> str:
    return f"Appendix, STEERING and {PAIRS[agent]}, N = {n}"


def _faster(n: int, errors: Mapping[str, Floats], other: str) -> Claim:
    area = {agent: part.mean(axis=1) for agent, part in errors.items()}
    effects: dict[str, Effect] = {}
    for variant, agent in VARIANTS.items():
        converged = mean_effect(CLOSE - errors[agent][:, -1])
        effects[variant] = above(0).worst([ahead(area, agent, [other]), converged])
    return Claim(
        f"q-{other}-{n}",
        f"STEERING's Q̂ converges to Q* faster than that of {PAIRS[other]}, N = {n}.",
        _caption(other, n),
        f"{ERROR}: mean over time, the baseline's - STEERING's, paired by seed; and {CLOSE:g} - STEERING's own at the "
        f"end (what does not converge is not faster); {DECIDES}",
        above(0),
        effects,
    )


def _converges(n: int, errors: Mapping[str, Floats]) -> Claim:
    return Claim(
        f"q-converges-{n}",
        f"STEERING's Q̂ concentrates on Q*, N = {n}.",
        "Appendix, STEERING alone; Experiments (4)",
        f"{ERROR}, at the end; concentrates: below {CLOSE:g}",
        below(CLOSE),
        {variant: mean_effect(errors[agent][:, -1]) for variant, agent in VARIANTS.items()},
    )


def _misses(n: int, errors: Mapping[str, Floats], agent: str, words: str) -> Claim:
    """A baseline that ends away from Q*."""
    return Claim(
        f"q-misses-{agent}-{n}",
        f"{PAIRS[agent][0].upper()}{PAIRS[agent][1:]} {words}, N = {n}.",
        _caption(agent, n),
        f"{ERROR}, at the end; away from Q*: above {CLOSE:g}",
        above(CLOSE),
        {ALL: mean_effect(errors[agent][:, -1])},
    )


def _performs(n: int, errors: Mapping[str, Floats]) -> Claim:
    return Claim(
        f"q-mm-well-{n}",
        f"Moment matching performs well, N = {n}.",
        _caption("mm", n),
        f"{ERROR}, at the end; well: below {CLOSE:g}",
        below(CLOSE),
        {ALL: mean_effect(errors["mm"][:, -1])},
    )


def _comparable(n: int, errors: Mapping[str, Floats]) -> Claim:
    area = {agent: part.mean(axis=1) for agent, part in errors.items()}
    return Claim(
        f"q-psrl-comparable-{n}",
        f"PSRL is comparable to STEERING, N = {n}.",
        _caption("psrl", n),
        f"{ERROR}, mean over time: PSRL's - STEERING's, paired by seed; comparable: within ± {CLOSE:g}",
        Rule(-CLOSE, CLOSE),
        variants_ahead(area, ["psrl"]),
    )


def _too_wide(n: int, by_agent: Mapping[str, Belief], states: int) -> Claim:
    belief = by_agent["ube"]
    return Claim(
        f"q-ube-wide-{n}",
        f"UBE fails to concentrate: its variance is too high, N = {n}.",
        _caption("ube", n),
        f"posterior standard deviation / Q* of right actions at the end, mean over the last four states; too high: "
        f"above {CLOSE:g}",
        above(CLOSE),
        {ALL: mean_effect(_spread(belief, states, RIGHT)[:, -1] / _level(belief, states))},
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


def _less_variance(n: int, by_agent: Mapping[str, Belief], states: int, other: str) -> Claim:
    spreads = {agent: _spread(belief, states, RIGHT)[:, -1] for agent, belief in by_agent.items()}
    return Claim(
        f"q-variance-{other}-{n}",
        f"STEERING's Q̂ of right actions has a lower variance than {PAIRS[other]}'s, N = {n}.",
        _caption(other, n),
        "posterior standard deviation of right actions at the end: the baseline's - STEERING's, paired by seed",
        above(0),
        variants_ahead(spreads, [other]),
    )


def _overconfident(n: int, by_agent: Mapping[str, Belief], states: int) -> Claim:
    belief = by_agent["bayesian_q"]
    error = _error(belief, states)[:, -1] * _level(belief, states)
    spread = _spread(belief, states, RIGHT)[:, -1]
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
        _caption(agent, large),
        f"posterior standard deviation of right actions at the end: N = {large} - N = {small}, paired by seed",
        above(0),
        {ALL: mean_effect(large_spread - small_spread)},
    )


def _degrades(beliefs: Mapping[int, Mapping[str, Belief]], small: int, large: int, agent: str, states: int) -> Claim:
    before, after = (_error(beliefs[n][agent], states)[:, -1] for n in (small, large))
    return Claim(
        f"q-degrades-{agent}",
        f"The Q̂ of {PAIRS[agent]} degrades with sparsity.",
        _caption(agent, large),
        f"{ERROR}, at the end: N = {large} - N = {small}, paired by seed",
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


def _last(table: Floats, states: int, action: int) -> Floats:
    part: Floats = table[..., -states:, action]
    return part


def _level(belief: Belief, states: int) -> float:
    """Mean of Q* of right actions over the last states."""
    return float(np.abs(_last(belief[3], states, RIGHT)).mean())


def _error(belief: Belief, states: int) -> Floats:
    """|mean - Q*| of right actions averaged over the last states, divided by their Q*, (runs, times)."""
    _, mean, _, optimal = belief
    error: Floats = np.abs(_last(mean, states, RIGHT) - _last(optimal, states, RIGHT)).mean(axis=-1)
    return error / _level(belief, states)


def _spread(belief: Belief, states: int, action: int) -> Floats:
    """Posterior standard deviation averaged over the last states, (runs, times)."""
    spread: Floats = _last(belief[2], states, action).mean(axis=-1)
    return spread
