"""What a report says first, computed from its results: three sentences, the numbers of its headline, five cards.

Every word that judges follows from the intervals by the one rule (`steering.paper.rule`). What a directory does not
have is said to be missing, with the command that makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steering._types import Floats
from steering.paper import looks
from steering.paper.chapter import Topic
from steering.paper.fits import Effect, mean_effect
from steering.paper.rule import DEFAULT, LITERAL, SOUND, Claim
from steering.paper.scale import BASELINES, LEARNED_PSRL, PARTNERS, VARIANTS
from steering.paper.tables import groups, scores

if TYPE_CHECKING:
    from steering.paper.run import Reproduction

NAMES = {LITERAL: "literal paper", SOUND: "paper made sound", DEFAULT: "our default"}
"""The three STEERINGs from the paper's own to ours, as a reader meets them."""
QUESTIONS = {
    Topic.OUTPERFORMS: "Does it outperform the baselines?",
    Topic.DIRECTED: "Is its exploration directed?",
    Topic.PRIOR: "Does it cope with strong and weak prior beliefs?",
    Topic.CONVERGENCE: "Do its beliefs and its discrepancy converge?",
    Topic.THEORY: "Do its runs agree with the theorems?",
}
LEVELS = ("deepsea-low", "deepsea-medium", "deepsea-high")
"""Claims that decide whether a STEERING works: ahead of all baselines at three sparsities."""
CONTROLS = {"deepsea-control": "on DeepSea 15", "prior-control": "under a strong wrong prior"}
MISSING = "Not answered here: this directory has no runs of Figure 3 (steering reproduce fig3)."


# Numbers of the headline ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """An agent of the headline figure: its share of the oracle's reward that is lost, and the STEERING it is beside."""

    agent: str
    effect: Effect
    beside: str

    @property
    def label(self) -> str:
        """Its name."""
        return looks.label(self.agent)


def headline(result: Reproduction) -> list[Row]:
    """Every STEERING and what is compared with it like for like, on the sparsest DeepSea; then the best baseline."""
    regrets = _regrets(result, "regret", "panel")
    if not regrets:
        return []
    rows = []
    for variant in NAMES:
        agents = [VARIANTS[variant], PARTNERS[variant], *([LEARNED_PSRL] if variant == DEFAULT else [])]
        rows += [Row(agent, mean_effect(regrets[agent]), variant) for agent in agents if agent in regrets]
    seen = {row.agent for row in rows}
    others = [agent for agent in ("psrl", _best(regrets)) if agent not in seen]
    return [*rows, *(Row(agent, mean_effect(regrets[agent]), "") for agent in dict.fromkeys(others))]


def _regrets(result: Reproduction, chapter: str, column: str, part: str | None = None) -> dict[str, Floats]:
    """Regret of every run by agent, in a part of a chapter's table of runs: the named one, or the last."""
    for done in result.chapters:
        if done.chapter.name == chapter and "runs" in done.tables:
            parts = groups(done.tables["runs"], column)
            return scores(parts[part or list(parts)[-1]])
    return {}


def _best(regrets: Mapping[str, Floats]) -> str:
    return min(BASELINES, key=lambda agent: float(regrets[agent].mean()))


# Sentences -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """How many claims one STEERING passes, fails, or leaves undecided; those without an effect are not counted."""

    passes: int
    fails: int
    undecided: int

    @property
    def total(self) -> int:
        """Claims with an effect."""
        return self.passes + self.fails + self.undecided

    def text(self) -> str:
        """In words: of how many claims how many pass, and how many are open."""
        if not self.total:
            return "not run"
        return f"{self.passes} of {self.total} hold" + (f", {self.undecided} undecided" if self.undecided else "")


def tally(claims: Sequence[Claim], variant: str) -> Tally:
    """The tally of one STEERING over some claims."""
    known = [(claim.rule, claim.effects[variant]) for claim in claims if variant in claim.effects]
    known = [(rule, effect) for rule, effect in known if effect.known]
    return Tally(
        sum(rule.passes(effect) for rule, effect in known),
        sum(rule.fails(effect) for rule, effect in known),
        sum(rule.undecided(effect) for rule, effect in known),
    )


