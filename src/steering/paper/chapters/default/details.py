"""The parts of the page after the answer: scores, controls, reward scales, what was developed on what, settings."""

from __future__ import annotations

from typing import Any

import pandas as pd

from steering.paper.chapters.default.rivals import STEIN
from steering.paper.chapters.default.stages import CONF, CONTROL, DEV, MINE, SINGLE, TUNED
from steering.paper.chapters.default.tasks import (
    CONFIRMATION_INSTANCE,
    DEVELOPMENT_INSTANCE,
    DEVELOPMENT_SEED,
    THIRTEEN,
    TUNING_SEED,
)
from steering.paper.report.text import markdown_table
from steering.paper.tables import Tables

MARKS = {"better": "+", "tied": "=", "worse": "-", "too few": "?"}
SCALED = ", rewards x "
LADDER_TEXT = (
    "Every line is the one before it with one change; the score, and in brackets the share of failed runs. "
    "`steering study ladder` makes the table alone."
)


def with_labels(study: pd.DataFrame) -> pd.DataFrame:
    """The published table with empty words where a file has nothing."""
    return study.assign(**{name: words(study[name]) for name in ("verdict", "alone")})


def words(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of words, empty where a file has nothing."""
    return column.astype(object).where(column.notna(), "")


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def number(value: float) -> str:
    """A score as it is written."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def percent(value: float) -> str:
    """A share as it is written."""
    return f"{100 * value:.1f} %" if 0 < value < 0.1 else f"{100 * value:.0f} %"


def score_text() -> str:
    """What the columns of the table of scores are."""
    return (
        "The score is regret / (optimal - random policy), the mean over runs; a run with more than 0.5 has failed "
        "(share in brackets). The nearest rival of each task is the one with the least score, first of all rivals at "
        "their one setting, then of all tuned in that task; + says that ours is better than that one, = tied, - worse. "
        "A * marks families that development does not have."
    )


def score_table(tables: Tables) -> str:
    """For every task: ours with its interval, the nearest rival at one setting and tuned."""
    study, tasks = tables["study"], tables["study_tasks"]
    new = {row["task"] for row in records(tasks) if row["stage"] == CONF and row["new"]}
    conf = study[study["stage"] == CONF]
    rows = []
    for task, part in conf.groupby("task", sort=False):
        mine = records(part[part["how"] == MINE])[0]
        ends = f" ({number(mine['low'])} to {number(mine['high'])})" if mine["low"] == mine["low"] else ""
        shown = [f"{task}{' *' if task in new else ''}", f"**{number(mine['score'])}**{ends}", percent(mine["failed"])]
        shown += [_nearest(part[part["how"] == how]) for how in (SINGLE, TUNED)]
        rows.append(shown)
    heads = ["task", "ours, 95 % interval", "failed", "nearest at one setting", "nearest of the tuned"]
    return markdown_table(heads, rows)


def _nearest(part: pd.DataFrame) -> str:
    if part.empty:
        return "–"
    one = min(records(part), key=lambda row: row["score"])
    return f"`{one['rival']}` {number(one['score'])} ({percent(one['failed'])}) {MARKS.get(one['verdict'], '')}"


def controls(tables: Tables) -> str:
    """Our agent with one thing changed: in how many tasks the change makes it worse, and by how much."""
    study = tables["study"]
    conf = study[study["stage"] == CONF]
    changed = conf[conf["how"] == CONTROL]
    if changed.empty:
        return "There are no controls."
    mine = conf[conf["how"] == MINE].set_index("task")
    texts = {row["rival"]: row["text"] for row in records(tables["study_settings"])}
    rows = []
    for name, part in changed.groupby("rival", sort=False):
        counts = part["verdict"].value_counts()
        same = mine.loc[part["task"]]
        means = f"{number(same['score'].mean())} / {number(part['score'].mean())}"
        failed = f"{percent(same['failed'].mean())} / {percent(part['failed'].mean())}"
        hurt = part[part["verdict"] == "better"].sort_values("difference", ascending=False)
        named = "; ".join(f"{row['task']} (+{row['difference']:.3f})" for row in records(hurt))
        three = [str(counts.get(word, 0)) for word in ("better", "tied", "worse")]
        rows.append([name, f"`{texts[str(name)]}`", means, failed, " / ".join(three), named or "–"])
    heads = [
        "changed",
        "text",
        "score: default / changed",
        "failed",
        "default better / tied / worse",
        "tasks that get worse",
    ]
    table = markdown_table(heads, rows)
    return f"Ours with one thing changed, on the same runs. {_without_stein(study)}\n\n{table}"


def _without_stein(study: pd.DataFrame) -> str:
    """What the Stein information is worth, on the tasks of both stages."""
    parts = study[(study["how"] == CONTROL) & (study["rival"] == STEIN)]
    said = []
    for stage in (CONF, DEV):
        part = parts[parts["stage"] == stage]
        hurt = part[part["verdict"] == "better"].sort_values("difference", ascending=False)
        helped = part[part["verdict"] == "worse"]
        if len(part):
            named = "; ".join(f"{row['task']} +{row['difference']:.3f}" for row in records(hurt)) or "none"
            gain = f", by at most {-helped['difference'].min():.3f}" if len(helped) else ""
            said.append(
                f"{len(hurt)} of the {len(part)} tasks of {stage} get significantly worse ({named}) and "
                f"{len(helped)} better{gain}"
            )
    return f"Without the Stein information {'; '.join(said)}." if said else ""


def scales(tables: Tables) -> str:
    """Tasks that are there with rewards times 0.01, 1 and 100: scores of ours side by side."""
    study = tables["study"]
    mine = study[study["how"] == MINE]
    rows = []
    for (stage, base), part in mine.assign(base=mine["task"].str.split(SCALED).str[0]).groupby(
        ["stage", "base"], sort=False
    ):
        if len(part) > 1 and part["task"].str.contains(SCALED).any():
            shown = {
                name.partition(SCALED)[2] or "1": score for name, score in zip(part["task"], part["score"], strict=True)
            }
            rows.append([base, stage, *(number(shown[key]) if key in shown else "–" for key in ("0.01", "1", "100"))])
    if not rows:
        return ""
    table = markdown_table(["task", "stage", "rewards x 0.01", "x 1", "x 100"], rows)
    return f"The same task with other units of reward, and the same prior (score of ours):\n\n{table}"


LOOKED = (
    "The confirmation has other instances and seeds, other sizes or parameters, and was written down, and the default "
    "frozen, before any agent was run on it. Some constants were also judged on other runs of tasks of development: "
    "from how many visits on a row is related though it loses on DeepSea 8 and on instances 0 to 19 of PriorMDP 4x2, "
    "with seeds from 0 on; how even chances may be and how worth grows on 200 runs each of FrozenLake, lock 6,5 and "
    "DeepSea 8; what excursions cost, and when they end, on runs from 3000 on of most tasks of development."
)


def tasks_text(tasks: pd.DataFrame) -> str:
    """How development and confirmation are kept apart."""
    new = list(dict.fromkeys(tasks[(tasks["stage"] == CONF) & tasks["new"]]["kind"]))
    drawn = tasks[tasks["stage"] == DEV]["environment"].str.extract(r"(?<!_)seed=(\d+)")[0].dropna()
    seeds = sorted({int(seed) for seed in drawn})
    earlier = [seed for seed in seeds if seed != DEVELOPMENT_INSTANCE]
    return (
        "Everything that was chosen was chosen on the development tasks: our default, and the one setting of every "
        f"rival (the least mean score). Instances of development have seeds from {', '.join(map(str, seeds))} "
        f"on: those from {DEVELOPMENT_INSTANCE} on were made for it; the others, as all tasks from DeepSea 24 on, were "
        f"the confirmations of {len(earlier)} earlier defaults, and were looked at. Its runs are those "
        f"from {DEVELOPMENT_SEED} on. The confirmation has instances from seed "
        f"{CONFIRMATION_INSTANCE} on, runs 0, 1, 2, ... (tuning in a task: from {TUNING_SEED} on), and kinds of tasks "
        f"that development does not have: {', '.join(new)}. Both lists are in the code "
        f"(`src/steering/paper/chapters/default/tasks.py`), and were before the confirmation was run. {LOOKED}"
    )


def task_lists(tasks: pd.DataFrame) -> str:
    """Both lists of tasks."""
    rows = []
    for row in records(tasks.assign(prior=words(tasks["prior"]))):
        more = f" and {row['instances'] - 1} more seeds" if row["instances"] > 1 else ""
        prior = f"; prior {row['prior']}" if row["prior"] else ""
        rows.append([row["stage"], row["task"], f"`{row['environment']}`{more}{prior}", f"{row['steps']:,}"])
    return markdown_table(["stage", "task", "environment", "steps"], rows)


def development(tables: Tables) -> str:
    """Ours on the development tasks."""
    study = tables["study"]
    mine = study[(study["stage"] == DEV) & (study["how"] == MINE)]
    rows = [
        [row["task"], f"{number(row['score'])} ({number(row['low'])} to {number(row['high'])})", percent(row["failed"])]
        for row in records(mine)
    ]
    table = markdown_table(["development task", "ours, 95 % interval", "failed"], rows)
    named = mine[mine["task"].isin(THIRTEEN)]
    mean = f"The mean over the {len(named)} tasks that were watched most ({'; '.join(named['task'])}) is "
    mean += f"{number(named['score'].mean())}, and {percent(named['failed'].mean())} of their runs failed."
    most = mine["runs"].max()
    fewer = [f"{row['task']} with {row['runs']}" for row in records(mine[mine["runs"] < most])]
    runs = ", ".join([f"{most} runs each", *fewer])
    return f"Ours on the tasks of development ({runs}):\n\n{table}\n\n{mean}"


def grids(tables: Tables) -> str:
    """Every rival's settings, the published one first, with the mean over the development tasks and how often tuned."""
    study, settings = tables["study"], tables["study_settings"]
    tuned = study[study["how"] == TUNED].groupby(["rival", "setting"]).size()
    others = set(study[study["how"].isin((MINE, CONTROL))]["rival"])
    rows = []
    for row in records(settings):
        if row["rival"] not in others:
            mark = " (one setting)" if row["single"] else ""
            times = int(tuned.get((row["rival"], row["setting"]), 0))
            rows.append([f"`{row['text']}`{mark}", number(row["development"]), percent(row["failed"]), times])
    table = markdown_table(["setting", "mean over development", "failed", "tasks in which it is the tuned one"], rows)
    return (
        "The first setting of each rival is the published one. Agents that have to be told the range of rewards are "
        f"told the true one; ours is not told.\n\n{table}"
    )


def files(tables: Tables) -> str:
    """What is published beside this page."""
    study = tables["study"]
    runs = int(study["runs"].sum())
    return (
        "Beside this page: [every comparison](study.csv), [settings](study_settings.csv), [tasks](study_tasks.csv) and "
        f"the [ladder](study_ladder.csv); the page is made of these files. They rest on {runs:,} runs (a run counts "
        "for each comparison that it is in), and on those for choosing settings."
    )
