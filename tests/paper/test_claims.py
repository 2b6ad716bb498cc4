"""Every claim on made-up data: just inside its condition it holds, just outside it does not, for the right variant."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from claims_made_up import DEEPSEA, ENVIRONMENTS, NOISE, PRIOR, PSRL_CONTROLS, SPARSITY, Case
from claims_made_up_beliefs import BELIEFS, DEFAULT_ONLY, DIRECTED, THEORY, bayesian, bounds, rates
from reproduction_small import CHAPTERS, SMALL, small_tables

import steering
from steering.agents.steering import BATCH
from steering.paper.chapters.bounds.claims import never
from steering.paper.chapters.weight.claims import WeightRuns, claims_of
from steering.paper.fits import share_effect
from steering.paper.report.text import RULE
from steering.paper.rule import DECIDES, Claim, Verdict, ahead
from steering.paper.run import Finished, Reproduction, write_numbers
from steering.paper.scale import OTHERWISE, PARTNERS, VARIANTS

CASES = [*DEEPSEA, *ENVIRONMENTS, *SPARSITY, *PRIOR, *BELIEFS, *DIRECTED, *THEORY]
ALONE = {"literal": Verdict.HOLDS, "sound": Verdict.HOLDS_SOUND, "default": Verdict.HOLDS_DEFAULT}
"""The verdict when one variant alone passes."""
PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"
CONTROLS = {f"{name}-control{which}" for name in ("deepsea", "prior") for which in ("", "-psrl")}
UNTESTABLE = {"rates-improve", "lemma-factor", "select"}


def named(claims: list[Claim], name: str) -> Claim:
    return next(claim for claim in claims if claim.name == name)


@pytest.mark.parametrize("case", [case for case in CASES if case.variants], ids=str)
def test_a_claim_about_steering_flips_with_each_variant(case: Case) -> None:
    everywhere = dict.fromkeys(VARIANTS, case.outside)
    assert case.claim(everywhere).verdict == Verdict.DOES_NOT_HOLD
    for variant, verdict in ALONE.items():
        assert case.claim(everywhere | {variant: case.inside}).verdict == verdict
    assert case.claim(dict.fromkeys(VARIANTS, case.inside)).verdict == Verdict.HOLDS


@pytest.mark.parametrize("case", [case for case in CASES if not case.variants], ids=str)
def test_a_claim_about_others_flips(case: Case) -> None:
    assert case.claim(case.inside).verdict == Verdict.HOLDS
    assert case.claim(case.outside).verdict == Verdict.DOES_NOT_HOLD


@pytest.mark.parametrize("case", [*DEFAULT_ONLY, *PSRL_CONTROLS], ids=str)
def test_what_was_run_for_the_default_only_is_never_said_of_the_paper(case: Case) -> None:
    assert case.claim(case.inside).verdict == Verdict.HOLDS_DEFAULT
    assert case.claim(case.outside).decision == (Verdict.NOT_TESTABLE, "fails: default; no effect: sound, literal")


def test_the_rate_of_the_sound_operator_is_that_of_the_sound_variants() -> None:
    found = named(rates(difference=-0.5, barker=-0.92), "lemma-rate")
    assert found.decision == (Verdict.HOLDS_SOUND, "passes: default, sound")
    assert named(rates(barker=-0.88), "lemma-rate").verdict == Verdict.DOES_NOT_HOLD


@pytest.mark.parametrize(
    ("kept", "runs", "verdict"),
    [
        (15, 15, Verdict.HOLDS),
        (14, 15, Verdict.UNDECIDED),
        (5, 15, Verdict.DOES_NOT_HOLD),
        (90, 90, Verdict.HOLDS),
        (89, 90, Verdict.UNDECIDED),
        (76, 90, Verdict.DOES_NOT_HOLD),
    ],
)
def test_theorem_4_1_needs_runs_without_a_violation_however_many_there_are(
    kept: int, runs: int, verdict: Verdict
) -> None:
    claim = named(bounds(kept=kept, each=runs // 3), "theorem-4.1")
    assert claim.verdict == verdict
    assert f"share of {runs} runs" in claim.test


def test_a_share_without_exceptions_passes_for_every_number_of_runs() -> None:
    for runs in (2, 3, 15, 90, 1000):
        every = np.ones(runs, dtype=bool)
        assert never(runs).passes(share_effect(every))
        every[0] = False
        assert not never(runs).passes(share_effect(every))


def test_every_claim_of_every_chapter_is_tried_here() -> None:
    claims = [claim for name, chapter in CHAPTERS.items() for claim in chapter.claims(small_tables(name))]
    names = [claim.name for claim in claims]
    assert len(set(names)) == len(names)
    tried = {case.name for case in (*CASES, *DEFAULT_ONLY, *PSRL_CONTROLS)} | {"theorem-4.1", "lemma-rate"}
    assert set(names) == tried | UNTESTABLE
    assert {claim.name for claim in claims if claim.untestable} == UNTESTABLE
    assert {claim.name for claim in claims if claim.control} == CONTROLS
    assert {claim.name for claim in claims if claim.timing} == {"cost", "ids-intractable"}


def test_claims_of_several_effects_say_how_one_was_chosen() -> None:
    """`Rule.worst` does not choose the smallest or largest mean, and no text may say so."""
    tests = [claim.test for name, chapter in CHAPTERS.items() for claim in chapter.claims(small_tables(name))]
    # What is truly a maximum: the largest ratio of a run, the largest N, the larger of two runs of one seed.
    true = r"largest (ratio of a run|N)|larger of the two runs|smallest fixed point"
    for text in tests:
        rest = re.sub(true, "", text.replace(DECIDES, ""))
        assert not re.search(r"\b(smallest|smaller|larger|largest|lowest|highest|least|slower|worst)\b", rest), text
    assert sum(DECIDES in text for text in tests) >= 20
    assert "the one that decides is shown: one that fails" in RULE


def test_times_are_not_among_the_numbers_that_must_not_change(tmp_path: Path) -> None:
    claims = [named(DEEPSEA[0].build(dict.fromkeys(VARIANTS, 0.4)), name) for name in ("cost", "deepsea-low")]
    write_numbers(Reproduction(tmp_path, SMALL, [Finished(CHAPTERS["regret"], {}, [], [], claims)]))
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert list(numbers["claims"]) == ["deepsea-low"]
    assert "cost" in (tmp_path / "claims.csv").read_text(encoding="utf-8")


def test_what_only_proofs_decide_says_so() -> None:
    for name in UNTESTABLE:
        verdict, reason = named([*bayesian(), *bounds()], name).decision
        assert verdict == Verdict.NOT_TESTABLE
        assert len(reason) > 20


@pytest.mark.parametrize("variant", VARIANTS)
def test_controls_plan_and_learn_as_their_partner_does(variant: str) -> None:
    own, partner = (steering.make_agent(names[variant]).options for names in (VARIANTS, PARTNERS))
    for shared in ("eta", "normal_gamma", "concentration", "reward_scale"):
        assert getattr(partner, shared) == getattr(own, shared), shared
    assert (partner.planning == "sampled") == (own.planning == "sampled")
    assert partner.information == "variance"


def test_controls_say_what_else_differs() -> None:
    """The texts are checked against the options: whatever is not shared with the partner is named, and nothing else."""
    for variant, said in OTHERWISE.items():
        own, partner = (steering.make_agent(names[variant]).options for names in (VARIANTS, PARTNERS))
        terms = own.planning != "sampled" and (own.novelty > 0 or own.reward_noise > 0)
        differs = {
            "model of the data": own.planning != partner.planning,
            "novelty and reward noise": terms,
            f"weight {own.info_weight} instead of {partner.info_weight}": own.info_weight != partner.info_weight,
            "information about value": own.value_weight > 0,
            "a longer horizon of plans": own.far > 0,
            "related rows": own.planning == "data" and own.rows == "related",
            "evened chances": own.planning == "data" and own.evenness == "learned",
            "excursions": own.excursions > 0,
            "half of the data": own.selection == "posterior" and BATCH == 2,
        }
        assert {text for text in differs if text in said} == {text for text, true in differs.items() if true}
        assert (said == "nothing") == (not any(differs.values()))
        assert said in named(DEEPSEA[0].build(dict.fromkeys(VARIANTS, 0.4)), "deepsea-control").test
        assert f"| `{PARTNERS[variant]}` | {said} |" in PAGE.read_text(encoding="utf-8")


def test_all_baselines_have_to_be_behind() -> None:
    scores = {"a": 1.0 + NOISE, "b": 0.2 + NOISE, "me": 0.1 + NOISE}
    assert ahead(scores, "me", ["a", "b"]).value < 0.11
    scores["b"] = 0.05 + NOISE
    assert ahead(scores, "me", ["a", "b"]).high < 0


def test_one_baseline_surely_ahead_refutes_whatever_another_does() -> None:
    noisy = np.array([0.0, 2.0, 0.0, 2.0, 0.1, 0.2])
    effect = ahead({"a": 0.3 + NOISE, "b": noisy, "me": np.full(6, 0.5)}, "me", ["a", "b"])
    assert effect.value == pytest.approx(-0.2)
    assert effect.high < 0


def test_pairing_by_seed_removes_what_seeds_share() -> None:
    shared = np.random.default_rng(0).normal(size=NOISE.size) * 5
    effect = ahead({"a": shared + 0.1 + NOISE, "me": shared}, "me", ["a"])
    assert effect.low > 0.05


def weight_runs(theory: list[float]) -> WeightRuns:
    """Regret is log2 of the weight on the grid 1, 4, 16, so that interpolation in log w is exact."""
    grid = np.array([1.0, 4.0, 16.0])
    per_seed = np.zeros(len(theory))
    return WeightRuns(
        weights=grid,
        regret=np.log2(grid)[:, None] + per_seed,
        theory=np.array(theory)[None] + np.zeros((3, 1)),
        excess=np.array([1.0, 3.0, 2.0])[:, None] + per_seed,
        ratio=per_seed,
    )


def test_the_weight_of_the_theorem_is_a_fixed_point_of_every_seed() -> None:
    runs = weight_runs([2.0, 8.0, 4.0])
    assert runs.fixed_points() == pytest.approx([2.0, 8.0, 4.0])
    assert runs.regret_there() == pytest.approx([1.0, 3.0, 2.0])
    assert runs.excess_there() == pytest.approx([3.0, 3.0, 3.0])


def test_the_smallest_of_several_fixed_points_is_taken() -> None:
    """lambda(w) - w is +, -, +, - on the grid 1, 4, 16, 64: fixed points at 2 and at 32."""
    grid = np.array([1.0, 4.0, 16.0, 64.0])
    zeros = np.zeros((4, 1))
    theory = np.array([2.0, 2.0, 32.0, 32.0])[:, None]
    runs = WeightRuns(grid, zeros, theory, zeros, zeros[0])
    assert runs.fixed_points() == pytest.approx([2.0])
    assert all("smallest fixed point" in claim.test for claim in claims_of({"default": runs}))


@pytest.mark.parametrize("outside", [0.5, 20.0, np.nan, np.inf, 0.0])
def test_a_weight_that_was_not_run_is_not_guessed(outside: float) -> None:
    runs = weight_runs([2.0, outside])
    assert np.isnan(runs.fixed_points()).tolist() == [False, True]
    assert np.isnan(runs.excess_there()).tolist() == [False, True]
    for claim in claims_of({"literal": runs}):
        assert claim.verdict == Verdict.NOT_TESTABLE
