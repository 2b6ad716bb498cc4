"""The agents of the field in a world too large for tables: maze:30 (900 states, 4 actions), 2000 steps.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks field

Beliefs are sparse (by size). Each agent plans when its defaults say so, some as soon as something was learned. CPU
seconds of the agent's part of a run, after a few steps that compile.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.sparse_agents import one_run
from steering import make_env

STEPS = 2000
AGENTS = (
    *("ucrl2b", "ucrl2b:scale=0.01", "ucrl2b:bound=l1", "ucbvi", "ucbvi:bound=simplified,scale=0.1,replan=learned"),
    *("mbie_eb", "rmax", "rmax:m=1,replan=learned", "opsrl", "opsrl:quantile=0.75", "rlsvi", "k_learning", "vapor"),
    *("bamcp", "eubrl", "beb", "vbrb"),
)


def main() -> list[dict[str, Any]]:
    """One row for each agent."""
    env, rows = make_env("maze:30"), []
    for name in AGENTS:
        one_run(env, name, 60)
        cpu, _, plans = one_run(env, name, STEPS)
        rows.append({"agent": f"`{name}`", "CPU": f"{1e3 * cpu:.0f} ms", "plans": plans})
        print(*rows[-1].values(), file=sys.stderr)
    return rows
