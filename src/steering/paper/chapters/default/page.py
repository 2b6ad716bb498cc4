"""The page of the study, made of its published tables alone: the answer, where it is behind, then the rest."""

from __future__ import annotations

import pandas as pd

from steering.paper.chapters import ladder
from steering.paper.chapters.default import details
from steering.paper.chapters.default.details import number, percent, records, with_labels
from steering.paper.chapters.default.stages import CONF, DEV, MINE, MODES, SINGLE, TUNED
from steering.paper.report.text import markdown_table
from steering.paper.rule import STANDINGS
from steering.paper.tables import Tables

COMMAND = """\
    steering study default --out results/study --smoke                # seconds: shows that everything works
    steering study default --out results/study --stage development    # chooses the one setting of every rival
    steering study default --out results/study                        # everything; writes this page
    steering study default --out results/study --import my_agents --agent my_agent    # yours beside the others"""


def page(tables: Tables) -> str:
    """All of it; without a confirmation what was found in development."""
    tables = {**tables, "study": with_labels(tables["study"])}
    if not (tables["study"]["stage"] == CONF).any():
        parts = ["# The study of the default: development", details.development(tables), details.grids(tables)]
        return "\n\n".join(parts) + "\n"
    parts = [
        "# The study of the default",
        " ".join(sentences(tables)),
        "![Share of confirmation tasks in which the default is better, tied and worse](figures/study_verdicts.png)",
        verdict_table(tables["study"]),
        rule(tables["study"]),
        "## Where it is behind, and why",
        behind(tables),
        "## Scores in every task",
        details.score_text(),
        "![Scores in every confirmation task](figures/study_tasks.png)",
        details.score_table(tables),
        "## What the parts are worth",
        details.controls(tables),
        details.scales(tables),
    ]
    if "study_ladder" in tables:
        parts += ["## From the paper to the default", details.LADDER_TEXT, ladder.markdown(tables["study_ladder"])]
    parts += [
        "## What was developed on what",
        details.tasks_text(tables["study_tasks"]),
        details.task_lists(tables["study_tasks"]),
        details.development(tables),
        "## Rivals and their settings",
        details.grids(tables),
        "## Run it yourself",
        COMMAND,
        details.files(tables),
    ]
    return "\n\n".join(parts) + "\n"


def sentences(tables: Tables) -> list[str]:
    """Three sentences for a busy reader."""
    study = tables["study"]
    conf = study[study["stage"] == CONF]
    mine = conf[conf["how"] == MINE]
    rival, theirs, common = nearest(conf)
    same = mine[mine["task"].isin(common)]
    first = (
        f"With one setting and no tuning, `steering` loses {number(same['score'].mean())} of what there is to gain "
        f"over acting at random (mean over {_some(len(common), len(mine))}, {mine['runs'].max()} runs "
        f"each; 0 is optimal, 1 is as bad as random) and {percent(same['failed'].mean())} of its runs fail; the "
        f"nearest rival at one setting, `{rival}`, loses {number(theirs['score'].mean())} and "
        f"{percent(theirs['failed'].mean())} fail."
    )
    parts = [f"{_counted(conf[conf['how'] == how])} {text}" for how, text in ((SINGLE, ONE), (TUNED, EACH))]
    second = f"Compared with {conf[conf['how'] == SINGLE]['rival'].nunique()} rivals it is {'; '.join(parts)}."
    worse = conf[conf["how"].isin(list(MODES)) & (conf["verdict"] == "worse")]
    if worse.empty:
        return [first, second, "It is behind none of them in any task."]
    last = min(records(worse), key=lambda row: row["difference"])
    names = "; ".join(dict.fromkeys(worse["task"]))
    third = (
        f"It is behind somebody in {worse['task'].nunique()} of {len(mine)} tasks ({names}), by at most "
        f"{number(-last['difference'])} (`{last['rival']}`, {MODES[last['how']]}, in {last['task']})."
    )
    return [first, second, third]


def _some(common: int, all_of_them: int) -> str:
    if common == all_of_them:
        return f"{common} tasks that it was not made on"
    return f"the {common} of {all_of_them} tasks that it was not made on in which the nearest rival takes part"


ONE = "with each at the one setting that was best for it in development"
EACH = "with each tuned in that very task"


def _counted(part: pd.DataFrame) -> str:
    counts = part["verdict"].value_counts()
    shown = ", ".join(f"{word} in {counts.get(name, 0)}" for name, word in WORDS.items())
    return f"{shown} of {len(part)} comparisons"


WORDS = {"better": "better", "tied": "level", "worse": "worse"}


