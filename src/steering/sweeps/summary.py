"""Summaries of a results directory: what each agent reached, with intervals, and who beats whom.

Three tables. *By environment*: mean and interquartile mean of the final measure and mean of the area under the curve
(mean height of the cumulative measure over time), with the 95 % intervals of `runs.statistics`, and beside them the
mean score and the share of failed runs. *Overall*: the same pooled over all environments, which are strata.
*Improvement*: for each pair of agents the paired probability that a run of the first has a lower measure than the run
of the second with the same seed, with a bootstrap interval. The last two compare agents, so they take only seeds of an
environment that every agent finished; notes say what that leaves out.

The measure is normalised regret where every cell has it, else the score (regret / what the oracle earns more than a
random policy), else regret, else (environments that give only samples) the negative reward, so that lower is always
better; `measure` says which.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from steering._files import csv_bytes, write_atomically
from steering._types import Floats
from steering.errors import NotAvailable
from steering.runs.statistics import (
    area_under_curve,
    interquartile_interval,
    pooled_interval,
    probability_of_improvement,
)
from steering.runs.tables import FAILED, UNITS
from steering.runs.tables import MEASURES as RUN_MEASURES
from steering.sweeps.store.load import Results
from steering.sweeps.store.selection import select

MEASURES = {name: text for name, text in RUN_MEASURES.items() if name != "reward"}
MEASURES["negative_reward"] = "- cumulative reward"
INTERVALS = "Intervals: 95 % for means, 95 % bootstrap for probabilities; failed: score above 0.5"
MAX_PAIRS = 200
COLUMNS = ("final", "area", "score")


@dataclass(frozen=True)
class Scores:
    """Measure of every cell: columns task, agent, seed, final, area (lower is better), score."""

    measure: str
    table: pd.DataFrame
    tasks: list[str]
    agents: list[str]
    common: pd.DataFrame
    """Rows of `table` whose task and seed every agent finished: what agents are compared on."""
    notes: list[str]

    @property
    def shared(self) -> list[str]:
        """Tasks with seeds that every agent finished."""
        known = set(self.common["task"])
        return [task for task in self.tasks if task in known]

    def strata(self, agent: str, column: str) -> dict[str, Floats]:
        """Scores of an agent by shared task, of the common seeds in order."""
        rows = self.common[self.common["agent"] == agent]
        return {t: rows.loc[rows["task"] == t, column].to_numpy(dtype=np.float64) for t in self.shared}


@dataclass(frozen=True)
class Summary:
    """The three tables, the measure and remarks about what was left out."""

    measure: str
    by_environment: pd.DataFrame
    overall: pd.DataFrame
    improvement: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """All of it as Markdown."""
        parts = [f"# Summary\n\nMeasure: {MEASURES[self.measure]}; lower is better. {INTERVALS}.\n"]
        for title, table in self._tables():
            parts.append(f"## {title}\n\n{markdown_table(table)}\n")
        parts.extend(f"Note: {markdown_text(note)}\n" for note in self.notes)
        return "\n".join(parts)

    def write(self, directory: str | Path) -> list[Path]:
        """Write summary.md and a CSV file for each table."""
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        files = {"summary.md": self.markdown().encode()}
        for title, table in self._tables():
            files[f"{title.lower().replace(' ', '-')}.csv"] = csv_bytes(table)
        for name, content in files.items():
            write_atomically(target / name, content)
        return [target / name for name in files]

    def _tables(self) -> list[tuple[str, pd.DataFrame]]:
        tables = {"By environment": self.by_environment, "Overall": self.overall, "Improvement": self.improvement}
        return [(title, table) for title, table in tables.items() if len(table)]


def summarise(results: Results) -> Summary:
    """Summarise everything in a results directory."""
    scores = scores_of(results)
    notes = list(scores.notes)
    pairs = len(scores.agents) * (len(scores.agents) - 1)
    if scores.shared and pairs > MAX_PAIRS:
        notes.append(f"the table of improvement has the first {MAX_PAIRS} of {pairs} pairs of agents.")
    overall, improvement = pd.DataFrame(), pd.DataFrame()
    if scores.shared:
        overall = _overall(scores) if len(scores.tasks) > 1 and scores.measure in UNITS else overall
        improvement = _improvement(scores)
    if len(scores.tasks) > 1 and scores.measure not in UNITS:
        notes.append("numbers of different environments have no common unit, so they are not pooled.")
    if scores.measure != "negative_reward" and scores.table["score"].isna().any():
        notes.append(
            "a score needs an oracle that earns more than a random policy, and cells computed by this version; it is "
            "not known where the table has none."
        )
    if results.conflicts:
        notes.append(
            f"{len(results.conflicts)} cell(s) have rows with different numbers and are left out (see status)."
        )
    if results.problems:
        notes.append(f"{len(results.problems)} file(s) are not whole shards and were not read.")
    return Summary(scores.measure, _by_environment(scores), overall, improvement, notes)


def scores_of(results: Results) -> Scores:
    """Score of every cell, and which tasks all agents share."""
    if results.finals.empty:
        raise NotAvailable(f"{results.directory} has no finished cells yet.")
    chosen = select(results)
    finals = chosen.finals
    if finals.empty:
        raise NotAvailable(f"{results.directory} has no cells to compare: {' '.join(chosen.notes)}")
    measure = next(m for m in MEASURES if m not in finals or finals[m].notna().all())
    curve = "reward" if measure == "negative_reward" else "regret"
    final = -finals["reward"] if measure == "negative_reward" else finals[measure]
    areas = _areas(results.curves, curve, finals.index) * (-1 if measure == "negative_reward" else 1)
    if measure in UNITS:
        areas = areas / finals[UNITS[measure]].to_numpy()
    several = finals.groupby("environment")["steps"].nunique().max() > 1
    task = finals["environment"] + (", " + finals["steps"].astype(str) + " steps" if several else "")
    table = pd.DataFrame(
        {
            "task": task,
            "agent": finals["agent"],
            "seed": finals["seed"],
            "final": final,
            "area": areas,
            "score": finals["score"],
        }
    ).reset_index(drop=True)
    tasks, agents = list(dict.fromkeys(table["task"])), list(dict.fromkeys(table["agent"]))
    common = table[table.groupby(["task", "seed"])["agent"].transform("size") == len(agents)]
    scores = Scores(measure, table, tasks, agents, common, list(chosen.notes))
    scores.notes.extend(_not_common(scores))
    return scores


def _not_common(scores: Scores) -> list[str]:
    """Remarks on scores that are not in comparisons of agents, because some agent has none to set against them."""
    notes = []
    apart = [task for task in scores.tasks if task not in scores.shared]
    if apart:
        notes.append(
            f"{len(apart)} environment(s) without a seed that every agent finished are in no comparison of agents: "
            f"{', '.join(apart[:3])}{', ...' if len(apart) > 3 else ''}."
        )
    for task in scores.shared:
        used, seeds = (rows.loc[rows["task"] == task, "seed"].nunique() for rows in (scores.common, scores.table))
        if used < seeds:
            notes.append(f"{task}: agents are compared on the {used} of {seeds} seeds that all of them finished.")
    return notes


def _areas(curves: pd.DataFrame, column: str, cells: pd.Index) -> Floats:
    areas = {}
    for cell, part in curves[curves["cell"].isin(cells)].groupby("cell"):
        steps = part["step"].to_numpy(dtype=np.float64)
        areas[cell] = area_under_curve(steps, part[column].to_numpy(dtype=np.float64)[None])[0]
    return np.array([areas.get(cell, np.nan) for cell in cells])


def _by_environment(scores: Scores) -> pd.DataFrame:
    rows = []
    for (task, agent), part in scores.table.groupby(["task", "agent"], sort=False):
        columns = ({"": part[c].to_numpy(dtype=np.float64)} for c in COLUMNS)
        rows.append({"environment": task, "agent": agent, "seeds": len(part), **_columns(*columns)})
    return pd.DataFrame(rows)


def _overall(scores: Scores) -> pd.DataFrame:
    rows = []
    for agent in scores.agents:
        columns = (scores.strata(agent, column) for column in COLUMNS)
        rows.append({"agent": agent, "environments": len(scores.shared), **_columns(*columns)})
    return pd.DataFrame(rows)


def _columns(final: dict[str, Floats], area: dict[str, Floats], score: dict[str, Floats]) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, strata, interval in (
        ("mean", final, pooled_interval),
        ("iqm", final, interquartile_interval),
        ("area", area, pooled_interval),
    ):
        values[name], values[f"{name}_low"], values[f"{name}_high"] = interval(strata)
    pooled = np.concatenate(list(score.values()))
    values["score"] = float(pooled.mean())
    values["failed"] = float((pooled > FAILED).mean()) if np.isfinite(pooled).all() else np.nan
    return values


def _improvement(scores: Scores) -> pd.DataFrame:
    rows = []
    for first, second in itertools.islice(itertools.permutations(scores.agents, 2), MAX_PAIRS):
        x, y = (scores.strata(agent, "final") for agent in (first, second))
        value, low, high = probability_of_improvement(x, y)
        rows.append({"agent": first, "better_than": second, "probability": value, "low": low, "high": high})
    return pd.DataFrame(rows)


def markdown_table(table: pd.DataFrame) -> str:
    """A table as Markdown; numbers with four significant digits."""
    head = ["| " + " | ".join(str(c).replace("_", " ") for c in table.columns) + " |"]
    head.append("|" + "|".join("---:" if pd.api.types.is_numeric_dtype(table[c]) else "---" for c in table) + "|")
    rows = ["| " + " | ".join(_cell(v) for v in row) + " |" for row in table.itertuples(index=False)]
    return "\n".join(head + rows)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if np.isfinite(value) else "-"
    return markdown_text(str(value))


def markdown_text(text: str) -> str:
    """A name from a file as it is: no link, no code, no HTML, one line."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    for sign in "\\`|[]":
        shown = shown.replace(sign, f"\\{sign}")
    return shown.replace("<", "&lt;").replace(">", "&gt;")
