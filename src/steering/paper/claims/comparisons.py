"""Effects that several claims share: paired differences of regret between agents, and our controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steering._types import Floats
from steering.paper.claims.rule import Claim, above
from steering.paper.fits import Effect, mean_effect
from steering.paper.scale import OTHERWISE, PARTNERS, VARIANTS


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


def control(name: str, scores: Mapping[str, Floats], where: str) -> Claim:
    """Our question: is each STEERING ahead of the nearest agent with the variance in place of the Stein information?

    Partners share priors and how they are learned. What else differs is said with the effect (`OTHERWISE`): for the
    paper made sound it is nothing, for the other two the answer is about the information and that together.
    """
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
