"""From the literal reading of the paper to the default, one change at a time, and what each change is worth.

The rungs are cumulative: each is the one before it with the named options changed. The first is `preset=paper`, the
fifth `preset=paper-sound`, the last the default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from steering.agents.steering import SteeringOptions
from steering.paper.studies.design import Cell, with_options
from steering.paper.studies.run import RECORD, Watch, block, oracle_reward, run_sweep
from steering.runs.statistics import interval_of_mean

LITERAL = "steering:preset=paper"


def _rungs() -> list[tuple[str, dict[str, Any]]]:
    """Label and changed options of each rung; values of the last ones are those of the default."""
    default = SteeringOptions()
    return [
        ("literal: `preset=paper`", {}),
        ("sound operator", {"operator": "barker"}),
        ("expectation over the posterior, 10 draws", {"expectation": "draws", "draws": 10}),
        ("selection feeds the dictionary only", {"selection": "dictionary"}),
        ("plans in the mean model: `preset=paper-sound`", {"planning": "mean", "novelty": 0.0, "reward_noise": 0.0}),
        ("reference is the posterior mean, no dictionary", {"reference": default.reference, "selection": "none"}),
        ("exact expectation", {"expectation": default.expectation, "draws": default.draws}),
        ("learned concentration", {"concentration": default.concentration}),
        ("learned noise and mean of rewards", {"reward_scale": default.reward_scale}),
        ("plans in the model of the data", {"planning": default.planning}),
        ("novelty of rewards", {"novelty": default.novelty}),
        ("noise on rewards seen", {"reward_noise": default.reward_noise}),
        (
            "information weight: the default",
            {"info_weight": default.info_weight, "weight_unit": default.weight_unit},
        ),
    ]


def rungs() -> list[tuple[str, str]]:
    """Label and text of every rung."""
    options: dict[str, Any] = {}
    out = []
    for label, changes in _rungs():
        options |= changes
        out.append((label, with_options(LITERAL, options)))
    return out


CELLS = (
    Cell("DeepSea 8", ("deepsea:8",), seeds=30),
    Cell("DeepSea 15", ("deepsea:15",), seeds=30),
    Cell("WideNarrow 1,12", ("widenarrow:1,12",), steps=3000, seeds=30),
    Cell("RiverSwim 6", ("riverswim:6",), seeds=30),
    Cell("PriorMDP 4x2", tuple(f"priormdp:4,2,seed={seed}" for seed in range(6)), steps=3000, seeds=5),
)


def run_ladder(
    out: str | Path,
    *,
    cells: tuple[Cell, ...] = CELLS,
    workers: int | None = None,
    watch: Watch = None,
) -> pd.DataFrame:
    """Run what is missing; a row for each rung and cell: mean normalised regret with its 95 % interval."""
    blocks = [block(cell, [text for _, text in rungs()], first=0, count=cell.seeds) for cell in cells]
    scores = run_sweep({"name": "ladder", "record": RECORD, "blocks": blocks}, Path(out), workers, watch)
    scales = {cell.name: oracle_reward(cell) or cell.steps for cell in cells}
    rows = []
    for label, text in rungs():
        for cell in cells:
            regrets = scores.of(cell, text, range(cell.seeds)).values()
            one = interval_of_mean([regret / scales[cell.name] for regret in regrets], 0.95)
            known = {"rung": label, "agent": text, "cell": cell.name, "runs": sum(regret.size for regret in regrets)}
            rows.append({**known, "mean": one.mean, "low": one.low, "high": one.high})
    return pd.DataFrame(rows)


def markdown(table: pd.DataFrame) -> str:
    """The ladder as a table: a line for each rung, a column for each cell."""
    cells = list(dict.fromkeys(table["cell"]))
    lines = ["| changed | " + " | ".join(cells) + " |", "|---" * (len(cells) + 1) + "|"]
    for rung, part in table.groupby("rung", sort=False):
        shown = [f"{one['mean']:.3f} ({one['low']:.3f} to {one['high']:.3f})" for one in part.to_dict("records")]
        lines.append(f"| {rung} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"
