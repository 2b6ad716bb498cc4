"""Numbers of short runs of every built-in agent, to be compared with those that were recorded for this revision.

Record them again, after REVISION was raised on purpose, with: python tests/support/recorded_runs.py
"""

from __future__ import annotations

import json
from pathlib import Path

import steering
from steering._version import REVISION
from steering.agents.registry import BUILT_IN

PLACE = Path(__file__).parents[1] / "runs" / "recorded_runs.json"
ENVIRONMENTS = (
    "deepsea:6",
    "deepsea:5,reward=dense",
    "widenarrow:1,4",
    "riverswim:5",
    "priormdp:4,2,seed=0",
    "griddeepsea:3",
    "gym:FrozenLake-v1",
    "gym:CliffWalking-v1",
)
LONGER = ("gym:FrozenLake-v1,success_rate=0.5",)
"""Here what an agent believes of all rows together moves after some hundred steps."""
VARIANTS = (
    "steering:objective=ratio",
    "steering:preset=paper",
    "steering:preset=paper-sound",
    "steering:replan=learned",
    "steering:preset=v1",
    "psrl:concentration=learned,reward_scale=learned",
    "psrl:replan=tsde",
    "ids:information=gain,planning=mean",
)
AGENTS = (*sorted(BUILT_IN), *VARIANTS)
SHORT = ("bamcp", "vapor")
"""Agents whose plans take long make fewer steps."""


def numbers(agent: str) -> dict[str, str]:
    """Total reward and visits, weighted so that their order counts, of one run on every environment."""
    found = {}
    for environment in ENVIRONMENTS + LONGER:
        steps = 30 if agent in SHORT else 600 if environment in LONGER else 150
        one = steering.run(environment, agent, steps=steps, seeds=[3], windows=3)
        table = one.visits.toarray() if hasattr(one.visits, "toarray") else one.visits
        weighted = sum((k + 1) * float(count) for k, count in enumerate(table.ravel()))
        # Nine digits: enough to see any change, few enough not to see the last bits of another processor.
        found[environment] = f"{float(one.rewards.sum()):.9g} {weighted:.9g}"
    return found


if __name__ == "__main__":
    recorded = {"revision": REVISION, "runs": {agent: numbers(agent) for agent in AGENTS}}
    PLACE.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
