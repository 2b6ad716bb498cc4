"""Compare agents on DeepSea 8, print the table, draw the figure and keep everything as files."""

from __future__ import annotations

from pathlib import Path

import steering
from steering.runs import write_tables

AGENTS = ["q_learning", "psrl", "psrl:concentration=learned", "ids:planning=mean"]


def main(directory: Path = Path("results/example")) -> None:
    runs = steering.run("deepsea:8", AGENTS, steps=2000, seeds=5)
    print(runs.summary()[["agent", "mean", "low", "high", "score", "failed"]].round(3).to_string(index=False))
    for path in write_tables(runs, directory):
        print("wrote", path)
    runs.plot(directory / "regret.png")
    print("wrote", directory / "regret.png")


if __name__ == "__main__":
    main()
