"""Peak memory of runs in a dense MDP of 2000 states and 4 actions (16 million transitions), and their time.

Each run has a process of its own, which reports the largest resident size that the kernel saw (`getrusage`). The
process makes the MDP, solves it for the oracle and runs the agent; nothing is left out.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

from benchmarks.agents import print_table

ENVIRONMENT = "priormdp:2000,4"
STEPS = 4100
"""A little over two plans, one every 2001 steps: the peak does not grow with more of them."""

AGENTS = ("psrl", "ids", "ids:information=gain,planning=mean", "ube", "mm")
LIMIT_GB = 4.0


def run_one(agent: str) -> dict[str, Any]:
    """Run in this process; return peak and time."""
    import steering

    begin = time.perf_counter()
    results = steering.run(ENVIRONMENT, agent, steps=STEPS, seeds=1)
    # Linux gives kilobytes, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "case": f"{agent} on {ENVIRONMENT}, {STEPS} steps",
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9,
        "seconds": time.perf_counter() - begin,
        "seconds_of_the_run": float(results.seconds[0]),
    }


def main() -> list[dict[str, Any]]:
    """Run every agent in a fresh process; return and print the rows of the table."""
    rows = []
    for agent in AGENTS:
        command = [sys.executable, "-m", "benchmarks.memory", agent]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row = json.loads(done.stdout)
        row["target"] = f"< {LIMIT_GB:g} GB: {'met' if row['peak_gb'] < LIMIT_GB else 'MISSED'}"
        rows.append(row)
    print_table(rows)
    return rows


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(run_one(sys.argv[1])))
    else:
        main()
