"""Run agents on one environment for many seeds.

A run is a function of (environment, agent, settings, seed): nothing else enters, and what is recorded does not change
it. Environments with a table run on the compiled simulator; a Gymnasium environment without one is stepped live.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast, overload

import numpy as np

from steering import _memory
from steering._checks import whole
from steering._progress import notebook_bar
from steering._types import Floats, Ints
from steering._version import REVISION, __version__
from steering.agents import Agent, Problem, describe_agent, make_agent
from steering.envs import Environment, LiveGym, make_env
from steering.errors import InvalidOption, SteeringError
from steering.mdp.simulator import Simulator
from steering.runs.comparison import Comparison
from steering.runs.loop import Watcher, simulate, step_by_step
from steering.runs.oracle import world_of
from steering.runs.recording import Recorder, Wanted, collect
from steering.runs.results import RunResults
from steering.runs.seeds import checked_seeds, environment_streams, stream
from steering.runs.visits import count_visits, stack_visits

Progress = Callable[[int, int], None]

BYTES_PER_STEP = 56
"""What a run keeps of each step: states, actions, rewards and what the oracle gets."""

WORTH_ASKING = 2**20
"""Bytes of records from which on the system is asked whether they are there; that takes as long as 1000 steps."""


@overload
def run(env: Any, agent: str | type[Agent] | Agent, **settings: Any) -> RunResults: ...


@overload
def run(env: Any, agent: Sequence[str | type[Agent] | Agent], **settings: Any) -> Comparison: ...


def run(
    env: Any,
    agent: str | type[Agent] | Agent | Sequence[str | type[Agent] | Agent],
    *,
    steps: int = 5000,
    seeds: int | Iterable[int] = 10,
    windows: int = 10,
    record: Iterable[str] = (),
    snapshots: int = 20,
    progress: Progress | bool | None = None,
    **options: Any,
) -> RunResults | Comparison:
    """Run an agent on an environment, once for each seed; or several, to compare them.

    Parameters
    ----------
    env
        Anything `make_env` takes: text such as ``"deepsea:15"``, a `TabularMDP`, an `Environment`, a Gymnasium
        environment.
    agent
        Text such as ``"psrl"`` or ``"ids:planning=mean"``, a registered class or an agent; or a list of them, which
        meet the same noise.
    steps
        Number of steps T of each run.
    seeds
        A number K (seeds 0, ..., K - 1) or the seeds themselves.
    windows
        Number of equal windows in which visits are counted.
    record
        More to keep: ``"value_gap"`` (V* - V_policy at every plan), ``"q_posterior"`` (`snapshots` beliefs about Q,
        evenly spaced) and ``"diagnostics"`` (what each plan rests on; STEERING has them).
    snapshots
        Number of beliefs about Q to keep with ``record="q_posterior"``.
    progress
        Called as progress(finished runs, all runs). Unless it is given, a notebook shows a bar where runs take more
        than a second; False shows none.
    options
        Options of the agent, or of every one of the list, as for `make_agent`.

    Returns
    -------
    RunResults
        Or, for a list of agents, a `Comparison`. Both have `table`, `summary` and `plot`.

    Examples
    --------
    >>> results = run("deepsea:4", "psrl", steps=200, seeds=3)
    >>> results.regret_curve().shape
    (3, 200)
    >>> run("deepsea:4", ["psrl", "ids"], steps=200, seeds=3).agents
    ('psrl', 'ids')
    """
    environment, chosen = make_env(env), checked_seeds(seeds)
    several = isinstance(agent, Sequence) and not isinstance(agent, str)
    given_agents = cast("Sequence[str | type[Agent] | Agent]", agent if several else [agent])
    learners = [make_agent(one, **options) for one in given_agents]
    refuse_twice(learners)
    whole("steps", steps, 1)
    refuse_too_long(steps, len(learners) * len(chosen))
    wanted = list(record) if isinstance(record, Iterator) else record  # every agent reads it
    given: dict[str, Any] = {"steps": steps, "windows": windows, "record": wanted, "snapshots": snapshots}
    parts = [Runs(environment, learner, seeds=chosen, **given) for learner in learners]
    report = progress if callable(progress) else None if progress is False else notebook_bar("runs")
    try:
        for done, _ in enumerate(itertools.chain.from_iterable(parts), start=1):
            if report is not None:
                report(done, len(parts) * len(chosen))
    except KeyboardInterrupt:
        finished = [one.results() for one in parts if one.finished]
        if not finished:
            raise
        raise Interrupted(Comparison(finished) if several else finished[0]) from None
    return Comparison([one.results() for one in parts]) if several else parts[0].results()


def refuse_twice(learners: Sequence[Agent]) -> None:
    """Refuse to compare an agent with itself, before anything is run."""
    names = [describe_agent(learner) for learner in learners]
    if not names:
        raise InvalidOption("a comparison needs at least one agent.")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidOption(f"agent '{name}' is given twice; runs with the same seeds are identical, so keep one.")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run`; `results` holds what was finished: some seeds, in a comparison of some agents."""

    def __init__(self, results: Any) -> None:
        super().__init__("what was finished is in `results`")
        self.results = results


@dataclass(frozen=True)
class OneRun:
    """One seed, as it came out."""

    seed: int
    rewards: Floats
    expected: Floats | None
    oracle: Floats | None
    visits: Any
    seconds: float
    recorder: Recorder | None