def nearest(conf: pd.DataFrame) -> tuple[str, pd.DataFrame, list[str]]:
    """Of rivals that take part in most tasks the one with the least mean at one setting, over the common tasks."""
    single = conf[conf["how"] == SINGLE]
    counts = single["rival"].value_counts()
    many = single[single["rival"].isin(counts.index[counts >= 0.75 * counts.max()])]
    shared = many.groupby("task")["rival"].nunique()
    common = list(shared.index[shared == shared.max()])
    kept = many[many["task"].isin(common)]
    means = kept.groupby("rival")["score"].mean()
    name = str(means.idxmin())
    return name, kept[kept["rival"] == name], common


def verdict_table(study: pd.DataFrame) -> str:
    """For every rival: in how many tasks ours is better / tied / worse, as published, at one setting, tuned."""
    conf = study[(study["stage"] == CONF) & study["how"].isin(list(MODES))]
    rows = []
    for rival, part in conf.groupby("rival", sort=False):
        rows.append([f"`{rival}`", part["task"].nunique(), *(_three(part[part["how"] == how]) for how in MODES)])
    rows.append(["**all**", conf["task"].nunique(), *(f"**{_three(conf[conf['how'] == how])}**" for how in MODES)])
    heads = [f"{label}: better / tied / worse" for label in MODES.values()]
    return markdown_table(["rival", "tasks", *heads], rows)


def _three(part: pd.DataFrame) -> str:
    counts = part["verdict"].value_counts()
    few = f" ({counts['too few']} with too few pairs)" if "too few" in counts else ""
    return " / ".join(str(counts.get(name, 0)) for name in STANDINGS[:3]) + few if len(part) else "–"


def rule(study: pd.DataFrame) -> str:
    """What the words mean, and what they would be without the correction."""
    conf = study[(study["stage"] == CONF) & study["how"].isin(list(MODES))]
    alone = conf["alone"].value_counts()
    return (
        "*Better* and *worse*: the mean difference of scores of paired runs is at least 0.005, and its p-value by the "
        "[one interval rule](statistics.md), adjusted by Holm for all comparisons of the column, at most 5 %. So the "
        "chance of one false verdict or more in a column is at most 5 %. *Tied* is everything else. Without the "
        f"adjustment, at 99 % each, {alone.get('better', 0)} of all {len(conf)} comparisons would be called better and "
        f"{alone.get('worse', 0)} worse."
    )


def behind(tables: Tables) -> str:
    """Every comparison in which ours is worse, with what the runs say about why."""
    study = tables["study"]
    conf = study[(study["stage"] == CONF)]
    worse = conf[conf["how"].isin(list(MODES)) & (conf["verdict"] == "worse")]
    if worse.empty:
        return "Nowhere, against any rival in any of the three ways."
    mine = {row["task"]: row for row in records(conf[conf["how"] == MINE])}
    texts = {(row["rival"], row["setting"]): row["text"] for row in records(tables["study_settings"])}
    rows = []
    for one in records(worse.sort_values("difference", kind="stable")):
        ours = mine[one["task"]]
        gap = f"{one['difference']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        setting = f"`{texts[one['rival'], one['setting']]}`"
        scores = [f"{number(row['score'])} ({percent(row['failed'])})" for row in (ours, one)]
        rows.append([one["task"], setting, MODES[one["how"]], *scores, gap, why(ours, one)])
    heads = [
        "task",
        "than",
        "how",
        "ours (failed)",
        "theirs (failed)",
        "difference, 95 % interval",
        "what the runs show",
    ]
    return markdown_table(heads, rows)


def why(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """What the runs say about a difference: rare failures, a worse policy at the end, or dearer exploration."""
    lost = ours["score"] - theirs["score"]
    if ours["failed"] > theirs["failed"] and ours["median"] - theirs["median"] < lost / 2:
        return f"rare failures: the medians are {number(ours['median'])} and {number(theirs['median'])}"
    late = f"score of the last quarter {number(ours['late'])} against {number(theirs['late'])}"
    if ours["late"] - theirs["late"] > lost / 2:
        return f"still behind at the end: {late}"
    return f"dearer exploration: {late}"


def summary(tables: Tables) -> list[str]:
    """Lines for the command line."""
    study = with_labels(tables["study"])
    if (study["stage"] == CONF).any():
        return sentences({**tables, "study": study})
    chosen = tables["study_settings"]
    mine = study[(study["stage"] == DEV) & (study["how"] == MINE)]
    best = [
        f"{row['rival']}: {row['text']} ({row['development']:.3f})"
        for row in records(chosen[chosen["single"]])
        if row["rival"] not in set(study["rival"])
    ]
    return [f"ours over {len(mine)} development tasks: {mine['score'].mean():.3f}", "one setting of each rival:", *best]
