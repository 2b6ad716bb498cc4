"""What a report says first follows from the numbers: sentences, headline and cards turn when the data do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from claims_made_up import HIGH, NOISE, PANELS
from reproduction_small import CHAPTERS, SMALL

from steering.paper.chapter import Topic
from steering.paper.fits import Effect
from steering.paper.report.answer import Tally, cards, headline, sentences, tally
from steering.paper.report.text import kinds
from steering.paper.rule import Claim, above, controls
from steering.paper.run import Finished, Reproduction
from steering.paper.scale import BASELINES, LEARNED_IDS, LEARNED_PSRL, MEAN_IDS, VARIANTS
from steering.paper.tables import per_run

GOOD, BAD, OPEN = Effect(1.0, 0.5, 1.5), Effect(-1.0, -1.5, -0.5), Effect(0.2, -0.1, 0.5)
LITERAL, SOUND, DEFAULT = VARIANTS["literal"], VARIANTS["sound"], VARIANTS["default"]
EVERYBODY = (*BASELINES, MEAN_IDS, LEARNED_IDS, LEARNED_PSRL, *VARIANTS.values())


def made_up(levels: dict[str, float], strong: dict[str, float] | None = None) -> Reproduction:
    """A reproduction with one regret level an agent on DeepSea, and with `strong` under a strong prior."""
    chapters = []
    runs = pd.concat(
        per_run({"panel": panel, "agent": agent}, regret=levels.get(agent, 0.9) + NOISE * (1 + i))
        for panel in PANELS
        for i, agent in enumerate(EVERYBODY)
    )
    high = {agent: part["regret"].to_numpy() for agent, part in runs[runs["panel"] == HIGH].groupby("agent")}
    ahead = [
        Claim(
            f"deepsea-{name}",
            "",
            "",
            "",
            above(0),
            {v: Effect(0.9 - levels[a], 0.89 - levels[a], 0.91 - levels[a]) for v, a in VARIANTS.items()},
        )
        for name in ("low", "medium", "high")
    ]
    claims = [*ahead, *controls("deepsea-control", high, "DeepSea 15")]
    chapters.append(Finished(CHAPTERS["regret"], {"runs": runs}, [], [], claims))
    if strong is not None:
        table = pd.concat(
            per_run({"level": level, "agent": agent}, regret=strong.get(agent, 0.9) + NOISE * (1 + i))
            for level in ("strong", "weak")
            for i, agent in enumerate(EVERYBODY)
        )
        part = {agent: rows["regret"].to_numpy() for agent, rows in table[table["level"] == "strong"].groupby("agent")}
        claims = controls("prior-control", part, "strong prior belief")
        chapters.append(Finished(CHAPTERS["prior_belief"], {"runs": table}, [], [], claims))
    return Reproduction(Path("nowhere"), SMALL, chapters)


BASE = {LITERAL: 1.0, SOUND: 0.4, DEFAULT: 0.05, MEAN_IDS: 0.25, LEARNED_IDS: 0.05, LEARNED_PSRL: 0.13, "ids": 0.8}


def test_the_three_sentences_of_the_paper_as_it_is() -> None:
    literal, sound, gain = sentences(made_up(BASE, {SOUND: 0.36, MEAN_IDS: 1.0}))
    assert literal[0] == "The literal algorithm does not work:"
    assert "at 0 of 3 sparsities and loses 100 % of an oracle's reward" in literal[1]
    assert "the best baseline, Var-IDS, loses 80 %" in literal[1]
    assert sound[0] == "With a sound Stein operator it works:"
    assert "at 3 of 3 sparsities and loses 40 %" in sound[1]
    assert gain[0] == "The gain comes from the Stein information only in part:"
    assert "loses 25 % against 40 % on DeepSea 15 and 100 % against 36 % under a strong wrong prior" in gain[1]
    assert gain[1].endswith("it is Var-IDS 5 % and PSRL 13 % against its 5 %.")


@pytest.mark.parametrize(
    ("level", "said"),
    [(0.3, "works"), (1.0, "does not work"), (0.9, "may or may not work (too few seeds)")],
)
def test_whether_the_algorithm_works_follows_from_the_intervals(level: float, said: str) -> None:
    (literal, _), (sound, _), _ = sentences(made_up({**BASE, LITERAL: level, SOUND: level}))
    assert literal == f"The literal algorithm {said}:"
    assert sound == f"With a sound Stein operator it {said}:"


@pytest.mark.parametrize(
    ("own", "strong", "said"),
    [
        (0.1, 0.1, "The gain comes from the Stein information:"),
        (0.4, 0.4, "The gain does not come from the Stein information:"),
        (0.4, 0.1, "The gain comes from the Stein information only in part:"),
        (0.25, 0.25, "Whether the gain comes from the Stein information is undecided with this many seeds:"),
    ],
)
def test_where_the_gain_comes_from_is_the_control_that_differs_in_nothing_else(
    own: float, strong: float, said: str
) -> None:
    assert sentences(made_up({**BASE, SOUND: own}, {SOUND: strong, MEAN_IDS: 0.25}))[2][0] == said


def test_a_part_of_the_figures_says_what_is_missing() -> None:
    nothing = Reproduction(Path("nowhere"), SMALL, [Finished(CHAPTERS["schematics"], {}, [], [], [])])
    ((verdict, rest),) = sentences(nothing)
    assert verdict == "The question is open."
    assert "steering reproduce fig3" in rest
    assert headline(nothing) == []
    assert {card.verdict for card in cards(nothing)} == {"Not run here"}
    assert "under a strong wrong prior" not in sentences(made_up(BASE))[2][1]


def test_the_headline_has_the_partner_below_its_steering() -> None:
    rows = headline(made_up(BASE))
    expected = [LITERAL, "ids", SOUND, MEAN_IDS, DEFAULT, LEARNED_IDS, LEARNED_PSRL, "psrl"]
    assert [row.agent for row in rows] == expected
    assert rows[0].effect.value == pytest.approx(1.0 + NOISE.mean(), abs=1e-3)
    assert [row.agent for row in headline(made_up({**BASE, "mm": 0.1}))] == [*expected, "mm"]


def claim(**effects: Effect) -> Claim:
    return Claim("x", "a claim", "there", "a test", above(0), effects)


def test_tallies_count_effects_that_exist() -> None:
    unknown = Effect(np.nan, np.nan, np.nan)
    claims = [claim(literal=GOOD), claim(literal=BAD), claim(literal=OPEN), claim(literal=unknown), claim(sound=GOOD)]
    assert tally(claims, "literal") == Tally(1, 1, 1)
    assert tally(claims, "literal").text() == "1 of 3 hold, 1 undecided"
    assert tally(claims, "default").text() == "not run"


def test_claims_about_others_stand_apart() -> None:
    untested = Claim("z", "a claim", "there", "none", untestable="a proof")
    control = Claim("y", "", "", "", above(0), {"literal": GOOD}, control=True)
    ours, others, asked = kinds([claim(all=GOOD), control, claim(literal=BAD), untested]).values()
    assert (ours, others, asked) == ([claim(literal=BAD), untested], [claim(all=GOOD)], [control])


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        ({"literal": GOOD, "sound": BAD, "default": BAD}, "Yes, as the paper has it"),
        ({"literal": BAD, "sound": GOOD, "default": BAD}, "Not as printed; yes with a sound operator"),
        ({"literal": BAD, "sound": OPEN, "default": GOOD}, "Not as printed; yes for our default"),
        ({"literal": BAD, "sound": BAD, "default": BAD}, "No"),
        ({"literal": BAD, "sound": OPEN, "default": BAD}, "Undecided with this many seeds"),
    ],
)
def test_a_card_says_its_verdict_in_words(effects: dict[str, Effect], verdict: str) -> None:
    other, control = claim(all=GOOD), Claim("y", "", "", "", above(0), {"literal": GOOD}, control=True)
    part = Finished(CHAPTERS["occupancy"], {}, [], [], [claim(**effects), other, control])
    found = {card.topic: card for card in cards(Reproduction(Path("nowhere"), SMALL, [part]))}
    assert list(found) == list(Topic)
    assert found[Topic.DIRECTED].verdict == verdict
    assert found[Topic.DIRECTED].chapters == (("occupancy", "Figure 5"),)
    mixed = Finished(CHAPTERS["occupancy"], {}, [], [], [claim(**effects), claim(literal=BAD, sound=BAD, default=GOOD)])
    if effects["default"] is BAD:
        shown = cards(Reproduction(Path("nowhere"), SMALL, [mixed]))[1].verdict
        assert shown.startswith("In part; ")
