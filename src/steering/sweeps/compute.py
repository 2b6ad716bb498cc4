"""Compute a batch of cells: what every worker does, wherever it runs.

A batch travels as JSON (configurations and seeds, no code) and comes back as the bytes of a shard and a list of
failures. A cell's numbers depend on its configuration and seed only, so neither the batch it came in nor the place it
ran in can be seen in them.

A batch is held for a set time at most: then the worker gives back what is finished, and the rest as `lost`. Whatever
was thought about how long its cells would take, little is lost with a worker. The same happens when what is finished
fills a shard, so that cells with large results do not fill the memory.
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

from steering.agents import make_agent
from steering.envs import Environment, make_env
from steering.errors import SteeringError
from steering.runs.runner import BYTES_PER_STEP, Runs, run
from steering.runs.visits import most_visits
from steering.sweeps.cells import Group, content_of
from steering.sweeps.store import schema

MAX_TRACEBACK = 20_000
GUESSED_STEP_SECONDS = 20e-6
"""Time of a step of an agent that has not run yet."""


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
    shards, rows
        Shards with the finished cells (number of rows and bytes of each), and how many cells they are.
    failures
        Cells that failed.
    lost
        Places of cells that did not get their chance: time was up, or another one took the worker down.
    split
        Whether nobody knows which one it was, so that the lost cells should be tried in smaller batches.
    seconds
        Time of the runs, all in all; `setup` is the part of it that cells of a group share (building the environment,
        solving it for the oracle), and `overhead` the time of packing, which comes on top.
    """

    shards: list[tuple[int, bytes]] = field(default_factory=list)
    rows: int = 0
    seconds: float = 0.0
    setup: float = 0.0
    overhead: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    split: bool = False

    def pack(self) -> bytes:
        """As bytes: a line of JSON, then the shards."""
        header = {
            "shards": [[rows, len(shard)] for rows, shard in self.shards],
            "rows": self.rows,
            "seconds": self.seconds,
            "setup": self.setup,
            "overhead": self.overhead,
            "failures": [asdict(failure) for failure in self.failures],
            "lost": self.lost,
            "split": self.split,
        }
        return b"".join([json.dumps(header).encode(), b"\n", *(shard for _, shard in self.shards)])

    @classmethod
    def unpack(cls, content: bytes) -> Outcome:
        """The reverse of `pack`."""
        at = content.index(b"\n") + 1
        header = json.loads(content[:at])
        header["failures"] = [Failure(**one) for one in header["failures"]]
        shards = []
        for rows, size in header.pop("shards"):
            shards.append((rows, content[at : at + size]))
            at += size
        return cls(shards=shards, **header)


def pack_batch(pieces: list[tuple[Group, list[int]]], hold: float | None = None) -> bytes:
    """A batch as JSON, to be held for at most `hold` seconds (None: until all of it is done)."""
    return json.dumps({"hold": hold, "pieces": [[group.config, seeds] for group, seeds in pieces]}).encode()


def run_batch(content: bytes, starting: Callable[[int], None] = lambda index: None) -> Outcome:
    """Run the cells of a packed batch, all of them or as many as fit in its time, but always at least one.

    `starting` is told the place of every cell before it runs, and the number of cells when no more will be run.
    """
    return _Batch(content, starting).run()


class _Batch:
    """A batch on its way: what is finished, and until when it may go on."""

    def __init__(self, content: bytes, starting: Callable[[int], None]) -> None:
        batch = json.loads(content)
        self.pieces = [(Group(config, tuple(seeds)), list(seeds)) for config, seeds in batch["pieces"]]
        self.cells = sum(len(seeds) for _, seeds in self.pieces)
        self.until = float("inf") if batch["hold"] is None else time.perf_counter() + batch["hold"]
        self.starting = starting
        self.outcome = Outcome()
        self.tables: list[pa.Table] = []
        self.kept = 0
        """Bytes of finished cells, about."""

    def over(self, more: int = 0) -> bool:
        """Whether it is time to give back what is finished, with so many more bytes of it."""
        return time.perf_counter() > self.until or self.kept + more > schema.PIECE_BYTES

    def run(self) -> Outcome:
        index = 0
        for group, seeds in self.pieces:
            finished = self._piece(group, seeds, index)
            index += finished
            if finished < len(seeds) or self.over():
                break
        outcome = self.outcome
        outcome.lost = list(range(index, self.cells))
        self.starting(self.cells)
        began = time.perf_counter()
        if self.tables:
            rows = pa.concat_tables(self.tables).combine_chunks()
            outcome.shards, outcome.rows = schema.to_shards(rows), rows.num_rows
        outcome.overhead += time.perf_counter() - began
        return outcome

    def _piece(self, group: Group, seeds: list[int], index: int) -> int:
        """Run seeds of a group from place `index` on; returns how many were run, well or not."""
        try:
            return self._seeds(group, seeds, index)
        except Exception:
            # One of them failed, and nothing is known of the others: each on its own.
            for offset, seed in enumerate(seeds):
                if offset and self.over():
                    return offset
                try:
                    self._seeds(group, [seed], index + offset)
                except Exception as error:
                    self.outcome.failures.append(failure_of(index + offset, error))
        return len(seeds)

    def _seeds(self, group: Group, seeds: list[int], index: int) -> int:
        config = group.config
        record = config["record"]

        self.starting(index)
        began = time.perf_counter()
        environment = _environment(config["environment"], config.get("content"), str(config.get("code")))
        pairs = environment.n_states * environment.n_actions
        each = BYTES_PER_STEP * config["steps"] + 8 * most_visits(config["steps"], record["windows"], pairs)
        runs = Runs(
            environment,
            make_agent(config["agent"]),
            steps=config["steps"],
            seeds=seeds,
            windows=record["windows"],
            record=record["extra"],
            snapshots=record["snapshots"],
        )
        for done, _ in enumerate(runs, start=1):
            if done == len(seeds) or self.over((done + 1) * each):
                break
            self.starting(index + done)
        results = runs.results()
        middle = time.perf_counter()
        finished = len(results.seeds)
        self.kept += finished * each
        keys = [group.key(seed) for seed in results.seeds]
        self.tables.append(schema.rows_of(results, keys, group.text, record["points"]))
        self.outcome.seconds += middle - began
        self.outcome.setup += max(middle - began - float(results.seconds.sum()), 0.0)
        self.outcome.overhead += time.perf_counter() - middle
        return finished


@lru_cache(maxsize=4)
def _environment(text: str, content: str | None, code: str) -> Environment:
    """The environment of a group, kept for its next batch; a file must hold what its cells were keyed by.

    One of other code under the same text is another environment.
    """
    environment = make_env(text)
    if content is not None and content_of(environment) != content:
        raise SteeringError(
            f"'{text}' is another MDP here than when the sweep was read; start the sweep again, with the same file on "
            "every machine."
        )
    return environment


def forget_environments() -> None:
    """Make every environment anew when it is needed next."""
    _environment.cache_clear()


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
            run("deepsea:3,horizon=3" if episodic else "deepsea:3", make_agent(agent), steps=20, seeds=1)
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
