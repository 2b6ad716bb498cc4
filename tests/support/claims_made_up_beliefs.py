"""Made-up data for claims about beliefs and theory; see `claims_made_up`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from claims_made_up import NOISE, RUNS, Case, Levels, by_agent

from steering.paper.chapters import rates as rates_chapter
from steering.paper.chapters.bayesian.claims import BOUND
from steering.paper.chapters.bayesian.claims import claims as bayesian_claims
from steering.paper.chapters.bounds.claims import claims as bound_claims
from steering.paper.chapters.dsd import ends as dsd_ends
from steering.paper.chapters.dsd.claims import claims as dsd_claims
from steering.paper.chapters.occupancy import ends as occupancy_ends
from steering.paper.chapters.occupancy.claims import claims as occupancy_claims
from steering.paper.chapters.q_posterior import errors, left_actions
from steering.paper.chapters.q_posterior.claims import PAIRS
from steering.paper.chapters.q_posterior.claims import claims as posterior_claims
from steering.paper.chapters.weight.claims import claims as weight_claims
from steering.paper.rule import Claim
from steering.paper.scale import VARIANTS
from steering.paper.tables import fitted, per_run

OPTIMAL = 2.0
TIMES = 5
GARBAGE = 50.0
Belief = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def belief(n: int, end: float = 0.05, mean: float = 0.2, left: float = 0.5, right: float = 0.3) -> Belief:
    """Error of right actions, |mean - Q*| / Q*, at the end and on average over time; spreads of actions at the end."""
    errors = np.full(TIMES, (TIMES * mean - end) / (TIMES - 1))
    errors[-1] = end
    means = np.full((RUNS, TIMES, n, 2), GARBAGE)
    means[:, :, -4:, 1] = OPTIMAL * (1 - errors[:, None]) + NOISE[:, None, None]
    stds = np.empty((RUNS, TIMES, n, 2))
    # Other times and states say the opposite.
    stds[..., 0], stds[..., 1] = right, left
    stds[:, -1, -4:, 0], stds[:, -1, -4:, 1] = left, right
    return np.arange(TIMES), means, stds + NOISE[:, None, None, None] * 0.1, np.full((n, 2), OPTIMAL)


def posterior(n: int, changes: dict[str, dict[str, float]]) -> list[Claim]:
    """Claims with the beliefs of some agents at one size changed."""
    usual = {agent: {} for agent in VARIANTS.values()}
    usual |= {agent: {"end": 0.3, "mean": 0.9} for agent in PAIRS}
    changed = {agent: {**one, **changes.get(agent, {})} for agent, one in usual.items()}
    sizes = {size: changed if size == n else usual for size in (4, 8)}
    runs = []
    for size, part in sizes.items():
        for agent, one in part.items():
            steps, mean, std, optimal = belief(size, **one)
            runs.append(errors(mean, std, optimal, steps).assign(n=size, agent=agent))
    return posterior_claims({"runs": pd.concat(runs), "actions": per_run({}, left=0.1 + NOISE)})


def own(n: int, levels: Levels, names: tuple[str, ...], more: dict[str, dict[str, float]] | None = None) -> list[Claim]:
    """Every STEERING with some numbers of its belief at its level."""
    changes = {agent: dict.fromkeys(names, level) for agent, level in by_agent(levels).items()}
    return posterior(n, changes | (more or {}))


def at_size(n: int) -> list[Case]:
    found = []
    for agent in PAIRS:
        build = lambda levels, agent=agent: own(n, levels, ("mean",), {agent: {"mean": 0.4}})  # noqa: E731
        found.append(Case(f"q-{agent}-{n}", build, 0.39, 0.41, label="area"))
        found.append(Case(f"q-{agent}-{n}", lambda levels: own(n, levels, ("end",)), 0.09, 0.11, label="converges"))
    found.append(Case(f"q-converges-{n}", lambda levels: own(n, levels, ("end",)), 0.09, 0.11))
    found.append(Case(f"q-left-{n}", lambda levels: own(n, levels, ("left",)), 0.31, 0.29))
    for agent in ("psrl", "ube"):
        build = lambda levels, agent=agent: own(n, levels, ("right",), {agent: {"right": 0.4}})  # noqa: E731
        found.append(Case(f"q-variance-{agent}-{n}", build, 0.39, 0.41))
    sure = lambda z: posterior(n, {"bayesian_q": {"end": 0.3, "right": 0.6 / z}})  # noqa: E731
    found.append(Case(f"q-overconfident-{n}", sure, 2.1, 1.9, False))
    miss = lambda end: posterior(n, {"bayesian_q": {"end": end, "mean": 1 - end}})  # noqa: E731
    found.append(Case(f"q-misses-bayesian_q-{n}", miss, 0.11, 0.09, False))
    return found


BELIEFS = [
    *at_size(4),
    *at_size(8),
    Case("q-misses-mm-8", lambda end: posterior(8, {"mm": {"end": end}}), 0.11, 0.09, False),
    Case("q-mm-well-4", lambda end: posterior(4, {"mm": {"end": end}}), 0.09, 0.11, False),
    *(
        Case("q-psrl-comparable-4", lambda v: own(4, v, ("mean",), {"psrl": {"mean": 0.5}}), inside, outside)
        for inside, outside in ((0.41, 0.39), (0.59, 0.61))
    ),
    Case("q-ube-wide-4", lambda right: posterior(4, {"ube": {"right": right, "left": 0.2}}), 0.22, 0.18, False),
    *(
        Case(f"q-spread-{agent}", lambda right, a=agent: posterior(8, {a: {"right": right}}), 0.31, 0.29, False)
        for agent in ("ube", "mm", "psrl")
    ),
    *(
        Case(f"q-degrades-{agent}", lambda end, a=agent: posterior(8, {a: {"end": end}}), 0.31, 0.29, False)
        for agent in ("q_learning", "mm", "psrl")
    ),
]


def random_actions(share: float) -> list[Claim]:
    counts = np.zeros((RUNS, 3, 8, 2))
    counts[:, :2, 3, 0] = 1000
    counts[:, -1, 3, 0], counts[:, -1, 3, 1] = 1000 * (share + NOISE), 1000 * (1 - share - NOISE)
    usual = errors(*belief(8)[1:], np.arange(TIMES))
    runs = [usual.assign(n=n, agent=agent) for n in (4, 8) for agent in (*PAIRS, *VARIANTS.values())]
    return posterior_claims({"runs": pd.concat(runs), "actions": left_actions(counts)})


def visits(near: float, left: float, early: float = 0.1) -> np.ndarray:
    """Shares near the goal at the end and at first, and of left actions at the end; between them all is different."""
    counts = np.zeros((RUNS, 3, 10, 2))
    for window, share in ((0, early), (1, 0.9), (2, near)):
        for action, part in ((0, left if window == 2 else 1 - left), (1, 1 - left if window == 2 else left)):
            counts[:, window, 5:, action] = ((share + NOISE) * part / 5)[:, None]
            counts[:, window, :5, action] = ((1 - share - NOISE) * part / 5)[:, None]
    return counts


def occupancy(levels: Levels, kind: str, rival: str = "psrl") -> list[Claim]:
    found = {agent: visits(0.2, 0.7) for agent in ("psrl", "ids")}
    found[rival] = visits(0.4, 0.4)
    for agent, level in by_agent(levels).items():
        options = {"near": level, "left": 0.3} if kind == "near" else {"near": 0.6, "left": level}
        found[agent] = visits(**options, early=0.5 if kind == "near" else 0.1)
    return occupancy_claims({"runs": pd.concat(occupancy_ends(agent, counts) for agent, counts in found.items())})


def discrepancies(levels: Levels, kind: str, n: int, state: int) -> list[Claim]:
    """D of all N, states and variants, with one (N, state) at the level that decides."""
    frames = []
    for size in (4, 8):
        for variant, level in levels.items():
            values = np.full((RUNS, 50, size, 2), 1e-3)
            values[:, 0] = 1.0
            values[:, -5:, :, 0], values[:, -5:, :, 1] = 0.5, 0.01
            if size == n:
                if kind == "lower":
                    values[:, -5:, state - 1, 0] = 0.01 * level
                else:
                    values[:, -5:, state - 1, 1] = level
            values = values * (1 + NOISE[:, None, None, None])
            for one in (3, 4):
                for action, name in enumerate(("left", "right")):
                    fixed = {"variant": variant, "n": size, "state": one, "action": name}
                    frames.append(dsd_ends(fixed, values, one, action))
    return dsd_claims({"runs": pd.concat(frames)})


DIRECTED = [
    *(Case("q-ube-random", random_actions, inside, outside, False) for inside, outside in ((0.41, 0.39), (0.59, 0.61))),
    *(Case("visits-final", lambda v, r=r: occupancy(v, "near", r), 0.41, 0.39, label=r) for r in ("psrl", "ids")),
    Case("visits-change", lambda levels: occupancy(levels, "near"), 0.51, 0.49),
    *(Case("visits-left", lambda v, r=r: occupancy(v, "left", r), 0.39, 0.41, label=r) for r in ("psrl", "ids")),
    *(
        Case(f"dsd-{kind}", lambda v, k=kind, n=n, s=s: discrepancies(v, k, n, s), inside, outside, label=f"{n} {s}")
        for kind, inside, outside in (("lower", 2.1, 1.9), ("converges", 0.09, 0.11))
        for n in (4, 8)
        for s in (3, 4)
    ),
]

SAMPLES = np.geomspace(10, 10_000, 31)


def decay(x: np.ndarray, power: float, first: float) -> np.ndarray:
    """A fall as x^power from `first` on; before, it does not fall at all. One factor for each run."""
    return np.where(x >= first, x**power, 1e6)[None] * (1 + NOISE[:, None])


def rates(
    difference: float = -0.5, barker: float = -0.5, row: str = "full", gains: Levels | None = None
) -> list[Claim]:
    rows = {
        (operator, kind): decay(SAMPLES, -1.2, 100)
        for operator in ("barker", "difference")
        for kind in ("full", "sparse")
    }
    rows["difference", row] = decay(SAMPLES, difference, 100)
    rows["barker", row] = decay(SAMPLES, barker, 100)
    plans = np.arange(1.0, 301)
    levels = gains or dict.fromkeys(VARIANTS, -1.2)
    row_fits = [
        fitted({"operator": operator, "row": kind}, SAMPLES, values, first=rates_chapter.SETTLED)
        for (operator, kind), values in rows.items()
    ]
    run_fits = [fitted({"variant": v}, plans, decay(plans, power, 30), first=30) for v, power in levels.items()]
    return rates_chapter.claims({"row_fits": pd.concat(row_fits), "run_fits": pd.concat(run_fits)})


SETTINGS = ("one", "two", "three")
BOUNDS = {"ratio_max": "ratio_bound", "gain": "gain_bound"}


def bounds(
    changes: dict[str, Levels] | None = None, setting: str = "one", kept: int = 15, each: int = 5
) -> list[Claim]:
    """log10 of columns by variant, in one setting; `kept`: runs of each variant (of 3 `each`) that keep theorem 4.1."""
    rows = []
    for variant in VARIANTS:
        for name in SETTINGS:
            for run in range(each):
                row = {"variant": variant, "setting": name, "regret": 1.0, "bound": 2.0}
                row |= {"ratio_bound": 100.0, "gain_bound": 100.0, "gain_bound_improved": 10.0}
                row |= {"ratio_max": 1e-3, "gain": 1e-3}
                for column, levels in (changes or {}).items():
                    if name == setting:
                        row[column] = 10.0 ** (levels[variant] + NOISE[run])
                rows.append(row)
    frame = pd.DataFrame(rows)
    for variant in VARIANTS:
        frame.loc[frame.index[frame["variant"] == variant][kept:], "regret"] = 2.1
    return bound_claims({"runs": frame})


EPISODES = np.arange(1.0, 501)
KEPT = EPISODES[EPISODES >= 50]
LIMIT = float(np.polyfit(np.log(KEPT), np.log(np.sqrt(KEPT * np.log(KEPT))), 1)[0])
POWERS = {"S": 1.5, "A": 1.0, "H": 2.0, "K": 0.5}
assert POWERS == BOUND


def bayesian(levels: Levels | None = None, scans: dict[str, float] | None = None) -> list[Claim]:
    curves = {agent: (EPISODES, decay(EPISODES, 0.3, 50)) for agent in VARIANTS.values()}
    curves |= {agent: (EPISODES, decay(EPISODES, p, 50)) for agent, p in by_agent(levels or {}).items()}
    x = np.array([2.0, 4.0, 8.0])
    powers = {"S": 0.5, "A": 0.5, "H": 0.5} | (scans or {})
    growth = [fitted({"agent": agent}, at, regret, first=50) for agent, (at, regret) in curves.items()]
    runs = [per_run({"scan": name, "x": v}, regret=v**power * (1 + NOISE)) for name, power in powers.items() for v in x]
    return bayesian_claims({"growth": pd.concat(growth), "scan_runs": pd.concat(runs)})


def weights(levels: Levels, kind: str) -> list[Claim]:
    """The theorem's lambda is 2 on all runs: between 1 and 4, at half of the way in log w."""
    grid = np.array([0.25, 1.0, 4.0, 16.0])
    runs, ratio = [], []
    for variant, level in levels.items():
        regret = np.array([GARBAGE, 0.2, 0.4, GARBAGE]) if kind == "ratio" else np.full(4, 0.3)
        excess = np.array([GARBAGE, -1.0, level if kind == "bound" else -1.0, GARBAGE])
        for place, weight in enumerate(grid):
            values = {"regret": np.full(RUNS, regret[place]), "theory": 2.0, "excess": excess[place] + NOISE}
            runs.append(per_run({"variant": variant, "x": weight}, **values))
        ratio.append(per_run({"variant": variant}, regret=0.3 - (level if kind == "ratio" else 0.0) + NOISE))
    return weight_claims({"runs": pd.concat(runs), "ratio": pd.concat(ratio)})


