"""The agents of the field in a world too large for tables: maze:30 (900 states, 4 actions), 2000 steps.

Run with one thread::

    OMP_NUM_THREADS=1 python -m benchmarks field

Beliefs are sparse (by size). Each agent has its defaults, which say when it plans; the second column of times is with
a plan as soon as something was learned. CPU seconds of the agent's part of a run, after a few steps that compile.
"""

from __future__ import annotations

from typing import Any

from benchmarks.sparse_agents import one_run
from steering import make_env

STEPS = 2000
AGENTS = (
    *("ucrl2b", "ucrl2b:scale=0.01", "ucrl2b:bound=l1", "ucbvi", "ucbvi:bound=simplified,scale=0.1", "mbie_eb", "rmax"),
    *("opsrl", "opsrl:quantile=0.9,samples=64", "rlsvi", "k_learning", "vapor", "bamcp", "eubrl", "beb", "vbrb"),
)


def main() -> list[dict[str, Any]]:
    """One row for each agent."""
    env, rows = make_env("maze:30"), []
    for name in AGENTS:
        row: dict[str, Any] = {"agent": name}
        for label, options in (("as by default", ""), ("replan=learned", "replan=learned")):
            spec = f"{name}{',' if ':' in name else ':'}{options}" if options else name
            one_run(env, spec, 60)
            cpu, _, plans = one_run(env, spec, STEPS)
            row[label] = f"{cpu:.2f} s, {plans} plans"
        rows.append(row)
    return rows
