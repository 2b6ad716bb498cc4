"""Exact minimisation of the information ratio over all policies, deterministic or not.

For a policy pi let delta(pi) = v* - V(pi) > 0 be its regret and K(pi) its information, both seen from one start. The
ratio delta^2 / K is convex in the occupancy measure, on which delta and K are linear, so its minimiser also solves a
regularised problem

    max_pi V(pi) + lambda K(pi)     with     lambda = delta / (2 K),

an ordinary MDP. h(lambda) = delta - 2 lambda K is strictly decreasing along its solutions: inside a segment with one
optimal policy by its slope -2 K, at a breakpoint between two because K jumps up by dK and delta by lambda dK, which is
half as much. So the root is bracketed; each probe is one warm-started policy iteration. A probe is placed where the
lines V + lambda K of the two bracketing policies meet: either a better policy shows up there and the bracket shrinks,
or none does and the meeting point is the breakpoint itself. There the minimiser mixes the two policies with
weight w = (delta_1 - 2 lambda K_1) / (delta_2 - delta_1) on the second. There are finitely many policies, so the
search ends; it is cut after `MAX_PROBES` probes, when the bracket is far below what decides anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steering._types import Ints

Probe = Callable[[float], tuple[Ints, float, float]]

MAX_PROBES = 60
RELATIVE = 1e-10
JUMP = 1024.0
HOPELESS = 1e30
"""Information below regret / HOPELESS counts as none."""


@dataclass(frozen=True)
class RatioSolution:
    """Two policies and the probability of the second; equal policies where one is enough.

    Attributes
    ----------
    first, second
        Policies of the mixture (layers, S).
    weight
        Probability of `second`.
    info_weight
        The lambda at which both are optimal.
    regret, information, ratio
        delta, K and delta^2 / K of the mixture.
    """

    first: Ints
    second: Ints
    weight: float
    info_weight: float
    regret: float
    information: float

    @property
    def ratio(self) -> float:
        """delta^2 / K; see `information_ratio`."""
        return information_ratio(self.regret, self.information)


def information_ratio(regret: float, information: float) -> float:
    """delta^2 / K; 0 where there is no regret left, infinite where there is regret and nothing to learn."""
    if regret <= 0:
        return 0.0
    return regret**2 / information if information > 0 else np.inf


@dataclass(frozen=True)
class _Point:
    policy: Ints
    value: float
    information: float


def minimise_ratio(probe: Probe, best: float, guess: float = 0.0) -> RatioSolution:
    """Find the policy, or the mixture of two, with the least information ratio.

    Parameters
    ----------
    probe
        probe(lambda) solves the MDP with reward r + lambda D and returns an optimal policy with its V and K.
    best
        v*, the value that regret is measured from.
    guess
        A first lambda, for example that of the last plan.
    """
    low = _Point(*probe(0.0))
    tolerance = RELATIVE * max(abs(best), abs(low.value), 1e-300)
    if best - low.value <= tolerance:
        return RatioSolution(low.policy, low.policy, 0.0, 0.0, max(best - low.value, 0.0), low.information)
    at = guess if guess > 0 else 0.0
    high: _Point | None = None
    for _ in range(MAX_PROBES):
        if high is None:
            own = _own_weight(low, best)
            # Where the best policy learns nothing, lambda is raised until one that learns pays, if there is one.
            at = max(at, own * (1 + 1e-9)) if np.isfinite(own) else max(at * JUMP, best - low.value)
            if at > HOPELESS * (best - low.value) and not low.information > 0:
                break
        else:
            at = (low.value - high.value) / (high.information - low.information)
        point = _Point(*probe(at))
        if high is not None and _no_better(point, low, at, tolerance):
            break
        if best - point.value > 2.0 * at * point.information:
            low = point
        else:
            high = point
        if high is not None and high.information <= low.information * (1 + RELATIVE):
            break
    return _mix(low, low if high is None else high, best)


def _own_weight(point: _Point, best: float) -> float:
    return (best - point.value) / (2.0 * point.information) if point.information > 0 else np.inf


def _no_better(point: _Point, other: _Point, at: float, tolerance: float) -> bool:
    mine = point.value + at * point.information
    theirs = other.value + at * other.information
    return mine <= theirs + tolerance


def _mix(low: _Point, high: _Point, best: float) -> RatioSolution:
    rise = low.value - high.value
    more = high.information - low.information
    if more <= 0:
        weight, at = 0.0, _own_weight(low, best) if low.information > 0 else 0.0
    else:
        at = rise / more
        regret = best - low.value
        weight = 1.0 if rise <= 0 else float(np.clip((regret - 2.0 * at * low.information) / rise, 0.0, 1.0))
        if weight == 0.0:
            at = _own_weight(low, best)
        elif weight == 1.0:
            at = _own_weight(high, best)
    regret = best - low.value + weight * rise
    information = low.information + weight * more
    return RatioSolution(low.policy, high.policy, weight, float(at), float(regret), float(information))