THEORY = [
    *(
        Case("lemma-rate", lambda p, r=row: rates(difference=p, row=r), -0.92, -0.88, False, f"literal, {row}")
        for row in ("full", "sparse")
    ),
    Case("lemma-gain", lambda levels: rates(gains=levels), -0.92, -0.88),
    *(
        Case(
            "lemma-ratio",
            lambda v, s=s: bounds({"ratio_max": {k: 2 + x for k, x in v.items()}}, s),
            -0.01,
            0.01,
            label=s,
        )
        for s in SETTINGS
    ),
    *(
        Case(name, lambda v, s=s, h=height: bounds({"gain": {k: h + x for k, x in v.items()}}, s), -0.01, 0.01, label=s)
        for name, height in (("lemma-total", 2), ("corollary-4.5", 1))
        for s in SETTINGS
    ),
    Case("theorem-4.6", lambda levels: weights(levels, "bound"), 0.08, 0.1),
    Case("weight", lambda levels: weights(levels, "ratio"), 0.09, 0.11),
    Case("bayes-sublinear", bayesian, 0.94, 0.96),
    Case("bayes-K", bayesian, LIMIT - 0.01, LIMIT + 0.01),
]
DEFAULT_ONLY = [
    *(
        Case(f"bayes-{name}", lambda p, n=name: bayesian(scans={n: p}), POWERS[name] - 0.02, POWERS[name] + 0.02)
        for name in "SAH"
    ),
    Case("bayes-linear-S", lambda power: bayesian(scans={"S": power}), 0.98, 1.02),
]
"""Claims that are tested for the default only."""
