"""Verdicts on claims, computed from effects and intervals by one rule.

A claim is turned into a number (the *effect*) and a condition on it, such as "above 0". An effect

    passes         when its whole 95 % interval fulfils the condition,
    fails          when no number in the interval fulfils it,
    is undecided   when the interval has numbers of both kinds.

Effects are computed for each of three STEERINGs where it is in the claim (literal paper, paper made sound, our
default), else once ("all"). The verdict, from top to bottom:

    not testable                    no effect exists here; the reason is given
    holds                           the effect of the literal paper (or the only one) passes
    holds with the sound operator   not the literal one, but that of a variant with the sound operator passes
    not testable                    none passes and one is undecided: more seeds would be needed
    does not hold                   all fail
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from steering.errors import InvalidOption
from steering.reproduction.fits import Effect

LITERAL = "literal"
ALL = "all"
SOUND = ("sound", "default")


class Verdict(StrEnum):
    """What is said about a claim."""

    HOLDS = "holds"
    HOLDS_SOUND = "holds with the sound operator"
    DOES_NOT_HOLD = "does not hold"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True)
class Rule:
    """A condition on an effect: it lies strictly between `low` and `high`."""

    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidOption(f"a rule needs low < high; it has {self.low} and {self.high}.")

    def passes(self, effect: Effect) -> bool:
        """Whether the whole interval fulfils the condition."""
        return effect.known and self.low < effect.low and effect.high < self.high

    def undecided(self, effect: Effect) -> bool:
        """Whether a part of the interval fulfils the condition and a part does not."""
        return effect.known and effect.low < self.high and self.low < effect.high and not self.passes(effect)

    @property
    def text(self) -> str:
        """The condition in words."""
        if np.isinf(self.high):
            return f"above {self.low:.3g}"
        if np.isinf(self.low):
            return f"below {self.high:.3g}"
        return f"between {self.low:.3g} and {self.high:.3g}"


def above(threshold: float) -> Rule:
    """The interval lies above a threshold."""
    return Rule(low=threshold)


def below(threshold: float) -> Rule:
    """The interval lies below a threshold."""
    return Rule(high=threshold)


def decide(effects: Mapping[str, Effect], rule: Rule) -> tuple[Verdict, str]:
    """Verdict and its reason in a few words; see the module's docstring.

    Examples
    --------
    >>> decide({"literal": Effect(-1, -2, -0.5), "sound": Effect(1, 0.5, 2)}, above(0))[0].value
    'holds with the sound operator'
    """
    known = {name: effect for name, effect in effects.items() if effect.known}
    if not known:
        return Verdict.NOT_TESTABLE, "the effect does not exist for these runs"
    passing = [name for name in known if rule.passes(known[name])]
    if LITERAL in passing or ALL in passing:
        return Verdict.HOLDS, f"passes: {', '.join(passing)}"
    if any(name in passing for name in SOUND):
        return Verdict.HOLDS_SOUND, f"passes: {', '.join(passing)}"
    undecided = [name for name in known if rule.undecided(known[name])]
    if undecided:
        return Verdict.NOT_TESTABLE, f"undecided with this many seeds: {', '.join(undecided)}"
    return Verdict.DOES_NOT_HOLD, "no variant passes" if ALL not in known else "the effect lies on the other side"


@dataclass(frozen=True)
class Claim:
    """One empirical claim of the paper, how it is tested here, and the effects that were found.

    Attributes
    ----------
    name
        Short identifier.
    claim, where
        What the paper says, and where.
    test
        How the effect is computed here.
    rule
        Condition on the effect.
    effects
        Effect for each variant of STEERING, or for "all" where STEERING is not in the claim.
    untestable
        Why there is no effect; empty where there is one.
    timing
        Whether the effect is a time, which differs from run to run.
    """

    name: str
    claim: str
    where: str
    test: str
    rule: Rule = field(default_factory=Rule)
    effects: Mapping[str, Effect] = field(default_factory=dict)
    untestable: str = ""
    timing: bool = False

    @property
    def decision(self) -> tuple[Verdict, str]:
        """Verdict and reason."""
        if self.untestable:
            return Verdict.NOT_TESTABLE, self.untestable
        return decide(self.effects, self.rule)

    @property
    def verdict(self) -> Verdict:
        """The verdict alone."""
        return self.decision[0]


def worst_above(effects: list[Effect]) -> Effect:
    """Of several effects that all have to lie above something, the one with the lowest lower end."""
    return min(effects, key=lambda effect: effect.low if effect.known else -np.inf)


def worst_below(effects: list[Effect]) -> Effect:
    """Of several effects that all have to lie below something, the one with the highest upper end."""
    return max(effects, key=lambda effect: effect.high if effect.known else np.inf)
