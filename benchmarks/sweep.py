"""Sweeps: throughput on two cores, overhead, dask against local processes, disk, and a million cells.

    python -m benchmarks sweep          (or python -m benchmarks.sweep --quick)

Speed is given as ratios within one round (median of five rounds, with the least and the largest), beside the ratio that
plain processes without any engine reach on the same machine: on a busy one neither can be two. *Overhead* is scheduling
plus storing: processor time of the coordinating process (handing out, receiving, checksums, writing) plus the time in
which workers packed results, as a share of the time inside the runs themselves. Starting workers, which import the
compiler, is paid once and is shown apart.
"""

from __future__ import annotations

import dataclasses
import resource
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

import steering
from steering.sweeps.engine import sweep
from steering.sweeps.store import schema
from steering.sweeps.store.directory import Store
from steering.sweeps.sweep_file import read_sweep

RUNS = {"environments": ["deepsea:8"], "agents": ["psrl"], "steps": 1000, "seeds": 2000}
ROUNDS = 5


Row = dict[str, str]


def row(what: str, figure: str, goal: str = "") -> Row:
    print(f"{what}: {figure}", flush=True)
    return {"what": what, "figure": figure, "goal": goal}


class Timed(NamedTuple):
    seconds: float
    """From the first batch sent to the end."""
    overhead: float
    """Scheduling and storing as a share of the runs."""
    busy: float
    """Share of the workers' time in which they ran or packed."""
    start: float
    """Before the first batch was sent."""


def timed(wanted: dict, workers: int, **options) -> Timed:
    with tempfile.TemporaryDirectory() as place:
        busy = time.process_time()
        report = sweep(wanted, place, **({"workers": workers} | options))
        busy = time.process_time() - busy
    overhead = (busy + report.pack_seconds) / report.run_seconds
    seconds = report.seconds - report.first_batch
    share = (report.run_seconds + report.pack_seconds) / (seconds * workers)
    return Timed(seconds, overhead, share, report.first_batch)


PLAIN = """
import sys, time
import steering
steering.run("deepsea:8", "psrl", steps=1000, seeds=2)
print("ready", flush=True)
sys.stdin.readline()
began = time.perf_counter()
steering.run("deepsea:8", "psrl", steps=1000, seeds=int(sys.argv[1]))
print(time.perf_counter() - began)
"""


def plain(seeds: int, processes: int) -> float:
    """Seconds of the same runs without any engine, in so many processes at once that know nothing of each other."""
    command = [sys.executable, "-c", PLAIN, str(seeds // processes)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for process in running:
        process.stdout.readline()
    return max(float(out.split()[-1]) for out in (_go(running)))


def _go(running) -> list[str]:
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in running]


def throughput(seeds: int) -> list[Row]:
    wanted = {**RUNS, "seeds": seeds}
    rounds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):  # by turns, so that a busy spell of the machine does not hit one kind alone
        ceiling = plain(seeds, 1) / plain(seeds, 2)
        one, two = timed(wanted, 1), timed(wanted, 2)
        with dask_cluster() as address:
            timed({**wanted, "seeds": 8}, 2, scheduler=address)  # its workers load the compiler, as the local ones did
            cluster = timed(wanted, 2, scheduler=address)
        found = {
            "ceiling": ceiling,
            "gain": one.seconds / two.seconds,
            "busy": 100 * two.busy,
            "overhead": 100 * two.overhead,
            "dask": cluster.seconds / two.seconds,
            "start": two.start,
        }
        for name, value in found.items():
            rounds.setdefault(name, []).append(value)
    middle = {name: f"{np.median(v):.3g} ({min(v):.3g} to {max(v):.3g})" for name, v in rounds.items()}
    runs = f"{seeds} PSRL runs of 1000 steps on DeepSea 8"
    return [
        row("two plain processes against one: what this machine can give", f"{middle['ceiling']} x"),
        row(f"{runs}: two workers against one", f"{middle['gain']} x", "1.8 x"),
        row("two workers: share of time running or packing", f"{middle['busy']} %", "90 %"),
        row("scheduling and storing, share of the runs", f"{middle['overhead']} %", "10 %"),
        row("dask cluster against local processes, time", f"{middle['dask']} x", "1.2 x"),
        row("start of two workers, once", f"{middle['start']} s"),
    ]


def dask_cluster():
    from distributed import LocalCluster

    class Cluster(LocalCluster):
        def __enter__(self):
            super().__enter__()
            return self.scheduler_address

    return Cluster(n_workers=2, threads_per_worker=1, dashboard_address=None)


def disk(seeds: int) -> list[Row]:
    wanted = {**RUNS, "environments": ["deepsea:15"], "steps": 5000, "seeds": seeds}
    with tempfile.TemporaryDirectory() as place:
        sweep(wanted, place)
        found = Store(place).scan()
    megabytes = found.bytes / found.rows / 100
    return [row("10,000 runs of 5000 steps on DeepSea 15, on disk", f"{megabytes:.0f} MB", "500 MB")]


def million(cells: int) -> list[Row]:
    """Expand, key and resume a sweep whose cells are all on disk (shards of 1000 rows, made from one run and noise)."""
    groups, size = 100, 1000
    wanted = {
        "environments": [{"name": "priormdp:4,2", "seed": list(range(groups))}],
        "agents": ["psrl"],
        "steps": 1000,
        "seeds": cells // groups,
    }
    began = time.monotonic()
    keys = list(read_sweep(wanted).plan.keys())
    rows = [row(f"{len(keys)} cells, expanded and keyed", f"{time.monotonic() - began:.1f} s")]
    one = steering.run("priormdp:4,2,seed=0", "psrl", steps=1000, seeds=1)
    names = ("rewards", "expected_rewards", "oracle_rewards", "visits", "seconds")
    copies = {name: np.repeat(getattr(one, name), size, axis=0) for name in names}
    results = dataclasses.replace(one, seeds=tuple(range(size)), **copies)
    usual = schema.rows_of(results, keys[:size], "{}", 200)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        store = Store(place, create=True)
        for start in range(0, len(keys), size):
            store.write(schema.to_bytes(_with(usual, keys[start : start + size], rng)), size)
        del keys
        began = time.monotonic()
        report = sweep(wanted, place, workers=1)
        seconds = time.monotonic() - began
        assert report.done == report.cells == cells
        gigabytes = sum(path.stat().st_size for path in store.shards.iterdir()) / 1e9
    rows.append(row(f"restart with all of them done ({gigabytes:.1f} GB of shards)", f"{seconds:.1f} s", "30 s"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(row("peak memory of the process", f"{peak:.2f} GB", "2 GB"))
    return rows


def _with(rows, keys, rng):
    """The rows with other keys, and with noise on the curves, which would compress too well as copies."""
    import pyarrow as pa

    rows = rows.set_column(0, "key", pa.array(keys, pa.binary(schema.KEY_BYTES)))
    for name in ("curve_reward", "curve_realised", "curve_expected"):
        column = rows.column(name).combine_chunks()
        values = np.asarray(column.values)
        noisy = pa.ListArray.from_arrays(column.offsets, pa.array(values + rng.random(values.size)))
        rows = rows.set_column(rows.column_names.index(name), name, noisy)
    return rows.cast(schema.SCHEMA)


def main(quick: bool = False) -> list[Row]:
    return [
        *throughput(300 if quick else 2000),
        *disk(40 if quick else 200),
        *million(20_000 if quick else 1_000_000),
    ]


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
