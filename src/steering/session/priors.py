"""The scale of rewards, from a sentence or from a log, as a Normal-Gamma prior.

"about -25 to 0" says that mean rewards lie in a range (l, h). The prior of a mean reward gets its middle and a quarter
of its width as standard deviation, s = (h - l) / 4, so that the range holds about 95 % of it. Shape and strength are
those of the paper's prior, lambda = 4 and alpha = 3, and s^2 = beta / (lambda (alpha - 1)) gives

    (mu, lambda, alpha, beta) = ((l + h) / 2, 4, 3, 8 s^2),

that is the paper's prior in other units; single rewards are expected to vary by 2 s about their mean.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from steering._types import Floats
from steering.beliefs.normal_gamma import PAPER_PRIOR, Prior
from steering.errors import InvalidOption
from steering.session.state import LARGEST_REWARD

NUMBER = r"[-+−]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
SENTENCE = re.compile(rf"^\s*(?:about|between|from|around|roughly)?\s*({NUMBER})\s*(?:to|and|\.\.+|…)\s*({NUMBER})\s*$")


def reward_range(rewards: Any) -> tuple[float, float]:
    """The range that a sentence such as "about -25 to 0" or a pair of numbers names."""
    if isinstance(rewards, str):
        found = SENTENCE.match(rewards)
        ends: Any = [text.replace("−", "-").replace("_", "") for text in found.groups()] if found else ()
    else:
        ends = rewards
    try:
        low, high = sorted(float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high and max(-low, high) <= LARGEST_REWARD):
        raise InvalidOption(f"rewards is {rewards!r}; say the range of usual rewards, such as 'about -25 to 0'.")
    return low, high


def prior_of_range(low: float, high: float) -> Prior:
    """The prior whose mean rewards lie between two numbers; see the module's docstring."""
    _, strength, shape, _ = PAPER_PRIOR
    spread = (high - low) / 4.0
    return (low + high) / 2.0, strength, shape, strength * (shape - 1.0) * spread**2


def range_of_log(rewards: Floats) -> tuple[float, float] | None:
    """Range of the rewards of a log: all but 1 % at either end; None where they say nothing about a scale."""
    if not rewards.size:
        return None
    low, high = (float(end) for end in np.quantile(rewards, [0.01, 0.99]))
    if low == high:
        low, high = float(rewards.min()), float(rewards.max())
    if low == high:  # one value only: the range from nothing to it
        low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if low < high else None
