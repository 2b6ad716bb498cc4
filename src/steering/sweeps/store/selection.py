"""Which cells a comparison counts: of one environment, agent and number of steps those of one configuration only.

Cells of other code of an agent or environment than the newest sweep asks for are left out. Beside that,
two configurations may have the same text: a `file:` environment whose file changed, other things recorded, options
whose defaults changed with the package, another revision of its numbers. Such runs must not be mixed, nor counted
twice. The rule, for tables and figures alike: the configuration that the newest sweep of the directory asked for; if it
asked for several or none of them, the one with the most finished seeds. What is left out, and what failed or is not
done yet, is said in a note.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from steering.sweeps.store.load import Results
from steering.sweeps.store.places import StoreError
from steering.sweeps.store.plans import Groups, codes_of, codes_of_plan, configuration_id, is_older, read_plan

TEXTS = ["environment", "agent", "steps"]


@dataclass(frozen=True)
class Selection:
    """Rows of `Results.finals` that count (the index is the number of the cell), and remarks on the others."""

    finals: pd.DataFrame
    notes: list[str]


def select(results: Results) -> Selection:
    """Choose the cells of a results directory that are compared."""
    every, notes = without_spoilt(results.finals)
    groups = _plan(results)
    finals = every[~_older(every, codes_of_plan(groups))]
    wanted = {configuration_id(text) for text, _ in groups}
    counts = finals.groupby([*TEXTS, "configuration"], sort=True).size().rename("cells").reset_index()
    counts["wanted"] = counts["configuration"].isin(wanted)
    counts = counts.sort_values(["wanted", "cells", "configuration"], ascending=[False, False, True])
    chosen = counts.drop_duplicates(TEXTS)
    kept = finals[finals["configuration"].isin(chosen["configuration"])]
    if len(finals) < len(every):
        notes.append(
            f"{len(every) - len(finals)} cell(s) of older code are left out; the column `code` of steering.load tells "
            "them apart."
        )
    if len(kept) < len(finals):
        several = counts[counts.duplicated(TEXTS)].iloc[0]
        notes.append(
            f"{len(finals) - len(kept)} cell(s) are left out: their environment, agent and steps have the same text as "
            f"those of another configuration (such as {several['environment']} with {several['agent']}), because a "
            "file, an option, what is recorded or the program has changed. Those that the newest sweep asks for are "
            "counted."
        )
    return Selection(kept, [*notes, *_missing(results, groups)])


def without_spoilt(finals: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Rows whose numbers are finite, and a remark on the others: one bad cell must not take the measure from all.

    A regret that is not known for any cell of an environment is no fault: it can only be stepped.
    """
    spoilt = ~np.isfinite(finals["reward"].to_numpy(dtype=np.float64))
    for name in ("oracle_reward", "realised_regret", "expected_regret", "oracle_total"):
        values = finals[name]
        known = np.isfinite(values).groupby(finals["environment"]).transform("any")
        spoilt |= (np.isinf(values) | (values.isna() & known)).to_numpy(dtype=bool)
    if not spoilt.any():
        return finals, []
    first = finals[spoilt].iloc[0]
    return finals[~spoilt], [
        f"{int(spoilt.sum())} cell(s) hold numbers that are not finite and are left out; first: "
        f"{first['environment']}, {first['agent']}, seed {first['seed']}."
    ]


def _older(finals: pd.DataFrame, wanted: dict[tuple[str, str], str]) -> pd.Series[bool]:
    """Which cells have other code of agents and environments than the newest sweep asks for."""
    rows = list(finals[["environment", "agent", "code"]].itertuples(index=False, name=None)) if wanted else []
    known = {row: is_older(codes_of(*row), wanted) for row in set(rows)}
    return pd.Series([known[row] for row in rows] if wanted else False, index=finals.index, dtype=bool)


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


def _missing(results: Results, groups: Groups) -> list[str]:
    """Remarks on cells that the newest sweep asks for and that are not there; without a plan, on all that failed."""
    done = _by_configuration(zip(results.finals["configuration"], results.finals["seed"], strict=True))
    known = _by_configuration(results.failures())
    failed = 0 if groups else sum(map(len, known.values()))
    missing = 0
    for text, seeds in groups:
        name = configuration_id(text)
        left = set(seeds) - done.get(name, set())
        failed += len(left & known.get(name, set()))
        missing += len(left - known.get(name, set()))
    notes = []
    if failed:
        notes.append(
            f"{failed} cell(s) failed and are in no number here; agents that fail where it is hard look better than "
            f"they are (see steering status)."
        )
    if missing:
        notes.append(f"{missing} cell(s) of the sweep are not done yet.")
    return notes


def _by_configuration(cells: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for name, seed in cells:
        found.setdefault(name, set()).add(seed)
    return found
