"""Several agents on one environment: the outcome of `run(env, [agent, ...])`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

import pandas as pd

from steering._types import Floats
from steering.errors import InvalidOption
from steering.runs.results import RunResults
from steering.runs.tables import Tabled, count, number, summary_of

if TYPE_CHECKING:
    from steering.runs.animation import Animation

SHOWN = 4


class Comparison(Tabled, Sequence[RunResults]):
    """Results of several agents on one environment, in the order given.

    ``comparison["psrl"]`` or ``comparison[0]`` are the results of one agent, and iterating gives all of them. Agents
    whose runs were interrupted may have fewer seeds than others.

    Examples
    --------
    >>> import steering
    >>> both = steering.run("deepsea:4", ["psrl", "steering"], steps=200, seeds=3)
    >>> both.agents
    ('psrl', 'steering')
    >>> both.summary()["seeds"].tolist()
    [3, 3]
    >>> both["psrl"].regret().shape
    (3,)
    """

    def __init__(self, runs: Sequence[RunResults]) -> None:
        self.runs = tuple(runs)
        if not self.runs:
            raise InvalidOption("a comparison needs at least one run.")
        if len({(one.environment, one.steps) for one in self.runs}) > 1:
            raise InvalidOption("runs of a comparison need one environment and one number of steps.")

    @property
    def environment(self) -> str:
        """Text of the environment."""
        return self.runs[0].environment

    @property
    def agents(self) -> tuple[str, ...]:
        """Texts of the agents."""
        return tuple(one.agent for one in self.runs)

    @property
    def steps(self) -> int:
        """Number of steps T of each run."""
        return self.runs[0].steps

    def regret(self, *, normalised: bool | str = False, kind: str = "realised") -> dict[str, Floats]:
        """Total regret of every seed for each agent; see `RunResults.regret`."""
        return {one.agent: one.regret(normalised=normalised, kind=kind) for one in self.runs}

    def regret_curve(self, *, normalised: bool | str = False, kind: str = "realised") -> dict[str, Floats]:
        """Cumulative regret (K, T) for each agent; see `RunResults.regret_curve`."""
        return {one.agent: one.regret_curve(normalised=normalised, kind=kind) for one in self.runs}

    def table(self) -> pd.DataFrame:
        """One row for each agent and seed."""
        return pd.concat([one.table() for one in self.runs], ignore_index=True)

    @property
    def curves(self) -> pd.DataFrame:
        """Cumulative reward and regrets of each agent and seed at up to 200 steps; `cell` is the row of `table`."""
        frames, first = [], 0
        for one in self.runs:
            frame = one.curves
            frames.append(frame.assign(cell=frame["cell"] + first))
            first += len(one.seeds)
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> pd.DataFrame:
        """One row for each agent: mean of the headline measure with its 95 % interval, score, share of failed runs."""
        return summary_of(self.table())

    def animate(self, path: str | Path | None = None, *, seed: int | None = None, milliseconds: int = 400) -> Animation:
        """All agents side by side, in their order, under one seed; see `RunResults.animate`."""
        from steering.runs.animation import animate_together

        made = animate_together(self, seed=seed, milliseconds=milliseconds)
        if path is not None:
            made.save(path)
        return made

    @overload
    def __getitem__(self, which: int | str) -> RunResults: ...

    @overload
    def __getitem__(self, which: slice) -> Comparison: ...

    def __getitem__(self, which: int | str | slice) -> RunResults | Comparison:
        if isinstance(which, slice):
            return Comparison(self.runs[which])
        if isinstance(which, str):
            if which not in self.agents:
                raise InvalidOption(f"there is no agent '{which}' here; choose from: {', '.join(self.agents)}.")
            return self.runs[self.agents.index(which)]
        return self.runs[which]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[RunResults]:
        return iter(self.runs)

    def __repr__(self) -> str:
        least, most = min(len(one.seeds) for one in self.runs), max(len(one.seeds) for one in self.runs)
        seeds = count(most, "seed") if least == most else f"{least} to {most} seeds"
        head = f"Comparison: {count(len(self), 'agent')} on {self.environment}, {seeds} of {count(self.steps, 'step')}"
        rows = self.summary()
        shown = [f"{row['agent']} {number(row['mean'])}" for row in rows.head(SHOWN).to_dict("records")]
        measure = str(rows["measure"].iloc[0]).replace("_", " ")
        return f"{head}\n{measure}: {', '.join(shown)}{', ...' if len(rows) > SHOWN else ''}"
