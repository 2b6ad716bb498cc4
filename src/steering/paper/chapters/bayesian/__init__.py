"""Bayesian regret in the episodic setting against the shape of the bound sqrt(H^4 S^3 A^2 K) (Theorem 4.4).

MDPs are drawn from the very prior that the agents hold (Dirichlet(1) rows, Normal-Gamma(0, 4, 3, 3) rewards); run i
meets the i-th MDP. Around S = 4, A = 2, H = 5 one quantity is varied at a time. An upper bound with exponent b is
consistent with any fitted exponent of at most b.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from steering._types import Floats
from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.bayesian.claims import BOUND, claims
from steering.paper.charts import Chart, chart, reference, with_bars
from steering.paper.scale import VARIANTS, Block, Scale, prior_environment
from steering.paper.source import Source
from steering.paper.tables import Tables, band, fitted, groups, per_run, point

BASE = {"S": 4, "A": 2, "H": 5}
SCANS = {"S": (3, 4, 6, 9), "A": (2, 3, 4, 6), "H": (3, 5, 8, 12)}
OURS = VARIANTS["default"]
SCANNED = ("psrl", OURS)
OVER_TIME = ("psrl", *VARIANTS.values())
TITLE = "Theory: Bayesian regret"
SLOPE = "slope of the bound"
WORDS = {"S": "states S", "A": "actions A", "H": "steps of an episode H"}


def blocks(sizes: Mapping[str, int], scale: Scale, agents: tuple[str, ...]) -> list[Block]:
    """One run on each drawn MDP; curves are kept at ends of episodes."""
    S, A, H = sizes["S"], sizes["A"], sizes["H"]
    steps = scale.episodes * H
    return [
        Block((prior_environment(S, A, H, i),), agents, steps, (i,), points=steps, windows=1) for i in range(scale.mdps)
    ]


def needs(scale: Scale) -> list[Block]:
    """All variants at the base, two agents along every scan."""
    wanted = blocks(BASE, scale, OVER_TIME)
    for name, values in SCANS.items():
        for value in values:
            wanted += blocks({**BASE, name: value}, scale, SCANNED)
    return wanted


def over_time(source: Source, scale: Scale, agent: str) -> tuple[Floats, Floats]:
    """Episodes 1, 2, ... and cumulative expected regret after each, (MDPs, episodes)."""
    part = blocks(BASE, scale, OVER_TIME)
    _, curves = source.curves(part, agent, normalised=False, kind="expected_regret")
    ends = curves[:, BASE["H"] - 1 :: BASE["H"]]
    return np.arange(1.0, ends.shape[1] + 1), ends


def data(source: Source, scale: Scale) -> Tables:
    """Regret over episodes and against sizes, with bands; what exponents are fitted to, on every MDP."""
    curves, growth, scans, runs = [], [], [], []
    for agent in OVER_TIME:
        episodes, regret = over_time(source, scale, agent)
        curves.append(band({"panel": "over episodes", "agent": agent}, episodes, regret))
        if agent in VARIANTS.values():
            growth.append(fitted({"agent": agent}, episodes, regret, first=episodes[-1] / 10))
    for name, values in SCANS.items():
        for agent in SCANNED:
            for value in values:
                part = blocks({**BASE, name: value}, scale, SCANNED)
                ends = source.curves(part, agent, normalised=False, kind="expected_regret")[1][:, -1]
                scans.append(point({"scan": name, "agent": agent}, value, ends))
                if agent == OURS:
                    runs.append(per_run({"scan": name, "x": value}, regret=ends))
    return {
        "curves": pd.concat(curves, ignore_index=True),
        "growth": pd.concat(growth, ignore_index=True),
        "scans": pd.DataFrame(scans),
        "scan_runs": pd.concat(runs, ignore_index=True),
    }


def bound_line(table: pd.DataFrame, name: str) -> tuple[Floats, Floats]:
    """A line with the slope of the bound, from the lowest of the first points."""
    x = np.array(sorted(table["x"].unique()), dtype=np.float64)
    start = float(table.loc[table["x"] == x[0], "mean"].min())
    return x, start * (x / x[0]) ** BOUND[name]


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Over episodes, and the scans."""
    size = f"{scale.name}: {scale.mdps} MDPs, {scale.episodes} episodes"
    over = "95 % interval over MDPs"
    options: dict[str, Any] = {"ylabel": "Bayesian regret (reward units)", "size": size, "band": over, "log": "xy"}
    curves = chart(tables["curves"], TITLE, xlabel="episodes K", **options)
    curves["panels"][0]["series"].append(reference(SLOPE, *bound_line(tables["curves"], "K")))
    table = tables["scans"].assign(panel="regret against " + tables["scans"]["scan"].map(WORDS))
    scans = chart(table, TITLE, xlabel="size", **options)
    for panel, (name, part) in zip(scans["panels"], groups(table, "scan").items(), strict=True):
        panel["series"] = with_bars(panel["series"])
        panel["series"].append(reference(SLOPE, *bound_line(part, name)))
    return [curves, scans]


CHAPTER = Chapter(
    name="bayesian",
    title=TITLE,
    paper="Theorem 4.4",
    text="Regret averaged over MDPs drawn from the agents' own prior, in episodes. Lines named 'slope of the "
    "bound' rise as the theorem lets regret rise.",
    needs=needs,
    data=data,
    charts=charts,
    claims=claims,
    topic=Topic.THEORY,
)
