"""Write the results of a comparison to a directory, each file whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from steering._files import csv_bytes, write_atomically
from steering.runs.results import RunResults


def write_tables(runs: Sequence[RunResults], directory: Path) -> list[Path]:
    """Write finals.csv (a row for each agent and seed) and settings.json; returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    finals = pd.concat([one.table() for one in runs], ignore_index=True)
    settings = [
        {
            "environment": one.environment,
            "agent": one.agent,
            "steps": one.steps,
            "seeds": list(one.seeds),
            "discount": one.discount,
            "horizon": one.horizon,
            **one.settings,
        }
        for one in runs
    ]
    tables = {
        "finals.csv": csv_bytes(finals),
        "settings.json": (json.dumps(settings, indent=2) + "\n").encode(),
    }
    for name, content in tables.items():
        write_atomically(directory / name, content)
    return [directory / name for name in tables]
