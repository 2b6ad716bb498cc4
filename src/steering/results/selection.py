"""Which cells a comparison counts: of one environment, agent and number of steps those of one configuration only.

Two configurations may have the same text: a `file:` environment whose file changed, other things recorded, options
whose defaults changed with the package. Such runs must not be mixed, nor counted twice. The rule, for tables and
figures alike: the configuration that the newest sweep of the directory asked for; if it asked for several or none of
them, the one with the most finished seeds. What is left out, and what failed or is not done yet, is said in a note.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd

from steering.results.load import Results
from steering.results.plans import Groups, configuration_id, read_plan
from steering.results.store import StoreError

TEXTS = ["environment", "agent", "steps"]


@dataclass(frozen=True)
class Selection:
    """Rows of `Results.finals` that count (the index is the number of the cell), and remarks on the others."""

    finals: pd.DataFrame
    notes: list[str]


def select(results: Results) -> Selection:
    """Choose the cells of a results directory that are compared."""
    finals = results.finals
    groups = _plan(results)
    wanted = {configuration_id(text) for text, _ in groups}
    counts = finals.groupby([*TEXTS, "configuration"], sort=True).size().rename("cells").reset_index()
    counts["wanted"] = counts["configuration"].isin(wanted)
    counts = counts.sort_values(["wanted", "cells", "configuration"], ascending=[False, False, True])
    chosen = counts.drop_duplicates(TEXTS)
    kept = finals[finals["configuration"].isin(chosen["configuration"])]
    notes = []
    if len(kept) < len(finals):
        several = counts[counts.duplicated(TEXTS)].iloc[0]
        notes.append(
            f"{len(finals) - len(kept)} cell(s) are left out: their environment, agent and steps have the same text as "
            f"those of another configuration (such as {several['environment']} with {several['agent']}), because a "
            "file, an option or what is recorded has changed. Those that the newest sweep asks for are counted."
        )
    return Selection(kept, [*notes, *_missing(results, groups, kept)])


def _plan(results: Results) -> Groups:
    try:
        groups = read_plan(results.sweep()) or []
    except StoreError:
        return []
    kept = []
    for text, seeds in groups:
        config = json.loads(text)
        if results.keeps(config["environment"], config["agent"]):
            kept.append((text, seeds))
    return kept


def _missing(results: Results, groups: Groups, kept: pd.DataFrame) -> list[str]:
    done = {name: set(part) for name, part in kept.groupby("configuration")["seed"]}
    missing = sum(len(set(seeds) - done.get(configuration_id(text), set())) for text, seeds in groups)
    failed = results.failed()
    if failed:
        return [
            f"{failed} cell(s) failed and are in no number here; agents that fail where it is hard look better than "
            f"they are (see steering status)."
        ] + ([f"{missing - failed} cell(s) of the sweep are not done yet."] if missing > failed else [])
    return [f"{missing} cell(s) of the sweep are not done yet."] if missing else []
