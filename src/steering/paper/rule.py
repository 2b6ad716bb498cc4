"""Verdicts on claims, computed from effects and intervals by one rule.

A claim is turned into a number (the *effect*) and a condition on it, such as "above 0". An effect

    passes         when its whole 95 % interval fulfils the condition,
    fails          when no number in the interval fulfils it,
    is undecided   when the interval has numbers of both kinds.

Effects are computed for each of three STEERINGs where it is in the claim (literal paper, paper made sound, our
default), else once ("all"). The verdict, from top to bottom:

    not testable                    there is no test here; the reason is given
    holds                           the effect of the literal paper (or the only one) passes
    holds with the sound operator   not that one, but the effect of the paper made sound passes
    holds for our default only      neither of them, but that of the default passes, which differs from the paper in
                                    more than the operator
    undecided with this many seeds  none passes, and one is undecided
    not testable                    none passes, none is undecided, and one does not exist
    does not hold                   all fail

A claim about several effects at once (ahead of *all* baselines) is decided by the worst of them: one that fails, if
there is one, else the one whose interval comes closest to failing.

A study compares ours with others in many tasks: `standing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from steering._types import Floats
from steering.errors import InvalidOption
from steering.paper.fits import UNKNOWN, Effect, mean_effect
from steering.paper.scale import LEARNED_PSRL, OTHERWISE, PARTNERS, VARIANTS

DECIDES = "the one that decides (see rule)"
"""How the test of a claim names the effect that `Rule.worst` chose of several."""
BEHIND = f"baseline's regret - STEERING's, paired by seed; of all baselines {DECIDES}"
"""How the test of a claim names what `variants_ahead` gives."""
MARGINAL = 0.1
"""A difference of normalised regret within ± this is called marginal."""
LITERAL = "literal"
ALL = "all"
SOUND = "sound"
DEFAULT = "default"


class Verdict(StrEnum):
    """What is said about a claim."""

    HOLDS = "holds"
    HOLDS_SOUND = "holds with the sound operator"
    HOLDS_DEFAULT = "holds for our default only"
    DOES_NOT_HOLD = "does not hold"
    UNDECIDED = "undecided with this many seeds"
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
        return effect.known and min(self._inside(effect)) > 0

    def fails(self, effect: Effect) -> bool:
        """Whether no number of the interval fulfils the condition."""
        return effect.known and not (effect.low < self.high and self.low < effect.high)

    def undecided(self, effect: Effect) -> bool:
        """Whether a part of the interval fulfils the condition and a part does not."""
        return effect.known and not self.passes(effect) and not self.fails(effect)

    def worst(self, effects: Sequence[Effect]) -> Effect:
        """Of several effects that all have to pass, the one that decides: see the module's docstring.

        Examples
        --------
        >>> above(0).worst([Effect(-0.2, -0.21, -0.19), Effect(0.2, -0.4, 0.8)]).text()
        '-0.2 [-0.21, -0.19]'
        """
        failing = [effect for effect in effects if self.fails(effect)]
        if failing:
            return min(failing, key=lambda effect: max(self._inside(effect)))
        if not effects or not all(effect.known for effect in effects):
            return UNKNOWN
        return min(effects, key=lambda effect: min(self._inside(effect)))

    def _inside(self, effect: Effect) -> tuple[float, float]:
        """How far both ends of the interval lie inside the condition; negative outside."""
        low, high = (min(end - self.low, self.high - end) for end in (effect.low, effect.high))
        return low, high

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
    missing = [] if ALL in known else [name for name in (DEFAULT, SOUND, LITERAL) if name not in known]
    without = f"; no effect: {', '.join(missing)}" if missing else ""
    passing = [name for name in known if rule.passes(known[name])]
    reason = f"passes: {', '.join(passing)}{without}"
    if LITERAL in passing or ALL in passing:
        return Verdict.HOLDS, reason
    if SOUND in passing:
        return Verdict.HOLDS_SOUND, reason
    if DEFAULT in passing:
        return Verdict.HOLDS_DEFAULT, reason
    undecided = [name for name in known if rule.undecided(known[name])]
    if undecided:
        return Verdict.UNDECIDED, f"undecided: {', '.join(undecided)}{without}"
    if missing:
        return Verdict.NOT_TESTABLE, f"fails: {', '.join(known)}{without}"
    return Verdict.DOES_NOT_HOLD, "the effect lies on the other side" if ALL in known else "every variant fails"


@dataclass(frozen=True)
class Claim:
    """One claim of the paper (or a control of ours), how it is tested here, and the effects that were found.

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
    control
        Whether this is our question and not a claim of the paper: listed apart and not counted.
    """

    name: str
    claim: str
    where: str
    test: str
    rule: Rule = field(default_factory=Rule)
    effects: Mapping[str, Effect] = field(default_factory=dict)
    untestable: str = ""
    timing: bool = False
    control: bool = False

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

    @property
    def ours(self) -> bool:
        """Whether it is about STEERING, and not about other algorithms only."""
        return ALL not in self.effects


def ahead(scores: Mapping[str, Floats], agent: str, others: Iterable[str]) -> Effect:
    """By how much the score of every other agent exceeds that of `agent`: the worst of all differences.

    Scores are paired by seed: runs of one seed met the same noise. The worst is one that is surely not above zero, if
    there is one, else the one with the lowest lower end, so that it lies above zero only when all of them do.
    """
    return above(0).worst([mean_effect(scores[other] - scores[agent]) for other in others])


def variants_ahead(scores: Mapping[str, Floats], others: Iterable[str]) -> dict[str, Effect]:
    """`ahead` for each STEERING."""
    chosen = list(others)
    return {variant: ahead(scores, agent, chosen) for variant, agent in VARIANTS.items()}


def controls(name: str, scores: Mapping[str, Floats], where: str) -> list[Claim]:
    """Our questions: is STEERING ahead of what differs from it in the Stein information, or shares its priors?

    Partners (IDS with the variance) share priors and how they are learned. What else differs is said with the effect
    (`OTHERWISE`): for the paper made sound it is nothing, for the other two the answer is about the information and
    that together. PSRL with the learned priors of our default shows what these alone are good for.
    """
    asked = [_nearest(name, scores, where)]
    if LEARNED_PSRL in scores:
        test = f"normalised regret of {LEARNED_PSRL} - STEERING's, paired by seed"
        asked.append(
            Claim(
                f"{name}-psrl",
                f"(A control, not in the paper.) Our default is ahead of PSRL with the same learned priors, {where}.",
                "not in the paper: is it the agent, or its priors?",
                test,
                above(0),
                {DEFAULT: ahead(scores, VARIANTS[DEFAULT], [LEARNED_PSRL])},
                control=True,
            )
        )
    return asked


def _nearest(name: str, scores: Mapping[str, Floats], where: str) -> Claim:
    """Is each STEERING ahead of the nearest agent with the variance in place of the Stein information?"""
    pairs = "; ".join(f"{name}: {partner}, differs else in: {OTHERWISE[name]}" for name, partner in PARTNERS.items())
    return Claim(
        name,
        f"(A control, not in the paper.) STEERING is ahead of the nearest IDS, which has the variance, {where}.",
        "not in the paper: is it the information, or the model that is planned in?",
        f"normalised regret of the partner - STEERING's, paired by seed ({pairs})",
        above(0),
        {variant: ahead(scores, VARIANTS[variant], [partner]) for variant, partner in PARTNERS.items()},
        control=True,
    )


STANDINGS = ("better", "tied", "worse", "too few")
LEAST_VALUES = 5


def standing(difference: float, p: float, values: int, *, level: float, margin: float) -> str:
    """Where ours stands against another, from the mean difference (theirs - ours) of scores, which are regrets.

    too few   the difference rests on fewer than `LEAST_VALUES` values,
    better    it is at least the margin, and p, adjusted for the number of comparisons, is at most 1 - level,
    worse     it is at most -margin, and p is,
    tied      everything else.
    """
    if values < LEAST_VALUES:
        return "too few"
    if p > 1 - level or abs(difference) < margin:
        return "tied"
    return "better" if difference > 0 else "worse"
