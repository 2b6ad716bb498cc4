"""Made-up data for every claim: one level just inside its condition, one just outside.

A case builds all claims of a group from one level (or one for each STEERING) that decides the claim in question. All
else that the claim must not look at (other actions, states, times, kinds of regret) holds values that would turn it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from steering.paper.chapters import dense_sparse, environments, prior_belief, psrl_sparsity, regret
from steering.paper.chapters.dense_sparse.claims import OTHERS
from steering.paper.rule import Claim
from steering.paper.scale import BASELINES, EXACT_IDS, LEARNED_PSRL, PARTNERS, VARIANTS
from steering.paper.tables import TIMES, fitted, per_run

RUNS = 6
NOISE = np.array([1.0, -1.0, 2.0, -2.0, 0.5, -0.5]) * 1e-3
STEPS = np.arange(1, 1001)
Levels = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """A claim, what builds it from a level, and the two levels. `variants`: one level for each STEERING."""

    name: str
    build: Callable[[Any], Sequence[Claim]]
    inside: float
    outside: float
    variants: bool = True
    label: str = ""

    def claim(self, level: float | Levels) -> Claim:
        """The claim at a level."""
        return next(claim for claim in self.build(level) if claim.name == self.name)

    def __str__(self) -> str:
        return f"{self.name}{' ' * bool(self.label)}{self.label}"


def noise(agent: str) -> np.ndarray:
    return NOISE * (1 if agent in VARIANTS.values() else 2)


def finals(scores: dict[tuple[str, str], float]) -> pd.DataFrame:
    """The table of the regret of every run, from a level for each panel and agent."""
    return pd.concat(
        per_run({"panel": panel, "agent": agent}, regret=level + noise(agent))
        for (panel, agent), level in scores.items()
    )


def grown(panel: str, agent: str, power: float = 0.5) -> pd.DataFrame:
    """Regret that grows with a power of time over the last 90 % of it, and wildly before."""
    early = STEPS[-1] / 10 > STEPS
    curve = np.where(early, 1e3 * STEPS**3.0, STEPS**power) * (1 + NOISE[:, None])
    return fitted({"panel": panel, "agent": agent}, STEPS, curve, first=STEPS[-1] / 10)


def times(levels: dict[str, float]) -> pd.DataFrame:
    # One run that waited for the machine must not matter for the median of PSRL.
    late = {"psrl": np.array([0, 0, 0, 0, 0, 50.0])}
    agents = ("psrl", EXACT_IDS, *VARIANTS.values())
    return pd.concat(per_run({"agent": a}, seconds=levels.get(a, 1.0) + late.get(a, NOISE)) for a in agents)


PANELS = LOW, MEDIUM, HIGH = tuple(regret.LEVELS)


def by_agent(levels: Levels) -> dict[str, float]:
    return {VARIANTS[variant]: level for variant, level in levels.items()}


def deepsea(**changes: dict[Any, float]) -> list[Claim]:
    agents = (*BASELINES, *PARTNERS.values(), *VARIANTS.values())
    scores = {(panel, agent): 0.95 for panel in PANELS for agent in agents}
    scores |= {(panel, agent): 0.5 for panel in PANELS for agent in VARIANTS.values()}
    powers = changes.get("growth", {})
    growth = [grown(panel, a, powers.get((panel, a), 0.5)) for panel in PANELS for a in VARIANTS.values()]
    return regret.CHAPTER.claims(
        {
            "runs": finals(scores | changes.get("scores", {})),
            "growth": pd.concat(growth),
            TIMES: times(changes.get("times", {})),
        }
    )


def ahead_case(panel: str, baseline: str) -> Case:
    def build(levels: Levels) -> list[Claim]:
        own = {(panel, agent): level for agent, level in by_agent(levels).items()}
        return deepsea(scores={(panel, baseline): 0.5, **own})

    return Case(f"deepsea-{panel.split()[0]}", build, 0.49, 0.51, label=f"against {baseline}")


def lead_case(name: str, panel: str, inside: float, outside: float, rival: str, before: float = 0.0) -> Case:
    """Leads of 0 over one rival everywhere but in a panel; at low sparsity `before`."""

    def build(levels: Levels) -> list[Claim]:
        scores = {(one, rival): 0.6 for one in PANELS} | {(one, a): 0.6 for one in PANELS for a in VARIANTS.values()}
        scores |= {(LOW, agent): 0.6 - before for agent in VARIANTS.values()}
        scores |= {(panel, agent): 0.6 - level for agent, level in by_agent(levels).items()}
        return deepsea(scores=scores)

    return Case(name, build, inside, outside, label=f"{panel.split()[0]}, {rival}, {outside:g}")


def fails_case(baseline: str) -> Case:
    return Case(
        "deepsea-fail", lambda level: deepsea(scores={(HIGH, baseline): level}), 0.91, 0.89, False, f"by {baseline}"
    )


def control_case() -> Case:
    """Every partner at a level of its own, so that no partner can stand for another."""
    places = {"default": 0.3, "sound": 0.5, "literal": 0.7}

    def build(levels: Levels) -> list[Claim]:
        scores = {(HIGH, partner): places[v] for v, partner in PARTNERS.items()}
        scores |= {(HIGH, VARIANTS[v]): places[v] - level for v, level in levels.items()}
        return deepsea(scores=scores)

    return Case("deepsea-control", build, 0.01, -0.01)


def timed(levels: Levels) -> list[Claim]:
    return deepsea(times=by_agent(levels))


def growth_case(panel: str) -> Case:
    def build(levels: Levels) -> list[Claim]:
        return deepsea(growth={(panel, agent): level for agent, level in by_agent(levels).items()})

    return Case("deepsea-sublinear", build, 0.94, 0.96, label=panel.split()[0])


DEEPSEA = [
    *(ahead_case(panel, baseline) for panel in PANELS for baseline in BASELINES),
    *(
        lead_case("deepsea-comparable", panel, inside, outside, rival)
        for panel in (LOW, MEDIUM)
        for rival in ("psrl", "ids")
        for inside, outside in ((0.09, 0.11), (-0.09, -0.11))
    ),
    *(lead_case("deepsea-lead", HIGH, 0.01, -0.01, rival, before=-0.2) for rival in ("psrl", "ids")),
    lead_case("deepsea-lead", HIGH, 0.21, 0.19, "psrl", before=0.2),
    *(fails_case(baseline) for baseline in BASELINES),
    *(growth_case(panel) for panel in PANELS),
    Case("cost", timed, 9.9, 10.1),
    Case("ids-intractable", lambda level: deepsea(times={EXACT_IDS: level}), 10.1, 9.9, False),
    control_case(),
]


W, P = environments.WIDE, environments.PRIOR


def other_environments(changes: dict[tuple[str, str], float]) -> list[Claim]:
    scores = {(panel, agent): 900.0 for panel in (W, P) for agent in (*BASELINES, *VARIANTS.values())}
    scores |= {(panel, "psrl"): 700.0 for panel in (W, P)} | changes
    return environments.CHAPTER.claims({"runs": finals(scores)})


def environment_case(name: str, panel: str, baseline: str) -> Case:
    def build(levels: Levels) -> list[Claim]:
        own = {(panel, agent): 500 - level for agent, level in by_agent(levels).items()}
        return other_environments({(panel, baseline): 500.0, **own})

    return Case(name, build, 0.1, -0.1, label=f"against {baseline}")


ENVIRONMENTS = [
    *(environment_case(name, p, b) for name, p in (("widenarrow", W), ("priormdp", P)) for b in BASELINES),
    *(
        Case("factored", lambda d, a=agent: other_environments({(W, a): 700.0 + d}), 0.1, -0.1, False, agent)
        for agent in ("bayesian_q", "mm")
    ),
]


def sparse(growth: dict[str, float] | None = None, change: dict[str, float] | None = None) -> list[Claim]:
    growth = {"psrl": 0.5} | dict.fromkeys(OTHERS, 0.97) | (growth or {})
    scores = {(panel, agent): 0.5 for panel in ("dense", "sparse") for agent in BASELINES}
    scores |= {("sparse", agent): 0.5 + (change or {}).get(agent, 0.3) for agent in BASELINES}
    grows = pd.concat(grown("sparse", agent, power) for agent, power in growth.items())
    return dense_sparse.CHAPTER.claims({"runs": finals(scores), "growth": grows})


def psrl(slope: float, last: float) -> list[Claim]:
    sizes = np.array([4.0, 8.0, 20.0])
    runs = [per_run({"x": n}, regret=last + slope * (n - sizes[-1]) + NOISE) for n in sizes]
    return psrl_sparsity.CHAPTER.claims({"runs": pd.concat(runs)})


SPARSITY = [
    *(Case("sparse-linear", lambda p, a=a: sparse(growth={a: p}), 0.91, 0.89, False, a) for a in OTHERS),
    Case("sparse-psrl", lambda power: sparse(growth={"psrl": power}), 0.89, 0.91, False),
    *(Case("sparse-worse", lambda d, a=a: sparse(change={a: d}), 0.01, -0.01, False, a) for a in BASELINES),
    Case("psrl-degrades", lambda slope: psrl(slope, 0.95), 0.01, -0.01, False),
    Case("psrl-suffers", lambda level: psrl(0.04, level), 0.91, 0.89, False),
]


def beliefs(strong: dict[str, float], weak: dict[str, float]) -> list[Claim]:
    usual = {"psrl": 0.9, "ids": 0.88, **dict.fromkeys(PARTNERS.values(), 0.9), **dict.fromkeys(VARIANTS.values(), 0.1)}
    runs = [
        per_run({"level": level, "agent": agent}, regret=value + NOISE)
        for level, change in (("strong", strong), ("weak", weak))
        for agent, value in (usual | change).items()
    ]
    return prior_belief.CHAPTER.claims({"runs": pd.concat(runs)})


def prior_case(name: str, rival: str) -> Case:
    def build(levels: Levels) -> list[Claim]:
        changed = {rival: 0.5, **by_agent(levels)}
        return beliefs(changed, {}) if name == "prior-strong" else beliefs({}, changed)

    return Case(name, build, 0.49, 0.51, label=f"against {rival}")


def prior_control(levels: Levels) -> list[Claim]:
    places = {"default": 0.3, "sound": 0.5, "literal": 0.7}
    partners = {partner: places[variant] for variant, partner in PARTNERS.items()}
    return beliefs({**partners, **{VARIANTS[v]: places[v] - level for v, level in levels.items()}}, {})


PRIOR = [
    *(prior_case(name, rival) for name in ("prior-strong", "prior-weak") for rival in ("psrl", "ids")),
    *(
        Case(
            "prior-ids-marginal", lambda d: beliefs({"ids": 0.9 - d}, {"ids": 0.2}), inside, outside, False, f"{inside}"
        )
        for inside, outside in ((0.09, 0.11), (-0.09, -0.11))
    ),
    Case("prior-control", prior_control, 0.01, -0.01),
]


def psrl_control(level: float) -> dict[str, float]:
    return {LEARNED_PSRL: 0.5 + level, VARIANTS["default"]: 0.5}


PSRL_CONTROLS = [
    Case(
        "deepsea-control-psrl",
        lambda level: deepsea(scores={(HIGH, agent): x for agent, x in psrl_control(level).items()}),
        0.01,
        -0.01,
    ),
    Case("prior-control-psrl", lambda level: beliefs(psrl_control(level), {}), 0.01, -0.01),
]
"""Controls of the default only."""