class Runs:
    """Runs of one agent on one environment: iterate, and one seed after the other is run.

    Stop whenever you like; `results` is about the seeds that are finished, and iterating again goes on with the next.

    Parameters
    ----------
    env, agent, steps, seeds, windows, record, snapshots, options
        As for `run`.
    watchers
        They look at the agent after each plan; without a table of the environment they see nothing.

    Examples
    --------
    >>> runs = Runs("deepsea:4", "psrl", steps=100, seeds=10)
    >>> for one in runs:
    ...     if one.seed == 2:
    ...         break
    >>> runs.results().seeds
    (0, 1, 2)
    """

    def __init__(
        self,
        env: Any,
        agent: str | type[Agent] | Agent,
        *,
        steps: int = 5000,
        seeds: int | Iterable[int] = 10,
        windows: int = 10,
        record: Iterable[str] = (),
        snapshots: int = 20,
        watchers: Sequence[Watcher] = (),
        **options: Any,
    ) -> None:
        self.environment = make_env(env)
        self.agent = make_agent(agent, **options)
        self.steps = whole("steps", steps, 1)
        whole("windows", windows, 1)
        whole("snapshots", snapshots, 1)
        self.wanted = Wanted.checked(record, self.environment, steps, snapshots)
        self.seeds = checked_seeds(seeds)
        self.watchers = tuple(watchers)
        self.edges: Ints = np.linspace(0, steps, min(windows, steps) + 1).round().astype(np.int64)
        refuse_too_long(steps, len(self.seeds))
        self.world = None if self.environment.mdp is None else world_of(self.environment)
        self.oracle = None if self.world is None else self.world.oracle(steps)
        self.finished: list[OneRun] = []

    def __iter__(self) -> Iterator[OneRun]:
        """Run the seeds that are left, in their order."""
        for seed in self.seeds[len(self.finished) :]:
            self.finished.append(self._one(seed))
            yield self.finished[-1]

    def _one(self, seed: int) -> OneRun:
        with _alone(self.agent):
            return self._run(seed)

    def _run(self, seed: int) -> OneRun:
        began = time.perf_counter()
        environment, agent = self.environment, self.agent
        agent.start(problem_of(environment), stream(seed, "planning"), stream(seed, "acting"))
        if environment.mdp is None or self.world is None or self.oracle is None:
            states, actions, rewards = _step_live(environment, agent, self.steps, seed)
            expected = oracle = recorder = None
        else:
            simulator = Simulator(environment.mdp, self.world.tables, self.steps, environment_streams(seed))
            recorder = Recorder(self.wanted, environment, self.oracle, stream(seed, "reporting"))
            recorders = (recorder,) if self.wanted.names else ()
            simulate(agent, simulator, environment, *recorders, *self.watchers)
            states, actions, rewards = simulator.states, simulator.actions, simulator.rewards
            expected = environment.mdp.rewards[states, actions]
            oracle = self.world.oracle_rewards(self.steps, environment_streams(seed))
        visits = count_visits(states, actions, self.edges, (environment.n_states, environment.n_actions))
        return OneRun(seed, rewards, expected, oracle, visits, time.perf_counter() - began, recorder)

    def results(self) -> RunResults:
        """Results of the seeds that are finished, of which there must be one."""
        environment, runs = self.environment, self.finished
        known = self.oracle is not None
        recorders = [one.recorder for one in runs if one.recorder is not None]
        return RunResults(
            environment=environment.name,
            agent=describe_agent(self.agent),
            seeds=tuple(one.seed for one in runs),
            discount=environment.discount,
            horizon=environment.horizon,
            rewards=np.array([one.rewards for one in runs]),
            expected_rewards=np.array([one.expected for one in runs]) if known else None,
            oracle_rewards=np.array([one.oracle for one in runs]) if known else None,
            oracle_expected=self.oracle.expected if self.oracle is not None else None,
            random_total=self.oracle.random_total if self.oracle is not None else None,
            visits=stack_visits([one.visits for one in runs], len(self.edges) - 1, environment.mask.shape),
            windows=self.edges,
            seconds=np.array([one.seconds for one in runs]),
            settings={
                "replan_every": environment.replan_every,
                "max_iterations": environment.max_iterations,
                "version": __version__,
                "revision": REVISION,
            },
            **(collect(recorders) if recorders else {}),
        )


_busy: set[int] = set()
"""Agents that are in a run now, by their `id`."""
_busy_lock = threading.Lock()


@contextlib.contextmanager
def _alone(agent: Agent) -> Iterator[None]:
    """Refuse an agent that is in another run: two would write into one belief, and both give wrong numbers."""
    with _busy_lock:
        if id(agent) in _busy:
            raise SteeringError(
                f"this object of agent '{agent.name}' is in another run, of another thread perhaps, and an agent "
                "learns in one run at a time; make one for each, with make_agent(...) or copy.deepcopy."
            )
        _busy.add(id(agent))
    try:
        yield
    finally:
        with _busy_lock:
            _busy.discard(id(agent))


def problem_of(environment: Environment) -> Problem:
    """What an agent is told about an environment."""
    return Problem(
        environment.n_states,
        environment.n_actions,
        np.array(environment.mask),  # writable, as all that agents plan with: one compiled version serves all
        float(environment.discount),
        environment.horizon,
        environment.max_iterations,
    )


def _step_live(environment: Environment, agent: Agent, steps: int, seed: int) -> tuple[Ints, Ints, Floats]:
    """The same alternation, one step at a time, on an environment that can only be stepped."""
    assert environment.make_gym is not None
    first = int(stream(seed, "live").integers(2**31))
    live = LiveGym(environment.make_gym, first, episodic=environment.episodic, name=environment.name)
    try:
        return step_by_step(agent, live, environment, steps)
    finally:
        live.close()


def refuse_too_long(steps: int, runs: int) -> None:
    """Refuse records that this machine cannot hold, before hours are spent on them."""
    needed = BYTES_PER_STEP * steps * runs
    if needed <= WORTH_ASKING:
        return
    _memory.require(needed, f"keeping {steps} steps x {runs} runs", "use fewer steps or runs")