def sentences(result: Reproduction) -> list[tuple[str, str]]:
    """The answers to three questions, each as its verdict and the rest of the sentence."""
    regrets = _regrets(result, "regret", "panel")
    claims = {claim.name: claim for claim in result.claims}
    levels = [claims[name] for name in LEVELS if name in claims]
    if not regrets or not levels:
        return [("The question is open.", MISSING)]
    best = _best(regrets)
    rival = f"the best baseline, {looks.label(best)}, loses {_percent(regrets[best])}"
    found = {variant: tally(levels, variant) for variant in NAMES}

    def did(variant: str, levels: str) -> str:
        one, lost = found[variant], _percent(regrets[VARIANTS[variant]])
        open_ = f" ({one.undecided} undecided)" if one.undecided else ""
        return f"is ahead of {levels} at {one.passes} of {one.total} sparsities{open_} and loses {lost}"

    everybody = f"all {len(BASELINES)} baselines"
    literal = f"it {did(LITERAL, everybody)} of an oracle's reward on DeepSea 15; {rival}."
    repaired = f"it {did(SOUND, 'them')}; our default, with more changes, {did(DEFAULT, 'them')}."
    return [
        (f"The literal algorithm {_works(found[LITERAL])}:", literal),
        (f"With a sound Stein operator it {_works(found[SOUND])}:", repaired),
        _source_of_gain(result, claims),
    ]


def _works(one: Tally) -> str:
    if one.total and one.passes == one.total:
        return "works"
    if one.fails == one.total:
        return "does not work"
    return "works in part" if one.passes else "may or may not work (too few seeds)"


def _source_of_gain(result: Reproduction, claims: Mapping[str, Claim]) -> tuple[str, str]:
    """What the gain comes from: the paper made sound against what differs from it in the information alone."""
    asked = [claims[name] for name in CONTROLS if name in claims]
    clean = tally(asked, SOUND)
    if not clean.total:
        return "What the gain comes from is open:", "too few runs for an interval."
    if clean.passes == clean.total:
        said = "The gain comes from the Stein information:"
    elif clean.passes:
        said = "The gain comes from the Stein information only in part:"
    elif clean.undecided:
        said = "Whether the gain comes from the Stein information is undecided with this many seeds:"
    else:
        said = "The gain does not come from the Stein information:"
    places = {
        "deepsea-control": _regrets(result, "regret", "panel"),
        "prior-control": _regrets(result, "prior_belief", "level", "strong"),
    }
    pairs = []
    for claim in asked:
        lost = places[claim.name]
        theirs, own = _percent(lost[PARTNERS[SOUND]]), _percent(lost[VARIANTS[SOUND]])
        pairs.append(f"{theirs} against {own} {CONTROLS[claim.name]}")
    first = f"IDS, with the variance in its place and all else equal, loses {' and '.join(pairs)}"
    return said, f"{first}; {_priors(places['deepsea-control'])}."


def _priors(regrets: Mapping[str, Floats]) -> str:
    """What the learned priors of our default do for others."""
    with_them = [agent for agent in (PARTNERS[DEFAULT], LEARNED_PSRL) if agent in regrets]
    others = " and ".join(f"{looks.label(agent).split(',')[0]} {_percent(regrets[agent])}" for agent in with_them)
    return f"with the learned priors of our default it is {others} against its {_percent(regrets[VARIANTS[DEFAULT]])}"


def _percent(lost: Floats) -> str:
    return f"{100 * float(lost.mean()):.0f} %"


# Cards ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """One question about STEERING: the verdict in words, and how each STEERING did."""

    topic: Topic
    verdict: str
    kind: str
    rows: tuple[tuple[str, str], ...]
    chapters: tuple[tuple[str, str], ...]
    """Names of chapters with the place in the paper."""


def cards(result: Reproduction) -> list[Card]:
    """The five cards; one without runs says so."""
    found = []
    for topic in Topic:
        parts = [part for part in result.chapters if part.chapter.topic == topic]
        claims = [claim for part in parts for claim in part.claims if claim.ours and not claim.control]
        tallies = {variant: tally(claims, variant) for variant in NAMES}
        untested = sum(bool(claim.untestable) for claim in claims)
        rows = [(NAMES[variant], one.text()) for variant, one in tallies.items()]
        if untested:
            rows.append(("no run can tell", f"{untested} more"))
        kind, verdict = _verdict(tallies)
        places = tuple((part.chapter.name, part.chapter.paper) for part in parts)
        found.append(Card(topic, verdict, kind, tuple(rows), places))
    return found


def _verdict(tallies: Mapping[str, Tally]) -> tuple[str, str]:
    """Colour and words of a card: the first STEERING, from the paper's own on, that passes all decides."""
    tested = {variant: one for variant, one in tallies.items() if one.total}
    if not tested:
        return "open", "Not run here"
    whole = [variant for variant, one in tested.items() if one.passes == one.total]
    if whole:
        words = {
            LITERAL: ("holds", "Yes, as the paper has it"),
            SOUND: ("sound", "Not as printed; yes with a sound operator"),
            DEFAULT: ("own", "Not as printed; yes for our default"),
        }
        return words[whole[0]]
    if any(one.passes for one in tested.values()):
        most = max(tested, key=lambda variant: tested[variant].passes / tested[variant].total)
        return "sound", f"In part; {NAMES[most]} comes nearest"
    if all(one.fails == one.total for one in tested.values()):
        return "fails", "No"
    return "open", "Undecided with this many seeds"
