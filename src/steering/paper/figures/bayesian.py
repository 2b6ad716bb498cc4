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
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from steering._types import Floats
from steering.paper import looks, panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.theory import bayesian_claims
from steering.paper.scale import VARIANTS, Block, Scale
from steering.paper.source import Source
from steering.runs.drawing import new_figure
from steering.runs.statistics import mean_interval

BASE = {"S": 4, "A": 2, "H": 5}
SCANS = {"S": (3, 4, 6, 9), "A": (2, 3, 4, 6), "H": (3, 5, 8, 12)}
BOUND = {"S": 1.5, "A": 1.0, "H": 2.0, "K": 0.5}
SCANNED = ("psrl", "steering")
OVER_TIME = ("psrl", *VARIANTS.values())
TITLE = "Theory: Bayesian regret"
SLOPE, SLOPE_LINE = "slope of the bound", (0, (1, 1.5))


def prior_environment(S: int, A: int, H: int, i: int) -> str:
    """The i-th MDP drawn from the agents' prior, in episodes of H steps."""
    return f"priormdp:{S},{A},seed={i},normal_gamma=(0,4,3,3),horizon={H}"


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


def over_time(source: Source, agent: str) -> tuple[Floats, Floats]:
    """Episodes 1, 2, ... and cumulative expected regret after each, (MDPs, episodes)."""
    part = blocks(BASE, source.scale, OVER_TIME)
    _, curves = source.curves(part, agent, normalised=False, kind="expected_regret")
    ends = curves[:, BASE["H"] - 1 :: BASE["H"]]
    return np.arange(1.0, ends.shape[1] + 1), ends


def scan(source: Source, name: str, agent: str) -> list[Floats]:
    """Expected regret after all episodes on every MDP, for each value of a scan."""
    found = []
    for value in SCANS[name]:
        part = blocks({**BASE, name: value}, source.scale, SCANNED)
        found.append(source.curves(part, agent, normalised=False, kind="expected_regret")[1][:, -1])
    return found


def data(source: Source) -> Tables:
    """Curves over episodes, and scans: name, agent, x, mean, low, high."""
    curves = [panels.rows_of("over episodes", agent, *over_time(source, agent)) for agent in OVER_TIME]
    rows = []
    for name, values in SCANS.items():
        for agent in SCANNED:
            for value, scores in zip(values, scan(source, name, agent), strict=True):
                mean, low, high = mean_interval(scores)
                rows.append({"scan": name, "agent": agent, "x": value, "mean": mean, "low": low, "high": high})
    return {"curves": pd.concat(curves, ignore_index=True), "scans": pd.DataFrame(rows)}


def draw_scan(axes: Axes, table: pd.DataFrame) -> None:
    """One scan on logarithmic axes, with the slope of the bound."""
    name = str(table["scan"].iloc[0])
    for agent, rows in table.groupby("agent", sort=False):
        errors = np.array([rows["mean"] - rows["low"], rows["high"] - rows["mean"]])
        style: dict[str, Any] = {
            "color": looks.colour(str(agent)),
            "label": looks.label(str(agent)),
            "marker": "o",
            "capsize": 3,
        }
        axes.errorbar(rows["x"], rows["mean"], yerr=errors, linewidth=1.4, **style)
    x, heights = bound_line(table, name)
    axes.plot(x, heights, color="black", linestyle=SLOPE_LINE, label=SLOPE)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(x, [f"{value:g}" for value in x])
    _plain_heights(axes)
    axes.grid(alpha=0.25)
    words = {"S": "states S", "A": "actions A", "H": "steps of an episode H"}
    axes.set_xlabel(words[name])


def bound_line(table: pd.DataFrame, name: str) -> tuple[Floats, Floats]:
    """A line with the slope of the bound, from the lowest of the first points."""
    x = np.array(sorted(table["x"].unique()), dtype=np.float64)
    start = float(table.loc[table["x"] == x[0], "mean"].min())
    return x, start * (x / x[0]) ** BOUND[name]


def _plain_heights(axes: Axes) -> None:
    """Heights as plain numbers, 1, 2 and 5 of every decade: a range of less than a decade has ticks too."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """Over episodes, then the three scans."""
    figure = new_figure(13.0, 4.6)
    grid = figure.subplots(1, 1 + len(SCANS))
    curves = tables["curves"]
    panels.draw(grid[0], curves)
    grid[0].plot(*bound_line(curves, "K"), color="black", linestyle=SLOPE_LINE, label=SLOPE)
    grid[0].set_xscale("log")
    grid[0].set_yscale("log")
    _plain_heights(grid[0])
    grid[0].set_ylim(bottom=float(curves["mean"][curves["mean"] > 0].min()) / 2)
    grid[0].set_xlabel("episodes K")
    grid[0].set_title("")
    grid[0].set_ylabel("Bayesian regret (reward units)")
    for axes, (_, part) in zip(grid[1:], tables["scans"].groupby("scan", sort=False), strict=True):
        draw_scan(axes, part)
    figure.suptitle(
        f"Bayesian regret around S = 4, A = 2, H = 5, K = {scale.episodes} ({scale.name}: {scale.mdps} MDPs; "
        "bands and bars: 95 % interval over MDPs)",
        fontsize="medium",
    )
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return {"bayesian": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Over episodes and the scans, interactive."""
    size = f"{scale.name}: {scale.mdps} MDPs, {scale.episodes} episodes"
    band = "95 % interval over MDPs"
    options: dict[str, Any] = {"ylabel": "Bayesian regret (reward units)", "size": size, "band": band, "log": "xy"}
    curves = panels.chart(tables["curves"], TITLE, xlabel="episodes K", **options)
    curves["panels"][0]["series"].append(panels.reference(SLOPE, *bound_line(tables["curves"], "K")))
    table = tables["scans"].assign(panel="regret against " + tables["scans"]["scan"])
    scans = panels.chart(table, TITLE, xlabel="size", **options)
    for panel, (name, part) in zip(scans["panels"], table.groupby("scan", sort=False), strict=True):
        panel["series"].append(panels.reference(SLOPE, *bound_line(part, str(name))))
    return [curves, scans]


CHAPTER = Chapter(
    name="bayesian",
    title=TITLE,
    paper="Theorem 4.4",
    text="Regret averaged over MDPs drawn from the agents' own prior, in episodes. Lines named 'slope of the "
    "bound' rise as the theorem lets regret rise.",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: bayesian_claims(
        {agent: over_time(source, agent) for agent in OVER_TIME},
        {name: (np.array(values, dtype=np.float64), scan(source, name, "steering")) for name, values in SCANS.items()},
        BOUND,
    ),
)
