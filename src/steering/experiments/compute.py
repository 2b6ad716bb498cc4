"""Compute a batch of cells: what every worker does, wherever it runs.

A batch travels as JSON (configurations and seeds, no code) and comes back as the bytes of a shard and a list of
failures. A cell's numbers depend on its configuration and seed only, so neither the batch it came in nor the place it
ran in can be seen in them.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from steering.agents import Agent
from steering.envs import Environment, make_env
from steering.experiments.cells import Group
from steering.experiments.runner import run
from steering.results import schema

MAX_TRACEBACK = 20_000


@dataclass(frozen=True)
class Failure:
    """A cell that did not finish: its place in the batch, the kind of fault and what is known about it."""

    index: int
    kind: str
    """"error", "memory", "time" or "killed"."""
    message: str
    traceback: str = ""


@dataclass
class Outcome:
    """What came of a batch.

    Attributes
    ----------
    shard, rows
        Bytes of a shard with the finished cells, and their number.
    failures
        Cells that failed.
    lost
        Places of cells that did not get their chance because another one took the worker down.
    split
        Whether nobody knows which one it was, so that the lost cells should be tried in smaller batches.
    seconds
        Time of the runs, and in `overhead` of packing them.
    """

    shard: bytes = b""
    rows: int = 0
    seconds: float = 0.0
    overhead: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    split: bool = False

    def pack(self) -> bytes:
        """As bytes: a line of JSON, then the shard."""
        header = {
            "rows": self.rows,
            "seconds": self.seconds,
            "overhead": self.overhead,
            "failures": [asdict(failure) for failure in self.failures],
            "lost": self.lost,
        }
        return json.dumps(header).encode() + b"\n" + self.shard

    @classmethod
    def unpack(cls, content: bytes) -> Outcome:
        """The reverse of `pack`."""
        line, _, shard = content.partition(b"\n")
        header = json.loads(line)
        header["failures"] = [Failure(**one) for one in header["failures"]]
        return cls(shard=shard, **header)


def pack_batch(pieces: list[tuple[Group, list[int]]]) -> bytes:
    """A batch as JSON."""
    return json.dumps([[group.config, seeds] for group, seeds in pieces]).encode()


def run_batch(content: bytes, starting: Callable[[int], None] = lambda index: None) -> Outcome:
    """Run all cells of a packed batch; `starting` is told the place of every cell before it runs."""
    outcome = Outcome()
    tables: list[pa.Table] = []
    index = 0
    for config, seeds in json.loads(content):
        group = Group(config, tuple(seeds))
        try:
            tables.append(_run_seeds(group, list(seeds), index, starting, outcome))
        except Exception:
            # One of them failed, and nothing is known of the others: each on its own.
            for offset, seed in enumerate(seeds):
                try:
                    tables.append(_run_seeds(group, [seed], index + offset, starting, outcome))
                except Exception as error:
                    outcome.failures.append(failure_of(index + offset, error))
        index += len(seeds)
    began = time.perf_counter()
    if tables:
        rows = pa.concat_tables(tables).combine_chunks()
        outcome.shard, outcome.rows = schema.to_bytes(rows), rows.num_rows
    outcome.overhead += time.perf_counter() - began
    return outcome


def _run_seeds(
    group: Group, seeds: list[int], index: int, starting: Callable[[int], None], outcome: Outcome
) -> pa.Table:
    config = group.config
    record = config["record"]
    starting(index)
    began = time.perf_counter()
    results = run(
        _environment(config["environment"]),
        _agent(config["agent"]),
        steps=config["steps"],
        seeds=seeds,
        windows=record["windows"],
        record=record["extra"],
        snapshots=record["snapshots"],
        progress=lambda done, total: starting(index + done) if done < total else None,
    )
    middle = time.perf_counter()
    rows = schema.rows_of(results, [group.key(seed) for seed in seeds], group.text, record["points"])
    outcome.seconds += middle - began
    outcome.overhead += time.perf_counter() - middle
    return rows


@lru_cache(maxsize=4)
def _environment(text: str) -> Environment:
    return make_env(text)


def _agent(text: str) -> Agent:
    from steering.experiments.sweep_file import canonical_agent

    return canonical_agent(text, {})


def failure_of(index: int, error: BaseException) -> Failure:
    """What is kept of an exception."""
    kind = "memory" if isinstance(error, MemoryError) else "error"
    text = "".join(traceback.format_exception(error))
    message = f"{type(error).__name__}: {error}".strip()[:1000]
    return Failure(index, kind, message, text[-MAX_TRACEBACK:])


def warm(agents: Iterable[tuple[str, bool]]) -> None:
    """Load or compile the kernels that agents use, once, before workers are forked; (agent, episodic) pairs."""
    for agent, episodic in agents:
        try:
            run("deepsea:3,horizon=3" if episodic else "deepsea:3", _agent(agent), steps=20, seeds=1)
        except Exception:
            # An agent that fails here fails in its cells, where it is reported with all that is known.
            continue


def warm_list(groups: list[Group]) -> tuple[tuple[str, bool], ...]:
    """What `warm` needs for some groups: at most 32 different ones, in the order of the groups."""
    pairs: dict[tuple[str, bool], Any] = {}
    for group in groups:
        pairs.setdefault((group.config["agent"], group.config["setting"]["horizon"] is not None))
        if len(pairs) >= 32:
            break
    return tuple(pairs)
