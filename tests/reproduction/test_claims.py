"""Every group of claims on synthetic data: what the data say decides, and turning them round turns the verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd

from steering.reproduction.claims.comparisons import ahead
from steering.reproduction.claims.directed import dsd_claims, occupancy_claims
from steering.reproduction.claims.posterior import posterior_claims, random_action_claims
from steering.reproduction.claims.regret import prior_claims
from steering.reproduction.claims.rule import Claim, Verdict
from steering.reproduction.claims.sparsity import psrl_claims
from steering.reproduction.claims.theory import bayesian_claims, bound_claims, rate_claims, weight_claims
from steering.reproduction.scale import MEAN_IDS, VARIANTS

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=12) * 0.01
STEERINGS = list(VARIANTS.values())


def verdicts(claims: list[Claim]) -> dict[str, Verdict]:
    return {claim.name: claim.verdict for claim in claims}


def beliefs(level: float, sound: float, literal: float) -> dict[str, np.ndarray]:
    scores = {"psrl": 0.9 + NOISE, "ids": 0.88 + NOISE, MEAN_IDS: 0.5 + NOISE}
    return {**scores, **dict(zip(STEERINGS, (level + NOISE, sound + NOISE, literal + NOISE), strict=True))}


def test_prior_beliefs_follow_the_regret() -> None:
    found = verdicts(prior_claims({"strong": beliefs(0.1, 0.2, 1.0), "weak": beliefs(0.1, 0.1, 0.3)}))
    assert found["prior-ids-marginal"] == Verdict.HOLDS
    assert found["prior-strong"] == Verdict.HOLDS_SOUND
    assert found["prior-weak"] == Verdict.HOLDS
    turned = verdicts(prior_claims({"strong": beliefs(0.95, 0.95, 1.0), "weak": beliefs(0.95, 0.99, 1.0)}))
    assert turned["prior-strong"] == Verdict.DOES_NOT_HOLD
    assert turned["prior-weak"] == Verdict.DOES_NOT_HOLD


def test_a_large_benefit_of_ids_is_not_marginal() -> None:
    scores = {**beliefs(0.1, 0.1, 0.1), "ids": 0.4 + NOISE}
    claims = prior_claims({"strong": scores, "weak": scores})
    assert verdicts(claims)["prior-ids-marginal"] == Verdict.DOES_NOT_HOLD


def test_all_baselines_have_to_be_behind() -> None:
    scores = {"a": 1.0 + NOISE, "b": 0.2 + NOISE, "me": 0.1 + NOISE}
    assert ahead(scores, "me", ["a", "b"]).value < 0.11
    scores["b"] = 0.05 + NOISE
    assert ahead(scores, "me", ["a", "b"]).high < 0


def test_pairing_by_seed_removes_what_seeds_share() -> None:
    shared = RNG.normal(size=12) * 5
    effect = ahead({"a": shared + 0.1 + NOISE, "me": shared}, "me", ["a"])
    assert effect.low > 0.05


def test_psrl_degrades_with_size() -> None:
    sizes = np.array([4.0, 8.0, 15.0])
    rising = verdicts(psrl_claims(sizes, [0.1 + NOISE, 0.5 + NOISE, 0.95 + NOISE]))
    assert rising == {"psrl-degrades": Verdict.HOLDS, "psrl-suffers": Verdict.HOLDS}
    falling = verdicts(psrl_claims(sizes, [0.9 + NOISE, 0.5 + NOISE, 0.1 + NOISE]))
    assert set(falling.values()) == {Verdict.DOES_NOT_HOLD}


def visits(share_right: float, runs: int = 6) -> np.ndarray:
    """Visits (runs, 2 windows, 10 states, 2 actions): all at the start first, `share_right` near the goal at last."""
    counts = np.zeros((runs, 2, 10, 2))
    counts[:, 0, 0, 0] = 100
    counts[:, 1, 9, 1] = 100 * share_right
    counts[:, 1, 0, 0] = 100 * (1 - share_right)
    return counts


def test_occupancy_follows_the_visits() -> None:
    def all_visits(*shares: float) -> dict[str, np.ndarray]:
        return {agent: visits(share) for agent, share in zip(["psrl", "ids", *STEERINGS], shares, strict=True)}

    found = occupancy_claims(all_visits(0.2, 0.3, 0.6, 0.5, 0.4))
    assert set(verdicts(found).values()) == {Verdict.HOLDS}
    assert np.isclose(found[0].effects["literal"].value, 0.1)
    assert np.isclose(found[1].effects["default"].value, 0.6)
    assert np.isclose(found[2].effects["sound"].value, 0.2)
    assert verdicts(occupancy_claims(all_visits(0.2, 0.3, 0.6, 0.5, 0.0))) == {
        "visits-final": Verdict.HOLDS_SOUND,
        "visits-change": Verdict.HOLDS_SOUND,
        "visits-left": Verdict.HOLDS_SOUND,
    }
    assert verdicts(occupancy_claims(all_visits(0.2, 0.9, 0.6, 0.5, 0.0)))["visits-final"] == Verdict.DOES_NOT_HOLD


def test_dsd_compares_left_with_right_and_end_with_beginning() -> None:
    def tables(right: float, left: float) -> np.ndarray:
        values = np.ones((4, 50, 8, 2))
        values[:, 25:, :, 0], values[:, 25:, :, 1] = left, right
        return values

    def information(literal: np.ndarray) -> dict[tuple[int, str], np.ndarray]:
        sound = tables(0.001, 0.1)
        return {(n, v): literal if v == "literal" else sound for n in (4, 8) for v in VARIANTS}

    found = verdicts(dsd_claims(information(tables(0.9, 0.9)), (3, 4)))
    assert found == {"dsd-lower": Verdict.HOLDS_SOUND, "dsd-converges": Verdict.HOLDS_SOUND}
    assert set(verdicts(dsd_claims(information(tables(0.01, 0.5)), (3, 4))).values()) == {Verdict.HOLDS}


def belief(error: float, left: float, right: float, runs: int = 6) -> tuple[np.ndarray, ...]:
    optimal = np.ones((4, 2))
    mean = optimal + error + RNG.normal(size=(runs, 5, 4, 2)) * 1e-3
    std = np.empty((runs, 5, 4, 2))
    std[..., 0], std[..., 1] = left, right
    return np.arange(5), mean, std, optimal


def test_beliefs_about_q_follow_errors_and_spreads() -> None:
    others = {agent: belief(0.5, 0.3, 0.3) for agent in ("q_learning", "ube", "mm", "psrl")}
    others["bayesian_q"] = belief(0.5, 0.1, 0.1)
    good = {agent: belief(0.01, 0.2, 0.05) for agent in STEERINGS}
    at_eight = {**others, "ube": belief(0.5, 0.9, 0.9), "mm": belief(0.7, 0.2, 0.2), **good}
    at_eight["psrl"] = at_eight["q_learning"] = belief(0.3, 0.2, 0.2)
    found = verdicts(posterior_claims({4: {**others, **good}, 8: at_eight}, 4))
    failing = {name for name, verdict in found.items() if verdict != Verdict.HOLDS}
    assert failing == {"q-spread-mm", "q-spread-psrl", "q-degrades-psrl", "q-degrades-q_learning"}
    assert found["q-spread-ube"] == found["q-degrades-mm"] == Verdict.HOLDS
    bad = {agent: belief(0.9, 0.05, 0.5) for agent in STEERINGS}
    turned = verdicts(posterior_claims({4: {**others, "bayesian_q": belief(0.5, 1.0, 1.0), **bad}}, 4))
    assert set(turned.values()) == {Verdict.DOES_NOT_HOLD}


def test_random_actions_go_left_half_of_the_time() -> None:
    counts = np.zeros((5, 3, 8, 2))
    counts[:, :, 3] = 10
    assert random_action_claims(counts)[0].verdict == Verdict.HOLDS
    counts[:, -1, 3, 0] = 2
    assert random_action_claims(counts)[0].verdict == Verdict.DOES_NOT_HOLD


def test_rates_need_a_fall_as_fast_as_one_over_k() -> None:
    samples = np.geomspace(10, 10_000, 13)
    fast = np.tile(1 / samples, (5, 1))
    slow = np.tile(np.ones_like(samples), (5, 1))
    plans = np.arange(1.0, 200)
    gains = {"default": np.tile(1 / plans, (5, 1)), "sound": np.tile(plans**-1.2, (5, 1))}

    def judged(literal_rows: np.ndarray, literal_gain: np.ndarray) -> dict[str, Verdict]:
        rows = {("barker", "full"): fast, ("barker", "sparse"): fast}
        rows |= {("difference", "full"): fast, ("difference", "sparse"): literal_rows}
        return verdicts(rate_claims(samples, rows, {**gains, "literal": literal_gain}))

    assert set(judged(slow, np.ones((5, plans.size))).values()) == {Verdict.HOLDS_SOUND}
    assert set(judged(fast, np.tile(1 / plans, (5, 1))).values()) == {Verdict.HOLDS}


def test_bounds_have_to_hold_on_every_run() -> None:
    def table(regret: float) -> pd.DataFrame:
        row = {"regret": 1.0, "bound": 10.0, "ratio": 1.0, "ratio_bound": 100.0, "gain": 5.0, "gain_bound": 50.0}
        rows = [{"variant": v, "setting": s, **row} for v in VARIANTS for s in ("one", "two") for _ in range(3)]
        frame = pd.DataFrame(rows)
        frame.loc[frame.index[:1], "regret"] = regret
        return frame

    assert set(verdicts(bound_claims(table(1.0))).values()) == {Verdict.HOLDS}
    one_over = bound_claims(table(11.0))
    assert not one_over[0].rule.passes(one_over[0].effects["default"])
    assert one_over[1].rule.passes(one_over[1].effects["default"])
    total = table(1.0)
    total.loc[total["variant"] == "literal", "gain"] = 500.0
    assert verdicts(bound_claims(total))["lemma-total"] == Verdict.HOLDS_SOUND


def test_bayesian_regret_against_the_shape_of_the_bound() -> None:
    episodes = np.arange(1.0, 201)
    bound = {"S": 1.5, "A": 1.0, "H": 2.0, "K": 0.5}
    x = np.array([2.0, 4.0, 8.0])

    def judged(power: float, scan: float) -> dict[str, Verdict]:
        curves = {agent: (episodes, np.tile(episodes**power, (6, 1))) for agent in STEERINGS}
        scans = {name: (x, [np.full(6, v**scan) for v in x]) for name in "SAH"}
        return verdicts(bayesian_claims(curves, scans, bound))

    good, bad = judged(0.4, 0.9), judged(1.0, 2.5)
    assert good.pop("rates-improve") == bad.pop("rates-improve") == Verdict.NOT_TESTABLE
    assert {good["bayes-sublinear"], good["bayes-K"]} == {Verdict.HOLDS}
    assert {good[f"bayes-{name}"] for name in "SAH"} == {Verdict.HOLDS_SOUND}
    assert set(bad.values()) == {Verdict.DOES_NOT_HOLD}
    between = judged(0.8, 0.9)
    assert between["bayes-sublinear"] == Verdict.HOLDS
    assert between["bayes-K"] == Verdict.DOES_NOT_HOLD


def test_the_weight_of_the_theorem_is_compared_with_the_best() -> None:
    weights = (0.1, 1.0, 10.0)
    regret = {"default": [0.5 + NOISE, 0.1 + NOISE, 0.9 + NOISE]}
    near = verdicts(weight_claims(weights, regret, {"default": np.full(12, 1.3)}))
    assert near["weight"] == Verdict.HOLDS_SOUND
    far = verdicts(weight_claims(weights, regret, {"default": np.full(12, 20.0)}))
    assert far["weight"] == Verdict.DOES_NOT_HOLD
    none = verdicts(weight_claims(weights, regret, {"default": np.full(12, np.nan)}))
    assert none["weight"] == Verdict.NOT_TESTABLE
