"""Compare agents on DeepSea 8, print the table, draw the figure and keep everything as files."""

from __future__ import annotations

from pathlib import Path

import steering
from steering.runs import figure as regret
from steering.runs import write_tables

AGENTS = ("q_learning", "psrl", "psrl:concentration=learned", "ids:planning=mean")


def main(directory: Path = Path("results/example")) -> None:
    runs = [steering.run("deepsea:8", agent, steps=2000, seeds=5) for agent in AGENTS]
    for one in runs:
        row = one.summary()
        print(f"{row['agent']:28s} {row['mean']:.3f}  ({row['low']:.3f} to {row['high']:.3f})")
    for path in (*write_tables(runs, directory), regret.save(runs, directory / "regret.png")):
        print("wrote", path)


if __name__ == "__main__":
    main()
