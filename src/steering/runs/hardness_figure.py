"""Environments placed by how hard they are, with the scores of agents: does a measure of hardness order them?

The score is regret / (optimal - uniformly random policy): 0 is optimal, 1 as bad as acting at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from steering.envs import make_env
from steering.errors import InvalidOption
from steering.mdp import hardness
from steering.mdp.hardness import SENTENCES
from steering.runs import style
from steering.runs.drawing import new_figure
from steering.runs.results import RunResults

MEASURES = tuple(name for name in SENTENCES if name != "communication")


def check_measure(measure: str) -> None:
    """Refuse a measure that there is not."""
    if measure not in MEASURES:
        raise InvalidOption(f"measure is '{measure}'; choose one of: {', '.join(MEASURES)}.")


def data(runs: Sequence[RunResults], measure: str = "reward_time") -> pd.DataFrame:
    """Tidy table with columns environment, agent, hardness (the measure) and score (mean over seeds)."""
    check_measure(measure)
    if not runs:
        raise InvalidOption("a figure of hardness needs at least one run.")
    known: dict[str, float] = {}
    rows = []
    for one in runs:
        if one.environment not in known:
            env = make_env(one.environment)
            known[one.environment] = float(getattr(hardness(env.table, env.discount, env.horizon), measure))
        score = float(one.regret(normalised="random", kind="expected").mean())
        rows.append((one.environment, one.agent, known[one.environment], score))
    table = pd.DataFrame(rows, columns=["environment", "agent", "hardness", "score"])
    table.attrs = {"measure": measure}
    return table


def figure(table: pd.DataFrame) -> Figure:
    """Draw what `data` returns: one line of dots for each agent, from the easiest environment to the hardest."""
    drawn = new_figure()
    axes = drawn.add_subplot()
    looks = style.looks(list(table["agent"]))
    for agent, part in table.groupby("agent", sort=False):
        part = part.sort_values("hardness")
        colour, line = looks[str(agent)]
        axes.plot(part["hardness"], part["score"], line, color=colour, marker="o", label=style.label(str(agent)))
    for name, part in table.groupby("environment", sort=False):
        place = (float(part["hardness"].iloc[0]), 1.02)
        axes.annotate(str(name), place, xycoords=("data", "axes fraction"), rotation=30, fontsize="x-small")
    if table["hardness"].min() > 0:
        axes.set_xscale("log")
    axes.set_xlabel(f"{table.attrs['measure']}: {SENTENCES[table.attrs['measure']]}", fontsize="small")
    axes.set_ylabel("score (0 optimal, 1 random)")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small")
    return drawn
