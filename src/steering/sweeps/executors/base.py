"""The interface of executors, and the choice of one."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from steering._modules import folders_of
from steering.errors import InvalidOption, NotAvailable, SteeringError
from steering.sweeps import compute
from steering.sweeps.cells import Group
from steering.sweeps.codes import Expected, expected_codes, prepare, sources_of
from steering.sweeps.compute import Outcome

MAX_MEGABYTES = 1 << 30
"""A petabyte: the system takes no number of bytes beyond 63 bits."""


class SetupFailed(SteeringError):
    """Worker processes cannot be prepared (a module is missing, for example): no cell's fault, and no use to retry."""


@dataclass(frozen=True)
class Limits:
    """What one cell may use.

    Attributes
    ----------
    seconds
        Longest time of a cell; None is no limit.
    megabytes
        Memory that cells may take beyond that of an idle worker; None is no limit.
    """

    seconds: float | None = None
    megabytes: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise InvalidOption(f"the time limit is {self.seconds} s; it must be a number above 0.")
        if self.megabytes is not None and not 1 <= self.megabytes <= MAX_MEGABYTES:
            raise InvalidOption(
                f"the memory limit is {self.megabytes} MB; it must be at least 1 and at most {MAX_MEGABYTES}."
            )


@dataclass(frozen=True)
class Setup:
    """What a worker does before its first cell.

    Attributes
    ----------
    imports
        Modules to import, such as one that registers agents or environments. They come from whoever starts a sweep,
        never from a sweep file.
    folders
        Where these modules lie on the machine that starts the sweep; tried on every other too.
    code
        What the agents and environments of the modules must be; see `codes.prepare`.
    warm
        Agents whose kernels are loaded once, before workers are forked; see `compute.warm`.
    sources
        Hashes of the source that the imported modules must have.
    """

    imports: tuple[str, ...] = ()
    warm: tuple[tuple[str, bool], ...] = ()
    folders: tuple[str, ...] = ()
    code: Expected = ()
    sources: tuple[tuple[str, str], ...] = ()

    def do(self) -> None:
        """Do it, in this process."""
        prepare(self.imports, self.folders, self.code, self.sources)
        compute.warm(self.warm)

    def as_json(self) -> str:
        """As text, for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Setup:
        """The reverse of `as_json`."""
        return cls(**{key: _tuples(value) for key, value in json.loads(text).items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def make_setup(groups: list[Group], modules: tuple[str, ...]) -> Setup:
    """What workers do before they run cells of these groups, with these modules imported."""
    return Setup(modules, compute.warm_list(groups), folders_of(modules), expected_codes(groups), sources_of(modules))


class Executor(Protocol):
    """Runs packed batches (see `compute.pack_batch`), in any order, and never raises for a fault of a cell."""

    @property
    def slots(self) -> int:
        """How many batches it wants to hold at once; may change as machines come and go."""

    @property
    def workers(self) -> int:
        """How many cells run at once."""

    def submit(self, ticket: int, batch: bytes, cells: int) -> None:
        """Take a batch of `cells` cells; its outcome comes back under the ticket."""

    def wait(self, timeout: float) -> list[tuple[int, Outcome]]:
        """Outcomes that are ready, waiting at most `timeout` seconds for the first."""

    def close(self) -> None:
        """Stop everything at once; batches not yet returned are dropped."""


def make_executor(workers: int | None, scheduler: str | None, limits: Limits, setup: Setup) -> Executor:
    """Choose an executor.

    Parameters
    ----------
    workers
        Number of local processes; 0 runs in this process; None is one for each core.
    scheduler
        Address of a dask scheduler, ``tcp://host:port``, or ``local`` for a dask cluster on this machine.
    limits
        Limits of a cell.
    setup
        What workers do before their first cell.
    """
    check_choice(workers, scheduler, limits)
    if scheduler is not None:
        from steering.sweeps.executors.dask import DaskExecutor

        return DaskExecutor(scheduler, workers, limits, setup)
    if workers == 0:
        from steering.sweeps.executors.in_process import InProcessExecutor

        return InProcessExecutor()
    from steering.sweeps.executors.local import LocalExecutor

    return LocalExecutor(workers or len(os.sched_getaffinity(0)), limits, setup)


def check_choice(workers: int | None, scheduler: str | None, limits: Limits) -> None:
    """Refuse what `make_executor` cannot make, before anything is started or written."""
    if workers is not None and not 0 <= workers <= 4096:
        raise InvalidOption(f"workers is {workers}; give 0 (in this process) or a number of processes.")
    if scheduler is None:
        if workers == 0 and limits != Limits():
            raise InvalidOption("limits of time and memory need a process of their own; use at least one worker.")
        return
    if importlib.util.find_spec("distributed") is None:
        raise NotAvailable("a scheduler needs dask.distributed; install it with: pip install 'steering-rl[dask]'")
    if scheduler == "local":
        if workers == 0:
            raise InvalidOption("a local dask cluster of 0 workers would wait for ever; give a number of workers.")
        return
    from steering.sweeps.executors.dask import check_address

    check_address(scheduler)
