"""How the belief about Q evolves against Q*, DeepSea 4 and 8 (the paper's appendix, all pairs).

The paper plots mean and variance of Q under the posterior for the last four states, left action above, right action
below. For every pair (STEERING, baseline) the two share a panel here. The line is the posterior mean, the band one
posterior standard deviation to each side, both averaged over seeds; the dotted black line is Q*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering.paper import looks, panels
from steering.paper.chapter import Chapter, Chart, Tables
from steering.paper.claims.posterior import posterior_claims, random_action_claims
from steering.paper.scale import VARIANTS, Block, Scale
from steering.paper.source import Source
from steering.runs.drawing import new_figure

SIZES = (4, 8)
STATES = 4
ACTIONS = ("left", "right")
PAIRS = ("q_learning", "bayesian_q", "ube", "mm", "psrl")
NAMES = (*PAIRS, *VARIANTS.values())
TITLE = "The belief about Q"
BAND = "± one posterior standard deviation, mean over seeds"


def blocks(n: int, scale: Scale) -> list[Block]:
    """All agents on DeepSea n with 40 snapshots of the belief about Q."""
    seeds = tuple(range(scale.posterior_seeds))
    return [Block((f"deepsea:{n}",), NAMES, scale.steps, seeds, snapshots=40, extra=("q_posterior",))]


def needs(scale: Scale) -> list[Block]:
    """Both sizes."""
    return [block for n in SIZES for block in blocks(n, scale)]


def data(source: Source) -> Tables:
    """Mean and standard deviation over time: n, agent, state, action, x, mean, std, optimal."""
    frames = []
    for n in SIZES:
        for agent in NAMES:
            steps, mean, std, optimal = source.posterior(blocks(n, source.scale), agent)
            for state in range(max(n - STATES, 0), n):
                for action, name in enumerate(ACTIONS):
                    fixed = {"n": n, "agent": agent, "state": state + 1, "action": name}
                    values = {
                        "x": steps,
                        "mean": mean[:, :, state, action].mean(axis=0),
                        "std": std[:, :, state, action].mean(axis=0),
                        "optimal": optimal[state, action],
                    }
                    frames.append(pd.DataFrame({**fixed, **values}))
    return {"posterior": pd.concat(frames, ignore_index=True)}


def drawn_bands(table: pd.DataFrame, banded: Sequence[str]) -> dict[str, bool]:
    """Agents of `banded` that have a spread, and whether its band fits: one wider than the axes hides the rest."""
    low, high = heights(table)
    spread = {agent: float(rows["std"].median()) for agent, rows in table.groupby("agent", sort=False)}
    return {agent: 2 * spread[agent] < high - low for agent in banded if spread[agent] > 0}


def band_words(table: pd.DataFrame, banded: Sequence[str]) -> str:
    """What the bands of a figure are, and which agent has none."""
    fits = drawn_bands(table, banded)
    words = ["band: ± 1 posterior standard deviation of " + " and ".join(looks.label(a) for a in fits if fits[a])]
    words += [f"{looks.label(agent)}'s is wider than the axes and not drawn" for agent in fits if not fits[agent]]
    words += [f"{looks.label(agent)} has none" for agent in banded if agent not in fits]
    return "; ".join(words)


def draw(axes: Axes, table: pd.DataFrame, banded: Sequence[str]) -> None:
    """One state and action: agents in `banded` with their band, other STEERINGs as thin lines."""
    for agent, rows in table.groupby("agent", sort=False):
        name = str(agent)
        style: dict[str, Any] = {"color": looks.colour(name), "linestyle": looks.line(name), "label": looks.label(name)}
        beside = name in VARIANTS.values() and name not in banded
        axes.plot(rows["x"], rows["mean"], linewidth=0.9 if beside else 1.5, **style)
        if name in banded:
            low, high = rows["mean"] - rows["std"], rows["mean"] + rows["std"]
            axes.fill_between(rows["x"], low, high, color=style["color"], alpha=0.18, linewidth=0)
    axes.axhline(table["optimal"].iloc[0], color="black", linestyle=(0, (1, 1.5)), linewidth=1.2, label="Q*")
    axes.grid(alpha=0.25)
    axes.margins(x=0.01)


def heights(table: pd.DataFrame) -> tuple[float, float]:
    """Limits of Q: all means and Q*, and half their range on both sides; wider bands (UBE's) are cut."""
    low = min(float(table["mean"].min()), float(table["optimal"].min()))
    high = max(float(table["mean"].max()), float(table["optimal"].max()))
    return low - 0.5 * (high - low), high + 0.5 * (high - low)


def sheet(table: pd.DataFrame, banded: Sequence[str], title: str) -> Figure:
    """Last four states in columns, left and right action in rows."""
    states = sorted(table["state"].unique())
    bands = [agent for agent, fits in drawn_bands(table, banded).items() if fits]
    figure = new_figure(3.0 * len(states), 5.8)
    # A fixed layout: twelve figures of this kind take too long with one that is computed.
    figure.set_layout_engine("none")
    layout = {"left": 0.06, "right": 0.99, "top": 0.86, "bottom": 0.17, "hspace": 0.22, "wspace": 0.06}
    grid = figure.subplots(len(ACTIONS), len(states), sharex=True, sharey=True, gridspec_kw=layout)
    for row, action in enumerate(ACTIONS):
        for column, state in enumerate(states):
            axes = grid[row, column]
            draw(axes, table[(table["state"] == state) & (table["action"] == action)], bands)
            axes.set_title(f"state {state}, {action}", fontsize="medium")
            if row == len(ACTIONS) - 1:
                axes.set_xlabel("step")
    grid[0, 0].set_ylim(*heights(table))
    title = f"{title}\n{band_words(table, banded)}"
    figure.supylabel("Q (discounted reward)", fontsize="medium", x=0.005)
    figure.suptitle(title, fontsize="medium")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=min(len(labels), 5), frameon=False)
    return figure


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """One figure for STEERING alone and one for each pair, at each size."""
    table = tables["posterior"]
    size = scale.remark(scale.posterior_seeds)
    drawn = {}
    for n in SIZES:
        own = table[(table["n"] == n) & table["agent"].isin(VARIANTS.values())]
        title = f"Belief about Q on DeepSea {n}: STEERING"
        drawn[f"q_posterior_{n}_steering"] = sheet(own, list(VARIANTS.values())[:2], f"{title} ({size})")
        for baseline in PAIRS:
            both = table[(table["n"] == n) & table["agent"].isin((baseline, *VARIANTS.values()))]
            pair = f"{title} and {looks.label(baseline)} ({size})"
            drawn[f"q_posterior_{n}_{baseline}"] = sheet(both, ("steering", baseline), pair)
    return drawn


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Sizes to choose from, all agents to switch on and off."""
    table = tables["posterior"]
    return [
        {
            "type": "choice",
            "label": "DeepSea",
            "options": [f"N = {n}" for n in SIZES],
            "charts": [_chart(table[table["n"] == n], scale) for n in SIZES],
        }
    ]


def _chart(table: pd.DataFrame, scale: Scale) -> Chart:
    places = [(action, state) for action in ACTIONS for state in sorted(table["state"].unique())]
    frames = []
    marks = []
    for action, state in places:
        part = table[(table["state"] == state) & (table["action"] == action)]
        bands = {"low": part["mean"] - part["std"], "high": part["mean"] + part["std"]}
        frames.append(part.assign(panel=f"state {state}, {action}", **bands))
        marks.append({"y": float(part["optimal"].iloc[0]), "name": "Q*"})
    hidden = [agent for agent in NAMES if agent not in ("steering", "psrl")]
    size = scale.remark(scale.posterior_seeds)
    chart = panels.chart(pd.concat(frames), TITLE, ylabel="Q (discounted reward)", size=size, band=BAND, hidden=hidden)
    for panel, mark in zip(chart["panels"], marks, strict=True):
        panel["marks"] = [mark]
    return {**chart, "columns": STATES, "ylim": panels.short(heights(table))}


CHAPTER = Chapter(
    name="q_posterior",
    title=TITLE,
    paper="Appendix, Q̂ against Q*, twelve figures",
    text="Mean and spread of Q under each agent's belief, last four states; Q* is the dotted line. Right actions are "
    "optimal everywhere.",
    needs=needs,
    data=data,
    figures=figures,
    charts=charts,
    claims=lambda source, tables: [
        *posterior_claims(
            {n: {agent: source.posterior(blocks(n, source.scale), agent) for agent in NAMES} for n in SIZES}, STATES
        ),
        *random_action_claims(source.visits(blocks(8, source.scale), "ube", (8, len(ACTIONS)))),
    ],
)
