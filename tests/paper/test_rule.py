"""The rule of verdicts, on effects that are made up: verdicts flip when the data do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steering.errors import InvalidOption
from steering.paper.fits import UNKNOWN, Effect
from steering.paper.rule import Claim, Rule, Verdict, above, below, decide

GOOD, BAD, UNSURE = Effect(1.0, 0.5, 1.5), Effect(-1.0, -1.5, -0.5), Effect(0.2, -0.1, 0.5)
WRONG_BUT_UNSURE = Effect(-0.2, -0.5, 0.1)


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        ({"literal": GOOD, "sound": GOOD, "default": GOOD}, Verdict.HOLDS),
        ({"literal": GOOD, "sound": BAD, "default": BAD}, Verdict.HOLDS),
        ({"literal": BAD, "sound": GOOD, "default": BAD}, Verdict.HOLDS_SOUND),
        ({"literal": BAD, "sound": BAD, "default": GOOD}, Verdict.HOLDS_DEFAULT),
        ({"literal": UNSURE, "sound": UNSURE, "default": GOOD}, Verdict.HOLDS_DEFAULT),
        ({"default": GOOD}, Verdict.HOLDS_DEFAULT),
        ({"literal": UNSURE, "sound": GOOD, "default": BAD}, Verdict.HOLDS_SOUND),
        ({"literal": BAD, "sound": BAD, "default": BAD}, Verdict.DOES_NOT_HOLD),
        ({"literal": BAD, "sound": UNSURE, "default": BAD}, Verdict.UNDECIDED),
        ({"literal": WRONG_BUT_UNSURE, "sound": BAD, "default": BAD}, Verdict.UNDECIDED),
        ({"literal": UNKNOWN, "sound": BAD, "default": BAD}, Verdict.NOT_TESTABLE),
        ({"literal": BAD, "sound": BAD}, Verdict.NOT_TESTABLE),
        ({"all": GOOD}, Verdict.HOLDS),
        ({"all": BAD}, Verdict.DOES_NOT_HOLD),
        ({"all": UNSURE}, Verdict.UNDECIDED),
        ({"literal": UNSURE, "sound": UNKNOWN}, Verdict.UNDECIDED),
        ({"all": UNKNOWN}, Verdict.NOT_TESTABLE),
        ({"literal": UNKNOWN, "sound": GOOD}, Verdict.HOLDS_SOUND),
        ({}, Verdict.NOT_TESTABLE),
    ],
)
def test_verdicts(effects: dict[str, Effect], verdict: Verdict) -> None:
    assert decide(effects, above(0))[0] == verdict


def test_the_reason_names_what_decided() -> None:
    assert decide({"literal": BAD, "sound": GOOD, "default": GOOD}, above(0))[1] == "passes: sound, default"
    assert decide({"literal": UNKNOWN, "sound": GOOD}, above(0))[1] == "passes: sound; no effect: default, literal"
    assert decide({"literal": UNKNOWN, "sound": BAD, "default": BAD}, above(0))[1].endswith("no effect: literal")
    assert "undecided" in decide({"all": UNSURE}, above(0))[1]
    assert "other side" in decide({"all": BAD}, above(0))[1]


effects = st.builds(
    lambda value, down, up: Effect(value, value - down, value + up),
    st.floats(-10, 10),
    st.floats(0.01, 5),
    st.floats(0.01, 5),
)


@given(effects, st.floats(-5, 5))
def test_above_and_below_are_mirror_images(effect: Effect, threshold: float) -> None:
    mirrored = Effect(-effect.value, -effect.high, -effect.low)
    assert above(threshold).passes(effect) == below(-threshold).passes(mirrored)
    assert above(threshold).undecided(effect) == below(-threshold).undecided(mirrored)


@given(effects, st.floats(-5, 5))
def test_an_effect_passes_fails_or_is_undecided(effect: Effect, threshold: float) -> None:
    for rule in (above(threshold), below(threshold), Rule(threshold - 1, threshold + 1)):
        assert rule.passes(effect) + rule.undecided(effect) + rule.fails(effect) == 1
        points = np.linspace(effect.low, effect.high, 101)
        inside = (rule.low < points) & (points < rule.high)
        if rule.passes(effect):
            assert inside.all()
        elif not rule.undecided(effect):
            assert not inside.any()


@given(effects, st.floats(0.01, 20))
def test_a_claim_that_holds_stays_when_the_effect_moves_further(effect: Effect, more: float) -> None:
    moved = Effect(effect.value + more, effect.low + more, effect.high + more)
    if decide({"all": effect}, above(0))[0] == Verdict.HOLDS:
        assert decide({"all": moved}, above(0))[0] == Verdict.HOLDS
    down = Effect(effect.value - 30, effect.low - 30, effect.high - 30)
    assert decide({"all": down}, above(0))[0] == Verdict.DOES_NOT_HOLD


def mirror(effect: Effect) -> Effect:
    return Effect(-effect.value, -effect.high, -effect.low)


def test_the_worst_effect_decides_for_all() -> None:
    assert above(0).worst([GOOD, UNSURE, Effect(3, 2, 4)]) == UNSURE
    assert below(0).worst([mirror(GOOD), mirror(UNSURE)]) == mirror(UNSURE)
    assert above(0).worst([GOOD, Effect(0.9, 0.6, 1.2)]) == GOOD, "the lowest lower end, not the lowest value"
    assert not above(0).worst([GOOD, UNKNOWN]).known
    assert not above(0).worst([]).known


def test_an_effect_that_fails_decides_before_one_that_is_noisy() -> None:
    noisy = Effect(0.22, -4.5, 8.8)
    assert above(0).worst([noisy, BAD, GOOD]) == BAD
    assert above(0).worst([UNKNOWN, BAD]) == BAD
    worse = Effect(-3.0, -3.1, -2.9)
    assert above(0).worst([BAD, worse]) == worse
    assert below(0).worst([mirror(BAD), mirror(worse), mirror(noisy)]) == mirror(worse)
    between = Rule(-0.1, 0.1)
    assert between.worst([Effect(0.0, -0.05, 0.05), Effect(0.5, 0.4, 0.6), Effect(-0.2, -0.9, 0.5)]).value == 0.5


@given(st.lists(effects, min_size=1, max_size=5), st.floats(-5, 5))
def test_the_worst_passes_when_all_do_and_fails_when_one_does(found: list[Effect], threshold: float) -> None:
    for rule in (above(threshold), below(threshold), Rule(threshold - 3, threshold + 3)):
        worst = rule.worst(found)
        assert rule.passes(worst) == all(rule.passes(effect) for effect in found)
        assert rule.fails(worst) == any(rule.fails(effect) for effect in found)


def test_a_claim_without_an_effect_says_why() -> None:
    claim = Claim("x", "a claim", "somewhere", "none", untestable="it is about proofs")
    assert claim.decision == (Verdict.NOT_TESTABLE, "it is about proofs")
    assert Claim("y", "another", "there", "a test", above(0), {"all": GOOD}).verdict == Verdict.HOLDS


def test_rules_in_words_and_empty_rules() -> None:
    assert above(0.5).text == "above 0.5"
    assert below(-1).text == "below -1"
    assert Rule(-0.1, 0.1).text == "between -0.1 and 0.1"
    with pytest.raises(InvalidOption, match="low < high"):
        Rule(1, 1)


def test_effects_as_text() -> None:
    assert Effect(0.12345, -0.1, 2.0).text() == "0.123 [-0.1, 2]"
    assert UNKNOWN.text() == "–"
    assert not Effect(1.0, np.nan, 2.0).known
