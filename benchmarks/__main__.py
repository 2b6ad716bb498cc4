"""Run all benchmarks or some: ``python -m benchmarks [planning|agents|stein|memory|...]``.

A benchmark is a file of this folder with a function `main` that returns the rows of its table.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from benchmarks.agents import print_table

PRINTS_ITSELF = ("agents", "memory")


def names() -> list[str]:
    """Benchmarks of this folder."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main(wanted: list[str]) -> int:
    """Run what is wanted, or everything; the exit code is 2 for an unknown name; `--help` lists the names."""
    if {"-h", "--help"} & set(wanted):
        print(f"{__doc__}\nBenchmarks: {', '.join(names())}.")
        return 0
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        print(f"unknown benchmark '{unknown[0]}'; choose from: {', '.join(names())}.", file=sys.stderr)
        return 2
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("note: OMP_NUM_THREADS is not 1, so linear algebra may use several threads.", file=sys.stderr)
    for name in wanted or names():
        print(f"\n## {name}\n", flush=True)
        rows = importlib.import_module(f"benchmarks.{name}").main()
        if name not in PRINTS_ITSELF and rows:
            print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
