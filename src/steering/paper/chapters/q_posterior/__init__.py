"""How the belief about Q evolves against Q*, DeepSea 4 and 8 (the paper's appendix, all pairs).

The paper plots mean and variance of Q under the posterior for the last four states, left action above, right action
below. For every pair (STEERING, baseline) the two share a panel here. The line is the posterior mean, the band one
posterior standard deviation to each side, both averaged over seeds; the dotted black line is Q*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from steering._types import Floats, Ints
from steering.paper import looks
from steering.paper.chapter import Chapter, Topic
from steering.paper.chapters.q_posterior.claims import PAIRS, claims
from steering.paper.charts import Chart, chart, choice, of_agent
from steering.paper.drawing import sheet
from steering.paper.scale import VARIANTS, Block, Scale
from steering.paper.source import Source
from steering.paper.tables import Tables, per_run

SIZES = (4, 8)
STATES = 4
ACTIONS = ("left", "right")
LEFT, RIGHT = 0, 1
NAMES = (*PAIRS, *VARIANTS.values())
TITLE = "The belief about Q"
BAND = "± one posterior standard deviation, mean over seeds"


def blocks(n: int, scale: Scale) -> list[Block]:
    """All agents on DeepSea n with 40 snapshots of the belief about Q."""
    seeds = tuple(range(scale.posterior_seeds))
    return [Block((f"deepsea:{n}",), NAMES, scale.steps, seeds, snapshots=40, extra=("q_posterior",))]


def data(source: Source, scale: Scale) -> Tables:
    """The belief by state and action, mean over seeds; errors and spreads of every run; what UBE does at the end."""
    drawn, runs = [], []
    for n in SIZES:
        for agent in NAMES:
            steps, mean, std, optimal = source.posterior(blocks(n, scale), agent)
            fixed = {"n": n, "agent": agent}
            for state in range(max(n - STATES, 0), n):
                for action, name in enumerate(ACTIONS):
                    values = {
                        "x": steps,
                        "mean": mean[:, :, state, action].mean(axis=0),
                        "std": std[:, :, state, action].mean(axis=0),
                        "optimal": optimal[state, action],
                    }
                    drawn.append(pd.DataFrame({**fixed, "state": state + 1, "action": name, **values}))
            runs.append(errors(mean, std, optimal, steps).assign(n=n, agent=agent))
    visits = source.visits(blocks(SIZES[-1], scale), "ube", (SIZES[-1], len(ACTIONS)))
    return {
        "posterior": pd.concat(drawn, ignore_index=True),
        "runs": pd.concat(runs, ignore_index=True),
        "actions": left_actions(visits),
    }


def left_actions(visits: Floats) -> pd.DataFrame:
    """Share of left actions of every run in its last window, from visits (runs, windows, S, A)."""
    end = visits[:, -1]
    return per_run({}, left=end[:, :, LEFT].sum(axis=1) / end.sum(axis=(1, 2)))


def errors(mean: Floats, std: Floats, optimal: Floats, steps: Ints) -> pd.DataFrame:
    """Errors of right actions and spreads of both for every run and time, averaged over the last states.

    `level` is the mean of |Q*| of right actions, which the error is divided by.
    """
    last = (..., slice(-STATES, None), RIGHT)
    level = float(np.abs(optimal[last]).mean())
    error = np.abs(mean[last] - optimal[last]).mean(axis=-1) / level
    left, right = (std[..., -STATES:, action].mean(axis=-1) for action in (LEFT, RIGHT))
    run, time = np.indices(error.shape).reshape(2, -1)
    values = {"error": error.ravel(), "left": left.ravel(), "right": right.ravel(), "level": level}
    return pd.DataFrame({"run": run, "x": steps[time], **values})


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


def heights(table: pd.DataFrame) -> tuple[float, float]:
    """Limits of Q: all means and Q*, and half their range on both sides; wider bands (UBE's) are cut."""
    low = min(float(table["mean"].min()), float(table["optimal"].min()))
    high = max(float(table["mean"].max()), float(table["optimal"].max()))
    return low - 0.5 * (high - low), high + 0.5 * (high - low)


def one_chart(table: pd.DataFrame, scale: Scale, banded: Sequence[str], hidden: Sequence[str] = ()) -> Chart:
    """Last four states in columns, left and right action in rows; bands of `banded` only."""
    size = scale.remark(scale.posterior_seeds)
    made = chart(None, TITLE, ylabel="Q (discounted reward)", size=size, band=BAND, share_y=True)
    made |= {"ylim": heights(table), "columns": STATES}
    for action in ACTIONS:
        for state in sorted(table["state"].unique()):
            part = table[(table["state"] == state) & (table["action"] == action)]
            lines = []
            for name, rows in part.groupby("agent", sort=False):
                agent = str(name)
                shown = rows.assign(low=rows["mean"] - rows["std"], high=rows["mean"] + rows["std"])
                beside = agent in VARIANTS.values() and agent not in banded
                columns = ["x", "mean", "low", "high"] if agent in banded else ["x", "mean"]
                lines.append(of_agent(agent, shown[columns], width=0.9 if beside else 1.5, hidden=agent in hidden))
            marks = [{"y": float(part["optimal"].iloc[0]), "name": "Q*"}]
            made["panels"].append({"title": f"state {state}, {action}", "series": lines, "marks": marks})
    return made


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """One figure for STEERING alone and one for each pair, at each size."""
    table = tables["posterior"]
    ours = list(VARIANTS.values())
    drawn = {}
    for n in SIZES:
        for baseline in ("steering", *PAIRS):
            alone = baseline == "steering"
            part = table[(table["n"] == n) & table["agent"].isin([baseline, *ours])]
            banded = ours[:2] if alone else (ours[0], baseline)
            pair = "STEERING" if alone else f"STEERING and {looks.label(baseline)}"
            bands = [agent for agent, fits in drawn_bands(part, banded).items() if fits]
            title = f"Belief about Q on DeepSea {n}: {pair} ({scale.remark(scale.posterior_seeds)}; dotted: Q*)"
            made = one_chart(part, scale, bands)
            drawn[f"q_posterior_{n}_{baseline}"] = sheet(made, title=f"{title}\n{band_words(part, banded)}")
    return drawn


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """Sizes to choose from, all agents to switch on and off."""
    table = tables["posterior"]
    hidden = [agent for agent in NAMES if agent not in ("steering", "psrl")]
    return [choice("DeepSea", {f"N = {n}": one_chart(table[table["n"] == n], scale, NAMES, hidden) for n in SIZES})]


CHAPTER = Chapter(
    name="q_posterior",
    title=TITLE,
    paper="Figures 10 to 20",
    text="Mean and spread of Q under each agent's belief, last four states; Q* is the dotted line. Right actions are "
    "optimal everywhere.",
    needs=lambda scale: [block for n in SIZES for block in blocks(n, scale)],
    data=data,
    draw=figures,
    charts=charts,
    claims=claims,
    topic=Topic.CONVERGENCE,
)
