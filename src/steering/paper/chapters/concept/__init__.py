"""Directed exploration as a picture, computed from a real run (the paper's Fig. 1).

The paper's drawing says: IDS looks at the distance between the current sample and the posterior mean, STEERING at the
distance to the true model. Here one run of STEERING on DeepSea 4 is stopped a few times. A model is all transition
probabilities in one vector; truth, posterior means and posterior draws are projected on the two directions in which
the draws of all times vary most (principal components).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steering._types import Floats
from steering.agents import Agent
from steering.envs import make_env
from steering.paper.chapter import Chapter, Topic
from steering.paper.charts import Chart, chart, series
from steering.paper.scale import Scale
from steering.paper.source import Source
from steering.paper.tables import Tables
from steering.runs.drawing import new_figure
from steering.runs.runner import Runs
from steering.runs.seeds import stream

ENVIRONMENT = "deepsea:4"
AGENT = "steering"
TIMES = (10, 50, 250)
DRAWS = 60
SEED = 0
TITLE = "Directed exploration"
SIZES = {"draw": 6, "mean": 11, "truth": 18}
MARKERS = {"draw": "o", "mean": "s", "truth": "*"}
COLOURS = {"draw": "#56B4E9", "mean": "#0072B2", "truth": "#D55E00"}


class _Looker:
    """Keeps posterior mean and draws at the first plan after each of some times."""

    def __init__(self, times: tuple[int, ...], rng: np.random.Generator) -> None:
        self.left = list(times)
        self.rng = rng
        self.seen: list[tuple[int, Floats, Floats]] = []

    def look(self, agent: Agent, state: int, now: int) -> None:
        if self.left and now >= self.left[0]:
            belief: Any = agent
            belief = belief.belief
            draws = np.array([belief.draw_model(self.rng)[0].ravel().copy() for _ in range(DRAWS)])
            mean = belief.alpha / belief.alpha.sum(axis=-1, keepdims=True)
            self.seen.append((now, mean.ravel().copy(), draws))
            while self.left and now >= self.left[0]:
                self.left.pop(0)


def data(source: Source, scale: Scale) -> Tables:
    """Points of the projection: step, kind (truth, mean, draw), x, y, and the distance to truth and to the mean."""
    environment = make_env(ENVIRONMENT)
    steps = max(TIMES) + environment.replan_every + 1
    looker = _Looker(TIMES, stream(SEED, "reporting"))
    list(Runs(environment, AGENT, steps=steps, seeds=[SEED], watchers=[looker]))
    truth = environment.table.P.ravel()
    everything = np.concatenate([draws for _, _, draws in looker.seen])
    _, _, axes = np.linalg.svd(everything - everything.mean(axis=0), full_matrices=False)
    # The sign of a singular vector is arbitrary: its largest entry is made positive.
    axes = axes[:2] * np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    frames = []
    for now, mean, draws in looker.seen:
        models = np.concatenate([truth[None], mean[None], draws])
        x, y = ((models - truth) @ axes.T).T
        frames.append(_frame(now, models, truth, mean, x, y))
    return {"points": pd.concat(frames, ignore_index=True)}


def _frame(now: int, models: Floats, truth: Floats, mean: Floats, x: Floats, y: Floats) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "step": now,
            "kind": ["truth", "mean", *["draw"] * (len(models) - 2)],
            "x": x,
            "y": y,
            "to_truth": np.linalg.norm(models - truth, axis=1),
            "to_mean": np.linalg.norm(models - mean, axis=1),
        }
    )


def shown_draw(table: pd.DataFrame) -> pd.Series[Any]:
    """The draw of one time that has arrows: of all, the farthest from the truth in the picture."""
    draws = table[table["kind"] == "draw"]
    return draws.iloc[int(np.hypot(draws["x"].to_numpy(), draws["y"].to_numpy()).argmax())]


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """One time: draws as a cloud, the mean and the truth, and the two distances from one draw."""
    points = {str(kind): rows for kind, rows in table.groupby("kind")}
    axes.scatter(points["draw"]["x"], points["draw"]["y"], s=14, color=COLOURS["draw"], label="posterior draw")
    one = shown_draw(table)
    axes.scatter(points["mean"]["x"], points["mean"]["y"], s=36, marker="s", color=COLOURS["mean"], label="mean")
    axes.scatter(points["truth"]["x"], points["truth"]["y"], s=70, marker="*", color=COLOURS["truth"], label="truth")
    for kind, line, text in (("mean", ":", "IDS: to the mean"), ("truth", "-", "STEERING: to the truth")):
        end = points[kind].iloc[0]
        # No gaps at the ends, and above the markers: late in a run distances are as small as they are.
        arrow = {"arrowstyle": "->", "linestyle": line, "color": COLOURS[kind], "linewidth": 1.5}
        axes.annotate(
            "", (end["x"], end["y"]), (one["x"], one["y"]), arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0}, zorder=5
        )
        axes.plot([], [], linestyle=line, color=COLOURS[kind], label=text)
    distances = f"to the mean {one['to_mean']:.2f}, to the truth {one['to_truth']:.2f}"
    axes.set_title(f"step {table['step'].iloc[0]}\n{distances}", fontsize="medium")
    axes.set_xlabel("first principal direction")
    axes.grid(alpha=0.25)


def figures(tables: Tables, scale: Scale) -> Mapping[str, Figure]:
    """One panel for each time, on the same axes."""
    table = tables["points"]
    parts = [part for _, part in table.groupby("step")]
    figure = new_figure(4.0 * len(parts), 4.5)
    grid = np.atleast_1d(figure.subplots(1, len(parts), sharex=True, sharey=True))
    for axes, part in zip(grid, parts, strict=True):
        draw(axes, part)
    grid[0].set_ylabel("second principal direction")
    title = f"Models during one run of STEERING on DeepSea 4 ({scale.name}: one seed)"
    figure.suptitle(f"{title}; distances of the draw with arrows, in all dimensions", fontsize="medium")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return {"concept": figure}


def charts(tables: Tables, scale: Scale) -> list[Chart]:
    """The same with lines for the arrows, on the same axes for all times."""
    table = tables["points"]
    names = {"draw": "posterior draw", "mean": "posterior mean", "truth": "truth"}
    one = chart(
        None, TITLE, xlabel="first principal direction", ylabel="second", size=f"{scale.name}: one seed", band=""
    )
    one["share_y"] = True
    room = 0.05 * float(np.ptp(table["x"]))
    one["xlim"] = (float(table["x"].min()) - room, float(table["x"].max()) + room)
    for step, part in table.groupby("step"):
        drawn = shown_draw(part)
        lines = []
        for kind, name in names.items():
            rows = part.loc[part["kind"] == kind, ["x", "y"]].rename(columns={"y": "mean"})
            lines.append(series(name, rows, COLOURS[kind], marker=MARKERS[kind], points=True, size=SIZES[kind]))
        for kind, dash, name in (("mean", "2 3", "IDS: to the mean"), ("truth", "", "STEERING: to the truth")):
            end = part[part["kind"] == kind].iloc[0]
            rows = pd.DataFrame({"x": [drawn["x"], end["x"]], "mean": [drawn["y"], end["y"]]})
            lines.append(series(name, rows, COLOURS[kind], dash))
        distances = f"to the mean {drawn['to_mean']:.2f}, to the truth {drawn['to_truth']:.2f}"
        one["panels"].append({"title": f"step {step}: {distances}", "series": lines})
    return [one]


CHAPTER = Chapter(
    name="concept",
    title=TITLE,
    paper="Figure 1",
    text="Transition models in two dimensions, from one real run. The cloud of posterior draws shrinks and moves to "
    "the truth; what IDS measures is the spread of the cloud, what STEERING estimates is its distance to the truth.",
    data=data,
    draw=figures,
    charts=charts,
    topic=Topic.DIRECTED,
)
