"""The state of a results directory: done, failed, pending, rate and time left."""

from __future__ import annotations

import os
import time
from typing import Any

from steering.sweeps.codes import Older, edited
from steering.sweeps.journal import read_events, recent_rate
from steering.sweeps.store.directory import Store
from steering.sweeps.sweep_file import saved_plan

MAX_FAILURES = 1000


def status_of(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Count the cells of the newest sweep of a directory, by looking at its shards.

    Returns
    -------
    dict
        cells, done, failed, pending, older (cells computed with other code of the same agents and environments),
        edited (sentences on code that changed since), rate (cells per second of the processes at work, or None),
        seconds_left (or None), failures (key, environment, agent, seed, kind, message), conflicts (key, origins of
        rows with different numbers, of which none is taken; `failed` counts them), problems (file, reason), shards,
        bytes, versions.
    """
    store = Store(directory)
    plan = saved_plan(store.read_sweep(), str(store.sweep_file))
    found = store.scan()
    failures = store.failures()
    done = 0
    failed = []
    conflicts = []
    for key in plan.keys():  # noqa: SIM118 (a plan is not a dictionary)
        if key in found.keys:
            done += 1
        elif key in found.conflicts:
            conflicts.append({"key": key.hex(), "origins": found.conflicts[key]})
        elif key in failures:
            failed.append({"key": key.hex(), **_shown(failures[key])})
    pending = len(plan) - done - len(failed) - len(conflicts)
    older = Older(store, plan).count
    events = read_events(store.directory)
    rate = recent_rate(events, time.time())
    return {
        "cells": len(plan),
        "done": done,
        "failed": len(failed) + len(conflicts),
        "pending": pending,
        "older": older,
        "edited": edited(plan),
        "rate": rate,
        "seconds_left": pending / rate if rate and pending else None,
        "failures": failed[:MAX_FAILURES],
        "conflicts": conflicts[:MAX_FAILURES],
        "problems": found.problems,
        "shards": found.shards,
        "bytes": found.bytes,
        "versions": sorted({str(e.get("version"))[:40] for e in events if e["event"] == "start"}),
    }


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    config = record.get("config")
    config = config if isinstance(config, dict) else {}
    shown = {name: str(config.get(name, "?"))[:200] for name in ("environment", "agent")}
    return {**shown, **{name: str(record.get(name, "?"))[:1000] for name in ("seed", "kind", "message")}}
